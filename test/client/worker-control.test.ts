/** What a worker is told while it runs, and what it tells: concurrency, pauses, time limits, batches, middleware, events. */
import { on, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type Assignment,
  type BatchItem,
  createClient,
  defineType,
  type Handler,
  JobtreeError,
  type Middleware,
  type ReportedFailure,
  RetryAfterError,
  SnoozeError,
  Worker,
  type WorkerOptions,
} from '../../src/client/index.ts';
import type { NoteItemsMutationVariables } from '../../src/generated/operations.ts';
import * as operations from '../../src/generated/operations.ts';
import { claimsWaiting } from '../support/claims-waiting.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';
import { signal } from './signals.ts';

const server = useServer();
const workers: Worker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

let counter = 0;
const newType = () => `control-${++counter}`;

function connect() {
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  return client;
}

function makeWorker(options: WorkerOptions): Worker {
  const worker = new Worker({ url: server.url, pollIntervalMs: 86_400_000, ...options });
  workers.push(worker);
  return worker;
}

const numbered = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

/** A handler that ends when it is told to. */
function gate() {
  const ends: (() => void)[] = [];
  const handler = () => new Promise<void>((resolve) => ends.push(resolve));
  return { handler, ends };
}

it('concurrency changes up and down while the worker runs', async () => {
  const client = connect();
  const type = newType();
  await client.createJob({ type, items: numbered(10), sealed: true });
  const { handler, ends } = gate();
  const worker = makeWorker({ types: { [type]: { concurrency: 1, handler, claimAhead: false } } });
  let done = 0;
  worker.on('succeeded', () => done++);
  await worker.start();
  await eventually(() => expect(ends).toHaveLength(1));
  worker.setConcurrency(type, 4);
  await eventually(() => expect(ends).toHaveLength(4));
  await eventually(async () =>
    expect(await client.workers()).toMatchObject([{ types: [{ type, concurrency: 4 }] }]),
  );
  worker.setConcurrency(type, 2);
  ends[0]?.();
  ends[1]?.();
  await eventually(() => expect(done).toBe(2));
  expect(ends).toHaveLength(4);
  ends[2]?.();
  await eventually(() => expect(ends).toHaveLength(5));
  for (let i = 3; i < 10; i++) {
    await eventually(() => expect(ends.length).toBeGreaterThan(i));
    ends[i]?.();
  }
});

it('a claim that waits asks for no more than a lowered concurrency allows', async () => {
  const client = connect();
  const type = newType();
  const { handler, ends } = gate();
  const types = { [type]: { concurrency: 4, handler, claimAhead: false } };
  const worker = new Worker({ client, pollIntervalMs: 86_400_000, types });
  workers.push(worker);
  await worker.start();
  await claimsWaiting(server.url, 1);
  worker.setConcurrency(type, 1);
  // By then the worker has told the server, on the same connection.
  await nextTurn();
  const { id } = await client.createJob({ type, items: numbered(4), sealed: true });
  await eventually(() => expect(ends).toHaveLength(1));
  const leased = await server.db.query('select from jobtree.assignment where job_id = $1', [id.slice(4)]);
  expect(leased).toHaveLength(1);
  for (let i = 0; i < 4; i++) {
    await eventually(() => expect(ends.length).toBeGreaterThan(i));
    ends[i]?.();
  }
});

it.each([
  ['other', 1, 'The worker does not do other.'],
  ['own', 0, 'concurrency is 0; it must be a whole number from 1 to 10000.'],
])('setConcurrency(%j, %j) is refused', (type, concurrency, message) => {
  const worker = makeWorker({ types: { own: { concurrency: 1, handler: () => null } } });
  expect(() => worker.setConcurrency(type, concurrency)).toThrow(message);
});

it('pause() finishes running items and gives waiting ones back, and resume() continues', async () => {
  const client = connect();
  const type = newType();
  await client.createJob({ type, items: numbered(4), sealed: true });
  const { handler, ends } = gate();
  const worker = makeWorker({ types: { [type]: { concurrency: 2, handler } } });
  const seen: string[] = [];
  worker.on('paused', () => seen.push('paused'));
  worker.on('resumed', () => seen.push('resumed'));
  await worker.start();
  await eventually(() => expect(ends).toHaveLength(2));
  const paused = worker.pause();
  expect(worker.isPaused).toBe(true);
  for (const end of ends) end();
  await paused;
  expect(await client.heldItems()).toEqual([]);
  expect(ends).toHaveLength(2);
  worker.resume();
  await eventually(() => expect(ends).toHaveLength(4));
  expect(seen).toEqual(['paused', 'resumed']);
  for (const end of ends) end();
});

