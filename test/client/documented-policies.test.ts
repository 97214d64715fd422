/** The very code of docs/failure-policies.md, docs/dependencies.md and docs/serialize-keys.md, with a server and workers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PermanentError, Worker } from '../../src/client/index.ts';
import { collect, data, request, subscribe } from '../support/api.ts';
import { bundle } from '../support/bundle.ts';
import { example } from '../support/documentation.ts';
import { useServer } from '../support/use-server.ts';

const { app: server, client } = useServer();
let worker: Worker;
/** The types of the items in the order in which they were worked on. */
const done: string[] = [];
/** The payloads of items that run, and how many of one customer ran at a time at most. */
const running: { customer: unknown }[] = [];
let mostOfOne = 0;

beforeAll(async () => {
  const types = [
    'findAddress',
    'sendLetter',
    'bookOrders',
    'countStock',
    'writeReport',
    'mail',
    'applyChange',
    'readOrders',
    'bookOrder',
  ];
  const handler = async (payload: unknown, { type }: { type: string }) => {
    done.push(type);
    const change = payload as { customer?: unknown; bad?: true };
    if (change?.customer !== undefined) {
      running.push({ customer: change.customer });
      mostOfOne = Math.max(mostOfOne, running.filter(({ customer }) => customer === change.customer).length);
      await new Promise((resolve) => setTimeout(resolve, 2));
      running.splice(
        running.findIndex(({ customer }) => customer === change.customer),
        1,
      );
      if (change.bad) throw new PermanentError('no');
    }
    if (payload === 'bad') throw new PermanentError('no');
    return payload;
  };
  const handlers = types.map((type) => [type, { concurrency: 2, handler }] as const);
  worker = new Worker({ url: server.url, types: Object.fromEntries(handlers) });
  await worker.start();
});
afterAll(async () => {
  await worker?.stop();
});

async function run(page: string, name: string, ...args: unknown[]): Promise<unknown> {
  const { code } = await bundle({ main: example(page, name) }, 'node');
  const [act] = Object.values(await import(`data:text/javascript,${encodeURIComponent(code)}`));
  return (act as (...args: unknown[]) => unknown)(client, ...args);
}

describe('failure policies', () => {
  const letters = (bad: number) => Array.from({ length: 20 }, (_, i) => (i < bad ? 'bad' : `address ${i}`));

  it.each([
    [0, 'SUCCEEDED'],
    [1, 'PARTIAL'],
    [2, 'FAILED'],
  ])('if %i of 20 fail, the example tree has %s', async (bad, outcome) => {
    expect(await run('failure-policies.md', 'failure-policy', letters(bad))).toBe(outcome);
  });

  it('the API shows the policy, the verdict and the outcomes, in queries and in subscriptions', async () => {
    const { id } = await client.createJob({
      type: 'findAddress',
      toleratedFailureCount: 0,
      toleratedFailurePercentage: 2.5,
      sealed: true,
      items: [{ payload: 'bad' }],
    });
    const events = await collect(
      subscribe(
        server.url,
        'subscription ($id: ID!) { jobTreeProgress(rootId: $id) { outcome complete jobs { outcome message } } }',
        { id },
      ),
    );
    expect(events.at(-1).data.jobTreeProgress).toEqual({
      outcome: 'FAILED',
      complete: true,
      jobs: [{ outcome: 'FAILED', message: 'Job failed' }],
    });
    for (const { data } of events.slice(0, -1)) expect(data.jobTreeProgress.outcome).toBe(null);
    const query = `query ($id: ID!) { job(id: $id) {
      toleratedFailureCount toleratedFailurePercentage failedAt cancelledAt treeOutcome progress { status outcome } } }`;
    expect((await data(server.url, query, { id })).job).toEqual({
      toleratedFailureCount: 0,
      toleratedFailurePercentage: 2.5,
      failedAt: expect.any(String),
      cancelledAt: expect.any(String),
      treeOutcome: 'FAILED',
      progress: { status: 'COMPLETED', outcome: 'FAILED' },
    });
    expect(await client.job(id)).toMatchObject({ toleratedFailureCount: 0, progress: { outcome: 'FAILED' } });
  });
});

