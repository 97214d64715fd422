/**
 * A stranger's open transaction: a caller of the SQL functions holds every kind of row of its own trees, and takes its time.
 * Nobody else may notice. OPEN_TRANSACTION_SECONDS makes it hold them longer.
 */
import { once } from 'node:events';
import type pg from 'pg';
import { afterEach, expect, it } from 'vitest';
import { Worker } from '../../src/client/index.ts';
import { signal } from '../client/signals.ts';
import { lastOf, request } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';

const seconds = Number(process.env.OPEN_TRANSACTION_SECONDS ?? 8);
const workerCount = 10;
/** Of each tree in each part of the time. */
const itemsAtOnce = 10;

const { db, app, client } = useServer({ JOBTREE_SWEEP_INTERVAL_MS: '100' });
const workers: Worker[] = [];
const transactions: pg.Client[] = [];

afterEach(async () => {
  for (const transaction of transactions.splice(0)) await transaction.end();
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

async function begin(): Promise<pg.Client> {
  const transaction = await db.connect();
  transactions.push(transaction);
  await transaction.query('begin');
  return transaction;
}

const keyOf = (id: string) => id.slice(id.indexOf(':') + 1);
const items = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i }));

/** Two jobs with items in every state, of which this transaction then has every row that there is; and all that SQL can do. */
async function holdEverything(transaction: pg.Client, type: string): Promise<{ jobs: string[] }> {
  const policies = { heartbeatIntervalMs: 3_600_000 };
  const [work, doomed, sealed] = await Promise.all(
    [type, `${type} cancelled`, `${type} sealed`].map(async (type) => {
      const { id } = await client.createJob({ type, ...policies, items: items(300) });
      return keyOf(id);
    }),
  );
  const claimed = await client.claimItems('sql', [{ type, limit: 10 }]);
  const ids = claimed.map(({ id }) => keyOf(id));
  await client.reportOutcomes(claimed.slice(0, 5).map(({ id }) => ({ assignmentId: id, result: 1 })));
  const jobs = [work ?? '', doomed ?? '', sealed ?? ''];

  const run = (text: string, ...values: unknown[]) => transaction.query(text, values);
  await run('select * from jobtree.claim_items($1, $2, $3)', ['sql'], [type], [5]);
  await run(
    'select * from jobtree.report_outcomes($1)',
    JSON.stringify([{ assignmentId: ids[5], result: 'sql' }]),
  );
  await run(
    'select * from jobtree.report_outcomes($1)',
    JSON.stringify([{ assignmentId: ids[6], failure: { code: 'E', message: 'no', permanent: true } }]),
  );
  await run('select * from jobtree.heartbeat($1)', [ids[7]]);
  await run('select * from jobtree.release_assignments($1)', [ids[8]]);
  await run('select * from jobtree.add_items($1, $2)', work, JSON.stringify(items(10)));
  await run('select * from jobtree.add_items($1, $2)', sealed, JSON.stringify(items(10)));
  await run('select jobtree.seal_job($1)', sealed);
  await run('select * from jobtree.cancel_job($1)', doomed);
  for (const table of ['queue_entry', 'lease', 'outcome', 'failure', 'progress_delta', 'job_item'])
    await run(`select from jobtree.${table} where job_id = any ($1) for update`, jobs);
  await run('select from jobtree.job where id = any ($1) for update', jobs);
  // The fold replaces these rows: what it has replaced meanwhile is not held.
  const counters = 'select from jobtree.tree where root_id = any ($1) for update';
  while ((await run(counters, jobs)).rowCount !== jobs.length);
  await run('select from jobtree.watch for update');
  return { jobs };
}

