/**
 * Why something is not running: what keeps the pending items of a job, a tree or a type, or a single item, from being worked on. It is found by
 * the same facts that claims go by, and nothing is read item by item: `pending_of_jobs` looks at a bounded number of ranges.
 *
 * A thing first has stands: how many of its items are in which state, with an example. Then each stand is explained, all of them together.
 */
import type { Engine } from '../engine/engine.ts';
import { type Item, readItems } from '../items/read-items.ts';
import { type JobStanding, readJobStandings } from '../jobs/job-standings.ts';
import { type ItemKey, itemIdOf } from '../values/ids.ts';
import type { CancelReason, ItemStatus } from '../values/item-state.ts';
import type { Queue } from './queues.ts';
import { obstaclesOf, readTypeFacts } from './type-facts.ts';

/** In the order in which they are told: first what lasts until somebody does something. */
export const standstillReasons = [
  'PAUSED',
  'NO_WORKER',
  'KEY_HELD',
  'RATE_LIMIT',
  'CONCURRENCY_LIMIT',
  'WORKERS_BUSY',
  'QUEUED',
  'BLOCKED',
  'RETRYING',
  'SCHEDULED',
  'IMPORTING',
  'NOT_SEALED',
  'WAITS_FOR_JOBS',
  'WAITS_FOR_PARENT',
  'FAILED',
  'CANCELLED',
  'COMPLETE',
] as const;
export type StandstillReason = (typeof standstillReasons)[number];

export interface Standstill {
  readonly reason: StandstillReason;
  readonly type: string;
  readonly itemCount: number;
  /** Whether there may be more items than were counted. */
  readonly hasMore: boolean;
  /** A job that it is true of, and one of its items; null for a type. */
  readonly jobId: string | null;
  readonly item: ItemKey | null;
  /** Of a serialize key: the key, and the item that has it, if the caller may see that. */
  readonly serializeKey: string | null;
  readonly head: (ItemKey & { readonly status: ItemStatus }) | null;
  /** The jobs that are waited for, as far as the caller may see them. */
  readonly waitsFor: readonly Pick<JobStanding, 'id' | 'type'>[];
  readonly until: Date | null;
  readonly since: Date | null;
  readonly limit: number | null;
  /** The code of the last failure. */
  readonly code: string | null;
  readonly cancelReason: CancelReason | null;
}

/** READY items have the obstacles of their type; every other state is a reason. */
type State = StandstillReason | 'READY';

/** Items of a type that are in the same state. */
interface Stand
  extends Pick<Standstill, 'type' | 'itemCount' | 'hasMore' | 'jobId' | 'item' | 'until' | 'since'> {
  readonly state: State;
  /** The job of the example. */
  readonly job: JobStanding | null;
}

/** What the caller may see beside the thing itself. */
export interface Sight {
  /** Whether it may see the settings and workers of types. */
  readonly seesTypes: boolean;
  readonly covered: (jobIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** About how many ranges of pending items are looked at in each status. */
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

async function readPending({ database }: Engine, jobIds: readonly string[]): Promise<Map<string, Pending[]>> {
  const found = new Map(jobIds.map((id): [string, Pending[]] => [id, []]));
  if (jobIds.length === 0) return found;
  const { rows } = await database.pool.query<Pending>({
    name: 'read_pending_of_jobs',
    text: 'select * from jobtree.pending_of_jobs($1, $2)',
    values: [jobIds, mostRanges],
  });
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

/** The jobs that the example of a stand waits for, whether they are complete or not. */
function awaitedBy({ state, job }: Stand): readonly string[] {
  if (job === null) return [];
  if (state === 'WAITS_FOR_JOBS') return job.afterIds;
  return state === 'WAITS_FOR_PARENT' && job.parentId !== null ? [job.parentId] : [];
}

/** Those of these jobs that are not complete. */
async function readAwaited(
  { database }: Engine,
  stands: readonly Stand[],
): Promise<Map<string, JobStanding>> {
  const ids = [...new Set(stands.flatMap(awaitedBy))];
  if (ids.length === 0) return new Map();
  const jobs = await readJobStandings(database, { ids });
  return new Map(jobs.filter(({ completedAt }) => completedAt === null).map((job) => [job.id, job]));
}

interface Detail {
  readonly code: string | null;
  readonly serializeKey: string | null;
  readonly head: (ItemKey & { readonly status: ItemStatus; readonly isHeld: boolean }) | null;
}

interface DetailRow {
  readonly job_id: string;
  readonly position: number;
  readonly code: string | null;
  readonly key: string | null;
  readonly head_job_id: string | null;
  readonly head_position: number | null;
  readonly held: boolean;
}

const detailed: ReadonlySet<State> = new Set(['KEY_HELD', 'BLOCKED', 'RETRYING', 'FAILED']);

/** Of the examples, by their ids: how the last attempt failed, and what has their key. */
async function readDetails({ database }: Engine, stands: readonly Stand[]): Promise<Map<string, Detail>> {
  const keys = stands.flatMap(({ state, item }) => (item !== null && detailed.has(state) ? [item] : []));
  if (keys.length === 0) return new Map();
  const { rows } = await database.pool.query<DetailRow>({
    name: 'read_standstill_details',
    text: `select u.job_id, u.position, f.code, b.key, k.job_id as head_job_id, k.position as head_position, coalesce(e.held, false) as held
           from unnest($1::uuid[], $2::bigint[]) u(job_id, position)
           left join lateral (
             select code from jobtree.failure where job_id = u.job_id and position = u.position order by attempt desc limit 1
           ) f on true
           left join lateral (
             select key from jobtree.blocked_item where job_id = u.job_id and position = u.position limit 1
           ) b on true
           left join lateral (select * from jobtree.serialize_key where key = b.key limit 1) k on true
           left join lateral (
             select held from jobtree.ended_head where job_id = k.job_id and position = k.position limit 1
           ) e on true`,
    values: [keys.map(({ jobId }) => jobId), keys.map(({ position }) => position)],
  });
  const heads = rows.flatMap(({ head_job_id: jobId, head_position: position }) =>
    jobId === null || position === null ? [] : [{ jobId, position }],
  );
  const read =
    heads.length === 0
      ? []
      : await readItems(database, heads, { details: false, status: true, payload: false, result: false });
  const statuses = new Map(
    read.flatMap((item) => (item === undefined ? [] : [[itemIdOf(item), item.status]])),
  );
  return new Map(
    rows.map((row) => {
      const { job_id: jobId, position, code, key, head_job_id, head_position, held: isHeld } = row;
      const head =
        head_job_id === null || head_position === null
          ? null
          : { jobId: head_job_id, position: head_position };
      const status = head && statuses.get(itemIdOf(head));
      return [
        itemIdOf({ jobId, position }),
        {
          code,
          serializeKey: key,
          head: head === null || status == null ? null : { ...head, status, isHeld },
        },
      ];
    }),
  );
}
