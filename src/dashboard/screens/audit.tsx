/** Who attempted which privileged action: found by who, what and when. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import {
  AuditEntries,
  type AuditFilter,
  type AuditRowFragment as Entry,
  LiveAuditEntries,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { LivePages } from '../parts/live-list.tsx';
import { toLocal } from '../parts/local-time.ts';
import { Subjects } from '../parts/subjects.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

export default function AuditScreen() {
  const t = useTexts();
  const { actor, action, since, until } = useSearch({ from: '/audit' });
  const filter: AuditFilter = {
    actor: actor ?? null,
    action: action ?? null,
    since: since ?? null,
    until: until ?? null,
  };
  const key = JSON.stringify(filter);
  const isAll = [actor, action, since, until].every((one) => one === undefined);
  const live = useAnswer(LiveAuditEntries, { filter });
  const columns: readonly Column<Entry>[] = [
    { title: t.audit.at, isTime: true, cell: ({ at }) => <Time at={at} /> },
    { title: t.audit.actor, grow: 2, cell: ({ actor }) => actor },
    { title: t.audit.action, grow: 2, cell: ({ action }) => t.audit.actions[action] ?? action },
    { title: t.audit.subjects, grow: 3, cell: ({ subjects }) => <Subjects subjects={subjects} /> },
    {
      title: t.audit.outcome,
      cell: ({ outcome }) => (outcome === 'OK' ? t.audit.done : t.audit.notDone(outcome)),
    },
    { title: t.audit.address, cell: ({ address }) => address },
  ];
  return (
    <>
      <h1>{t.audit.title}</h1>
      <Filters key={key} isAll={isAll} />
      <LivePages
        key={`list ${key}`}
        live={live}
        edgesOf={({ auditEntries }) => auditEntries?.edges}
        read={async (after) => (await ask(AuditEntries, { filter, after })).auditEntries?.edges}
      >
        {(rows, more) => (
          <Table
            label={t.audit.title}
            rows={rows}
            columns={columns}
            keyOf={({ id }) => id}
            empty={isAll ? t.audit.empty : t.audit.noMatch}
            more={more}
          />
        )}
      </LivePages>
    </>
  );
}

function Filters({ isAll }: { isAll: boolean }) {
  const t = useTexts();
  const search = useSearch({ from: '/audit' });
  const navigate = useNavigate({ from: '/audit' });
  const actions = Object.entries(t.audit.actions).sort(([, a], [, b]) => a.localeCompare(b));
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        const given = new FormData(event.currentTarget);
        const text = (name: string) => String(given.get(name) ?? '').trim() || undefined;
        const time = (name: string) => text(name) && new Date(text(name) as string).toISOString();
        void navigate({
          search: {
            actor: text('actor'),
            action: text('action'),
            since: time('since'),
            until: time('until'),
          },
        });
      }}
    >
      <label>
        {t.audit.actor} <input name="actor" maxLength={200} defaultValue={search.actor} />
      </label>
      <label>
        {t.audit.action}{' '}
        <select name="action" defaultValue={search.action ?? ''}>
          <option value="">{t.treeFilters.any}</option>
          {actions.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {(['since', 'until'] as const).map((end) => (
        <label key={end}>
          {t.audit[end]}{' '}
          <input
            name={end}
            type="datetime-local"
            step={1}
            defaultValue={search[end] === undefined ? '' : toLocal(search[end])}
          />
        </label>
      ))}
      <button type="submit">{t.filter}</button>
      {!isAll && (
        <Link to="/audit" search={{}}>
          {t.clear}
        </Link>
      )}
    </form>
  );
}