it('a worker that is paused before it starts claims nothing until resume()', async () => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({ type, items: numbered(1), sealed: true });
  const worker = makeWorker({ types: { [type]: { concurrency: 1, handler: () => null } } });
  await worker.pause();
  await worker.start();
  expect((await client.items(id)).nodes).toMatchObject([{ status: 'READY', assignment: null }]);
  worker.resume();
  await once(worker, 'succeeded');
});

it('a concurrency that is set before the start claims nothing', async () => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({ type, items: numbered(1), sealed: true });
  const worker = makeWorker({ types: { [type]: { concurrency: 1, handler: () => null } } });
  worker.setConcurrency(type, 2);
  await nextTurn();
  // A claim would be answered before these.
  for (let i = 0; i < 5; i++) await client.job(id);
  expect((await client.items(id)).nodes).toMatchObject([{ status: 'READY', assignment: null }]);
  const succeeded = once(worker, 'succeeded');
  await worker.start();
  await succeeded;
});

it('a handler that takes longer than timeoutMs is aborted, and the attempt fails', async () => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({ type, items: [{}], sealed: true, backoffMs: [60_000] });
  const aborted = signal<unknown>();
  const worker = makeWorker({
    types: {
      [type]: {
        concurrency: 1,
        timeoutMs: 50,
        handler: async (_, { signal }) => {
          await once(signal, 'abort');
          aborted.fire(signal.reason);
          return 'too late';
        },
      },
    },
  });
  const failed = once(worker, 'failed');
  await worker.start();
  expect(await aborted.promise).toMatchObject({ name: 'AssignmentEndedError', code: 'TIMED_OUT' });
  const message = 'The handler took longer than 50 ms.';
  expect(await failed).toMatchObject([{ attempt: 1 }, { code: 'TIMED_OUT', message }]);
  expect((await client.items(id)).nodes).toMatchObject([
    { status: 'RETRYING', failures: [{ code: 'TIMED_OUT', message }] },
  ]);
});

it.each([
  ['returns', (): unknown => 'too late'],
  ['throws', (): unknown => Promise.reject(new Error('It was aborted.'))],
] as const)('a keyed item that takes too long keeps its key until its handler %s', async (_, end) => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({
    type,
    items: [{ serializeKey: type }, { serializeKey: type }],
    sealed: true,
    backoffMs: [0],
  });
  const seen: unknown[] = [];
  const worker = makeWorker({
    types: {
      [type]: {
        concurrency: 1,
        timeoutMs: 50,
        handler: async (_, { signal }) => {
          await once(signal, 'abort');
          // Nobody gets the key, however often they ask.
          for (let n = 0; n < 100; n++)
            seen.push(...(await client.claimItems('other', [{ type, limit: 1 }])));
          void worker.stop();
          return end();
        },
      },
    },
  });
  const failed = once(worker, 'failed');
  await worker.start();
  expect(await failed).toMatchObject([{ attempt: 1 }, { code: 'TIMED_OUT' }]);
  await worker.stop();
  expect(seen).toEqual([]);
  expect((await client.items(id)).nodes[0]).toMatchObject({
    failures: [{ code: 'TIMED_OUT' }],
    result: null,
  });
});

it('a RetryAfterError is a failure that sets the time of the retry', async () => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({
    type,
    items: [{}],
    sealed: true,
    backoffMs: [0],
    maxFailuresPerItem: 1,
  });
  const attempts: unknown[] = [];
  const handler: Handler = (_, { attempt, lastAttempt }) => {
    attempts.push([attempt, lastAttempt]);
    throw new RetryAfterError('too many requests', { retryAfterMs: 1_500, code: 'HTTP_429' });
  };
  const worker = makeWorker({ types: { [type]: { concurrency: 1, handler } } });
  const failures: [Assignment, ReportedFailure][] = [];
  worker.on('failed', (...failure) => failures.push(failure));
  const begunAt = performance.now();
  await worker.start();
  await eventually(() => expect(failures).toHaveLength(2));
  const [[, first], [, last]] = failures as [(typeof failures)[0], (typeof failures)[0]];
  expect(first).toMatchObject({ code: 'HTTP_429', message: 'too many requests' });
  expect(first.retryAt).not.toBeNull();
  expect(last.retryAt).toBeNull();
  expect(performance.now() - begunAt).toBeGreaterThanOrEqual(1_500);
  expect(attempts).toEqual([
    [1, false],
    [2, true],
  ]);
  expect((await client.items(id)).nodes).toMatchObject([{ status: 'FAILED' }]);
});

