import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { Database } from '../../src/db/database.ts';
import { FoldScheduler } from '../../src/events/fold-scheduler.ts';
import { signal } from '../client/signals.ts';
import { newType, useEngine } from '../support/engine.ts';
import { startProxy } from '../support/proxy.ts';

const ours = useEngine();
afterEach(() => void vi.useRealTimers());

function makeScheduler(
  database: Database = ours.engine.database,
  onWarning = () => {},
  intervalMs = 5,
): FoldScheduler {
  const logger = pino({ level: 'warn' }, { write: onWarning });
  const scheduler = new FoldScheduler({ database, intervalMs, logger });
  onTestFinished(() => scheduler.close());
  return scheduler;
}

async function makeJob(): Promise<string> {
  const type = newType();
  // A setting of its own: a fold counts it.
  return (await ours.create({ type, items: [{ payload: 1, priority: 1 }] }))[type] as string;
}

const addItem = (jobId: string) =>
  ours.db.query(`select * from jobtree.add_items($1, '[{"payload": 1}]', false)`, [jobId]);

async function counted(jobId: string): Promise<number | undefined> {
  const text = 'select item_count::int from jobtree.job_progress where job_id = $1';
  return (await ours.db.query<{ item_count: number }>(text, [jobId]))[0]?.item_count;
}

it('a caller that waits reads its own writes', async () => {
  const scheduler = makeScheduler();
  const job = await makeJob();
  for (let items = 2; items < 6; items++) {
    await addItem(job);
    await scheduler.settled(job);
    expect(await counted(job)).toBe(items);
  }
});

it('the first change after a pause waits for no interval', async () => {
  const scheduler = makeScheduler(undefined, undefined, 60_000);
  const job = await makeJob();
  await addItem(job);
  await scheduler.settled(job);
  expect(await counted(job)).toBe(2);
});

it('the start of a job is folded with an outcome that follows soon, at once', async () => {
  let folds = 0;
  const call = (...parameters: Parameters<Database['call']>) => {
    folds++;
    return ours.engine.database.call(...parameters);
  };
  const job = await makeJob();
  vi.useFakeTimers({ toFake: ['performance'] });
  const scheduler = makeScheduler({ call } as Database);
  scheduler.started(job);
  await nextTurn();
  scheduler.started(job);
  expect(folds).toBe(0);
  await scheduler.settled(job);
  expect(folds).toBe(1);
});

it('the start of a job is folded soon even if nothing follows', async () => {
  const scheduler = makeScheduler();
  const job = await makeJob();
  await addItem(job);
  scheduler.started(job);
  await expect.poll(() => counted(job)).toBe(2);
});

it('a tree that another server is folding is retried, and delays no other', async () => {
  const scheduler = makeScheduler();
  const [held, free] = [await makeJob(), await makeJob()];
  const other = await ours.db.connect();
  onTestFinished(() => other.end());
  await other.query('begin');
  await other.query('select 1 from jobtree.tree where root_id = $1 for update', [held]);
  let isSettled = false;
  const settled = scheduler.settled(held).then(() => {
    isSettled = true;
  });
  await scheduler.settled(free);
  await scheduler.settled(free);
  expect(isSettled).toBe(false);
  expect(await counted(held)).toBe(0);
  await other.query('commit');
  await settled;
  expect(await counted(held)).toBe(1);
});

