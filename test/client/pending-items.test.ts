/** Pending items as a producer deals with them, with the very code of docs/pending-items.md. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type Client,
  createClient,
  type JobFilter,
  type Operation,
  type PendingItemFilter,
} from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { bundle } from '../support/bundle.ts';
import { example } from '../support/documentation.ts';
import { newType } from '../support/engine.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let app: App;
let client: Client;
beforeAll(async () => {
  app = await startServer(db.url);
  client = createClient({ url: app.url });
});
afterAll(async () => {
  await client.close();
  await app.close();
});

async function runExample(name: string, ...args: unknown[]): Promise<unknown> {
  const { code } = await bundle({ main: example('pending-items.md', name) }, 'node');
  const [act] = Object.values(await import(`data:text/javascript,${encodeURIComponent(code)}`));
  return (act as (...args: unknown[]) => unknown)(client, ...args);
}

it('waiting items are cancelled, and the operation is watched to its end', async () => {
  const runAt = new Date(Date.now() + 3_600_000);
  const items = [...Array(30).fill({}), { runAt }];
  const { id } = await client.createJob({ type: 'sendLetter', sealed: true, items });
  const [held] = await client.claimItems('w', [{ type: 'sendLetter', limit: 1 }]);
  const operation = (await runExample('cancel-client')) as Operation;
  expect(operation).toMatchObject({ kind: 'CANCEL', status: 'FINISHED', total: 30, done: 30 });
  const { nodes } = await client.items(id, { statuses: ['CANCELLED'], first: 100 });
  expect(nodes.map(({ status, finishedAt }) => [status, typeof finishedAt])).toEqual(
    Array(30).fill(['CANCELLED', 'string']),
  );
  await client.reportOutcomes([{ assignmentId: held?.id ?? '', result: 1 }]);
  await expect
    .poll(async () => (await client.job(id)).progress)
    .toMatchObject({ status: 'COMPLETED', outcome: 'SUCCEEDED', cancelled: 30, succeeded: 1, percent: 100 });
  const { nodes: jobs } = await client.jobs({ filter: { outcomes: ['SUCCEEDED'] } });
  expect(jobs.map((job) => job.id)).toContain(id);
  expect((await client.jobs({ filter: { outcomes: ['FAILED'] } })).nodes).toEqual([]);
  const running: JobFilter = { outcomes: ['SUCCEEDED'], statuses: ['RUNNING'] };
  expect((await client.jobs({ filter: running })).nodes).toEqual([]);
});

it('promoting what waits for a retry, watched to its end', async () => {
  const type = 'sendLetter';
  const { id } = await client.createJob({ type, backoffMs: [3_600_000], items: Array(3).fill({}) });
  for (const code of ['SMTP_DOWN', 'OTHER']) {
    const [held] = await client.claimItems('w', [{ type, limit: 1 }]);
    await client.reportOutcomes([{ assignmentId: held?.id ?? '', failure: { code, message: 'no' } }]);
  }
  expect(await client.pendingItemCount({ jobId: id, statuses: ['RETRYING'] })).toBe(2);
  const operation = (await runExample('promote-client')) as Operation;
  expect(operation).toMatchObject({ kind: 'PROMOTE', status: 'FINISHED', total: 1, done: 1 });
  expect(await client.promoteItems({ jobId: id })).toMatchObject({ total: 1, done: 1 });
  expect(await client.promoteItems({ jobId: id })).toMatchObject({ status: 'FINISHED', total: 0 });
  expect((await client.claimItems('w', [{ type, limit: 9 }])).map(({ attempt }) => attempt)).toEqual([
    1, 2, 2,
  ]);
});

it('a large operation continues in the server and survives a crash, and can be cancelled', async () => {
  const type = newType();
  const { id } = await client.createJob({ type });
  await db.query(
    `select jobtree.add_items($1, (select json_agg('{"payload": 1}'::json) from generate_series(1, 60000)))`,
    [id.slice(4)],
  );
  const key = { types: [type], addedUntil: new Date(Date.now() + 60_000).toISOString() };
  expect(await client.pendingItemCount(key)).toBe(60_000);
  const operation = await client.cancelItems(key);
  await app.close();
  app = await startServer(db.url);
  await client.close();
  client = createClient({ url: app.url });
  let last = operation;
  for await (last of client.watchOperation(operation.id));
  expect(last).toMatchObject({ status: 'FINISHED', total: 60_000, done: 60_000 });
  await expect.poll(async () => (await client.job(id)).progress.cancelled).toBe(60_000);

  const [row] = await db.query<{ operation_id: string }>(
    `select * from jobtree.start_operation('CANCEL', $1)`,
    [JSON.stringify({ jobId: id.slice(4) })],
  );
  const ended = await client.cancelOperation(`Operation:${row?.operation_id}`);
  expect(['CANCELLED', 'FINISHED']).toContain(ended.status);
});

it('only waiting items can be changed', async () => {
  const type = newType();
  const { id } = await client.createJob({ type, items: [{ payload: 1 }, { payload: 2 }] });
  const [first, second] = (await client.items(id)).nodes;
  expect(await runExample('update-client', second?.id)).toMatchObject({
    id: second?.id,
    status: 'SCHEDULED',
    payload: { to: 'Grace' },
    runAt: expect.any(String),
    retryAt: expect.any(String),
  });
  expect(await client.updateItem(second?.id ?? '', { runAt: null, priority: 4 })).toMatchObject({
    retryAt: null,
    priority: 4,
    payload: { to: 'Grace' },
  });
  const claimed = await client.claimItems('w', [{ type, limit: 9 }]);
  expect(claimed.map(({ payload }) => payload)).toEqual([{ to: 'Grace' }, 1]);
  await expect(client.updateItem(first?.id ?? '', { payload: 3 })).rejects.toMatchObject({
    code: 'ITEM_NOT_UPDATABLE',
    reason: 'RUNNING',
    field: 'itemId',
  });
  await expect(client.updateItem(first?.id ?? '', { payload: 3n })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'payload',
  });
  await expect(client.updateItem(first?.id ?? '', {})).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(client.updateItem(`${id.replace('Job', 'JobItem')}:1`, { priority: 1 })).rejects.toMatchObject(
    {
      code: 'NOT_FOUND',
    },
  );
});

it('a filter that names nothing, or nothing that exists, is refused', async () => {
  const cases: [PendingItemFilter, string][] = [
    [{}, 'INVALID_INPUT'],
    [{ types: [] }, 'INVALID_INPUT'],
    [{ jobId: 'Job:00000000-0000-7000-8000-000000000000' }, 'NOT_FOUND'],
    [{ itemIds: ['17'] }, 'INVALID_INPUT'],
  ];
  for (const [filter, code] of cases) {
    await expect(client.cancelItems(filter)).rejects.toMatchObject({ code });
    await expect(client.promoteItems(filter)).rejects.toMatchObject({ code });
    await expect(client.pendingItemCount(filter)).rejects.toMatchObject({ code });
  }
  await expect(client.promoteItems({ statuses: ['RETRYING', 'READY'] })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'filter.statuses',
  });
});