it('a SnoozeError costs no attempt, and the item returns when its time is over', async () => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({ type, items: [{}], sealed: true, maxFailuresPerItem: 0 });
  const attempts: unknown[] = [];
  const handler: Handler = (_, { attempt, lastAttempt }) => {
    attempts.push([attempt, lastAttempt]);
    if (attempts.length < 3) throw new SnoozeError(1_000);
    return 'done';
  };
  const worker = makeWorker({ types: { [type]: { concurrency: 1, handler } } });
  const due: string[] = [];
  worker.on('snoozed', (_, dueAt) => due.push(dueAt));
  const begunAt = performance.now();
  await worker.start();
  await once(worker, 'succeeded');
  expect(performance.now() - begunAt).toBeGreaterThanOrEqual(2_000);
  expect(attempts).toEqual([
    [1, true],
    [1, true],
    [1, true],
  ]);
  expect(due).toHaveLength(2);
  expect((await client.items(id)).nodes).toMatchObject([
    { status: 'SUCCEEDED', result: 'done', failures: [] },
  ]);
});

it.each([
  [
    'SnoozeError',
    () => new SnoozeError(999),
    'snoozeMs is 999; it must be a number of milliseconds from 1000 to 2147483647.',
  ],
  ['SnoozeError', () => new SnoozeError(Number.NaN), 'snoozeMs is NaN'],
  ['RetryAfterError', () => new RetryAfterError('', { retryAfterMs: -1 }), 'retryAfterMs is -1'],
  ['RetryAfterError', () => new RetryAfterError('', { retryAfterMs: 2 ** 31 }), 'retryAfterMs is 2147483648'],
])('a %s out of bounds is a RangeError', (_, make, message) => {
  expect(make).toThrow(RangeError);
  expect(make).toThrow(message);
});

it('a batch handler gets many items at once, and each has its own outcome', async () => {
  const client = connect();
  const square = defineType<number, number>(newType(), { maxFailuresPerItem: 0 });
  const { id } = await client.createJob(square.job({ items: [1, 2, 3, 4, 5], sealed: true }));
  const sizes: number[] = [];
  const batchHandler = square.batchHandler(async (items) => {
    sizes.push(items.length);
    return items.map(({ payload }) => (payload === 4 ? new TypeError('four') : payload ** 2));
  });
  const worker = makeWorker({ types: { [square.type]: { concurrency: 2, batchSize: 4, batchHandler } } });
  await worker.runOnce();
  // A claim may give fewer than are ready.
  expect(sizes.reduce((sum, size) => sum + size)).toBe(5);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(4);
  expect(sizes.length).toBeLessThan(5);
  expect((await client.items(id)).nodes.map(({ result, failures }) => result ?? failures[0]?.code)).toEqual([
    1,
    4,
    9,
    'TypeError',
    25,
  ]);
});

it.each([
  [1, [10, 10, 5]],
  [3, [10, 10, 5]],
])('%d batch handlers get whole batches while there are enough items', async (concurrency, expected) => {
  const client = connect();
  const type = newType();
  await client.createJob({ type, items: numbered(25), sealed: true });
  const sizes: number[] = [];
  const batchHandler = async (items: readonly BatchItem[]) => void sizes.push(items.length);
  await makeWorker({ types: { [type]: { concurrency, batchSize: 10, batchHandler } } }).runOnce();
  expect(sizes).toEqual(expected);
});

it('batches of two types do not cut each other', async () => {
  const client = connect();
  const sizes: Record<number, number[]> = { 10: [], 7: [] };
  const types: Record<string, object> = {};
  for (const batchSize of [10, 7]) {
    const type = newType();
    await client.createJob({ type, items: numbered(10 * batchSize), sealed: true });
    const batchHandler = async (items: readonly BatchItem[]) => void sizes[batchSize]?.push(items.length);
    types[type] = { concurrency: 1, batchSize, batchHandler };
  }
  await makeWorker({ types: types as Parameters<typeof makeWorker>[0]['types'] }).runOnce();
  expect(sizes).toEqual({ 10: Array(10).fill(10), 7: Array(10).fill(7) });
});

