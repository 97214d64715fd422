/** `client.enqueue` and `client.run`: one piece of work, and its result or failure. */
import { once } from 'node:events';
import { afterEach, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import {
  createClient,
  defineType,
  type Handler,
  JobtreeError,
  PermanentError,
  Worker,
} from '../../src/client/index.ts';
import { useServer } from '../support/use-server.ts';
import { signal } from './signals.ts';

const server = useServer();
const workers: Worker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

let counter = 0;
const newType = () => `one-${++counter}`;

function connect() {
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  return client;
}

async function work(type: string, handler: Handler) {
  const worker = new Worker({ url: server.url, types: { [type]: { concurrency: 2, handler } } });
  workers.push(worker);
  await worker.start();
}

it('enqueue returns at once, and its result waits for the outcome', async () => {
  const client = connect();
  const double = defineType<number, { twice: number }>(newType());
  const enqueued = await client.enqueue(double, 21, { dedupeKey: 'a' });
  expect(enqueued).toMatchObject({ id: expect.stringMatching(/^Job:/), created: true });
  const again = await client.enqueue(double, 4, { dedupeKey: 'a' });
  expect(again).toMatchObject({ id: enqueued.id, created: false });
  const results = [enqueued.result(), again.result()] as const;
  await work(double.type, (n) => ({ twice: 2 * (n as number) }));
  const [result] = await Promise.all(results);
  expectTypeOf(result).toEqualTypeOf<{ twice: number }>();
  expect(await Promise.all(results)).toEqual([{ twice: 42 }, { twice: 42 }]);
  // @ts-expect-error: not a number
  await client.enqueue(double, 'one');
});

it('the wait for a result ends with its signal, and throws what the worker reported', async () => {
  const client = connect();
  const type = newType();
  const enqueued = await client.enqueue(type, null, { backoffMs: [], maxFailuresPerItem: 0 });
  const controller = new AbortController();
  const waiting = expect(enqueued.result({ signal: controller.signal })).rejects.toThrow('enough');
  controller.abort(new Error('enough'));
  await waiting;
  await work(type, () => {
    throw new Error('no');
  });
  await expect(enqueued.result()).rejects.toMatchObject({ code: 'ITEM_FAILED', message: 'no' });
});

it('options that do not exist are refused by their name', async () => {
  const client = connect();
  for (const name of ['delay', 'items', 'children', 'sealed'])
    await expect(client.enqueue(newType(), 1, { [name]: [] })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: name,
    });
});

it('returns the result, with the type of a defined type', async () => {
  const client = connect();
  const double = defineType<number, { twice: number }>(newType());
  await work(double.type, (n) => ({ twice: 2 * (n as number) }));
  const result = await client.run(double, 21);
  expectTypeOf(result).toEqualTypeOf<{ twice: number }>();
  expect(result).toEqual({ twice: 42 });
  expect(await client.run(double.type, 4)).toEqual({ twice: 8 });
  // @ts-expect-error: not a number
  await expect(client.run(double, 'one', { runAt: 'never' })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'runAt',
  });
});

it('passes the options of the job and of its item on', async () => {
  const client = connect();
  const type = newType();
  await work(type, (payload) => payload);
  const options = { dedupeKey: 'a', serializeKey: type, retentionSeconds: 60 };
  expect(await client.run(type, 'first', options)).toBe('first');
  expect(await client.run(type, 'second', options)).toBe('first');
  const job = await client.jobByDedupeKey(type, 'a');
  expect(job).toMatchObject({ retentionSeconds: 60 });
  expect((await client.items(job?.id ?? '')).nodes).toMatchObject([{ serializeKey: type }]);
});

