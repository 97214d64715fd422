import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import {
  AssignmentEndedError,
  defineType,
  type Handler,
  PermanentError,
  Worker,
  type WorkerOptions,
} from '../../src/client/index.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';
import { signal } from './signals.ts';

const { db: database, client } = useServer({ JOBTREE_SWEEP_INTERVAL_MS: '100' });
const workers: Worker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

/** A type of its own for each test, so that workers of others don't meet it. */
let counter = 0;
const newType = () => `type-${++counter}`;

function makeWorker(options: Omit<WorkerOptions, 'client'>): Worker {
  const worker = new Worker({ client, ...options });
  workers.push(worker);
  return worker;
}

async function completed(jobId: string) {
  for await (const progress of client.watchJob(jobId)) if (progress.status === 'COMPLETED') return progress;
  throw new Error('The job never completed.');
}

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

const failuresOf = async (jobId: string) =>
  (await client.items(jobId)).nodes.map((item) =>
    item.failures.map(({ code, message }) => ({ code, message })),
  );

describe('handlers', () => {
  it('a typed job is created, processed and read', async () => {
    const square = defineType<{ n: number }, { square: number }>(newType());
    const { id } = await client.createJob(
      square.job({ items: [{ n: 3 }, square.item({ n: 4 }, { dedupeKey: 'x' })], sealed: true }),
    );
    const handler = square.handler(({ n }) => ({ square: n * n }));
    const worker = makeWorker({ types: { [square.type]: { concurrency: 2, handler } } });
    await worker.start();
    expect(await completed(id)).toMatchObject({ succeeded: 2, failed: 0, percent: 100 });
    const results = await collect(client.results<{ n: number }, { square: number }>(id));
    expect(results.map(({ payload, result }) => [payload.n, result.square])).toEqual([
      [3, 9],
      [4, 16],
    ]);
  });

  it('the context names the item, and its key is the same at each attempt', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{ payload: 'x' }], sealed: true, backoffMs: [] });
    const seen: unknown[] = [];
    const handler = (_: unknown, { attempt, key, itemId, jobId, type }: Parameters<Handler>[1]) => {
      seen.push({ attempt, key, itemId, jobId, type });
      if (attempt < 3) throw Object.assign(new Error('not yet'), { code: 'BUSY' });
      return null;
    };
    await makeWorker({ types: { [type]: { concurrency: 1, handler } } }).start();
    await completed(id);
    const [item] = (await client.items(id)).nodes;
    const same = { key: item?.id, itemId: item?.id, jobId: id, type };
    expect(seen).toEqual([1, 2, 3].map((attempt) => ({ attempt, ...same })));
    const failure = { code: 'BUSY', message: 'not yet' };
    expect(await failuresOf(id)).toEqual([[failure, failure]]);
  });

  it('a PermanentError is not retried', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], sealed: true, backoffMs: [] });
    const handler = () => {
      throw new PermanentError('no such customer', { code: 'UNKNOWN_CUSTOMER' });
    };
    await makeWorker({ types: { [type]: { concurrency: 1, handler } } }).start();
    expect(await completed(id)).toMatchObject({ failed: 1 });
    expect(await failuresOf(id)).toEqual([[{ code: 'UNKNOWN_CUSTOMER', message: 'no such customer' }]]);
  });

  it('a handler that returns nothing has the result null', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], sealed: true });
    await makeWorker({ types: { [type]: { concurrency: 1, handler: async () => {} } } }).start();
    expect(await completed(id)).toMatchObject({ succeeded: 1, failed: 0 });
    expect((await client.items(id)).nodes[0]?.result).toBeNull();
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  it.each<[string, unknown, string, RegExp]>([
    ['a BigInt', { total: 1n }, 'NOT_JSON', /^result\.total is a bigint/],
    ['a cycle', cycle, 'NOT_JSON', /^result\.self is part of itself/],
    ['half a surrogate pair', { a: ['\udc00'] }, 'NOT_JSON', /^result\.a\[0\] has a character/],
    ['a NUL', '\0', 'NOT_JSON', /^result has a character/],
    [
      'more than fits',
      'x'.repeat(1_000_001),
      'INVALID_RESULT',
      /1000003 bytes of JSON; the limit is 1000000/,
    ],
  ])('a handler that returns %s fails only its own item, for good', async (_, bad, code, message) => {
    const type = newType();
    const items = [{ payload: 'bad' }, { payload: 'good' }];
    const { id } = await client.createJob({ type, items, sealed: true, backoffMs: [] });
    const handler = (payload: unknown) => (payload === 'bad' ? bad : 'fine');
    await makeWorker({ types: { [type]: { concurrency: 2, handler } } }).start();
    expect(await completed(id)).toMatchObject({ succeeded: 1, failed: 1 });
    expect(await failuresOf(id)).toEqual([[{ code, message: expect.stringMatching(message) }], []]);
  });

  it('a result too large for a request fails only its own item, for good', async () => {
    const small = await startServer(database.url, { JOBTREE_MAX_REQUEST_BYTES: '20000' });
    const type = newType();
    const items = [10, 50_000, 20, 60_000, 30].map((payload) => ({ payload }));
    // The server closes the connection over it, and a claim on it is lost until its heartbeats run out.
    const policies = { heartbeatIntervalMs: 1_000, backoffMs: [] };
    const { id } = await client.createJob({ type, items, sealed: true, ...policies });
    const worker = new Worker({
      url: small.url,
      types: { [type]: { concurrency: 5, handler: (length) => 'x'.repeat(length as number) } },
    });
    worker.on('disconnected', () => {});
    try {
      await worker.start();
      expect(await completed(id)).toMatchObject({ succeeded: 3, failed: 2 });
      const last = (await failuresOf(id)).map((failures) => failures.at(-1));
      const failure = { code: 'INVALID_RESULT', message: expect.stringMatching(/larger/) };
      expect([last[1], last[3]]).toEqual([failure, failure]);
    } finally {
      await worker.stop();
      await small.close();
    }
  });

  it('a thenable that settles twice frees one slot', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: Array(20).fill({}), sealed: true });
    let running = 0;
    let most = 0;
    // biome-ignore lint/suspicious/noThenProperty: that is what it is about
    const twice = { then: (resolve: (value: null) => void) => [resolve(null), resolve(null)] };
    const handler = async () => {
      most = Math.max(most, ++running);
      await null;
      running--;
      return null;
    };
    const worker = makeWorker({
      types: { [type]: { concurrency: 1, handler: (_, { key }) => (key === first ? twice : handler()) } },
    });
    const first = (await client.items(id)).nodes[0]?.id;
    await worker.start();
    expect(await completed(id)).toMatchObject({ succeeded: 20 });
    expect(most).toBe(1);
  });

  it("a result that the server refuses fails the item with the server's message", async () => {
    const type = newType();
    const { id } = await client.createJob({
      type,
      items: [{ payload: 1 }],
      sealed: true,
      children: [{ type: newType(), feed: { forEach: 'result.lines' } }],
    });
    await makeWorker({ types: { [type]: { concurrency: 1, handler: () => ({ lines: 'none' }) } } }).start();
    expect(await completed(id)).toMatchObject({ failed: 1 });
    expect(await failuresOf(id)).toEqual([
      [{ code: 'INVALID_RESULT', message: expect.stringMatching(/lines/) }],
    ]);
  });

  it('a failure includes its cause, once', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], sealed: true, maxFailuresPerItem: 0 });
    const handler = async () => {
      const refused = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
      const cause = new Error('no connection to 10.0.0.1', { cause: refused });
      // A circle, as some libraries make them.
      Object.assign(refused, { cause });
      throw new TypeError('fetch failed', { cause });
    };
    await makeWorker({ types: { [type]: { concurrency: 1, handler } } }).start();
    await completed(id);
    expect(await failuresOf(id)).toEqual([
      [{ code: 'TypeError', message: 'fetch failed: no connection to 10.0.0.1: ECONNREFUSED' }],
    ]);
  });

  it('the text of a failure is shortened to its limits', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], sealed: true, maxFailuresPerItem: 0 });
    const handler = () => {
      throw Object.assign(new Error(`\0${'m'.repeat(20_000)}`), { code: 'c'.repeat(300) });
    };
    await makeWorker({ types: { [type]: { concurrency: 1, handler } } }).start();
    await completed(id);
    expect(await failuresOf(id)).toEqual([
      [{ code: 'c'.repeat(200), message: `\uFFFD${'m'.repeat(9_999)}` }],
    ]);
  });

  it('new items for a fed child are sent with the result', async () => {
    const split = defineType<null, null>(newType());
    const check = defineType<{ line: number }, number>(newType());
    const { id } = await client.createJob(
      split.job({ items: [null], sealed: true, children: [check.job({ feed: { source: 'REPORTS' } })] }),
    );
    const worker = makeWorker({
      types: {
        [split.type]: {
          concurrency: 1,
          handler: split.handler((_, { feed }) => {
            feed(check, { line: 1 }, check.item({ line: 2 }, { dedupeKey: 'two' }));
            feed(check.type, { payload: { line: 3 } });
            return null;
          }),
        },
        [check.type]: { concurrency: 5, handler: check.handler(({ line }) => line * 10) },
      },
    });
    await worker.start();
    for await (const tree of client.watchTree(id)) if (tree.complete) expect(tree.jobs).toHaveLength(2);
    const results = await collect(client.results(id));
    expect(results.map(({ result }) => result)).toEqual([10, 20, 30]);
  });

  it('items claimed ahead of a slow handler are given back at no cost, and others process them', async () => {
    const type = newType();
    const started = signal<void>();
    const finish = signal<string>();
    const items = Array.from({ length: 60 }, (_, payload) => ({ payload }));
    const { id } = await client.createJob({ type, items, sealed: true });
    const released: unknown[] = [];
    const worker = makeWorker({
      types: {
        [type]: {
          concurrency: 1,
          handler: async (payload) => {
            if (payload !== 40) return 'at once';
            started.fire();
            return finish.promise;
          },
        },
      },
    });
    worker.on('released', ({ payload }) => released.push(payload));
    await worker.start();
    await started.promise;
    const others: number[] = [];
    const other = makeWorker({
      types: {
        [type]: { concurrency: 1, handler: (payload, { attempt }) => others.push(attempt) && payload },
      },
    });
    await other.start();
    await expect.poll(async () => (await client.job(id))?.progress.succeeded).toBe(59);
    finish.fire('late');
    expect(await completed(id)).toMatchObject({ succeeded: 60, failed: 0 });
    expect(released.length).toBeGreaterThan(0);
    expect(new Set(others)).toEqual(new Set([1]));
  });

  it('handlers never exceed the concurrency, and reach it while there is work', async () => {
    const type = newType();
    const { id } = await client.createJob({ type });
    await client.addItems(
      id,
      Array.from({ length: 200 }, (_, i) => ({ payload: i })),
      { seal: true },
    );
    let running = 0;
    let most = 0;
    const full = signal();
    const handler = async () => {
      most = Math.max(most, ++running);
      if (running === 7) full.fire();
      await full.promise;
      running--;
      return null;
    };
    await makeWorker({ types: { [type]: { concurrency: 7, handler } } }).start();
    await completed(id);
    expect(most).toBe(7);
  });
});

