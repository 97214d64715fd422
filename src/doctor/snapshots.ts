/** What keeps Postgres from removing dead rows, and who holds locks for long: transactions, prepared ones, replication. */
import { type Judgement, ok, oneLine, sick, span, warning } from './finding.ts';
import type { Session } from './session.ts';

/** What has lasted so many times as long as it may is no slip any more. */
const sickFactor = 12;
const gigabyte = 1_073_741_824;

interface Transaction {
  pid: number;
  role: string | null;
  program: string;
  address: string | null;
  state: string | null;
  query: string | null;
  since: Date | null;
  ageMs: number | null;
  snapshot: number | null;
  writes: boolean;
  tables: string[] | null;
}

/** `showsQueries`: their last statements may contain anything, so only who may read the database itself is shown them. */
export async function checkTransactions(
  session: Session,
  patienceMs: number,
  showsQueries: boolean,
): Promise<Judgement[]> {
  const found = await session.query<Transaction>(
    `select a.pid, a.usename as role, a.application_name as program, host(a.client_addr) as address, a.state,
       case when $2 then left(a.query, 80) end as query,
       a.xact_start as since, extract(epoch from clock_timestamp() - a.xact_start)::float8 * 1000 as "ageMs",
       age(a.backend_xmin)::int as snapshot, a.backend_xid is not null as writes, l.tables
     from pg_stat_activity a
     left join lateral (
       select array_agg(distinct c.relname::text order by c.relname::text) as tables
       from pg_locks l join pg_class c on c.oid = l.relation and c.relkind = 'r' and c.relnamespace = to_regnamespace('jobtree')
       where l.pid = a.pid and l.granted and l.mode <> 'AccessShareLock'
     ) l on true
     where a.datname = current_database() and a.pid <> pg_backend_pid()
       and (a.backend_type is null or a.backend_type in ('client backend', 'walsender'))
       and (a.backend_xmin is not null or a.backend_xid is not null or l.tables is not null)
       -- Of other roles' sessions, a role without rights sees no times.
       and (a.xact_start < clock_timestamp() - $1 * interval '1 millisecond' or (a.xact_start is null and age(a.backend_xmin) > 1000000))
     order by a.xact_start nulls last limit 10`,
    [patienceMs, showsQueries],
  );
  if (found.length === 0) return [ok(`no transaction has been open for more than ${span(patienceMs)}`)];
  return found.map((transaction) => {
    const { pid, ageMs, since, snapshot, writes, tables } = transaction;
    const effects = [
      ...(snapshot !== null || writes ? ['no row that died since then can be removed'] : []),
      ...(tables === null ? [] : [`it has locks on ${tables.join(', ')}`]),
    ];
    const open = ageMs === null ? 'for a long time' : `for ${span(ageMs)}`;
    const message = `${describe(transaction)} has been in a transaction ${open}: ${effects.join('; ')}.`;
    const advice = `Let its program end the transaction, or: \`select pg_terminate_backend(${pid});\`. idle_in_transaction_session_timeout ends forgotten transactions.`;
    return (ageMs ?? 0) >= sickFactor * patienceMs
      ? sick(message, advice, since)
      : warning(message, advice, since);
  });
}

