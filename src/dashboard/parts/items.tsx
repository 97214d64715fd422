/** Items in a table: of a job, or of a group of dead letters. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ItemsQuery } from '../../generated/dashboard.ts';
import { messageOf } from '../data/message-of.ts';
import { useTexts } from '../texts/all.ts';
import { State } from './progress.tsx';
import { type Column, Table, type TableProps } from './table.tsx';
import { Time } from './time.tsx';

export type ItemRow = NonNullable<ItemsQuery['job']>['items']['nodes'][number] & {
  /** Where it tells items apart. */
  readonly payloadBeginning?: string | null;
};

/** What tells items apart: the number of an item in its job. */
export const shortId = (id: string) => id.replace(/^.*:/, '');

const mostLetters = 120;

/** The item's page has all of it. */
export const beginningOf = (message: string) =>
  message.length > mostLetters ? `${message.slice(0, mostLetters)}…` : message;

interface ItemTableProps {
  readonly items: readonly ItemRow[];
  readonly more?: ReactNode;
  readonly onShown?: TableProps<ItemRow>['onShown'];
}

export function ItemTable({ items, more, onShown }: ItemTableProps) {
  const t = useTexts();
  const columns: readonly Column<ItemRow>[] = [
    {
      title: t.item.title,
      grow: 2,
      cell: (item) => (
        <>
          <Link to="/items/$id" params={{ id: item.id }}>
            {shortId(item.id)}
          </Link>
          <span className="quiet"> {item.dedupeKey ?? beginningOf(item.payloadBeginning ?? '')}</span>
        </>
      ),
    },
    { title: t.tree.state, cell: (item) => <State state={item.status} /> },
    {
      title: t.item.serializeKey,
      grow: 1,
      only: ({ serializeKey }) => serializeKey != null,
      cell: (item) => item.serializeKey,
    },
    {
      title: t.item.attempts,
      isNumber: true,
      only: ({ failureCount }) => failureCount > 0,
      cell: (item) => item.failureCount || '',
    },
    {
      title: t.causes.last,
      grow: 3,
      only: ({ lastFailure }) => lastFailure != null,
      cell: ({ lastFailure }) =>
        lastFailure != null && (
          <span>
            <strong>{lastFailure.code}</strong> {beginningOf(messageOf(lastFailure))}
          </span>
        ),
    },
    { title: t.item.note, grow: 2, only: ({ note }) => note != null, cell: (item) => item.note },
    {
      title: t.item.finished,
      isTime: true,
      cell: (item) => item.finishedAt != null && <Time at={item.finishedAt} />,
    },
  ];
  return (
    <Table
      label={t.tree.openItems}
      rows={items}
      columns={columns}
      keyOf={({ id }) => id}
      empty={t.none}
      more={more}
      {...(onShown && { onShown })}
    />
  );
}
