/** Serialize keys with the longest lines, and the item that each waits for. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Discard, Replay, SerializeKeys, type SerializeKeysQuery } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { Action } from '../parts/action.tsx';
import { Answer } from '../parts/ask.tsx';
import { CountDeadLetters } from '../parts/counts.tsx';
import { shortId } from '../parts/items.tsx';
import { Count, State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useTexts } from '../texts/texts.ts';

type Key = NonNullable<SerializeKeysQuery['serializeKeys']>[number];

export function KeysScreen() {
  const t = useTexts();
  const query = useQuery({
    queryKey: ['serialize keys'],
    queryFn: ({ signal }) => ask(SerializeKeys, {}, signal),
    refetchInterval: 10_000,
  });
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
      <Answer query={query}>
        {({ serializeKeys }) => (
          <Table
            label={t.keys.title}
            rows={serializeKeys ?? []}
            columns={columns}
            keyOf={({ key }) => key}
            empty={t.keys.empty}
          />
        )}
      </Answer>
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
        needs="ADMINISTER"
        mutation={Replay}
        variables={() => ({ input: { filter } })}
        question={<CountDeadLetters filter={filter} ask={t.deadLetters.replayAsk} isReplay />}
      />
      <Action
        label={t.deadLetters.discard}
        shortcut="x"
        danger
        needs="ADMINISTER"
        mutation={Discard}
        variables={() => ({ input: { filter } })}
        question={<CountDeadLetters filter={filter} ask={t.deadLetters.discardAsk} />}
      />
    </div>
  );
}
