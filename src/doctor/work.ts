/** Whether servers look after the work, and what is stuck: overdue leases, due items, uncounted deltas, trees that nobody seals. */

import { serversQuery } from '../domain/figures/servers.ts';
import { counted } from '../domain/values/counted.ts';
import { type Judgement, ok, sick, span, warning } from './finding.ts';
import type { Session } from './session.ts';

/** How servers look after the work. */
export interface Watch {
  /** One has looked lately. */
  readonly isWatched: boolean;
  readonly sweptAt: Date | null;
  /** Since when they have been looking without a gap. */
  readonly resumedAt: Date | null;
  readonly sweepIntervalMs: number;
}

/** Beyond what came due, so that one that is on its way to it is not blamed: each looks at everything once a minute. */
export const graceMs = 90_000;
/** Workers that were started anew are back by then. */
const unworkedMs = 300_000;
/** What is counted is counted up to here. */
export const mostCounted = 1_000;
const idleMs = 86_400_000;
const backgroundMs = 3_600_000;

const startServer = 'Start a server: it continues where the last one stopped.';
const seeLocks = 'See transactions and locks for who holds locks on them, and the logs of the servers.';
export const advise = ({ isWatched }: Watch) => (isWatched ? seeLocks : startServer);
export const atLeast = (found: number, noun: string) =>
  found > mostCounted ? `more than ${counted(mostCounted, noun)}` : counted(found, noun);

export async function readWatch(session: Session, sweepIntervalMs: number): Promise<Watch> {
  const [row] = await session.query<{ sweptAt: Date; resumedAt: Date; agoMs: number }>(
    `select w.swept_at as "sweptAt", w.resumed_at as "resumedAt",
       extract(epoch from clock_timestamp() - w.swept_at)::float8 * 1000 as "agoMs"
     from jobtree.watch w`,
  );
  const isWatched = row !== undefined && row.agoMs < Math.max(10_000, 3 * sweepIntervalMs);
  return { isWatched, sweptAt: row?.sweptAt ?? null, resumedAt: row?.resumedAt ?? null, sweepIntervalMs };
}

export async function checkServers(session: Session, watch: Watch): Promise<Judgement[]> {
  if (!watch.isWatched)
    return [
      sick(
        'No server is running on this database: nothing is given to workers, counted or taken back.',
        startServer,
        watch.sweptAt,
      ),
    ];
  const servers = (await session.query(serversQuery)).length;
  const since = watch.resumedAt === null ? '' : ` without a gap since ${watch.resumedAt.toISOString()}`;
  return [
    ok(
      `${counted(servers, 'process')} ${servers === 1 ? 'listens and looks' : 'listen and look'} after the work${since}`,
    ),
  ];
}

/**
 * Types whose ready items nobody asks for: no worker is connected for them, and none has been given or holds any. What comes first is claimed
 * first, so of each type one item is looked at.
 */
export async function checkWorkers(session: Session, watch: Watch): Promise<Judgement[]> {
  if (!watch.isWatched) return [];
  const types = await session.query<{ type: string; since: Date }>(
    `with recursive head as (
       (select q.type, q.ready_at from jobtree.queue_entry q where q.run_at is null order by q.type, -q.priority, q.place limit 1)
       union all
       select n.type, n.ready_at from head h
       cross join lateral (
         select q.type, q.ready_at from jobtree.queue_entry q
         where q.run_at is null and q.type > h.type order by q.type, -q.priority, q.place limit 1
       ) n
     )
     select h.type, h.ready_at as since
     from (select * from head limit 1000) h
     where h.ready_at < now() - $1 * interval '1 millisecond'
       and not exists (select from jobtree.queue q where q.type = h.type and q.paused)
       and not exists (select from jobtree.worker w where h.type = any (w.types))
       and not exists (
         select from jobtree.figure f
         where f.type = h.type and f.minute > now() - $1 * interval '1 millisecond' and f.claimed > 0
       )
       and not exists (
         select from (select l.job_id from jobtree.lease l where l.check_at is not null limit 10000) l
         join jobtree.job j on j.id = l.job_id and j.type = h.type
       )
     order by h.ready_at limit 6`,
    [unworkedMs],
  );
  const [first] = types;
  if (first === undefined) return [ok('every type with ready items has had a worker lately')];
  const named = types.slice(0, 5).map(({ type }) => type);
  if (types.length > named.length) named.push('…');
  return [
    warning(
      `Items have been ready for ${span(unworkedMs)} or longer, and no worker asks for their types: ${named.join(', ')}.`,
      'Start workers for them, or check that workers and producers spell the types alike.',
      first.since,
    ),
  ];
}

