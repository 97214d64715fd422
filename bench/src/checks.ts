/** Checks jobtree's tables after a run. */
import type pg from 'pg';
import { keyOf, withClient } from './jobtree.ts';

/** Throws unless exactly these items were added, each once. */
export async function checkAdded(pool: pg.Pool, jobId: string, items: number): Promise<void> {
  const { rows } = await pool.query(
    `select (select count(*) from jobtree.job_item where job_id = $1)::int as items,
            (select coalesce(sum(count), 0) from jobtree.queue_entry where job_id = $1)::int as waiting`,
    [keyOf(jobId)],
  );
  expect({ items, waiting: items }, rows[0]);
}

/** Throws unless exactly these items have a result, no attempts were made beyond those meant to fail, and the progress of the job agrees. */
export async function checkWorked(
  url: string,
  pool: pg.Pool,
  jobId: string,
  items: number,
  failures = 0,
): Promise<void> {
  const { rows } = await pool.query(
    `select (select count(*) from jobtree.outcome where job_id = $1 and not failed and result is not null)::int as results,
            (select sum(count) from jobtree.lease where job_id = $1)::int as attempts,
            (select count(*) from jobtree.failure where job_id = $1)::int as failures`,
    [keyOf(jobId)],
  );
  expect({ results: items, attempts: items + failures, failures }, rows[0]);
  const { itemCount, succeeded, failed, cancelled, status } = await withClient(url, (client) =>
    client.sealJob(jobId),
  );
  const expected = { itemCount: items, succeeded: items, failed: 0, cancelled: 0, status: 'COMPLETED' };
  expect(expected, { itemCount, succeeded, failed, cancelled, status });
}

export interface Commit {
  /** How many items of the job were done as of this commit. */
  readonly done: number;
  readonly at: number;
}

/** When the reports of each job committed, in order, and how many of its items were done then. Times are milliseconds since 1970. */
export async function readCommits(pool: pg.Pool, jobIds: readonly string[]): Promise<Commit[][]> {
  const keys = jobIds.map(keyOf);
  const { rows } = await pool.query(
    `select job_id, count(*)::int as items, extract(epoch from pg_xact_commit_timestamp(xmin))::float8 * 1000 as at
     from jobtree.outcome where not failed and job_id = any ($1)
     group by job_id, xmin order by at`,
    [keys],
  );
  const commits = new Map<string, Commit[]>(keys.map((key) => [key, []]));
  for (const { job_id, items, at } of rows) {
    const ofJob = commits.get(job_id) as Commit[];
    ofJob.push({ done: (ofJob.at(-1)?.done ?? 0) + items, at });
  }
  return [...commits.values()];
}

export function expect(expected: object, found: object): void {
  const [should, is] = [JSON.stringify(expected), JSON.stringify(found)];
  if (should !== is) throw new Error(`The end state is wrong: ${is} instead of ${should}.`);
}