it('one function handles several defined types', async () => {
  const client = connect();
  const types = [newType(), newType()].map((name) => defineType<number, string>(name));
  const double = (payload: number) => String(2 * payload);
  const worker = makeWorker({
    types: Object.fromEntries(
      types.map((one) => [one.type, { concurrency: 1, handler: one.handler(double) }]),
    ),
  });
  const jobs = await Promise.all(types.map((one) => client.createJob(one.job({ items: [4], sealed: true }))));
  await worker.runOnce();
  for (const { id } of jobs) expect((await client.items(id)).nodes).toMatchObject([{ result: '8' }]);
});

it.each<[string, unknown, string]>([
  [
    'an object',
    { status: 500, body: 'no' },
    'The handler threw something that is not an error: {"status":500,"body":"no"}',
  ],
  ['null', null, 'null'],
  [
    'a BigInt in an object',
    { n: 1n },
    "The handler threw something that is not an error: an object that JSON can't represent",
  ],
])(
  'a handler that throws %s keeps what it threw, and a note of an object is its JSON',
  async (_, thrown, message) => {
    const client = connect();
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], sealed: true, maxFailuresPerItem: 0 });
    const handler: Handler = async (_payload, { note }) => {
      note({ page: 3 } as unknown as string);
      throw thrown;
    };
    await makeWorker({ types: { [type]: { concurrency: 1, handler } } }).runOnce();
    expect((await client.items(id)).nodes).toMatchObject([{ note: '{"page":3}', failures: [{ message }] }]);
  },
);

it.each<[string, () => unknown, unknown[]]>([
  ['throws', () => Promise.reject(new RangeError('all')), ['RangeError', 'RangeError']],
  ['returns too few', () => [1], ['INVALID_RESULT', 'INVALID_RESULT']],
  ['returns no list', () => 1, ['INVALID_RESULT', 'INVALID_RESULT']],
  ['returns nothing', () => undefined, [null, null]],
])('a batch handler that %s', async (_, batchHandler, outcomes) => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({ type, items: numbered(2), sealed: true, maxFailuresPerItem: 0 });
  await makeWorker({ types: { [type]: { concurrency: 1, batchSize: 10, batchHandler } } }).runOnce();
  const { nodes } = await client.items(id);
  expect(nodes.map(({ result, failures }) => failures[0]?.code ?? result)).toEqual(outcomes);
});

it('in a batch only cancelled items fail, and only their signals abort', async () => {
  const client = connect();
  const type = newType();
  const policies = { sealed: true, heartbeatIntervalMs: 1_000 };
  const one = await client.createJob({ type, items: [{ payload: 'kept' }], ...policies });
  const other = await client.createJob({ type, items: [{ payload: 'cancelled' }], ...policies });
  const begun = signal();
  const batchHandler = async (items: readonly BatchItem[]) => {
    begun.fire();
    const cancelled = items.find(({ payload }) => payload === 'cancelled');
    if (cancelled && !cancelled.signal.aborted) await once(cancelled.signal, 'abort');
    return items.map(({ signal }) => signal.aborted);
  };
  const worker = makeWorker({ types: { [type]: { concurrency: 1, batchSize: 10, batchHandler } } });
  await worker.start();
  await begun.promise;
  await client.cancelJob(other.id);
  await once(worker, 'succeeded');
  expect((await client.items(one.id)).nodes).toMatchObject([{ status: 'SUCCEEDED', result: false }]);
  expect((await client.items(other.id)).nodes).toMatchObject([{ status: 'CANCELLED' }]);
});