it('throws what the worker reported, once the item has failed for good', async () => {
  const client = connect();
  const type = newType();
  const errors = [
    new Error('not yet'),
    new PermanentError('There is no such picture.', { code: 'NO_PICTURE' }),
  ];
  await work(type, () => {
    throw errors.shift();
  });
  const error = await client.run(type, null, { backoffMs: [] }).catch((error) => error);
  expect(error).toBeInstanceOf(JobtreeError);
  expect(error).toMatchObject({
    code: 'ITEM_FAILED',
    message: 'There is no such picture.',
    failure: { attempt: 2, code: 'NO_PICTURE', message: 'There is no such picture.' },
    outcome: 'DONE',
  });
  const jobs = await client.jobs({ filter: { types: [type] } });
  const [item] = (await client.items(jobs.nodes[0]?.id ?? '')).nodes;
  expect((error as JobtreeError).itemId).toBe(item?.id);
});

it.each([
  [/^ITEM_CANCELLED$/, 'cancelled', 'cancelJob'],
  // What is deleted is cancelled first, and may be seen before it has gone.
  [/^(NOT_FOUND|ITEM_CANCELLED)$/, 'deleted', 'deleteJob'],
] as const)('throws %s if the work is %s', async (code, _, act) => {
  const client = connect();
  const type = newType();
  const started = signal<string>();
  await work(type, (_, { jobId, signal }) => {
    started.fire(jobId);
    return once(signal, 'abort');
  });
  const rejected = expect(client.run(type, null, { heartbeatIntervalMs: 1_000 })).rejects.toMatchObject({
    code: expect.stringMatching(code),
  });
  await client[act](await started.promise);
  await rejected;
});

it('throws ITEM_CANCELLED if the item is cancelled after a failed attempt', async () => {
  const client = connect();
  const type = newType();
  await work(type, () => {
    throw new Error('not yet');
  });
  const error = client.run(type, null, { dedupeKey: 'a', backoffMs: [3_600_000] }).catch((error) => error);
  const item = async () => {
    const job = await client.jobByDedupeKey(type, 'a');
    return job === null ? undefined : (await client.items(job.id)).nodes[0];
  };
  await expect.poll(async () => (await item())?.failureCount).toBe(1);
  const id = (await item())?.id ?? '';
  await client.cancelItems({ itemIds: [id] });
  expect(await error).toMatchObject({ code: 'ITEM_CANCELLED', itemId: id, outcome: 'DONE' });
});

it('ends with the reason of an aborted signal, while the work goes on', async () => {
  const client = connect();
  const type = newType();
  const started = signal();
  const end = signal();
  await work(type, async () => {
    started.fire();
    await end.promise;
    return 'done';
  });
  const controller = new AbortController();
  const waiting = client.run(type, null, { dedupeKey: 'a', signal: controller.signal });
  const rejected = expect(waiting).rejects.toThrow('enough');
  await started.promise;
  controller.abort(new Error('enough'));
  await rejected;
  end.fire();
  expect(await client.run(type, null, { dedupeKey: 'a' })).toBe('done');
});

it('jobResults reads the successes of one job of a tree, over several pages', async () => {
  const client = connect();
  const type = newType();
  const rows = Array.from({ length: 1_001 }, (_, payload) => ({ payload }));
  const { id } = await client.createJob({
    type,
    sealed: true,
    items: [{ payload: 'root' }],
    children: [{ type }],
  });
  const [child] = (await client.job(id)).children;
  await client.addItems(child?.id ?? '', rows, { seal: true });
  await work(type, (payload) => {
    if (payload === 500) throw new PermanentError('no');
    return payload;
  });
  for await (const _ of client.watchTree(id));
  const read = async (jobId: string) => {
    const results: unknown[] = [];
    for await (const { result } of client.jobResults(jobId)) results.push(result);
    return results;
  };
  expect(await read(id)).toEqual(['root']);
  const defined = defineType<string, string>(type);
  for await (const { payload, result } of client.jobResults(defined, id)) {
    expectTypeOf(result).toEqualTypeOf<string>();
    expect([payload, result]).toEqual(['root', 'root']);
  }
  expect(await read(child?.id ?? '')).toEqual(rows.map(({ payload }) => payload).filter((n) => n !== 500));
  await expect(read('Job:01890000-0000-7000-8000-000000000000')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