export async function checkDue(session: Session, watch: Watch): Promise<Judgement[]> {
  const [row] = await session.query<{
    ranges: number;
    items: number;
    since: Date | null;
    schedules: string[];
    scheduleSince: Date | null;
  }>(
    `select e.ranges, e.items, e.since, s.names as schedules, s.since as "scheduleSince"
     from (
       select count(*)::int as ranges, coalesce(sum(d.count), 0)::int as items, min(d.run_at) as since
       from (
         select q.run_at, q.count from jobtree.queue_entry q
         where q.run_at < now() - $1 * interval '1 millisecond' order by q.run_at limit ${mostCounted + 1}
       ) d
     ) e
     cross join (
       select coalesce(array_agg(d.name order by d.next_at), '{}') as names, min(d.next_at) as since
       from (
         select s.name, s.next_at from jobtree.schedule s
         where s.next_at < now() - $1 * interval '1 millisecond' order by s.next_at limit 5
       ) d
     ) s`,
    [watch.isWatched ? graceMs : 0],
  );
  if (row === undefined) return [];
  const found: Judgement[] = [];
  if (row.ranges > 0)
    found.push(
      sick(
        `Due, but not ready: ${counted(row.items, 'item')} in ${atLeast(row.ranges, 'range')}.`,
        advise(watch),
        row.since,
      ),
    );
  if (row.schedules.length > 0)
    found.push(
      sick(
        `Schedules are behind: ${row.schedules.join(', ')}.`,
        watch.isWatched
          ? '`jobtree schedule show NAME` says why, as do the logs of the servers.'
          : startServer,
        row.scheduleSince,
      ),
    );
  return found.length > 0 ? found : [ok('everything that is due has become ready')];
}

/** Deltas, and keys that have not gone on, bear no time: so two looks, between which every server has swept. */
export interface FirstLook {
  readonly deltas: string[];
  readonly keys: string[];
}

export async function lookFirst(session: Session): Promise<FirstLook> {
  const [row] = await session.query<FirstLook>(
    `select array(select d.id::text from jobtree.progress_delta d order by d.id limit ${mostCounted}) as deltas,
       array(select e.job_id || ':' || e.position from jobtree.ended_head e where not e.held order by e.key limit ${mostCounted}) as keys`,
  );
  return row ?? { deltas: [], keys: [] };
}

export async function checkFolds(session: Session, watch: Watch, first: FirstLook): Promise<Judgement[]> {
  const { lasting, since } = await session.use(async (client) => {
    const { rows } = await client.query<{ lasting: number; oldest: string }>(
      `select count(*)::int as lasting, min(d.id)::text as oldest from jobtree.progress_delta d where d.id = any ($1::bigint[])`,
      [first.deltas],
    );
    const [row = { lasting: 0, oldest: null }] = rows;
    if (row.lasting === 0) return { lasting: 0, since: null };
    const setting = await client.query(`select current_setting('track_commit_timestamp')::boolean as "isOn"`);
    if (!setting.rows[0].isOn) return { lasting: row.lasting, since: watch.isWatched ? null : watch.sweptAt };
    const committed = await client.query(
      'select pg_xact_commit_timestamp(d.xmin) as at from jobtree.progress_delta d where d.id = $1',
      [row.oldest],
    );
    return { lasting: row.lasting, since: committed.rows[0]?.at ?? null };
  });
  if (lasting === 0) return [ok('everything is counted')];
  return [
    sick(
      `Not counted: ${lasting === mostCounted ? 'at least ' : ''}${counted(lasting, 'delta')} of progress. Their trees seem to stand still.`,
      advise(watch),
      since,
    ),
  ];
}