it('middleware wraps handlers, the first outermost, and may change their outcome', async () => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({
    type,
    items: [{ payload: 1 }, { payload: 'bad' }],
    sealed: true,
    maxFailuresPerItem: 0,
  });
  const calls: string[] = [];
  const around =
    (name: string): Middleware =>
    async ({ items: [item] }, next) => {
      calls.push(`${name} ${item?.payload}`);
      const result = await next();
      return [name, result];
    };
  const refuse: Middleware = ({ items: [item] }, next) => {
    if (item?.payload === 'bad') throw new SyntaxError('bad');
    return next();
  };
  const worker = makeWorker({
    middleware: [around('outer'), refuse, around('inner')],
    types: { [type]: { concurrency: 1, handler: (payload) => payload } },
  });
  await worker.runOnce();
  expect(calls).toEqual(['outer 1', 'inner 1', 'outer bad']);
  expect((await client.items(id)).nodes).toMatchObject([
    { result: ['outer', ['inner', 1]] },
    { failures: [{ code: 'SyntaxError', message: 'bad' }] },
  ]);
});

it('each item has a logger whose lines name it', async () => {
  const client = connect();
  const type = newType();
  const { id } = await client.createJob({ type, items: [{}], sealed: true });
  const lines: unknown[] = [];
  const write = (fields: object, message: string) => lines.push({ ...fields, message });
  const logger = { debug: () => {}, info: () => {}, warn: write, error: write };
  const worker = makeWorker({
    name: 'logs',
    logger,
    types: {
      [type]: {
        concurrency: 1,
        handler: (_, { logger }) => logger.warn({ page: 3 }, 'half of it is missing'),
      },
    },
  });
  await worker.runOnce();
  const [item] = (await client.items(id)).nodes;
  expect(lines).toEqual([
    {
      worker: 'logs',
      assignmentId: expect.any(String),
      itemId: item?.id,
      jobId: id,
      type,
      attempt: 1,
      page: 3,
      message: 'half of it is missing',
    },
  ]);
});

it('drained and idle are emitted once after each stretch of work', async () => {
  const client = connect();
  const type = newType();
  const { handler, ends } = gate();
  const worker = makeWorker({ pollIntervalMs: 100, types: { [type]: { concurrency: 5, handler } } });
  const seen: string[] = [];
  for (const name of ['drained', 'idle', 'succeeded'] as const) worker.on(name, () => seen.push(name));
  await worker.start();
  await once(worker, 'idle');
  await client.createJob({ type, items: numbered(2), sealed: true });
  await eventually(() => expect(ends).toHaveLength(2));
  await eventually(() => expect(seen).toEqual(['drained', 'idle', 'drained']));
  for (const end of ends) end();
  await once(worker, 'idle');
  // Several polls find nothing, and tell of nothing.
  await new Promise((resolve) => setTimeout(resolve, 350));
  expect(seen).toEqual(['drained', 'idle', 'drained', 'succeeded', 'succeeded', 'idle']);
});

it('events support on, off, once and iteration, as in node:events', async () => {
  const client = connect();
  const type = newType();
  await client.createJob({ type, items: numbered(3), sealed: true });
  const worker = makeWorker({ types: { [type]: { concurrency: 1, handler: () => null } } });
  let heard = 0;
  const listener = () => {
    heard++;
    worker.off('claimed', listener);
  };
  worker.on('claimed', listener).once('claimed', () => heard++);
  const payloads: unknown[] = [];
  const succeeded = on(worker, 'succeeded');
  await worker.start();
  for await (const [assignment] of succeeded) {
    payloads.push((assignment as Assignment).payload);
    if (payloads.length === 3) break;
  }
  expect(payloads).toEqual([0, 1, 2]);
  expect(heard).toBe(2);
});

// Sooner than a claim that waits at the server is answered with nothing.
it('runOnce() processes everything ready, including new items of every type, and stops', {
  timeout: 20_000,
}, async () => {
  const client = connect();
  const [first, second] = [newType(), newType()];
  const { id } = await client.createJob({
    type: first,
    items: numbered(20),
    sealed: true,
    children: [{ type: second, feed: { source: 'REPORTS' } }],
  });
  const worker = makeWorker({
    types: {
      [first]: { concurrency: 3, handler: (payload, { feed }) => feed(second, { payload }, { payload }) },
      [second]: { concurrency: 3, handler: (payload) => payload },
    },
  });
  let done = 0;
  worker.on('succeeded', () => done++);
  await worker.runOnce();
  expect(done).toBe(60);
  await eventually(async () =>
    expect((await client.job(id)).progress).toMatchObject({ status: 'COMPLETED' }),
  );
});

