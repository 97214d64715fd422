import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
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

async function makeJobs(): Promise<string[]> {
  const type = newType();
  return Promise.all(
    Array.from(
      { length: trees },
      async () => (await ours.create({ type, items: [{ payload: 1 }] }))[type] as string,
    ),
  );
}

async function counted(jobIds: readonly string[]): Promise<number[]> {
  const text =
    'select p.item_count::int as count from jobtree.job_progress p where p.job_id = any ($1) order by p.job_id';
  return (await ours.db.query<{ count: number }>(text, [jobIds])).map(({ count }) => count);
}

test('of many trees, one that another server is folding holds up no other', async () => {
  const scheduler = makeScheduler();
  const [held = '', ...free] = await makeJobs();
  const other = await ours.db.connect();
  onTestFinished(() => other.end());
  await other.query('begin');
  await other.query('select 1 from jobtree.job_progress where job_id = $1 for update', [held]);
  const settled = scheduler.settled(held);
  await Promise.all(free.map((job) => scheduler.settled(job)));
  expect(await counted(free)).toEqual(free.map(() => 1));
  expect(await counted([held])).toEqual([0]);
  await other.query('commit');
  await settled;
  expect(await counted([held])).toEqual([1]);
});

test('of many trees, one that cannot be folded holds up no other', async () => {
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
