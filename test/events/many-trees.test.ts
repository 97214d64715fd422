import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { FoldScheduler } from '../../src/events/fold-scheduler.ts';
import { newType, useEngine } from '../support/engine.ts';

/** More than are folded at once one by one. */
const trees = 60;
const ours = useEngine();

function makeScheduler(onWarning = (_line: string) => {}): FoldScheduler {
  const logger = pino({ level: 'warn' }, { write: onWarning });
  const scheduler = new FoldScheduler({ database: ours.engine.database, intervalMs: 5, logger });
  onTestFinished(() => scheduler.close());
  return scheduler;
}

/** An item with a setting of its own is left to a fold to count. */
async function makeJobs(): Promise<string[]> {
  const type = newType();
  return Promise.all(
    Array.from(
      { length: trees },
      async () => (await ours.create({ type, items: [{ payload: 1, priority: 1 }] }))[type] as string,
    ),
  );
}

async function counted(jobIds: readonly string[]): Promise<number[]> {
  const text =
    'select p.item_count::int as count from jobtree.job_progress p where p.job_id = any ($1) order by p.job_id';
  return (await ours.db.query<{ count: number }>(text, [jobIds])).map(({ count }) => count);
}

it('of many trees, one that another server is folding delays no other', async () => {
  const scheduler = makeScheduler();
  const [held = '', ...free] = await makeJobs();
  const other = await ours.db.connect();
  onTestFinished(() => other.end());
  await other.query('begin');
  await other.query('select 1 from jobtree.tree where root_id = $1 for update', [held]);
  const settled = scheduler.settled(held);
  await Promise.all(free.map((job) => scheduler.settled(job)));
  expect(await counted(free)).toEqual(free.map(() => 1));
  expect(await counted([held])).toEqual([0]);
  await other.query('commit');
  await settled;
  expect(await counted([held])).toEqual([1]);
});

it("of many trees, one that can't be folded delays no other", async () => {
  const failed = new Set<string>();
  const scheduler = makeScheduler((line) => failed.add(JSON.parse(line).rootId));
  const sound = await makeJobs();
  const broken = sound.splice(1, 1)[0] ?? '';
  const setCount = 'update jobtree.job_progress set item_count = $2 where job_id = $1';
  await ours.db.query(setCount, [broken, '9223372036854775807']);
  const first = scheduler.settled(sound[0] ?? '');
  const settled = scheduler.settled(broken);
  await Promise.all([first, ...sound.map((job) => scheduler.settled(job))]);
  expect(await counted(sound)).toEqual(sound.map(() => 1));
  await expect.poll(() => [...failed]).toEqual([broken]);
  await ours.db.query(setCount, [broken, 0]);
  await settled;
  expect(await counted([broken])).toEqual([1]);
});

it('a tree that fails again and again delays no other by its pauses', async () => {
  const failed = new Set<string>();
  const scheduler = makeScheduler((line) => failed.add(JSON.parse(line).rootId));
  const [broken = '', sound = ''] = await makeJobs();
  const setCount = 'update jobtree.job_progress set item_count = $2 where job_id = $1';
  await ours.db.query(setCount, [broken, '9223372036854775807']);
  const settled = scheduler.settled(broken);
  await expect.poll(() => [...failed]).toEqual([broken]);
  const durations = [];
  for (let round = 0; round < 20; round++) {
    const startedAt = performance.now();
    await scheduler.settled(sound);
    durations.push(performance.now() - startedAt);
  }
  // Most of them, since the machine may be busy: a pause of 200 ms in every round would show in each.
  expect(durations.filter((ms) => ms > 150).length).toBeLessThan(10);
  await ours.db.query(setCount, [broken, 0]);
  await settled;
});

it('trees with slow folds delay no other', async () => {
  const scheduler = makeScheduler();
  const [sound = '', ...slow] = (await makeJobs()).slice(0, 9);
  await ours.db.query(`create function jobtree.take_long() returns trigger language plpgsql as $$
    begin
      perform pg_sleep(0.7);
      return new;
    end $$`);
  await ours.db.query(`create trigger take_long after insert on jobtree.job_progress
    for each row when (new.job_id in (${slow.map((id) => `'${id}'`).join()})) execute function jobtree.take_long()`);
  await scheduler.settled(sound);
  // Once each of them has shown that it takes long.
  await Promise.all(slow.map((job) => scheduler.settled(job)));
  for (const job of slow)
    await ours.db.query(`select * from jobtree.add_items($1, '[{"payload": 1}]', false)`, [job]);
  let isSettled = false;
  const settled = Promise.all(slow.map((job) => scheduler.settled(job))).then(() => {
    isSettled = true;
  });
  const startedAt = performance.now();
  let folds = 0;
  while (!isSettled) {
    await scheduler.settled(sound);
    folds++;
  }
  // Four at a time, and everybody waits for them: it was two or three.
  expect(folds).toBeGreaterThan((performance.now() - startedAt) / 250);
  await settled;
  await ours.db.query('drop trigger take_long on jobtree.job_progress; drop function jobtree.take_long');
});