it(
  `rows of every kind, locked for ${seconds} s, delay no other work, and nothing is lost`,
  async () => {
    const counts = Array.from({ length: workerCount }, () => 0);
    let wake = () => {};
    const errors: unknown[] = [];
    const aborted: string[] = [];
    const over = signal();
    const trees: string[] = [];
    for (const [i] of counts.entries()) {
      // Every second one has the type of what the transaction holds.
      const type = i % 2 === 0 ? `others ${i}` : 'shared';
      const longType = `long ${i}`;
      const { id } = await client.createJob({
        type,
        heartbeatIntervalMs: 2_500,
        children: [{ type: longType, heartbeatIntervalMs: 2_500, items: [{}], sealed: true }],
      });
      trees.push(id);
      const worker = new Worker({
        url: app.url,
        types: {
          [type]: { concurrency: 5, handler: () => null },
          // Its lease lives on heartbeats alone.
          [longType]: { concurrency: 1, handler: () => over.promise.then(() => null) },
        },
      });
      workers.push(worker);
      worker.on('succeeded', () => {
        counts[i] = (counts[i] ?? 0) + 1;
        wake();
      });
      worker.on('error', (error) => errors.push(error));
      worker.on('aborted', (_, code) => aborted.push(code));
      worker.on('stale', () => aborted.push('STALE'));
      worker.on('failed', () => aborted.push('FAILED'));
    }
    const watched = trees.map((id) => {
      const events = client.watchJob(id);
      return { events, itemProgress: 0 };
    });
    const transaction = await begin();
    const held = await holdEverything(transaction, 'shared');
    await Promise.all(workers.map((worker) => worker.start()));

    const until = performance.now() + seconds * 1_000;
    let parts = 0;
    while (performance.now() < until || parts < 3) {
      parts++;
      const wanted = counts.map((count) => count + itemsAtOnce);
      // Whoever has a type takes what is there of it, so those that share one count together.
      const isDone = () => {
        const done = (indexes: readonly number[]) =>
          indexes.reduce((sum, i) => sum + (counts[i] ?? 0) - (wanted[i] ?? 0), 0) >= 0;
        return [...[0, 2, 4, 6, 8].map((i) => [i]), [1, 3, 5, 7, 9]].every(done);
      };
      await Promise.all(trees.map((id) => client.addItems(id, items(itemsAtOnce))));
      while (!isDone()) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      // Their progress is counted meanwhile, too.
      for (const job of watched) {
        while (job.itemProgress < parts * itemsAtOnce) {
          const { value } = await job.events.next();
          if (value === undefined) throw new Error('A job that is not sealed has ended.');
          job.itemProgress = value.itemProgress;
        }
      }
    }
    await transaction.query('commit');

    over.fire();
    await Promise.all(trees.map((id) => client.sealJob(id)));
    for (const id of trees) {
      for await (const tree of client.watchTree(id)) {
        if (!tree.complete) continue;
        expect(tree.jobs.map(({ succeeded, failed }) => ({ succeeded, failed }))).toEqual([
          { succeeded: parts * itemsAtOnce, failed: 0 },
          { succeeded: 1, failed: 0 },
        ]);
      }
    }
    for (const { events } of watched) await events.return();
    expect({ errors, aborted }).toEqual({ errors: [], aborted: [] });
    expect(
      await db.query('select distinct attempt from jobtree.lease where job_id <> all ($1)', [held.jobs]),
    ).toEqual([{ attempt: 1 }]);
    expect(await db.query('select from jobtree.failure where job_id <> all ($1)', [held.jobs])).toEqual([]);
  },
  60_000 + seconds * 4_000,
);

