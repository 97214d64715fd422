/** jobtree's jobs, and its SQL functions to add items for a worker. */
import type pg from 'pg';
import { type Client, createClient, type JobPolicies } from '../../dist/client/index.js';
import { inFlight } from './in-flight.ts';
import { inBatches, type Payload, payload } from './payload.ts';

let made = 0;

export const newType = () => `bench-${++made}`;

/** A job's id in SQL. */
export const keyOf = (jobId: string) => jobId.replace('Job:', '');

export interface Jobs {
  readonly ids: readonly string[];
  readonly type: string;
}

export async function withClient<T>(
  url: string,
  use: (client: Client) => Promise<T>,
  token?: string,
): Promise<T> {
  const client = createClient({ url, ...(token !== undefined && { token }) });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** Creates an open job of a new type. */
export async function createJob(
  url: string,
  policies: JobPolicies = {},
  token?: string,
): Promise<{ id: string; type: string }> {
  const type = newType();
  const { id } = await withClient(url, (client) => client.createJob({ type, ...policies }), token);
  return { id, type };
}

/** Creates open jobs that share a new type. */
export async function createJobs(url: string, count: number): Promise<Jobs> {
  const type = newType();
  const ids: string[] = [];
  await withClient(url, (client) =>
    inFlight(count, 8, async (i) => {
      ids[i] = (await client.createJob({ type })).id;
    }),
  );
  return { ids, type };
}

/** Adds at least this many items for a worker, directly in the database: one to each job in turn. */
export async function fillJobs(pool: pg.Pool, jobIds: readonly string[], items: number): Promise<void> {
  if (jobIds.length === 1) return fillJob(pool, jobIds[0] as string, items);
  const keys = jobIds.map(keyOf);
  // A transaction with more jobs would take more locks than fit.
  const most = 250;
  for (let time = 0; time < items / jobIds.length; time++) {
    await inFlight(Math.ceil(keys.length / most), 4, (i) =>
      pool.query({
        name: 'fill in turn',
        text: 'select count(*) from unnest($1::uuid[]) j, lateral jobtree.add_items(j, $2, false)',
        values: [keys.slice(i * most, (i + 1) * most), JSON.stringify([{ payload: payload(time) }])],
      }),
    );
  }
}

/** Settings of a single item. */
export interface ItemSettings {
  readonly priority?: number;
  readonly serializeKey?: string;
}

/** Adds items for a worker, numbered from 0, directly in the database; with `keys`, they take turns among this many serialize keys. */
export async function fillJob(pool: pg.Pool, jobId: string, items: number, keys?: number): Promise<void> {
  const settingsOf =
    keys === undefined
      ? undefined
      : ({ number }: Payload) => ({ serializeKey: `${jobId}, ${number % keys}` });
  await inBatches(items, (some) => fillItems(pool, jobId, some, settingsOf));
}

/** Adds items for a worker, directly in the database, with the settings that `settingsOf` returns for each. */
export async function fillItems<T>(
  pool: pg.Pool,
  jobId: string,
  payloads: readonly T[],
  settingsOf?: (payload: T) => ItemSettings,
): Promise<void> {
  const items = payloads.map((payload) => ({ payload, ...settingsOf?.(payload) }));
  await pool.query({
    name: 'fill',
    text: 'select count(*) from jobtree.add_items($1, $2, false)',
    values: [keyOf(jobId), JSON.stringify(items)],
  });
}
