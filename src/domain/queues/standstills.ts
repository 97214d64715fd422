/**
 * Why something is not running: what keeps the pending items of a job, a tree or a type, or a single item, from being worked on. It is found by
 * the same facts that claims go by, and nothing is read item by item: a bounded number of ranges is looked at, whatever the jobs have.
 *
 * A thing first has stands: how many of its items are in which state, with an example. Then each stand is explained, all of them together.
 */
import type { Survey } from '../../db/surveys.ts';
import type { Engine } from '../engine/engine.ts';
import type { ItemStatus } from '../items/item-state.ts';
import type { Item } from '../items/read-items.ts';
import { type JobStanding, readJobStandings } from '../jobs/job-standings.ts';
import { itemIdOf } from '../values/ids.ts';
import type { Queue } from './queues.ts';
import { type Sight, type Stand, type Standstill, type State, standstillReasons } from './standstill.ts';
import { awaitedBy, readAwaited, readDetails } from './standstill-details.ts';
import { obstaclesOf, readTypeFacts } from './type-facts.ts';

/** About how many ranges of pending items are looked at in each status, shared among the jobs. */
const mostRanges = 10_000;
/** How many reasons are told of one thing. */
export const mostReasons = 20;

const base = { itemCount: 0, hasMore: false, item: null, until: null, since: null };

/** The reasons of each item, in their order. */
export async function itemStandstills(
  engine: Engine,
  sight: Sight,
  items: readonly Item[],
): Promise<Standstill[][]> {
  const jobs = new Map(
    (await readJobStandings(engine.database, { ids: items.map(({ jobId }) => jobId) })).map((job) => [
      job.id,
      job,
    ]),
  );
  return explain(
    engine,
    sight,
    items.map((item) => {
      const job = jobs.get(item.jobId);
      const state = stateOf(item.status);
      if (job === undefined || state === undefined) return [];
      const { jobId, position, retryAt } = item;
      const key = { jobId, position };
      return [{ ...base, type: job.type, itemCount: 1, state, jobId, job, item: key, until: retryAt }];
    }),
  );
}

/** The reasons of each of these groups of jobs, in their order: a job alone, or all jobs of a tree. */
export async function jobStandstills(
  engine: Engine,
  sight: Sight,
  groups: readonly (readonly JobStanding[])[],
): Promise<Standstill[][]> {
  const open = groups
    .flat()
    .filter(({ completedAt, cancelledAt }) => completedAt === null && cancelledAt === null);
  const pending = await readPending(engine, [...new Set(open.map(({ id }) => id))]);
  return explain(
    engine,
    sight,
    groups.map((jobs) => {
      const stands = jobs.flatMap((job) => standsOf(job, pending.get(job.id) ?? []));
      const left = stands.filter(({ state }) => !over.has(state));
      // That jobs are over says something only if all are: then the worst end counts.
      if (left.length > 0 || stands.length < jobs.length) return merged(left);
      return merged(stands)
        .sort(byReason(({ state }) => state))
        .slice(0, 1);
    }),
  );
}

/** The reasons of each of these types, in their order, by what is counted of them already. */
export function queueStandstills(
  engine: Engine,
  sight: Sight,
  queues: readonly Queue[],
): Promise<Standstill[][]> {
  return explain(
    engine,
    sight,
    queues.map(({ type, ready, scheduled, retrying, waiting, blocked }) =>
      (
        [
          ['READY', ready],
          ['BLOCKED', blocked],
          ['RETRYING', retrying],
          ['SCHEDULED', scheduled],
          ['WAITS_FOR_JOBS', waiting],
        ] as const
      ).flatMap(([state, itemCount]) =>
        itemCount === 0 ? [] : [{ ...base, type, state, itemCount, jobId: null, job: null }],
      ),
    ),
  );
}

/** Undefined for an item that runs. */
function stateOf(status: ItemStatus): State | undefined {
  switch (status) {
    case 'RUNNING':
      return undefined;
    case 'WAITING':
      return 'WAITS_FOR_JOBS';
    case 'SUCCEEDED':
      return 'COMPLETE';
    default:
      return status;
  }
}

interface Pending {
  readonly job_id: string;
  readonly status: ItemStatus | 'KEY_HELD';
  readonly items: number;
  readonly has_more: boolean;
  readonly position: number;
  readonly until: Date | null;
}

/**
 * In which statuses the jobs `$1` have pending items, with a count and an example of each, and of scheduled ones the earliest time: KEY_HELD
 * instead of BLOCKED are those behind a head that failed and keeps its key, and RUNNING ones are not counted. Looks at `$2` ranges in each status of
 * each job by itself, so that none is missed behind many of another.
 */
export const pendingOfJobs: Survey = {
  name: 'read_pending_of_jobs',
  without: ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'],
  text: `select j.id as job_id, s.status, e.items, e.ranges = $2::integer as has_more, e.position, e.until
    from unnest($1::uuid[]) j(id)
    cross join unnest(array['READY', 'SCHEDULED', 'RETRYING', 'WAITING']) s(status)
    cross join lateral (
      select sum(q.count)::bigint as items, count(*) as ranges, min(q.position) as position, min(nullif(q.run_at, 'infinity')) as until
      from (
        select q.count, q.position, q.run_at from jobtree.queue_entry q
        where jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) = s.status and q.job_id = j.id
        order by q.position
        limit $2
      ) q
    ) e
    where e.ranges > 0
    union all
    select j.id, h.status, sum(b.items)::bigint, sum(sum(b.items)) over (partition by j.id) = $2, min(b.position), null
    from unnest($1) j(id)
    cross join lateral (
      select b.key, count(*) as items, min(b.position) as position
      from (select b.key, b.position from jobtree.blocked_item b where b.job_id = j.id order by b.position limit $2) b
      group by b.key
    ) b
    cross join lateral (
      select case when exists (
        select from jobtree.serialize_key k
        cross join lateral (select e.held from jobtree.ended_head e where e.job_id = k.job_id and e.position = k.position offset 0) e
        where k.key = b.key and e.held
      ) then 'KEY_HELD' else 'BLOCKED' end as status
    ) h
    group by j.id, h.status
    union all
    select j.id, 'RUNNING', 0, true, l.position, null
    from unnest($1) j(id)
    cross join lateral (
      select l.position from jobtree.lease l where l.job_id = j.id and coalesce(l.check_at, 'infinity') < 'infinity' limit 1
    ) l`,
};

