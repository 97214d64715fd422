/** The settings and tables of graphile-worker. */
import { Logger, type RunnerOptions } from 'graphile-worker';
import type pg from 'pg';

export const silent = new Logger(() => () => {});

/**
 * Follows its page on performance for throughput: a local queue, outcomes in batches, and the shortest delay, which its own
 * performance test uses. For single jobs all of that is off, as it is by default.
 */
export function runnerPreset(batch: number, concurrency = batch): NonNullable<RunnerOptions['preset']> {
  return {
    worker: {
      concurrentJobs: concurrency,
      localQueue: batch > 1 ? { size: batch } : { size: -1 },
      completeJobBatchDelay: batch > 1 ? 0 : -1,
      failJobBatchDelay: batch > 1 ? 0 : -1,
    },
  };
}

export async function countJobs(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query('select count(*)::int as count from graphile_worker._private_jobs');
  return rows[0].count;
}

/** Removes all jobs, dead rows included. */
export async function clearJobs(pool: pg.Pool): Promise<void> {
  await pool.query('truncate graphile_worker._private_jobs');
}

const addJobs = `
  select count(*) from graphile_worker.add_jobs(
    array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json))
  )`;

/** Adds jobs for a worker to find, directly in the database. */
export async function fillJobs(
  pool: pg.Pool,
  identifier: string,
  payloads: readonly unknown[],
): Promise<void> {
  const specs = payloads.map((payload) => ({ identifier, payload }));
  await pool.query({ name: 'fill', text: addJobs, values: [JSON.stringify(specs)] });
}
