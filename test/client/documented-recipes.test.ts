/** The very code of docs/recipes.md, with a server and workers. */
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Client, createClient, PermanentError, Worker } from '../../src/client/index.ts';
import { makeFile } from '../cli/folder.ts';
import { examples } from '../support/documentation.ts';
import { useExamples } from '../support/documented-code.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
const { load } = useExamples('recipes.md');

/** Starts a worker for the time of the test. */
async function start(worker: Worker): Promise<Worker> {
  onTestFinished(() => worker.stop());
  worker.on('failed', () => {});
  await worker.start();
  return worker;
}

/** Starts a worker whose handlers are the program's own. */
const startHandlers = (handlers: Record<string, (payload: any) => unknown>) =>
  start(
    new Worker({
      client: server.client,
      types: Object.fromEntries(
        Object.entries(handlers).map(([type, handler]) => [type, { concurrency: 1, handler }]),
      ),
    }),
  );

/** Waits until a tree is complete. */
async function outcomeOf(treeId: string) {
  for await (const { outcome } of server.client.watchTree(treeId)) if (outcome) return outcome;
  throw new Error('The watch ended too early.');
}

async function resultsOf(treeId: string): Promise<unknown[]> {
  const results: unknown[] = [];
  for await (const { result } of server.client.results(treeId)) results.push(result);
  return results;
}

/** Holds the lock of a tree, as a fold does, until `release`. */
async function lockTree(id: string): Promise<{ release(): Promise<void> }> {
  const holder = await server.db.connect();
  await holder.query('begin');
  await holder.query('select from jobtree.tree where root_id = $1 for update', [id.slice(4)]);
  return { release: () => holder.end() };
}

const itemsOf = async (jobId: string) => (await server.client.items(jobId)).nodes;

it.each([...examples('recipes.md')])('%s has at most 25 lines', (_, code) => {
  expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
});

it('an e-mail queue sends once for each order, repeats what may succeed, and gives up the rest', async () => {
  const { confirmOrder, makeWorker } = await load<{
    confirmOrder(client: Client, order: { id: string; email: string }): Promise<{ id: string }>;
    makeWorker(client: Client, send: (mail: any, key: string) => Promise<{ status: number }>): Worker;
  }>('email');
  const send = async (order: string, email: string) =>
    (await confirmOrder(server.client, { id: order, email })).id;
  const ids = [await send('1', 'ada'), await send('2', 'nobody'), await send('3', 'busy')];
  expect(await send('1', 'ada')).toBe(ids[0]);
  const statuses: Record<string, number> = { ada: 202, nobody: 400, busy: 429 };
  const keys: string[] = [];
  const worker = makeWorker(server.client, async ({ to }, key) => {
    keys.push(key);
    return { status: statuses[to] ?? 500 };
  });
  worker.on('failed', () => {});
  await worker.runOnce();
  const items = (await Promise.all(ids.map(itemsOf))).flat();
  expect(items).toMatchObject([
    { status: 'SUCCEEDED', result: null },
    { status: 'FAILED', failures: [{ code: 'REFUSED' }] },
    { status: 'RETRYING', failures: [{ code: 'RETRY_AFTER' }] },
  ]);
  expect(keys.sort()).toEqual(items.map(({ id }) => id).sort());
});

it('a nightly report is about the time for which it was planned', async () => {
  const { defineSchedules, makeWorker } = await load<{
    defineSchedules(client: Client): Promise<unknown>;
    makeWorker(client: Client, write: (until: Date) => Promise<string>): Worker;
  }>('nightly');
  expect(await defineSchedules(server.client)).toMatchObject({ created: ['reports/nightly'] });
  expect(await defineSchedules(server.client)).toMatchObject({ created: [], changed: [] });
  const { jobId } = await server.client.schedules.run('reports/nightly');
  await start(makeWorker(server.client, async (until) => until.toISOString()));
  expect(await outcomeOf(jobId)).toBe('SUCCEEDED');
  expect(await resultsOf(jobId)).toEqual([(await server.client.job(jobId)).occurrence?.at]);
});