describe('options', () => {
  const handler = () => null;
  const ok = { a: { concurrency: 1, handler } };
  it.each<[string, WorkerOptions]>([
    ['types', { types: {} }],
    ['types', {} as never],
    ['types.a.concurrency', { types: { a: { concurrency: 0, handler } } }],
    ['types.a.handler', { types: { a: { concurrency: 1, handler: undefined as never } } }],
    ['types.a.handler', { types: { a: { concurrency: 1, handler: defineType('b').handler(() => 1) } } }],
    ['pollIntervalMs', { types: ok, pollIntervalMs: 1 }],
    ['stopTimeoutMs', { types: ok, stopTimeoutMs: Number.NaN }],
    ['name', { types: ok, name: '' }],
    ['url', { types: ok, url: 'ftp://x' }],
    ['pollMs', { types: ok, pollMs: 200 } as never],
    ['types.a.timeout', { types: { a: { concurrency: 1, handler, timeout: 3 } } } as never],
  ])('%s is refused by name', (field, options) => {
    expect(() => new Worker(options)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', field }));
  });
});

it('a number that is missing or a text is named as what it is', () => {
  const type = (options: object) => () =>
    new Worker({ types: { a: { handler: () => null, ...options } as never } });
  expect(type({})).toThrow('types.a.concurrency is missing; it must be a whole number from 1 to 10000.');
  expect(type({ concurrency: '5' })).toThrow('types.a.concurrency is "5"; it must be');
});

describe('waiting for work', () => {
  it('a hint wakes a worker whose poll is an hour away', async () => {
    const type = newType();
    const worker = makeWorker({
      types: { [type]: { concurrency: 1, handler: () => null } },
      pollIntervalMs: 3_600_000,
    });
    const connected = once(worker, 'connected');
    await worker.start();
    await connected;
    const { id } = await client.createJob({ type, items: [{}], sealed: true });
    await completed(id);
    const another = await client.createJob({ type, items: [{}, {}], sealed: true });
    expect(await completed(another.id)).toMatchObject({ succeeded: 2 });
  });

  it('without a hint the poll finds the work', async () => {
    const type = newType();
    const worker = makeWorker({
      types: { [type]: { concurrency: 1, handler: () => null } },
      pollIntervalMs: 100,
    });
    const connected = once(worker, 'connected');
    await worker.start();
    await connected;
    // Written behind the server's back, so nobody hints.
    const spec = JSON.stringify({ type, items: [{ payload: null }], children: [], sealed: true });
    const succeeded = once(worker, 'succeeded');
    await database.query('select * from jobtree.create_job($1)', [spec]);
    await succeeded;
  });
});

describe('assignments', () => {
  /** A handler that runs until its signal aborts, and says why. */
  function untilAborted() {
    const started = signal();
    const aborted = signal<unknown>();
    const handler: Handler = (_, context) =>
      new Promise((_, reject) => {
        context.signal.addEventListener('abort', () => {
          aborted.fire(context.signal.reason);
          reject(context.signal.reason);
        });
        started.fire();
      });
    return { started: started.promise, aborted: aborted.promise, handler };
  }

  it('heartbeats keep a handler alive beyond its deadline', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], sealed: true, heartbeatIntervalMs: 1_000 });
    const finish = signal();
    const worker = makeWorker({
      types: { [type]: { concurrency: 1, handler: () => finish.promise.then(() => 'done') } },
    });
    const claimed = once(worker, 'claimed');
    await worker.start();
    const [{ id: assignmentId }] = await claimed;
    const lease = `${assignmentId.slice('Assignment:'.length, -2)}00`;
    // The deadline that the claim set passes, by the clock of the database; the lease lives on.
    await expect
      .poll(
        async () => {
          const [row] = await database.query<{ outlived: boolean }>(
            "select clock_timestamp() > claimed_at + interval '3 seconds' as outlived from jobtree.lease where id = $1",
            [lease],
          );
          return row?.outlived;
        },
        { timeout: 20_000 },
      )
      .toBe(true);
    finish.fire();
    expect(await completed(id)).toMatchObject({ succeeded: 1 });
    expect(await failuresOf(id)).toEqual([[]]);
  });

  it('a lost assignment aborts its handler, whose outcome is dropped', async () => {
    const type = newType();
    const { id } = await client.createJob({
      type,
      items: [{}],
      sealed: true,
      heartbeatIntervalMs: 1_000,
      maxFailuresPerItem: 0,
    });
    const { started, aborted, handler } = untilAborted();
    const worker = makeWorker({ types: { [type]: { concurrency: 1, handler } } });
    const told = once(worker, 'aborted');
    await worker.start();
    await started;
    await database.query(
      "update jobtree.lease set check_at = clock_timestamp() - interval '1 second', heartbeat_at = to_timestamp(0) where check_at is not null",
    );
    expect(await aborted).toEqual(new AssignmentEndedError('LOST'));
    expect((await told)[1]).toBe('LOST');
    await completed(id);
    expect(await failuresOf(id)).toEqual([[expect.objectContaining({ code: 'HEARTBEAT_LOST' })]]);
  });

  it('a cancelled job aborts its handlers', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], heartbeatIntervalMs: 1_000 });
    const { started, aborted, handler } = untilAborted();
    await makeWorker({ types: { [type]: { concurrency: 1, handler } } }).start();
    await started;
    await client.cancelJob(id);
    expect(await aborted).toEqual(new AssignmentEndedError('CANCELLED'));
  });

  it('an outcome that arrives after the cancellation is dropped as stale', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}] });
    const finish = signal();
    const worker = makeWorker({
      types: { [type]: { concurrency: 1, handler: () => finish.promise.then(() => 1) } },
    });
    const claimed = once(worker, 'claimed');
    const stale = once(worker, 'stale');
    await worker.start();
    await claimed;
    await client.cancelJob(id);
    finish.fire();
    await stale;
    expect((await client.items(id)).nodes).toMatchObject([{ status: 'CANCELLED', result: null }]);
  });

  it('stop() waits for handlers and delivers their results', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}, {}], sealed: true });
    const finish = signal();
    const started = signal();
    const handler = () => {
      started.fire();
      return finish.promise.then(() => 'late');
    };
    const worker = makeWorker({ types: { [type]: { concurrency: 1, handler } } });
    await worker.start();
    await started.promise;
    const stopped = worker.stop();
    finish.fire();
    await stopped;
    const items = (await client.items(id)).nodes;
    expect(items.map(({ status, result }) => [status, result])).toEqual([
      ['SUCCEEDED', 'late'],
      ['READY', null],
    ]);
    expect(items[1]?.assignment).toBeNull();
  });

  it('stop() gives back what takes too long, at no cost of an attempt', async () => {
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], sealed: true, maxFailuresPerItem: 0 });
    const { started, aborted, handler } = untilAborted();
    const worker = makeWorker({ types: { [type]: { concurrency: 1, handler } }, stopTimeoutMs: 0 });
    const released = once(worker, 'released');
    await worker.start();
    await started;
    await worker.stop();
    expect(await aborted).toEqual(new AssignmentEndedError('STOPPED'));
    await released;
    const [next] = await client.claimItems('another', [{ type, limit: 1 }]);
    expect(next).toMatchObject({ attempt: 1, jobId: id });
  });

  it('a stopped worker does not start again', async () => {
    const worker = makeWorker({ types: { [newType()]: { concurrency: 1, handler: () => null } } });
    await worker.stop();
    await expect(worker.start()).rejects.toThrow('A worker starts once');
  });
});
