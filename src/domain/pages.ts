/**
 * Pages of lists: the keys that stand between two others, in order, read by an index that has that order. And pages that somebody
 * watches: which rows are on them, and a mark of each that differs whenever what is shown of the row may differ. Reading is
 * cheap, so that it can be repeated; what is shown is read for the rows that differ alone.
 */
import type { Database } from '../db/database.ts';
import { type ItemKey, type ItemStatus, itemIdOf, type JobStatus } from './item-state.ts';
import { latestProgress } from './progress.ts';

/** So many rows between two keys, without these; from the start, or from the end. */
export interface Range<Key> {
  readonly after?: Key | undefined;
  readonly before?: Key | undefined;
  readonly take: number;
  readonly backwards: boolean;
}

const afterAllPositions = Number.MAX_SAFE_INTEGER;
const isCancelled = 'exists (select from jobtree.job where id = $1 and cancelled_at is not null)';
const hasNoOutcome =
  'not exists (select from jobtree.outcome o where o.job_id = i.job_id and o.position = i.position)';

/** Where items of each status are found in the order of their positions, as `i`. */
const itemsByStatus: Readonly<Record<ItemStatus | 'ANY', string>> = {
  ANY: 'from jobtree.job_item i where true',
  PENDING: `from jobtree.job_item i where ${hasNoOutcome} and not ${isCancelled}`,
  CANCELLED: `from jobtree.job_item i where ${hasNoOutcome} and ${isCancelled}`,
  SUCCEEDED: 'from jobtree.outcome i where not i.failed',
  FAILED: 'from jobtree.outcome i where i.failed',
};

/** Items of a job in the order in which they were added, the last first for a page from the end. */
export async function readItemKeys(
  database: Database,
  jobId: string,
  status: ItemStatus | null,
  { after = -1, before = afterAllPositions, take, backwards }: Range<number>,
): Promise<ItemKey[]> {
  const direction = backwards ? 'desc' : 'asc';
  const { rows } = await database.pool.query<{ position: number }>({
    name: `read_item_keys/${status ?? 'ANY'}/${direction}`,
    text: `select i.position ${itemsByStatus[status ?? 'ANY']}
             and i.job_id = $1 and i.position > $2 and i.position < $3
           order by i.position ${direction}
           limit $4`,
    values: [jobId, after, before, take],
  });
  return rows.map(({ position }) => ({ jobId, position }));
}

/** Successes of several jobs, by job and then in the order in which the items were added. */
export async function readResultKeys(
  database: Database,
  jobIds: readonly string[],
  { after, before, take, backwards }: Range<ItemKey>,
): Promise<ItemKey[]> {
  const direction = backwards ? 'desc' : 'asc';
  const jobs = jobIds
    .filter(
      (id) => (after === undefined || id >= after.jobId) && (before === undefined || id <= before.jobId),
    )
    .sort();
  if (backwards) jobs.reverse();
  const { rows } = await database.pool.query<{ job_id: string; position: number }>({
    name: `read_result_keys/${direction}`,
    // A nested loop goes through the jobs in their order, and no further than the limit.
    text: `select k.job_id, k.position
           from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as u(job_id, after, before)
           cross join lateral (
             select o.job_id, o.position from jobtree.outcome o
             where o.job_id = u.job_id and not o.failed and o.position > u.after and o.position < u.before
             order by o.position ${direction}
             limit $4
           ) k
           limit $4`,
    values: [
      jobs,
      jobs.map((id) => (id === after?.jobId ? after.position : -1)),
      jobs.map((id) => (id === before?.jobId ? before.position : afterAllPositions)),
      take,
    ],
  });
  return rows.map(({ job_id, position }) => ({ jobId: job_id, position }));
}

/** Which jobs a list shows. */
export interface JobConditions {
  readonly type: string | null;
  readonly status: JobStatus | null;
  readonly rootsOnly: boolean;
}

const statusConditions: Readonly<Record<JobStatus, string>> = {
  WAITING: 'p.started_at is null and p.completed_at is null',
  RUNNING: 'p.started_at is not null and p.completed_at is null',
  COMPLETED: 'p.completed_at is not null',
};
const firstUuid = '00000000-0000-0000-0000-000000000000';
const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * The statement that reads ids of jobs between $1 and $2, at most $3, of the type $4. What waits or runs is little, so that is
 * where a list of it starts; what is complete is most of what there is, so of a type the jobs are read and then looked at.
 */
function selectJobs({ type, status, rootsOnly }: JobConditions, direction: 'asc' | 'desc'): string {
  const end = `order by id ${direction} limit $3`;
  const ofType = type === null ? '' : ' and j.type = $4';
  if (status === null || (status === 'COMPLETED' && type !== null)) {
    return `select j.id from jobtree.job j ${status === null ? '' : latestProgress}
            where j.id > $1 and j.id < $2${ofType}
              ${rootsOnly ? 'and j.parent_id is null' : ''} ${status === null ? '' : `and ${statusConditions[status]}`}
            ${end}`;
  }
  const part = (isRoot: boolean) => `(
            select p.job_id as id from jobtree.job_progress p
              ${type === null ? '' : 'cross join lateral (select j.type from jobtree.job j where j.id = p.job_id offset 0) j'}
            where ${isRoot ? '' : 'not '}p.is_root and ${statusConditions[status]} and p.job_id > $1 and p.job_id < $2${ofType}
            ${end})`;
  return rootsOnly ? part(true) : `${part(true)} union all ${part(false)} ${end}`;
}

