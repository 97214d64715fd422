/** jobtree's tables, for what the benchmark does beside the API: filling and checking. */
import type pg from 'pg';
import { createClient } from '../../dist/client/index.js';
import { inFlight } from './in-flight.ts';
import { inBatches, payload } from './payload.ts';

let made = 0;

export interface Jobs {
  readonly ids: readonly string[];
  readonly type: string;
}

/** A job of a type of its own, open. */
export async function createJob(url: string): Promise<{ id: string; type: string }> {
  const type = `bench-${++made}`;
  const client = createClient({ url });
  try {
    const { id } = await client.createJob({ type });
    return { id, type };
  } finally {
    await client.close();
  }
}

/** Open jobs of one type, of a type of their own. */
export async function createJobs(url: string, count: number): Promise<Jobs> {
  const type = `bench-${++made}`;
  const client = createClient({ url });
  const ids: string[] = [];
  try {
    await inFlight(count, 8, async (i) => {
      ids[i] = (await client.createJob({ type })).id;
    });
    return { ids, type };
  } finally {
    await client.close();
  }
}

/** Items for a worker to find, straight in the database, at least so many: one of each job, and again. */
export async function fillJobs(pool: pg.Pool, jobIds: readonly string[], items: number): Promise<void> {
  if (jobIds.length === 1) return inBatches(items, (some) => fillItems(pool, jobIds[0] as string, some));
  const keys = jobIds.map((id) => id.replace('Job:', ''));
  // No more locks in a transaction than fit.
  const most = 250;
  for (let time = 0; time < items / jobIds.length; time++) {
    await inFlight(Math.ceil(keys.length / most), 4, (i) =>
      pool.query({
        name: 'fill in turn',
        text: 'select count(*) from unnest($1::uuid[]) j, lateral jobtree.add_items(j, $2)',
        values: [keys.slice(i * most, (i + 1) * most), JSON.stringify([{ payload: payload(time) }])],
      }),
    );
  }
}

/** When reports committed, of each job in order, and how many of its items were done then. In milliseconds since 1970. */
export async function readCommits(pool: pg.Pool, jobIds: readonly string[]): Promise<Commit[][]> {
  const { rows } = await pool.query(
    `select job_id, count(*)::int as items, extract(epoch from pg_xact_commit_timestamp(xmin))::float8 * 1000 as at
     from jobtree.assignment where outcome = 'succeeded' and job_id = any ($1)
     group by job_id, xmin order by at`,
    [jobIds.map((id) => id.replace('Job:', ''))],
  );
  const commits = new Map<string, Commit[]>(jobIds.map((id) => [id.replace('Job:', ''), []]));
  for (const { job_id, items, at } of rows) {
    const ofJob = commits.get(job_id) as Commit[];
    ofJob.push({ done: (ofJob.at(-1)?.done ?? 0) + items, at });
  }
  return [...commits.values()];
}

export interface Commit {
  /** How many items of the job were done with it. */
  readonly done: number;
  readonly at: number;
}

/** Items for a worker to find, straight in the database. */
export async function fillItems(pool: pg.Pool, jobId: string, payloads: readonly unknown[]): Promise<void> {
  await pool.query({
    name: 'fill',
    text: 'select * from jobtree.add_items($1, $2)',
    values: [jobId.replace('Job:', ''), JSON.stringify(payloads.map((payload) => ({ payload })))],
  });
}

/** Says what is wrong if not exactly these items were added; each is there once. */
export async function checkAdded(pool: pg.Pool, jobId: string, items: number): Promise<void> {
  const { rows } = await pool.query(
    `select (select count(*) from jobtree.job_item where job_id = $1)::int as items,
            (select count(*) from jobtree.queue_entry where job_id = $1)::int as waiting`,
    [jobId.replace('Job:', '')],
  );
  expect({ items, waiting: items }, rows[0]);
}

/** Says what is wrong if not exactly these items have a result, or the progress of the job says anything else. */
export async function checkWorked(url: string, pool: pg.Pool, jobId: string, items: number): Promise<void> {
  const { rows } = await pool.query(
    `select count(*)::int as attempts, count(*) filter (where outcome = 'succeeded' and result is not null)::int as results,
            count(distinct item_id)::int as items
     from jobtree.assignment where job_id = $1`,
    [jobId.replace('Job:', '')],
  );
  expect({ attempts: items, results: items, items }, rows[0]);
  const client = createClient({ url });
  try {
    const { itemCount, succeeded, failed, cancelled, status } = await client.sealJob(jobId);
    const expected = { itemCount: items, succeeded: items, failed: 0, cancelled: 0, status: 'COMPLETED' };
    expect(expected, { itemCount, succeeded, failed, cancelled, status });
  } finally {
    await client.close();
  }
}

function expect(expected: object, found: object): void {
  const [should, is] = [JSON.stringify(expected), JSON.stringify(found)];
  if (should !== is) throw new Error(`The end state is wrong: ${is} instead of ${should}.`);
}
