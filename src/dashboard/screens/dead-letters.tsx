/** Items that failed for good, in groups of the same cause. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import {
  DeadLetterGroups,
  Discard,
  type GroupRowFragment,
  LiveDeadLetterGroups,
  Replay,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { Action } from '../parts/action.tsx';
import { Bars } from '../parts/bars.tsx';
import { asOption } from '../parts/copy.tsx';
import { useCorrection } from '../parts/correction.tsx';
import { CountDeadLetters } from '../parts/counts.tsx';
import { LiveAnswer, useContinued } from '../parts/live-list.tsx';
import { Count } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

interface Chosen {
  readonly types: string[] | null;
  readonly codes: string[] | null;
}

export default function DeadLettersScreen() {
  const t = useTexts();
  const { type, code } = useSearch({ from: '/dead-letters' });
  const chosen = { types: type === undefined ? null : [type], codes: code === undefined ? null : [code] };
  const live = useAnswer(LiveDeadLetterGroups, chosen);
  return (
    <>
      <h1>{t.deadLetters.title}</h1>
      <p>{t.deadLetters.intro}</p>
      <Filters key={`${type} ${code}`} type={type} code={code} />
      {(type !== undefined || code !== undefined) && <AllThatMatch key={`${type} ${code}`} chosen={chosen} />}
      <LiveAnswer live={live}>
        {({ deadLetterGroups }) => (
          <Groups key={`${type} ${code}`} groups={deadLetterGroups ?? []} chosen={chosen} />
        )}
      </LiveAnswer>
    </>
  );
}

function Filters({ type, code }: { type: string | undefined; code: string | undefined }) {
  const t = useTexts();
  const navigate = useNavigate({ from: '/dead-letters' });
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        const given = new FormData(event.currentTarget);
        const text = (name: string) => String(given.get(name) ?? '').trim() || undefined;
        void navigate({ search: { type: text('type'), code: text('code') } });
      }}
    >
      <label>
        {t.deadLetters.type} <input name="type" defaultValue={type} />
      </label>
      <label>
        {t.deadLetters.code} <input name="code" defaultValue={code} />
      </label>
      <button type="submit">{t.filter}</button>
      {(type ?? code) !== undefined && (
        <Link to="/dead-letters" search={{}}>
          {t.clear}
        </Link>
      )}
    </form>
  );
}

function AllThatMatch({ chosen: { types, codes } }: { chosen: Chosen }) {
  const t = useTexts();
  const { field, correction, option, forget } = useCorrection({ types, codes });
  const filter = { ...(types && { types }), ...(codes && { codes }) };
  const options = `${asOption('--type', types)}${asOption('--code', codes)}`;
  return (
    <div className="buttons">
      <Action
        label={t.deadLetters.replayMatching}
        needs="SETTLE"
        mutation={Replay}
        variables={() => ({ input: { filter, ...correction() } })}
        question={<CountDeadLetters filter={filter} ask={t.deadLetters.replayAsk} isReplay />}
        fields={field}
        onDone={forget}
        command={() => `jobtree replay${options}${option()}`}
      />
      <Action
        label={t.deadLetters.discardMatching}
        danger
        needs="SETTLE"
        mutation={Discard}
        variables={() => ({ input: { filter } })}
        question={<CountDeadLetters filter={filter} ask={t.deadLetters.discardAsk} />}
        command={() => `jobtree discard${options}`}
      />
    </div>
  );
}

const idOf = ({ id }: GroupRowFragment) => id;

function Groups({ groups, chosen }: { groups: readonly GroupRowFragment[]; chosen: Chosen }) {
  const t = useTexts();
  const { rows, more } = useContinued(groups, {
    keyOf: idOf,
    pageSize: 100,
    read: async ({ id }) => (await ask(DeadLetterGroups, { ...chosen, after: id })).deadLetterGroups ?? [],
  });
  const columns: readonly Column<GroupRowFragment>[] = [
    {
      title: t.deadLetters.pattern,
      grow: 5,
      cell: (group) => (
        <Link to="/dead-letters/$id" params={{ id: group.id }}>
          {group.pattern}
        </Link>
      ),
    },
    { title: t.deadLetters.count, isNumber: true, cell: ({ count }) => <Count count={count} /> },
    {
      title: t.deadLetters.history,
      cell: ({ history }) => <Bars steps={history} />,
    },
    {
      title: t.deadLetters.type,
      grow: 2,
      cell: ({ type }) => (
        <Link to="/dead-letters" search={(now) => ({ ...now, type })}>
          {type}
        </Link>
      ),
    },
    {
      title: t.deadLetters.code,
      grow: 2,
      cell: ({ code }) => (
        <Link to="/dead-letters" search={(now) => ({ ...now, code })}>
          {code}
        </Link>
      ),
    },
    {
      title: t.deadLetters.note,
      grow: 2,
      only: ({ note }) => Boolean(note),
      cell: ({ note }) => note,
    },
    { title: t.deadLetters.last, isTime: true, cell: (group) => <Time at={group.lastAt} /> },
  ];
  return (
    <Table
      label={t.deadLetters.title}
      rows={rows}
      columns={columns}
      keyOf={idOf}
      empty={chosen.types === null && chosen.codes === null ? t.deadLetters.empty : t.deadLetters.noMatch}
      more={more}
    />
  );
}
