/** One cause of failures: an example, the items, and what to do with all of them. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import {
  DeadLetterGroup,
  type DeadLetterGroupQuery,
  Discard,
  Note,
  Replay,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { Action } from '../parts/action.tsx';
import { Answer } from '../parts/ask.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { CountDeadLetters } from '../parts/counts.tsx';
import { Facts, Json } from '../parts/facts.tsx';
import { Failures } from '../parts/failures.tsx';
import { ItemTable } from '../parts/items.tsx';
import { Count } from '../parts/progress.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/texts.ts';

type Group = Extract<NonNullable<DeadLetterGroupQuery['node']>, { readonly id: string }>;

export function DeadLetterGroupScreen() {
  const t = useTexts();
  const { id } = useParams({ from: '/dead-letters/$id' });
  const query = useQuery({
    queryKey: ['dead letter group', id],
    queryFn: ({ signal }) => ask(DeadLetterGroup, { id }, signal),
    refetchInterval: 10_000,
  });
  return (
    <Answer query={query}>
      {({ node }) =>
        node == null || !('id' in node) ? <p>{t.deadLetters.gone}</p> : <Facing group={node as Group} />
      }
    </Answer>
  );
}

function Facing({ group }: { group: Group }) {
  const t = useTexts();
  const [note, setNote] = useState(group.note ?? '');
  const filter = { groupIds: [group.id] };
  return (
    <>
      <h1>{group.pattern}</h1>
      <div className="buttons">
        <Action
          label={t.deadLetters.replayAll}
          shortcut="r"
          needs="ADMINISTER"
          mutation={Replay}
          variables={() => ({ input: { filter } })}
          question={<CountDeadLetters filter={filter} ask={t.deadLetters.replayAsk} isReplay />}
        />
        <Action
          label={t.deadLetters.discardAll}
          shortcut="x"
          danger
          needs="ADMINISTER"
          mutation={Discard}
          variables={() => ({ input: { filter } })}
          question={<CountDeadLetters filter={filter} ask={t.deadLetters.discardAsk} />}
        />
        <Action
          label={t.deadLetters.note}
          shortcut="e"
          needs="ADMINISTER"
          mutation={Note}
          variables={() => ({ input: { groupId: group.id, note: note.trim() === '' ? null : note } })}
          question={null}
          fields={
            <label>
              {t.deadLetters.note}
              <textarea rows={4} value={note} onChange={({ target }) => setNote(target.value)} />
            </label>
          }
        />
        <CopyButton label={t.copy.command} text={() => `jobtree dead-letters ${group.id}`} />
      </div>
      <Facts
        facts={[
          [t.deadLetters.type, group.type],
          [t.deadLetters.code, group.code],
          [t.deadLetters.count, <Count key="count" count={group.count} />],
          [t.deadLetters.first, <Time key="first" at={group.firstAt} />],
          [t.deadLetters.last, <Time key="last" at={group.lastAt} />],
          [t.deadLetters.note, group.note],
        ]}
      />
      {group.example != null && (
        <>
          <h2>{t.deadLetters.example}</h2>
          <Json value={group.example.payload} label={t.item.payload} />
          <Failures failures={group.example.failures.slice(-1)} />
        </>
      )}
      <h2>{t.deadLetters.items}</h2>
      <ItemTable items={group.items} />
    </>
  );
}
