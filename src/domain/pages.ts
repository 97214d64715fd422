/**
 * Pages that somebody watches: which rows are on them, and a mark of each that differs whenever what is shown of the row may
 * differ. Reading is cheap, so that it can be repeated; what is shown is read for the rows that differ alone.
 */
import type { Database } from '../db/database.ts';
import type { JobStatus } from './progress.ts';

export interface MarkedRow {
  readonly id: string;
  readonly mark: string;
}

/** Items of a job in the order in which they were added, and whether none of them will change any more. */
export async function readItemPage(
  database: Database,
  page: { jobId: string; afterPosition: number; first: number; failedOnly: boolean },
): Promise<{ rows: MarkedRow[]; final: boolean }> {
  const { rows } = await database.pool.query<{ rows: MarkedRow[] | null; final: boolean | null }>({
    name: 'read_item_page',
    // The state of the job is read first: what is complete then stands in the rows.
    text: `with progress as materialized (
             select p.completed_at is not null as final from jobtree.job_progress p where p.job_id = $1
           ), page as (
             select i.id, i.position, concat_ws('/', jsonb_array_length(i.failures), i.failed_at, i.cancelled_at,
               a.id, a.finished_at, q.run_at) as mark
             from jobtree.job_item i
             left join jobtree.assignment a on a.held_item_id = i.id
             left join jobtree.queue_entry q on q.item_id = i.id
             where i.job_id = $1 and i.position > $2 and (not $4 or i.failed_at is not null)
             order by i.position
             limit $3
           )
           select (select final from progress) as final,
             (select json_agg(json_build_object('id', id, 'mark', mark) order by position) from page) as rows`,
    values: [page.jobId, page.afterPosition, page.first, page.failedOnly],
  });
  // A job that is gone has no progress, and nothing more to tell.
  return { rows: rows[0]?.rows ?? [], final: rows[0]?.final ?? true };
}

/** The newest jobs that meet the conditions, the newest first. */
export async function readJobPage(
  database: Database,
  page: { type: string | null; status: JobStatus | null; rootsOnly: boolean; first: number },
): Promise<MarkedRow[]> {
  const { rows } = await database.pool.query<MarkedRow>({
    name: 'read_job_page',
    text: `select j.id, concat_ws('/', p.item_count, p.succeeded, p.failed, p.cancelled, p.started_at, p.completed_at,
             j.sealed_at, j.cancelled_at) as mark
           from jobtree.job j join jobtree.job_progress p on p.job_id = j.id
           where ($1::text is null or j.type = $1) and (not $2 or j.parent_id is null)
             and ($3::text is null or $3 = case
               when p.completed_at is not null then 'COMPLETED' when p.started_at is null then 'WAITING' else 'RUNNING'
             end)
           order by j.id desc
           limit $4`,
    values: [page.type, page.rootsOnly, page.status, page.first],
  });
  return rows;
}

export interface QueueStats {
  readonly type: string;
  readonly ready: number;
  readonly scheduled: number;
  readonly running: number;
}

/**
 * How much of each type waits and runs, by name. Types of which there is nothing are not in the answer. Of holds, those are
 * counted whose deadline has not long passed: the others are about to be taken back.
 */
export async function readQueueStats(
  database: Database,
  types: readonly string[] | null,
): Promise<QueueStats[]> {
  const { rows } = await database.pool.query<QueueStats>({
    name: 'read_queue_stats',
    text: `with waiting as (
             select q.type, count(*) filter (where q.run_at is null)::int as ready,
               count(*) filter (where q.run_at is not null)::int as scheduled
             from jobtree.queue_entry q
             where $1::text[] is null or q.type = any ($1)
             group by q.type
           ), running as (
             select j.type, sum(h.holds)::int as running
             from (
               select a.job_id, count(*) as holds from jobtree.assignment a
               where a.deadline_at >= now() - interval '1 minute' and a.finished_at is null
               group by a.job_id
             ) h
             join jobtree.job j on j.id = h.job_id
             where $1::text[] is null or j.type = any ($1)
             group by j.type
           )
           select type, coalesce(w.ready, 0) as ready, coalesce(w.scheduled, 0) as scheduled,
             coalesce(r.running, 0) as running
           from waiting w full join running r using (type)
           order by type`,
    values: [types],
  });
  return rows;
}
