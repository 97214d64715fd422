/** One cause of failures: an example, the items, and what to do with all of them. */
import { Link, useParams } from '@tanstack/react-router';
import { useRef } from 'react';
import {
  DeadItems,
  Discard,
  LiveDeadLetterGroup,
  type LiveDeadLetterGroupSubscription,
  Note,
  Replay,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { Action } from '../parts/action.tsx';
import { BarsWithAxes } from '../parts/bars.tsx';
import { CopyButton, quoted } from '../parts/copy.tsx';
import { useCorrection } from '../parts/correction.tsx';
import { CountDeadLetters } from '../parts/counts.tsx';
import { useDraft } from '../parts/draft.ts';
import { Facts, Json } from '../parts/facts.tsx';
import { Failures } from '../parts/failures.tsx';
import { ItemTable, shortId } from '../parts/items.tsx';
import { LiveAnswer, useContinued } from '../parts/live-list.tsx';
import { Count } from '../parts/progress.tsx';
import { Time } from '../parts/time.tsx';
import { reverse } from '../parts/undo.tsx';
import { useTexts } from '../texts/all.ts';

type Group = Extract<NonNullable<LiveDeadLetterGroupSubscription['live']['node']>, { readonly id: string }>;

export default function DeadLetterGroupScreen() {
  const { id } = useParams({ from: '/dead-letters/$id' });
  const live = useAnswer(LiveDeadLetterGroup, { id });
  const last = useRef<Group>(undefined);
  // Of which cause it was, if that is known here.
  const gone = <Gone last={last.current?.id === id ? last.current : undefined} />;
  // A group is gone if the answer lacks it. Whatever else is not there may be one of its items.
  const isNoId = live.error?.code === 'INVALID_INPUT';
  return (
    <LiveAnswer live={live} missing={isNoId ? gone : undefined}>
      {({ node }) => {
        if (node == null || !('id' in node)) return gone;
        last.current = node as Group;
        return <Facing key={id} group={last.current} />;
      }}
    </LiveAnswer>
  );
}

function Gone({ last }: { last: Group | undefined }) {
  const t = useTexts();
  return (
    <>
      <h1>{last?.pattern ?? t.deadLetters.title}</h1>
      <p role="status">{t.deadLetters.gone}</p>
      <ul>
        <li>
          <Link to="/operations">{t.deadLetters.goneOperations}</Link>
        </li>
        {last !== undefined && (
          <li>
            <Link to="/queues/$type" params={{ type: last.type }}>
              {t.queues.of(last.type)}
            </Link>
          </li>
        )}
        <li>
          <Link to="/dead-letters">{t.deadLetters.goneOthers}</Link>
        </li>
      </ul>
    </>
  );
}

function Facing({ group }: { group: Group }) {
  const t = useTexts();
  return (
    <>
      <h1>{group.pattern}</h1>
      <Actions group={group} />
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
      <h2>{t.deadLetters.history}</h2>
      <BarsWithAxes steps={group.history} />
      {group.example != null && (
        <>
          <h2>
            {t.deadLetters.example}:{' '}
            <Link to="/items/$id" params={{ id: group.example.id }}>
              {t.operation.item(shortId(group.example.id))}
            </Link>
          </h2>
          <Json value={group.example.payload} label={t.item.payload} />
          <Failures failures={group.example.failures.slice(-1)} />
        </>
      )}
      <h2>{t.deadLetters.items}</h2>
      <Items group={group} />
    </>
  );
}

function Items({ group: { id, items } }: { group: Group }) {
  const { rows, more } = useContinued(items, {
    keyOf: idOf,
    pageSize: 100,
    read: async (last) => {
      const { node } = await ask(DeadItems, { id, after: last.id });
      return node != null && 'items' in node ? node.items : [];
    },
  });
  return <ItemTable items={rows} more={more} />;
}

const idOf = ({ id }: { readonly id: string }) => id;

function Actions({ group }: { group: Group }) {
  const t = useTexts();
  const { textOf, field, forget } = useDraft({ note: group.note ?? '' });
  const {
    field: correct,
    correction,
    option,
    forget: forgetCorrection,
  } = useCorrection({ groupId: group.id });
  const filter = { groupIds: [group.id] };
  /** The type and the code say in the list of operations what was meant, when the group is gone. */
  const named = { ...filter, types: [group.type], codes: [group.code] };
  return (
    <div className="buttons">
      <Action
        label={t.deadLetters.replayAll}
        shortcut="r"
        needs="SETTLE"
        mutation={Replay}
        variables={() => ({ input: { filter: named, ...correction() } })}
        question={<CountDeadLetters filter={filter} ask={t.deadLetters.replayAsk} isReplay />}
        fields={correct}
        onDone={forgetCorrection}
        command={() => `jobtree replay --group ${group.id}${option()}`}
      />
      <Action
        label={t.deadLetters.discardAll}
        shortcut="x"
        danger
        needs="SETTLE"
        mutation={Discard}
        variables={() => ({ input: { filter: named } })}
        question={<CountDeadLetters filter={filter} ask={t.deadLetters.discardAsk} />}
        command={() => `jobtree discard --group ${group.id}`}
      />
      <Action
        label={t.deadLetters.note}
        shortcut="e"
        needs="SETTLE"
        mutation={Note}
        variables={() => ({
          input: { groupId: group.id, note: textOf('note').trim() === '' ? null : textOf('note') },
        })}
        undo={() => reverse(Note, { input: { groupId: group.id, note: group.note ?? null } })}
        question={null}
        onDone={forget}
        command={() => `jobtree note ${group.id} ${quoted(textOf('note'))}`}
        fields={
          <label>
            {t.deadLetters.note}
            <textarea rows={4} {...field('note')} />
          </label>
        }
      />
      <CopyButton label={t.copy.command} text={() => `jobtree dead-letters ${group.id}`} />
    </div>
  );
}