it('an import shows a bar that ends full, and fails if too many rows do', async () => {
  const { importCustomers } =
    await load<Record<'importCustomers', (...args: unknown[]) => Promise<string>>>('import');
  await startHandlers({
    importCustomer: ({ name }) => {
      if (name === '') throw new PermanentError('There is no name.');
    },
  });
  const lines: string[] = [];
  const show = (line: string) => lines.push(line);
  const good = await makeFile('good.csv', 'id,name\n1,Ada\n2,Grace\n');
  expect(await importCustomers(server.client, good, show)).toBe('SUCCEEDED');
  expect(lines.at(-1)).toBe(`${'█'.repeat(25)} Job complete`);
  const bad = await makeFile('bad.csv', 'id,name\n1,Ada\n2,\n');
  expect(await importCustomers(server.client, bad, show)).toBe('FAILED');
});

it('a fan-in adds up what was fanned out', async () => {
  const { createTree, makeWorker } = await load<{
    createTree(client: Client, texts: readonly string[]): Promise<{ id: string }>;
    makeWorker(client: Client): Worker;
  }>('fan-in');
  await start(makeWorker(server.client));
  const { id } = await createTree(server.client, ['one', 'one two', 'one two three']);
  expect(await outcomeOf(id)).toBe('SUCCEEDED');
  expect(await resultsOf(id)).toEqual([6]);
});

it('changes of one customer are applied one at a time and in order, those of two side by side', async () => {
  type Change = { customer: string; set: { n: number } };
  const { addChange, makeWorker } = await load<{
    addChange(client: Client, change: Change): Promise<{ id: string }>;
    makeWorker(client: Client, apply: (change: Change) => Promise<void>): Worker;
  }>('one-at-a-time');
  const trees: string[] = [];
  for (const n of [1, 2, 3])
    for (const customer of ['ada', 'bob'])
      trees.push((await addChange(server.client, { customer, set: { n } })).id);
  const running = new Set<string>();
  const applied: string[] = [];
  const bothRun = new EventEmitter();
  const ran = once(bothRun, 'run');
  await start(
    makeWorker(server.client, async ({ customer, set: { n } }) => {
      expect(running).not.toContain(customer);
      running.add(customer);
      if (running.size === 2) bothRun.emit('run');
      await ran;
      applied.push(`${customer} ${n}`);
      running.delete(customer);
    }),
  );
  expect(await Promise.all(trees.map(outcomeOf))).toEqual(trees.map(() => 'SUCCEEDED'));
  for (const customer of ['ada', 'bob'])
    expect(applied.filter((change) => change.startsWith(customer))).toEqual(
      [1, 2, 3].map((n) => `${customer} ${n}`),
    );
});

it('a payment runs when somebody has approved it, and is cancelled when somebody has rejected it', async () => {
  const { requestPayment, decide } = await load<{
    requestPayment(client: Client, payment: object): Promise<{ id: string }>;
    decide(client: Client, treeId: string, who: string, approved: boolean): Promise<void>;
  }>('approval');
  await startHandlers({ pay: ({ amount }) => `paid ${amount}` });
  const { client } = server;
  const [approved, rejected] = [
    await requestPayment(client, { amount: 1 }),
    await requestPayment(client, { amount: 2 }),
  ];
  expect((await itemsOf(approved.id))[0]?.status).toBe('WAITING');
  await decide(client, approved.id, 'Ada', true);
  await expect(decide(client, approved.id, 'Grace', false)).rejects.toMatchObject({
    code: 'ITEM_NOT_CLAIMABLE',
  });
  await decide(client, rejected.id, 'Grace', false);
  expect(await outcomeOf(approved.id)).toBe('SUCCEEDED');
  expect((await itemsOf(approved.id))[0]?.result).toBe('paid 1');
  expect(await outcomeOf(rejected.id)).toBe('FAILED');
  expect((await itemsOf(rejected.id))[0]?.status).toBe('CANCELLED');
});