function describe({ pid, role, program, address, state, query }: Transaction): string {
  const who = [program || 'no name', ...(role === null ? [] : [`role ${role}`]), address ?? 'local'];
  const last = query === null || query === '' ? '' : `, ${state}, last: ${oneLine(query)}`;
  return `Session ${pid} (${who.join(', ')}${last})`;
}

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** They outlive sessions and restarts: nobody but a person or a transaction manager ends one. */
export async function checkPrepared(session: Session, patienceMs: number): Promise<Judgement[]> {
  const found = await session.query<{ gid: string; owner: string; since: Date; ageMs: number }>(
    `select p.gid, p.owner::text, p.prepared as since, extract(epoch from clock_timestamp() - p.prepared)::float8 * 1000 as "ageMs"
     from pg_prepared_xacts p
     where p.database = current_database() and p.prepared < clock_timestamp() - $1 * interval '1 millisecond'
     order by p.prepared limit 10`,
    [patienceMs],
  );
  if (found.length === 0) return [ok(`no transaction has been prepared for more than ${span(patienceMs)}`)];
  return found.map(({ gid, owner, since, ageMs }) =>
    sick(
      `The transaction '${gid}' of ${owner} has been prepared for ${span(ageMs)}: it keeps its locks, and no row that died since then can be removed.`,
      `Ask its transaction manager, then: \`commit prepared ${literal(gid)};\` or: \`rollback prepared ${literal(gid)};\``,
      since,
    ),
  );
}

interface Slot {
  name: string;
  active: boolean;
  snapshot: number | null;
  bytes: number | null;
  walStatus: string | null;
  since: Date | null;
}

export async function checkSlots(session: Session): Promise<Judgement[]> {
  const found = await session.query<Slot>(
    `select s.slot_name::text as name, s.active, age(s.xmin)::int as snapshot, s.wal_status as "walStatus",
       case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::float8 end as bytes,
       -- Postgres 17 and newer say it.
       (to_jsonb(s) ->> 'inactive_since')::timestamptz as since
     from pg_replication_slots s order by s.slot_name limit 50`,
  );
  const judged = found.flatMap(({ name, active, snapshot, bytes, walStatus, since }) => {
    const kept = [
      ...(snapshot === null ? [] : ['no row that died since then can be removed']),
      ...(bytes === null ? [] : [`${(bytes / gigabyte).toFixed(1)} GB of WAL are kept for it`]),
    ].join('; ');
    const message = `The replication slot ${name} is ${active ? 'behind' : 'not used'}${kept && `: ${kept}`}.`;
    const advice = `Bring its consumer back, or: \`select pg_drop_replication_slot('${name}');\``;
    const isLarge = (bytes ?? 0) > 10 * gigabyte || walStatus === 'lost' || walStatus === 'unreserved';
    if (isLarge || (snapshot ?? 0) > 10_000_000) return [sick(message, advice, since)];
    return active ? [] : [warning(message, advice, since)];
  });
  if (judged.length > 0) return judged;
  const none =
    found.length === 0 ? 'there is no replication slot' : 'no replication slot keeps anything for long';
  return [ok(none)];
}

/** Servers wait for a second at most; what waits for longer is SQL, or a migration. */
const waitMs = 10_000;

export async function checkLocks(session: Session, patienceMs: number): Promise<Judgement[]> {
  const found = await session.query<{ pid: number; blockers: number[]; since: Date; ageMs: number }>(
    `select l.pid, pg_blocking_pids(l.pid) as blockers, l.since, extract(epoch from clock_timestamp() - l.since)::float8 * 1000 as "ageMs"
     from (
       -- The lock that ends a wait for a row is on a transaction, which belongs to no database.
       select l.pid, min(l.waitstart) as since from pg_locks l
       join pg_stat_activity a on a.pid = l.pid and a.datname = current_database()
       where not l.granted and l.waitstart < clock_timestamp() - $1 * interval '1 millisecond'
       group by l.pid order by min(l.waitstart) limit 10
     ) l`,
    [Math.min(waitMs, patienceMs)],
  );
  if (found.length === 0) return [ok('no session has waited long for a lock')];
  return found.map(({ pid, blockers, since, ageMs }) =>
    warning(
      `Session ${pid} has waited for ${span(ageMs)} for a lock that ${blockers.length === 1 ? 'session' : 'sessions'} ${blockers.join(', ')} hold${blockers.length === 1 ? 's' : ''}.`,
      `Look at that session in pg_stat_activity, or end it: \`select pg_terminate_backend(${blockers[0]});\``,
      since,
    ),
  );
}
