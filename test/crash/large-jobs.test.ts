/**
 * Jobs with very many ranges of items: cancelling and deleting them answers at once, goes on in the background, and is
 * finished by another server if the first one dies. What is left over is what a transaction holds, so that no server can be
 * too fast for the test. LARGE_JOB_RANGES makes them larger.
 */
import { expect, it, onTestFinished } from 'vitest';
import { type Client, createClient, type JobProgress, JobtreeError } from '../../src/client/index.ts';
import { anyRow } from '../support/locks.ts';
import { startServer, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

/** Above what a call cancels at once, and a step deletes. */
const rangeCount = Number(process.env.LARGE_JOB_RANGES ?? 30_000);
/** Of which this many are held, in leases of two neighbours each, and this many of those are done. */
const heldCount = 400;
const doneCount = 100;
const settings = { JOBTREE_SWEEP_INTERVAL_MS: '100', JOBTREE_LOG_LEVEL: 'error' };

const db = useDatabase();

const keyOf = (id: string) => id.slice('Job:'.length);

function clientOf(url: string): Client {
  const client = createClient({ url });
  onTestFinished(() => client.close());
  return client;
}

/** A server in a process of its own, which the test kills. */
async function startVictim() {
  const server = await startServerProcess(db.url, settings);
  onTestFinished(() => server.end('SIGKILL').then(() => {}));
  return { server, client: clientOf(server.url) };
}

async function startAnother(): Promise<Client> {
  const app = await startServer(db.url, settings);
  onTestFinished(() => app.close());
  return clientOf(app.url);
}

let jobs = 0;
/** Items whose neighbours have another priority, so each is a range of its own; some are held, and some are done. */
async function createLargeJob(client: Client): Promise<string> {
  const type = `large-${++jobs}`;
  const { id } = await client.createJob({ type, heartbeatIntervalMs: 3_600_000 });
  for (let left = rangeCount; left > 0; left -= 5_000) {
    await db.query(
      `select cardinality(positions) from jobtree.add_items($1, (
         select json_agg(json_build_object('payload', n, 'priority', n % 2)) from generate_series(1, $2::integer) n
       ))`,
      [keyOf(id), Math.min(left, 5_000)],
    );
  }
  const held = await client.claimItems('w', [{ type, limit: heldCount }]);
  expect(held).toHaveLength(heldCount);
  await client.reportOutcomes(
    held.slice(0, doneCount).map((assignment) => ({ assignmentId: assignment.id, result: 1 })),
  );
  return id;
}

/** Holds all but the first of what waits, so that no cancellation ends; gives what lets go. */
async function holdRest(id: string): Promise<() => Promise<void>> {
  const holder = await db.connect();
  await holder.query('begin');
  await holder.query(
    'select from jobtree.queue_entry where job_id = $1 order by position offset 100 for update',
    [keyOf(id)],
  );
  onTestFinished(() => holder.end());
  return async () => void (await holder.query('rollback'));
}

/** Every state of the job that a subscriber saw, up to the last. */
async function watch(client: Client, id: string): Promise<JobProgress[]> {
  const seen: JobProgress[] = [];
  for await (const progress of client.watchJob(id)) seen.push(progress);
  return seen;
}

function expectCancelled(seen: readonly JobProgress[]): void {
  for (const [i, { cancelled, revision }] of seen.entries()) {
    expect(cancelled).toBeGreaterThanOrEqual(seen[i - 1]?.cancelled ?? 0);
    expect(revision > (seen[i - 1]?.revision ?? '')).toBe(true);
  }
  expect(seen.length).toBeGreaterThan(1);
  expect(seen.at(-1)).toMatchObject({
    status: 'CANCELLED',
    itemCount: rangeCount,
    succeeded: doneCount,
    failed: 0,
    cancelled: rangeCount - doneCount,
  });
}

/** Resolves with every state of the deletion that was seen, once there is no such job. */
async function untilGone(client: Client, id: string) {
  const seen: { itemCount: number; deletedItems: number }[] = [];
  try {
    for (;;) {
      const { deletion } = await client.job(id);
      if (deletion != null) seen.push(deletion);
    }
  } catch (error) {
    expect(error).toBeInstanceOf(JobtreeError);
    expect(error).toMatchObject({ code: 'NOT_FOUND' });
  }
  for (const [i, { itemCount, deletedItems }] of seen.entries()) {
    expect(itemCount).toBe(rangeCount);
    expect(deletedItems).toBeGreaterThanOrEqual(seen[i - 1]?.deletedItems ?? 0);
    expect(deletedItems).toBeLessThanOrEqual(itemCount);
  }
  return seen;
}

async function expectNothingLeft(id: string): Promise<void> {
  for (const table of [
    'job_item',
    'queue_entry',
    'lease',
    'outcome',
    'failure',
    'job_progress',
    'progress_delta',
  ])
    expect(await db.query(`select from jobtree.${table} where job_id = $1 limit 1`, [keyOf(id)])).toEqual([]);
  expect(await db.query('select from jobtree.tree where root_id = $1', [keyOf(id)])).toEqual([]);
}

it('cancelling a job with very many ranges answers at once, and ends with exact numbers while watched', async () => {
  const client = await startAnother();
  const id = await createLargeJob(client);
  const letGo = await holdRest(id);
  const watching = watch(client, id);
  await client.cancelJob(id);
  // What is held up is not waited for, and nobody gets any of it.
  const { progress, cancelledAt } = await client.job(id);
  expect(cancelledAt).not.toBeNull();
  expect(progress.status).toBe('RUNNING');
  expect(await client.claimItems('w', [{ type: `large-${jobs}`, limit: 1_000 }])).toEqual([]);
  await letGo();
  expectCancelled(await watching);
});

it('if the server that started a cancellation is killed, another one finishes it', async () => {
  const { server, client } = await startVictim();
  const id = await createLargeJob(client);
  const letGo = await holdRest(id);
  await client.cancelJob(id);
  await server.end('SIGKILL');
  const another = await startAnother();
  const watching = watch(another, id);
  await letGo();
  expectCancelled(await watching);
});

it('deleting a large tree answers at once, and continues until the job is gone', async () => {
  const client = await startAnother();
  const id = await createLargeJob(client);
  const letGo = await holdRest(id);
  const watching = watch(client, id);
  expect(await client.deleteJob(id)).toEqual({ deleted: false });
  expect((await client.job(id)).deletion).toMatchObject({ itemCount: rangeCount, deletedItems: 0 });
  const gone = untilGone(client, id);
  await letGo();
  expect((await gone).length).toBeGreaterThan(0);
  await watching.catch((error) => expect(error).toMatchObject({ code: 'NOT_FOUND' }));
  await expectNothingLeft(id);
});

it('if the server that started a deletion is killed, another one finishes it', async () => {
  const { server, client } = await startVictim();
  const id = await createLargeJob(client);
  const letGo = await holdRest(id);
  expect(await client.deleteJob(id)).toEqual({ deleted: false });
  await server.end('SIGKILL');
  const another = await startAnother();
  expect((await another.job(id)).deletion).toMatchObject({ itemCount: rangeCount, deletedItems: 0 });
  await letGo();
  await untilGone(another, id);
  await expectNothingLeft(id);
});

it('a tree with a locked row does not prevent the deletion of others', async () => {
  const client = await startAnother();
  const roots: string[] = [];
  for (let i = 0; i < 3; i++) {
    roots.push((await client.createJob({ type: 'small', items: [{}, {}] })).id);
    await client.claimItems('w', [{ type: 'small', limit: 1 }]);
  }
  const [locked, ...others] = roots as [string, ...string[]];
  const holder = await db.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  await holder.query('select from jobtree.job_item where job_id = $1 for update', [keyOf(locked)]);
  // It has begun, so that is no failure of the call.
  expect(await client.deleteJob(locked)).toEqual({ deleted: false });
  for (const id of others) await db.query('select jobtree.delete_job($1)', [keyOf(id)]);
  for (const id of others)
    await anyRow(db, 'select 1 where not exists (select from jobtree.job where id = $1)', [keyOf(id)]);
  expect((await client.job(locked)).deletion).not.toBeNull();
  await holder.query('rollback');
  await anyRow(db, 'select 1 where not exists (select from jobtree.job where id = $1)', [keyOf(locked)]);
});

it('a job that is deleted while it is read is NOT_FOUND', async () => {
  const client = await startAnother();
  for (let i = 0; i < 20; i++) {
    const { id } = await client.createJob({ type: 'read', items: [{}], children: [{ type: 'below' }] });
    const gone = [1, 2, 3, 4].map(async () => {
      for (;;) await client.job(id);
    });
    const ends = Promise.allSettled(gone);
    await client.deleteJob(id);
    for (const end of await ends) expect(end).toMatchObject({ reason: { code: 'NOT_FOUND' } });
  }
});
