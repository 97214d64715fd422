/** Parts of items are measured before they are read. */
import { expect, it } from 'vitest';
import { readItemSizes } from '../../../src/domain/items/item-sizes.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

const none = { payload: 0, result: 0, failures: 0, lastFailure: 0, stacks: 0, log: 0 };

it('measures a large result once, since it is never written again', async () => {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({ type, items: [{ payload: 1 }, { payload: 22 }, {}] });
  const [first, second, third] = await t.items(jobId);
  if (first === undefined || second === undefined || third === undefined) throw new Error('There are three.');
  const put = (position: number, length: number) =>
    t.db.query(
      `insert into jobtree.outcome (job_id, position, failed, result, finished_at)
       values ($1, $2, false, to_json(repeat('x', $3)), now())
       on conflict (job_id, position) do update set result = excluded.result`,
      [jobId, position, length],
    );
  await put(first.position, 20_000);
  await put(second.position, 100);
  const missing = { jobId, position: third.position + 1 };
  const sizes = () =>
    readItemSizes(t.engine.database, [missing, first, second, third], { ...none, payload: 1, result: 2 });
  expect(await sizes()).toEqual([40_005, 206, 4]);
  // Nobody does that, but it shows that the large one was not looked at.
  await put(first.position, 30_000);
  await put(second.position, 200);
  expect(await sizes()).toEqual([40_005, 406, 4]);
});