it('createJobAndWait() resolves with the outcome of the whole tree', async () => {
  const client = connect();
  const type = newType();
  const handler = (payload: unknown) => {
    if (payload === 1) throw new Error('one');
    return payload;
  };
  const worker = makeWorker({ types: { [type]: { concurrency: 5, handler } } });
  await worker.start();
  const policies = { sealed: true, maxFailuresPerItem: 0 };
  const job = {
    type,
    items: numbered(1),
    ...policies,
    children: [{ type, items: numbered(2), ...policies, toleratedFailureCount: 0 }],
  };
  const { id, created, outcome, progress } = await client.createJobAndWait({ ...job, dedupeKey: type });
  expect({ created, outcome }).toEqual({ created: true, outcome: 'FAILED' });
  expect(progress).toMatchObject({ rootId: id, complete: true, openJobs: 0 });
  expect(await client.createJobAndWait({ ...job, dedupeKey: type })).toMatchObject({
    id,
    created: false,
    outcome: 'FAILED',
  });

  const controller = new AbortController();
  const waiting = client.createJobAndWait({ type, items: [] }, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error('enough')), 100);
  await expect(waiting).rejects.toThrow('enough');
});

it('addItems and results accept a defined type', async () => {
  const client = connect();
  const double = defineType<number, { twice: number }>(newType());
  const { id } = await client.createJob(double.job());
  expect(await client.addItems(double, id, [1, double.item(2, { dedupeKey: 'two' })])).toMatchObject({
    added: 2,
  });
  expect(
    await client.addItems(double, id, [double.item(2, { dedupeKey: 'two' })], { seal: true }),
  ).toMatchObject({
    duplicates: 1,
  });
  // @ts-expect-error: not a number
  await expect(client.addItems(double, id, ['one'])).rejects.toMatchObject({ code: 'JOB_SEALED' });
  const handler = double.handler((n) => ({ twice: n * 2 }));
  await makeWorker({ types: { [double.type]: { concurrency: 1, handler } } }).runOnce();
  let sum = 0;
  for await (const { payload, result } of client.results(double, id)) sum += payload + result.twice;
  expect(sum).toBe(9);
});