function jobValues(
  { type }: JobConditions,
  { after = firstUuid, before = lastUuid, take }: Range<string>,
): unknown[] {
  return [after, before, take, ...(type === null ? [] : [type])];
}

function variantOf({ type, status, rootsOnly }: JobConditions): string {
  return `${status ?? 'ANY'}/${type === null ? 'any' : 'type'}/${rootsOnly ? 'roots' : 'all'}`;
}

/** The ids of the jobs that meet the conditions, the oldest first; the newest first for a page from the end. */
export async function readJobIds(
  database: Database,
  conditions: JobConditions,
  range: Range<string>,
): Promise<string[]> {
  const direction = range.backwards ? 'desc' : 'asc';
  const { rows } = await database.pool.query<{ id: string }>({
    name: `read_job_ids/${variantOf(conditions)}/${direction}`,
    text: selectJobs(conditions, direction),
    values: jobValues(conditions, range),
  });
  return rows.map(({ id }) => id);
}

export interface MarkedRow {
  readonly id: string;
  readonly mark: string;
}

/** Items of a job in the order in which they were added, and whether none of them will change any more. */
export async function readItemPage(
  database: Database,
  page: { jobId: string; first: number; failedOnly: boolean },
): Promise<{ rows: MarkedRow[]; final: boolean }> {
  const { rows } = await database.pool.query<{
    rows: { position: number; mark: string }[] | null;
    final: boolean | null;
  }>({
    name: `read_item_page/${page.failedOnly ? 'FAILED' : 'ANY'}`,
    text: `with page as (
             select i.position ${itemsByStatus[page.failedOnly ? 'FAILED' : 'ANY']} and i.job_id = $1
             order by i.position
             limit $2
           ), marked as (
             select i.position, concat(o.finished_at, '/', j.cancelled_at, '/', q.run_at, '/', l.id, '/', (
               select max(f.attempt) from jobtree.failure f where f.job_id = $1 and f.position = i.position
             )) as mark
             from page i
             join jobtree.job j on j.id = $1
             left join jobtree.outcome o on o.job_id = $1 and o.position = i.position
             left join lateral (
               select e.run_at from jobtree.queue_entry e
               where e.job_id = $1 and e.position between i.position - 127 and i.position
                 and e.position + e.count > i.position and o.job_id is null
               limit 1
             ) q on true
             left join lateral (
               select h.id from jobtree.lease h
               where h.job_id = $1 and h.position between i.position - 127 and i.position
                 and h.position + h.count > i.position and o.job_id is null
                 and get_bit(h.open, (i.position - h.position)::int) = 1
               limit 1
             ) l on true
           )
           select (select p.completed_at is not null from jobtree.job j ${latestProgress} where j.id = $1) as final,
             (select json_agg(json_build_object('position', position, 'mark', mark) order by position) from marked) as rows`,
    values: [page.jobId, page.first],
  });
  // A job that is gone has no progress, and nothing more to tell.
  return {
    rows: (rows[0]?.rows ?? []).map(({ position, mark }) => ({
      id: itemIdOf({ jobId: page.jobId, position }),
      mark,
    })),
    final: rows[0]?.final ?? true,
  };
}

/** The newest jobs that meet the conditions, the newest first. */
export async function readJobPage(
  database: Database,
  page: JobConditions & { first: number },
): Promise<MarkedRow[]> {
  const { rows } = await database.pool.query<MarkedRow>({
    name: `read_job_page/${variantOf(page)}`,
    text: `select j.id, concat_ws('/', p.generation, p.item_count, p.succeeded, p.failed, p.cancelled, p.started_at,
             p.completed_at, j.sealed_at, j.cancelled_at) as mark
           from (${selectJobs(page, 'desc')}) k
           join jobtree.job j on j.id = k.id
           ${latestProgress}
           order by j.id desc`,
    values: jobValues(page, { take: page.first, backwards: true }),
  });
  return rows;
}

export interface QueueStats {
  readonly type: string;
  readonly ready: number;
  readonly scheduled: number;
  readonly running: number;
}

/** How much of each type waits and runs, by name. Types of which there is nothing are not in the answer. */
export async function readQueueStats(
  database: Database,
  types: readonly string[] | null,
): Promise<QueueStats[]> {
  const { rows } = await database.pool.query<QueueStats>({
    name: 'read_queue_stats',
    text: `with waiting as (
             select q.type, coalesce(sum(q.count) filter (where q.run_at is null), 0)::bigint as ready,
               coalesce(sum(q.count) filter (where q.run_at is not null), 0)::bigint as scheduled
             from jobtree.queue_entry q
             where $1::text[] is null or q.type = any ($1)
             group by q.type
           ), running as (
             select j.type, sum(h.items)::bigint as running
             from (
               select l.job_id, sum(bit_count(l.open)) as items from jobtree.lease l
               where l.deadline_at is not null
               group by l.job_id
             ) h
             join jobtree.job j on j.id = h.job_id
             where $1::text[] is null or j.type = any ($1)
             group by j.type
             having sum(h.items) > 0
           )
           select type, coalesce(w.ready, 0) as ready, coalesce(w.scheduled, 0) as scheduled,
             coalesce(r.running, 0) as running
           from waiting w full join running r using (type)
           order by type`,
    values: [types],
  });
  return rows;
}