it.each([
  ['another fold has the tree', 'select from jobtree.tree where root_id = $1 for update'],
  ['a transaction adds to a job that is to be sealed', 'select from jobtree.job where id = $1 for share'],
])('while %s, it is tried less and less often', async (_, lock) => {
  const [parent, child] = [newType(), newType()];
  const jobs = await ours.create({
    type: parent,
    sealed: true,
    children: [{ type: child, feed: { payload: 'payload' } }],
  });
  const other = await ours.db.connect();
  onTestFinished(() => other.end());
  await other.query('begin');
  await other.query(lock, [jobs[lock.includes('tree where') ? parent : child]]);
  const tries: number[] = [];
  const often = signal();
  const call = (...parameters: Parameters<Database['call']>) => {
    tries.push(performance.now());
    if (tries.length === 8) often.fire();
    return ours.engine.database.call(...parameters);
  };
  const scheduler = makeScheduler({ call } as Database);
  const root = jobs[parent] as string;
  scheduler.touch(root);
  await often.promise;
  expect((tries.at(-1) as number) - (tries[0] as number)).toBeGreaterThan(300);
  await other.query('commit');
  await scheduler.settled(root);
});

it('new deltas do not end the pause of a tree that another server is folding', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const [job, another] = [await makeJob(), await makeJob()];
  const other = await ours.db.connect();
  onTestFinished(() => other.end());
  await other.query('begin');
  await other.query('select from jobtree.tree where root_id = $1 for update', [job]);
  let tries = 0;
  const call = (name: string, roots: string[], ...rest: unknown[]) => {
    if (roots.includes(job)) tries++;
    return ours.engine.database.call(name, roots, ...rest);
  };
  const scheduler = makeScheduler({ call } as unknown as Database);
  for (let n = 0; n < 10; n++) {
    scheduler.touch(job);
    await scheduler.settled(another);
  }
  expect(tries).toBe(1);
  await other.query('commit');
  const settled = scheduler.settled(job);
  vi.advanceTimersByTime(100);
  await settled;
  expect(tries).toBe(2);
});

it('a chain of empty jobs, of which a fold ends some, goes on without a pause', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const links = Array.from({ length: 60 }, () => newType());
  const parent = newType();
  const jobs = await ours.create({
    type: parent,
    sealed: true,
    children: links.map((type, n) => ({
      type,
      sealed: true,
      ...(n > 0 && { after: [links[n - 1] as string] }),
    })),
  });
  const scheduler = makeScheduler();
  scheduler.touch(jobs[parent] as string);
  const open = 'select from jobtree.tree where root_id = $1 and completed_at is null';
  while ((await ours.db.query(open, [jobs[parent]])).length > 0) await nextTurn();
});

it('a failing fold is retried while its callers wait', async () => {
  const proxy = await startProxy(ours.db.url);
  onTestFinished(() => proxy.close());
  const database = new Database({ url: proxy.url, poolSize: 2, timeoutMs: 60_000, onIdleError: () => {} });
  onTestFinished(() => database.close());
  const failed = signal();
  const scheduler = makeScheduler(database, failed.fire);
  const job = await makeJob();
  proxy.cut();
  const settled = scheduler.settled(job);
  await failed.promise;
  proxy.mend();
  await settled;
  expect(await counted(job)).toBe(1);
});

it('a delta that commits behind the mark is counted by a fold from the start', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const scheduler = makeScheduler();
  const job = await makeJob();
  const late = await ours.db.connect();
  onTestFinished(() => late.end());
  await late.query('begin');
  await late.query(`select * from jobtree.add_items($1, '[{"payload": 1}]', false)`, [job]);
  // The mark follows the newest delta at the second fold that finds it old.
  for (let fold = 0; fold < 4; fold++) {
    await addItem(job);
    vi.advanceTimersByTime(1_500);
    await scheduler.settled(job);
  }
  await late.query('commit');
  await scheduler.settled(job);
  expect(await counted(job)).toBe(5);
  scheduler.touch(job, true);
  await scheduler.settled(job);
  expect(await counted(job)).toBe(6);
});

it('closing folds what is left, and releases all callers', async () => {
  const scheduler = makeScheduler();
  const job = await makeJob();
  const settled = scheduler.settled(job);
  await scheduler.close();
  await settled;
  expect(await counted(job)).toBe(1);
  // Nobody folds any more, so nobody waits for it.
  await addItem(job);
  await scheduler.settled(job);
  expect(await counted(job)).toBe(1);
});
