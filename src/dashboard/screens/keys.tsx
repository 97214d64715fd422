/** Serialize keys with the longest lines, and the item that each waits for. */
import { Link } from '@tanstack/react-router';
import { type KeyRowFragment as Key, LiveSerializeKeys, SerializeKeys } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { messageOf } from '../data/message-of.ts';
import { useMay } from '../data/viewer.ts';
import { DiscardItem, ReplayItem } from '../parts/dead-item.tsx';
import { beginningOf, shortId } from '../parts/items.tsx';
import { LiveAnswer, useContinued } from '../parts/live-list.tsx';
import { Count, State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useTexts } from '../texts/all.ts';

export default function KeysScreen() {
  const t = useTexts();
  const live = useAnswer(LiveSerializeKeys, {});
  return (
    <>
      <h1>{t.keys.title}</h1>
      <p>{t.keys.intro}</p>
      <LiveAnswer live={live}>{({ serializeKeys }) => <Keys keys={serializeKeys ?? none} />}</LiveAnswer>
    </>
  );
}

const none: readonly never[] = [];
const keyOf = ({ key }: Key) => key;

function Keys({ keys }: { keys: readonly Key[] }) {
  const t = useTexts();
  const { rows, more } = useContinued(keys, {
    keyOf,
    pageSize: 200,
    read: async ({ blocked, key }) =>
      (await ask(SerializeKeys, { after: { blocked, key } })).serializeKeys ?? none,
  });
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
    <Table
      label={t.keys.title}
      rows={rows}
      columns={columns}
      keyOf={keyOf}
      empty={t.keys.empty}
      more={more}
    />
  );
}