export async function checkKeys(session: Session, watch: Watch, first: FirstLook): Promise<Judgement[]> {
  const [row] = await session.query<{ keys: string[] }>(
    `select array(
       select e.key from jobtree.ended_head e where not e.held and e.job_id || ':' || e.position = any ($1) order by e.key limit ${mostCounted}
     ) as keys`,
    [first.keys],
  );
  const keys = row?.keys ?? [];
  if (keys.length === 0) return [ok('all serialize keys move on')];
  return [
    sick(
      `${counted(keys.length, 'serialize key')} ${keys.length === 1 ? 'does' : 'do'} not move on although the head has ended: ${keys.slice(0, 5).join(', ')}.`,
      advise(watch),
      watch.isWatched ? null : watch.sweptAt,
    ),
  ];
}

/** Jobs that could be complete, were they sealed. */
export async function checkIdleTrees(session: Session): Promise<Judgement[]> {
  const found = await session.query<{ id: string; type: string; since: Date; ageMs: number }>(
    `with roots as materialized (
       (select p.job_id from jobtree.job_progress p where p.is_root and p.started_at is null and p.completed_at is null
        order by p.job_id limit ${mostCounted / 2})
       union all
       (select p.job_id from jobtree.job_progress p where p.is_root and p.started_at is not null and p.completed_at is null
        order by p.job_id limit ${mostCounted / 2})
     ), unsealed as materialized (
       select j.id, j.type, j.created_at
       from roots r join jobtree.job j on j.root_id = r.job_id
       where j.sealed_at is null and j.feed is null and j.cancelled_at is null and j.created_at < now() - $1 * interval '1 millisecond'
       limit 10000
     )
     select u.id, u.type, a.since, extract(epoch from now() - a.since)::float8 * 1000 as "ageMs"
     from unsealed u
     cross join lateral (
       select p.item_count - p.succeeded - p.failed - p.cancelled as pending from jobtree.job_progress p
       where p.job_id = u.id order by p.version desc limit 1
     ) p
     cross join lateral (
       select greatest(u.created_at, (
         select i.created_at from jobtree.job_item i where i.job_id = u.id order by i.position desc limit 1
       )) as since
     ) a
     where p.pending = 0 and a.since < now() - $1 * interval '1 millisecond'
     order by a.since limit 5`,
    [idleMs],
  );
  if (found.length === 0) return [ok('no job has waited to be sealed for more than a day')];
  return found.map(({ id, type, since, ageMs }) =>
    warning(
      `Job:${id} (${type}) has nothing pending, and nothing was added for ${span(ageMs)}, but it is not sealed: its tree never completes.`,
      'If its producer is gone, seal it (`jobtree seal`) or cancel it (`jobtree cancel`).',
      since,
    ),
  );
}

export async function checkBackground(session: Session, watch: Watch): Promise<Judgement[]> {
  const found = await session.query<{ what: string; found: number; since: Date }>(
    `select w.what, count(*)::int as found, min(w.since) as since
     from (
       (select 'cancellation' as what, j.cancelled_at as since from jobtree.job j where j.cancelling limit ${mostCounted})
       union all
       (select 'deletion', t.deletion_requested_at from jobtree.tree t where t.deletion is not null limit ${mostCounted})
       union all
       (select 'operation', o.requested_at from jobtree.operation o where o.finished_at is null limit ${mostCounted})
     ) w
     where w.since < now() - $1 * interval '1 millisecond'
     group by w.what order by w.what`,
    [backgroundMs],
  );
  if (found.length === 0) return [ok('no cancellation, deletion or operation has taken long')];
  return found.map(({ what, found, since }) =>
    warning(
      `${counted(found, what)} ${found === 1 ? 'has' : 'have'} been under way for more than an hour.`,
      advise(watch),
      since,
    ),
  );
}