it('an uncommitted report from SQL blocks no heartbeats, neither of other leases nor of its own', async () => {
  const { id } = await client.createJob({ type: 'beaten', items: items(3) });
  const claimed = [];
  for (let i = 0; i < 3; i++) claimed.push(...(await client.claimItems('w', [{ type: 'beaten', limit: 1 }])));
  const [reported, ...others] = claimed.map((assignment) => assignment.id);
  const transaction = await begin();
  await transaction.query('select * from jobtree.report_outcomes($1)', [
    JSON.stringify([{ assignmentId: keyOf(reported ?? ''), result: 1 }]),
  ]);
  const deadlines = () =>
    db.query<{ deadline_at: Date }>(
      'select deadline_at from jobtree.assignment where id = any ($1) order by position',
      [others.map(keyOf)],
    );
  const before = await deadlines();
  const statuses = async (ids: string[]) => (await client.heartbeat(ids)).map(({ status }) => status);
  expect(await statuses([reported ?? '', ...others])).toEqual(['HELD', 'HELD', 'HELD']);
  for (const [i, { deadline_at }] of (await deadlines()).entries()) {
    expect(deadline_at.getTime()).toBeGreaterThan(before[i]?.deadline_at.getTime() ?? Number.NaN);
  }
  await transaction.query('commit');
  expect(await statuses([reported ?? '', ...others])).toEqual(['FINISHED', 'HELD', 'HELD']);
  await client.cancelJob(id);
});

const report = `mutation ($reports: [ReportInput!]!) {
  reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
}`;

it('a report of a locked lease answers BUSY, delays no other, and succeeds once the lock is gone', async () => {
  const { id } = await client.createJob({ type: 'busy', items: items(3), sealed: true });
  const claimed = [];
  for (let i = 0; i < 3; i++) claimed.push(...(await client.claimItems('w', [{ type: 'busy', limit: 1 }])));
  const outcome = { success: { result: 1 } };
  const [locked, second, third] = claimed.map(({ id }) => ({ assignmentId: id, outcome }));
  const transaction = await begin();
  await transaction.query('select from jobtree.lease where id = jobtree.lease_id($1) for update', [
    keyOf(locked?.assignmentId ?? ''),
  ]);
  const startedAt = performance.now();
  // Those that arrive together go to the database as one.
  const [busy, other] = await Promise.all([
    request(app.url, report, { reports: [locked, third] }),
    request(app.url, report, { reports: [second] }),
  ]);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(busy.data).toEqual({ reportOutcomes: null });
  expect(busy.errors).toMatchObject([{ path: ['reportOutcomes'], extensions: { code: 'BUSY' } }]);
  expect(other.data.reportOutcomes.entries).toEqual([{ status: 'ACCEPTED' }]);

  await transaction.query('rollback');
  const again = await request(app.url, report, { reports: [locked, third] });
  expect(again.errors).toBeUndefined();
  expect(['ACCEPTED', 'DUPLICATE']).toContain(again.data.reportOutcomes.entries[1].status);
  expect(again.data.reportOutcomes.entries[0]).toEqual({ status: 'ACCEPTED' });
  await eventually(async () =>
    expect((await client.job(id)).progress).toMatchObject({ succeeded: 3, failed: 0 }),
  );
});

it('a worker with a locked lease silently repeats its report until the lock is gone', async () => {
  const { id } = await client.createJob({ type: 'locked', items: [{}], sealed: true });
  const finish = signal();
  const worker = new Worker({
    url: app.url,
    types: { locked: { concurrency: 1, handler: () => finish.promise.then(() => 1) } },
  });
  workers.push(worker);
  const errors: unknown[] = [];
  worker.on('error', (error) => errors.push(error));
  worker.on('disconnected', (error) => errors.push(error));
  const claimed = once(worker, 'claimed');
  const succeeded = once(worker, 'succeeded');
  await worker.start();
  const [assignment] = await claimed;
  const transaction = await begin();
  await transaction.query('select from jobtree.lease where id = jobtree.lease_id($1) for update', [
    keyOf(assignment.id),
  ]);
  finish.fire();
  // The same, by hand: it is busy for everybody.
  const busy = await request(app.url, report, {
    reports: [{ assignmentId: assignment.id, outcome: { success: { result: 1 } } }],
  });
  expect(busy.errors).toMatchObject([{ extensions: { code: 'BUSY' } }]);
  await transaction.query('rollback');
  await succeeded;
  expect(await lastOf(client.watchJob(id))).toMatchObject({ status: 'COMPLETED', succeeded: 1, failed: 0 });
  expect(errors).toEqual([]);
});