describe('notes and logs', () => {
  it('are stored with the item and sent with its report', async () => {
    const client = connect();
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}, {}], sealed: true, backoffMs: [0] });
    const handler: Handler = (_, { attempt, note, log }) => {
      log(`begun, attempt ${attempt}`);
      note('page 1 of 2');
      if (attempt === 1) throw new Error('Not yet.');
      note('page 2 of 2');
      log(`a NUL \0, half a surrogate pair \ud800, and ${'x'.repeat(600)}`);
    };
    const worker = makeWorker({ types: { [type]: { concurrency: 2, handler } } });
    worker.on('failed', () => {});
    await worker.runOnce();
    for (const { status, note, log } of (await client.items(id)).nodes) {
      expect({ status, note }).toEqual({ status: 'SUCCEEDED', note: 'page 2 of 2' });
      expect(log.map(({ attempt }) => attempt)).toEqual([1, 2, 2]);
      expect(log.map(({ text }) => text.slice(0, 48))).toEqual([
        'begun, attempt 1',
        'begun, attempt 2',
        'a NUL \ufffd, half a surrogate pair \ufffd, and xxxxxxxxxx',
      ]);
      expect(log[2]?.text).toHaveLength(500);
    }
  });

  it('are sent automatically, in one request for all items', async () => {
    const client = connect();
    const type = newType();
    const items = numbered(20);
    const { id } = await client.createJob({ type, items, sealed: true, heartbeatIntervalMs: 600_000 });
    const requests = vi.spyOn(client.socket, 'request');
    const [all, end] = [signal(), signal()];
    let begun = 0;
    const handler: Handler = async (payload, { note, log }) => {
      if (++begun === items.length) all.fire();
      await all.promise;
      for (const part of ['begun', 'half of it']) note(`${payload}: ${part}`);
      log('begun');
      await end.promise;
    };
    const types = { [type]: { concurrency: items.length, handler } };
    const worker = new Worker({ client, pollIntervalMs: 86_400_000, types });
    workers.push(worker);
    await worker.start();
    await eventually(async () => {
      expect((await client.items(id)).nodes.map(({ note }) => note)).toEqual(
        items.map(({ payload }) => `${payload}: half of it`),
      );
    });
    const idle = once(worker, 'idle');
    end.fire();
    await idle;
    const sizes = requests.mock.calls.flatMap(([document, variables]) => {
      if (document === operations.NoteItems)
        return (variables as NoteItemsMutationVariables).input.notes.length;
      return 'notes' in (variables as object) ? 'with something else' : [];
    });
    expect(sizes).toEqual([20]);
  });

  it.each([
    ['heartbeats', 1_000, 86_400_000],
    ['polls', 60_000, 100],
  ])(
    'are sent with %s if they could not be sent on their own',
    async (_, heartbeatIntervalMs, pollIntervalMs) => {
      const client = connect();
      const { request } = client.socket;
      vi.spyOn(client.socket, 'request').mockImplementation(async (...call) => {
        if (call[0] === operations.NoteItems) throw new JobtreeError('BUSY', 'It was not done.');
        return Reflect.apply(request, client.socket, call);
      });
      const type = newType();
      const policies = { sealed: true, heartbeatIntervalMs };
      const { id } = await client.createJob({ type, items: [{}], ...policies });
      const end = signal();
      const handler: Handler = async (_, { note }) => {
        note('half of it');
        await end.promise;
      };
      const worker = new Worker({ client, pollIntervalMs, types: { [type]: { concurrency: 2, handler } } });
      workers.push(worker);
      await worker.start();
      await eventually(async () => {
        expect((await client.items(id)).nodes).toMatchObject([
          { status: 'RUNNING', note: 'half of it', log: [] },
        ]);
      });
      end.fire();
      await once(worker, 'succeeded');
      expect((await client.items(id)).nodes).toMatchObject([{ status: 'SUCCEEDED', note: 'half of it' }]);
    },
  );

  describe('while earlier ones are being sent', () => {
    /** Notes go out alone only once the gate is open; resolves with the first that wait for it. */
    async function begin(handler: Handler) {
      const client = connect();
      const { request } = client.socket;
      const [underWay, open] = [signal(), signal()];
      vi.spyOn(client.socket, 'request').mockImplementation(async (...call) => {
        if (call[0] === operations.NoteItems) {
          underWay.fire();
          await open.promise;
        }
        return Reflect.apply(request, client.socket, call);
      });
      const type = newType();
      const job = { type, items: [{}], sealed: true, heartbeatIntervalMs: 600_000 };
      const { id } = await client.createJob(job);
      const types = { [type]: { concurrency: 1, handler } };
      const worker = new Worker({ client, pollIntervalMs: 86_400_000, types });
      workers.push(worker);
      await worker.start();
      await underWay.promise;
      const item = async () => (await client.items(id)).nodes[0];
      return { worker, open, item };
    }

    it('are also in the report, since they may arrive after it', async () => {
      const end = signal();
      const { worker, open, item } = await begin(async (_, { note, log }) => {
        note('done soon');
        log('almost');
        await end.promise;
      });
      const succeeded = once(worker, 'succeeded');
      end.fire();
      await succeeded;
      const told = { status: 'SUCCEEDED', note: 'done soon', log: [{ text: 'almost' }] };
      expect(await item()).toMatchObject(told);
      open.fire();
      await worker.stop();
      expect(await item()).toMatchObject(told);
    });

    it('newer ones follow', async () => {
      const [more, end] = [signal(), signal()];
      const { worker, open, item } = await begin(async (_, { note }) => {
        note('first');
        await more.promise;
        note('second');
        await end.promise;
      });
      more.fire();
      open.fire();
      await eventually(async () => {
        expect(await item()).toMatchObject({ status: 'RUNNING', note: 'second' });
      });
      end.fire();
      await worker.stop();
    });
  });

  it('keep the last fifty lines over all attempts', async () => {
    const client = connect();
    const type = newType();
    const { id } = await client.createJob({ type, items: [{}], sealed: true, backoffMs: [0] });
    const handler: Handler = (_, { attempt, log }) => {
      for (let i = 0; i < (attempt === 1 ? 60 : 20); i++) log(`${attempt}.${i}`);
      if (attempt === 1) throw new Error('Not yet.');
    };
    const worker = makeWorker({ types: { [type]: { concurrency: 1, handler } } });
    worker.on('failed', () => {});
    await worker.runOnce();
    const [item] = (await client.items(id)).nodes;
    const lines = (attempt: number, from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => `${attempt}.${from + i}`);
    expect(item?.log.map(({ text }) => text)).toEqual([...lines(1, 30, 60), ...lines(2, 0, 20)]);
  });
});