it('a webhook that comes twice is handled once, and a forged one is refused', async () => {
  const { createReceiver } =
    await load<Record<'createReceiver', (client: Client, secret: string) => Server>>('webhook');
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const receiver = createReceiver(server.client, secret).listen(0, '127.0.0.1');
  onTestFinished(() => void receiver.close());
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const [at, body] = [new Date(), JSON.stringify({ type: 'order.paid' })];
  const post = async (signature: string) => {
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
      'webhook-signature': signature,
    };
    return (await fetch(url, { method: 'POST', body, headers })).status;
  };
  const signature = new Webhook(secret).sign('evt_1', at, body);
  expect([await post(signature), await post(signature), await post('v1,AAAA')]).toEqual([204, 204, 401]);
  const { nodes } = await server.client.jobs({ filter: { types: ['handleEvent'] } });
  expect((await Promise.all(nodes.map(({ id }) => itemsOf(id)))).flat()).toMatchObject([
    { payload: { type: 'order.paid' } },
  ]);
});

it('a video is split, its parts are transcoded, and then it is joined', async () => {
  const { publish, makeTranscoder } = await load<{
    publish(client: Client, video: string): Promise<{ id: string }>;
    makeTranscoder(client: Client, run: (part: { part: number }) => AsyncIterable<number>): Worker;
  }>('media');
  const parts: number[] = [];
  await start(
    makeTranscoder(server.client, async function* ({ part }) {
      yield 50;
      parts.push(part);
    }),
  );
  await startHandlers({
    split: ({ video }) => {
      if (video === 'broken') throw new PermanentError('It is broken.');
      return { parts: [1, 2] };
    },
    join: ({ video }) => `${video} of ${parts.sort()}`,
  });
  const [good, broken] = [await publish(server.client, 'film'), await publish(server.client, 'broken')];
  expect(await outcomeOf(good.id)).toBe('SUCCEEDED');
  expect(await resultsOf(good.id)).toEqual(
    expect.arrayContaining(['film/1.webm', 'film/2.webm', 'film of 1,2']),
  );
  expect(await outcomeOf(broken.id)).toBe('FAILED');
  expect(await resultsOf(broken.id)).toEqual([]);
});

it('a backfill that broke off continues, and adds nothing twice', async () => {
  const { backfill } =
    await load<
      Record<'backfill', (client: Client, customers: AsyncIterable<{ id: string }>) => Promise<string>>
    >('backfill');
  const count = 2_500;
  async function* customers(until: number) {
    for (let i = 0; i < until; i++) yield { id: `customer ${i}` };
    if (until < count) throw new Error('The source broke off.');
  }
  await expect(backfill(server.client, customers(2_200))).rejects.toThrow('The source broke off.');
  const id = await backfill(server.client, customers(count));
  expect(await backfill(server.client, customers(count))).toBe(id);
  // It is counted a moment later.
  const progress = async () => (await server.client.job(id)).progress;
  await expect.poll(progress).toMatchObject({ itemCount: count, sealed: true });
});

it('a replay tries one item first, and the others only if it succeeds, while the tree is locked for a while', async () => {
  const { replayLargestGroup } =
    await load<Record<'replayLargestGroup', (client: Client, type: string) => Promise<number>>>('replay');
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  let isFixed = false;
  let attempts = 0;
  await startHandlers({
    parse: (n) => {
      attempts++;
      if (!isFixed) throw new PermanentError(`Row ${n} is bad.`);
    },
  });
  const items = [1, 2, 3, 4].map((payload) => ({ payload }));
  const { id, outcome } = await server.client.createJobAndWait({ type: 'parse', sealed: true, items });
  expect({ outcome, attempts }).toEqual({ outcome: 'FAILED', attempts: 4 });
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  const looks = vi.spyOn(client, 'item');
  const { release } = await lockTree(id);
  const replay = replayLargestGroup(client, 'parse').catch(({ message }: Error) => message);
  await expect.poll(() => log.mock.calls.length + looks.mock.settledResults.length).toBeGreaterThan(0);
  await release();
  expect(await replay).toMatch(/^Row \d is bad\.$/);
  expect(attempts).toBe(5);
  isFixed = true;
  expect(await replayLargestGroup(server.client, 'parse')).toBe(3);
  expect(await outcomeOf(id)).toBe('SUCCEEDED');
});