describe('dependencies', () => {
  const orders = Array.from({ length: 10 }, (_, i) => ({ order: i }));

  it('the jobs of the example run one after the other', async () => {
    done.length = 0;
    expect(await run('dependencies.md', 'dependencies', { orders, month: '2026-11' })).toBe('SUCCEEDED');
    expect(done.slice(-2)).toEqual(['writeReport', 'mail']);
    expect(done).toHaveLength(13);
  });

  it('a failure of a job cancels the report and the mail that wait for it', async () => {
    done.length = 0;
    const month = { orders: [...orders, 'bad'], month: '2026-11' };
    expect(await run('dependencies.md', 'dependencies', month)).toBe('FAILED');
    expect(done).not.toContain('writeReport');
    expect(done).not.toContain('mail');
  });

  it('the API shows which jobs a job waits for, in lists with two queries, and refuses a circle', async () => {
    const { id } = await client.createJob({
      type: 'held',
      children: [
        { type: 'first', name: 'a', after: ['b', 'held'] },
        { type: 'second', name: 'b' },
      ],
    });
    const query = 'query ($id: ID!) { job(id: $id) { tree { type waitsForJobs after { type } } } }';
    expect((await data(server.url, query, { id })).job.tree).toEqual([
      { type: 'held', waitsForJobs: false, after: [] },
      { type: 'first', waitsForJobs: true, after: [{ type: 'held' }, { type: 'second' }] },
      { type: 'second', waitsForJobs: false, after: [] },
    ]);
    const create =
      'mutation ($input: JobInput!) { createJob(input: $input) { ... on UserError { code field message } } }';
    expect(await request(server.url, create, { input: { type: 'x', after: ['x'] } })).toEqual({
      data: {
        createJob: {
          code: 'INVALID_INPUT',
          field: 'after[0]',
          message: 'after[0] names "x", which is the job itself.',
        },
      },
    });
    await expect(client.createJob({ type: 'x', after: ['y'] })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: 'after[0]',
    });
  });
});

describe('serialize keys', () => {
  const changes = Array.from({ length: 12 }, (_, i) => ({ customer: i % 3, change: i }));

  it('changes of one customer of the example are processed one at a time, in order', async () => {
    const { id } = (await run('serialize-keys.md', 'adding', changes)) as { id: string };
    for await (const _ of client.watchTree(id));
    const { nodes } = await client.items(id);
    expect(mostOfOne).toBe(1);
    for (const customer of [0, 1, 2]) {
      const times = nodes
        .filter(({ payload }) => (payload as { customer: number }).customer === customer)
        .map(({ finishedAt }) => finishedAt as string);
      expect(times).toEqual(times.toSorted());
    }
  });

  it('a failure in the example blocks later items until it is discarded, and the API shows what waits for what', async () => {
    const { id } = (await run('serialize-keys.md', 'blocking', [
      { customer: 'held', bad: true },
      { customer: 'held' },
    ])) as { id: string };
    for await (const { failed } of client.watchJob(id)) if (failed === 1) break;
    const [head, blocked] = (await client.items(id)).nodes;
    expect([head?.status, blocked?.status, blocked?.blockedBy]).toEqual([
      'FAILED',
      'BLOCKED',
      { id: head?.id },
    ]);
    const found = await data(server.url, example('serialize-keys.md', 'looking'), { id: blocked?.id });
    expect(found).toEqual({
      item: {
        serializeKey: 'customer-held',
        blockedBy: { id: head?.id, status: 'FAILED', assignment: null },
      },
      serializeKeys: [
        {
          key: 'customer-held',
          blocked: 1,
          held: true,
          head: { id: head?.id, job: { type: 'applyChange' } },
        },
      ],
    });
    expect(await client.serializeKeys({ keys: ['customer-held', 'unused'] })).toMatchObject([
      { key: 'customer-held', blocked: 1, held: true },
    ]);
    expect(await client.queues.get('applyChange')).toMatchObject({ ready: 0, blocked: 1 });
    await client.discardDeadLetters({ jobId: id });
    for await (const { succeeded } of client.watchJob(id)) if (succeeded === 1) break;
  });

  it('the orders that the example feeds have the keys of their customers', async () => {
    const files = [1, 2].map((file) => ({
      orders: [{ customer: file }, { customer: 7 }, { customer: null }],
    }));
    const { id } = (await run('serialize-keys.md', 'feeding', files)) as { id: string };
    for await (const _ of client.watchTree(id));
    const [child] = (await client.job(id)).children;
    const keys = (await client.items(child?.id ?? '')).nodes.map(({ serializeKey }) => serializeKey);
    expect(keys.sort()).toEqual(['1', '2', '7', '7', null, null].sort());
  });

  it('an invalid key is refused', async () => {
    for (const serializeKey of ['', 'x'.repeat(256), 'a\0']) {
      await expect(client.createJob({ type: 'x', items: [{ serializeKey }] })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        field: 'items[0].serializeKey',
      });
    }
    await expect(client.serializeKeys({ keys: [''] })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});
