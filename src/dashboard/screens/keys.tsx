/** Serialize keys with the longest lines, and the item that each waits for. */
import { Link } from '@tanstack/react-router';
import { LiveSerializeKeys, type LiveSerializeKeysSubscription } from '../../generated/dashboard.ts';
import { useAnswer } from '../data/live-answers.ts';
import { messageOf } from '../data/message-of.ts';
import { useMay } from '../data/viewer.ts';
import { DiscardItem, ReplayItem } from '../parts/dead-item.tsx';
import { beginningOf, shortId } from '../parts/items.tsx';
import { LiveAnswer } from '../parts/live-list.tsx';
import { Count, State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useTexts } from '../texts/all.ts';

type Key = NonNullable<LiveSerializeKeysSubscription['live']['serializeKeys']>[number];

export default function KeysScreen() {
  const t = useTexts();
  const live = useAnswer(LiveSerializeKeys, {});
  const maySettle = useMay()('SETTLE');
  const columns: readonly Column<Key>[] = [
    { title: t.keys.key, grow: 3, cell: ({ key }) => key },
    { title: t.keys.blocked, isNumber: true, cell: ({ blocked }) => <Count count={blocked} /> },
    {
      title: t.keys.head,
      grow: 4,
      cell: ({ head, held }) =>
        head != null && (
          <>
            <Link to="/items/$id" params={{ id: head.id }}>
              {head.job.type} {shortId(head.id)}
            </Link>{' '}
            <State state={head.status} />
            {held && head.lastFailure != null && (
              <div>
                <strong>{head.lastFailure.code}</strong> {beginningOf(messageOf(head.lastFailure))}
              </div>
            )}
            {held && <div className="quiet">{t.keys.held}</div>}
          </>
        ),
    },
    {
      title: t.actions,
      grow: 2,
      only: ({ head, held }) => held && head != null && maySettle,
      cell: ({ head, held }) =>
        held &&
        head != null && (
          <div className="buttons">
            <ReplayItem key={`replay ${head.id}`} itemId={head.id} />
            <DiscardItem key={`discard ${head.id}`} itemId={head.id} />
          </div>
        ),
    },
  ];
  return (
    <>
      <h1>{t.keys.title}</h1>
      <LiveAnswer live={live}>
        {({ serializeKeys }) => (
          <Table
            label={t.keys.title}
            rows={serializeKeys ?? []}
            columns={columns}
            keyOf={({ key }) => key}
            empty={t.keys.empty}
          />
        )}
      </LiveAnswer>
    </>
  );
}
