/** jobtree's tables, for what the benchmark does beside the API: filling and checking. */
import type pg from 'pg';
import { createClient } from '../../dist/client/index.js';

let made = 0;

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