async function readPending({ database }: Engine, jobIds: readonly string[]): Promise<Map<string, Pending[]>> {
  const found = new Map(jobIds.map((id): [string, Pending[]] => [id, []]));
  if (jobIds.length === 0) return found;
  const ranges = Math.max(10, Math.floor(mostRanges / jobIds.length));
  const { rows } = await database.surveys.query<Pending>({ ...pendingOfJobs, values: [jobIds, ranges] });
  for (const row of rows) found.get(row.job_id)?.push(row);
  return found;
}

function standsOf(job: JobStanding, pending: readonly Pending[]): Stand[] {
  const { id: jobId, type } = job;
  const whole = (state: State, since: Date | null = null) => [{ ...base, type, jobId, job, state, since }];
  if (job.completedAt !== null) return whole(overStates[job.outcome ?? 'SUCCEEDED'], job.completedAt);
  if (job.cancelledAt !== null) return whole('CANCELLED', job.cancelledAt);
  const stands = pending.flatMap((row): Stand[] => {
    const state = row.status === 'KEY_HELD' ? row.status : stateOf(row.status);
    if (state === undefined) return [];
    const item = { jobId, position: row.position };
    return [
      {
        ...base,
        type,
        jobId,
        job,
        state,
        item,
        itemCount: row.items,
        hasMore: row.has_more,
        until: row.until,
      },
    ];
  });
  if (job.waits && !stands.some(({ state }) => state === 'WAITS_FOR_JOBS'))
    stands.push(...whole('WAITS_FOR_JOBS'));
  if (job.isImporting && (pending.length === 0 || job.storeAwayAt !== null))
    stands.push(...whole('IMPORTING', job.storeAwayAt));
  if (pending.length > 0 || stands.length > 0 || job.sealedAt !== null) return stands;
  return whole(job.isFed ? 'WAITS_FOR_PARENT' : 'NOT_SEALED', job.changedAt);
}

const over: ReadonlySet<State> = new Set(['COMPLETE', 'CANCELLED', 'FAILED']);
const overStates = {
  SUCCEEDED: 'COMPLETE',
  PARTIAL: 'COMPLETE',
  FAILED: 'FAILED',
  CANCELLED: 'CANCELLED',
} as const;

/** One stand for each state and type, with the first job of it as an example. */
function merged(stands: readonly Stand[]): Stand[] {
  const found = new Map<string, Stand>();
  for (const stand of stands) {
    const key = `${stand.state} ${stand.type}`;
    const other = found.get(key);
    if (other === undefined) found.set(key, stand);
    else
      found.set(key, {
        ...other,
        itemCount: other.itemCount + stand.itemCount,
        hasMore: other.hasMore || stand.hasMore,
        until: earlier(other.until, stand.until),
      });
  }
  return [...found.values()];
}

const earlier = (a: Date | null, b: Date | null) => (a === null || (b !== null && b < a) ? b : a);

async function explain(
  engine: Engine,
  sight: Sight,
  groups: readonly (readonly Stand[])[],
): Promise<Standstill[][]> {
  const stands = groups.flat();
  const ready = sight.seesTypes ? stands.filter(({ state }) => state === 'READY') : [];
  const [types, details, awaited] = await Promise.all([
    readTypeFacts(engine, [...new Set(ready.map(({ type }) => type))]),
    readDetails(engine, stands),
    readAwaited(engine, stands),
  ]);
  const near = [...details.values()].flatMap(({ head }) => head?.jobId ?? []);
  const visible = await sight.covered([...new Set([...near, ...awaited.keys()])]);
  const reasonsOf = (stand: Stand): Standstill[] => {
    const { state, job, type, itemCount, hasMore, jobId, item, until, since } = stand;
    const { head = null, serializeKey = null, code = null } = (item && details.get(itemIdOf(item))) ?? {};
    const common = {
      ...{ type, itemCount, hasMore, jobId, item, until, since, serializeKey, code, limit: null },
      head: head !== null && visible.has(head.jobId) ? head : null,
      waitsFor: awaitedBy(stand).flatMap((id) => (visible.has(id) && awaited.get(id)) || []),
      cancelReason: job?.cancelReason ?? null,
    };
    if (state !== 'READY') return [{ ...common, reason: head?.isHeld ? 'KEY_HELD' : state }];
    return obstaclesOf(types.get(type)).map((obstacle) => ({ ...common, ...obstacle }));
  };
  return groups.map((group) =>
    group
      .flatMap(reasonsOf)
      .sort(byReason(({ reason }) => reason))
      .slice(0, mostReasons),
  );
}

/** By the order of reasons, and then those with most items first. */
function byReason<T extends { readonly itemCount: number }>(
  reasonOf: (of: T) => State,
): (a: T, b: T) => number {
  const order: readonly State[] = standstillReasons;
  return (a, b) => order.indexOf(reasonOf(a)) - order.indexOf(reasonOf(b)) || b.itemCount - a.itemCount;
}
