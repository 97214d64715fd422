/** Serialize keys with the longest lines, and the item that each waits for. */
import { Link } from '@tanstack/react-router';
import {
  Discard,
  LiveSerializeKeys,
  type LiveSerializeKeysSubscription,
  Replay,
} from '../../generated/dashboard.ts';
import { useAnswer } from '../data/live-answers.ts';
import { Action } from '../parts/action.tsx';
import { CountDeadLetters } from '../parts/counts.tsx';
import { shortId } from '../parts/items.tsx';
import { LiveAnswer } from '../parts/live-list.tsx';
import { Count, State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useTexts } from '../texts/all.ts';

type Key = NonNullable<LiveSerializeKeysSubscription['live']['serializeKeys']>[number];

export default function KeysScreen() {
  const t = useTexts();
  const live = useAnswer(LiveSerializeKeys, {});
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
            <State state={head.status} /> {held && <span className="quiet">{t.keys.held}</span>}
          </>
        ),
    },
    {
      title: t.actions,
      grow: 2,
      cell: ({ head, held }) => held && head != null && <Free itemId={head.id} />,
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

/** What lets the line of a failed head go on. */
function Free({ itemId }: { itemId: string }) {
  const t = useTexts();
  const filter = { itemIds: [itemId] };
  return (
    <div className="buttons">
      <Action
        label={t.item.replay}
        shortcut="r"
        needs="SETTLE"
        mutation={Replay}
        variables={() => ({ input: { filter } })}
        question={<CountDeadLetters filter={filter} ask={t.deadLetters.replayAsk} isReplay />}
        command={() => `jobtree replay --item ${itemId}`}
      />
      <Action
        label={t.deadLetters.discard}
        shortcut="x"
        danger
        needs="SETTLE"
        mutation={Discard}
        variables={() => ({ input: { filter } })}
        question={<CountDeadLetters filter={filter} ask={t.deadLetters.discardAsk} />}
        command={() => `jobtree discard --item ${itemId}`}
      />
    </div>
  );
}
