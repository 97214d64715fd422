/** What the sweeper finds on its own: leftovers of servers that died, and of transactions that took long. */
import pino from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Sweeper } from '../../src/server/sweeper.ts';
import { newType, useEngine } from '../support/engine.ts';
import { anyRow } from '../support/locks.ts';

const t = useEngine();
let sweeper: Sweeper | undefined;
const sweep = () => {
  sweeper = new Sweeper({ engine: t.engine, intervalMs: 10, logger: pino({ level: 'silent' }) });
  sweeper.start();
};
afterEach(async () => {
  await sweeper?.stop();
  vi.useRealTimers();
});

const lost = (id: string) =>
  anyRow(t.db, `select from jobtree.assignment where id = $1 and outcome = 'lost'`, [id]);
const expire = (id: string, ago: string) =>
  t.db.query(`update jobtree.assignment set deadline_at = now() - $2::interval where id = $1`, [id, ago]);

describe('the sweeper', () => {
  it('finishes a cancellation that was begun, over as many batches as it takes', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await t.db.query(
      `select jobtree.add_items($1, (select jsonb_agg('{"payload": 1}'::jsonb) from generate_series(1, 2500)))`,
      [job],
    );
    await t.claimOne(type);
    await t.db.query('select * from jobtree.cancel_job($1)', [job]);
    await t.db.query('select * from jobtree.cancel_items($1)', [job]);
    sweep();
    await anyRow(
      t.db,
      'select from jobtree.job_item where job_id = $1 having count(*) = count(cancelled_at)',
      [job],
    );
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 2_500, completedAt: expect.any(Number) });
    await anyRow(t.db, 'select from jobtree.job where id = $1 and not cancelling', [job]);
  });

  it('finds any hold that nobody keeps up when it starts, however old', async () => {
    const type = newType();
    await t.create({ type, items: [{}] });
    const { id } = await t.claimOne(type);
    await expire(id, '100 days');
    sweep();
    await lost(id);
  });

  it.each([
    ['within minutes one that a long transaction had locked', '30 minutes', 11 * 60_000],
    ['within a day one of any age', '2 days', 25 * 3_600_000],
  ])('finds %s', async (_, age, later) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const type = newType();
    await t.create({ type, items: [{}, {}] });
    const [{ id }, seen] = [await t.claimOne(type), await t.claimOne(type)];
    await expire(id, age);
    await expire(seen.id, '1 second');
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select from jobtree.assignment where id = $1 for update', [id]);
    sweep();
    // The sweep that took this one back has passed by the other.
    await lost(seen.id);
    await other.query('rollback');
    await other.end();
    vi.setSystemTime(Date.now() + later);
    await lost(id);
  });
});

it('a sweep names the roots whose deltas stayed since the sweep before, and a first one all', async () => {
  const [early, late] = [newType('early'), newType('late')];
  const { [early]: one = '' } = await t.create({ type: early, items: [{}] });
  const sweepOnce = async (seen: number | null) => {
    const [row] = await t.db.query<{ root_ids: string[] | null; ready_types: string[]; delta_seen: string }>(
      'select * from jobtree.sweep(null, $1)',
      [seen],
    );
    return { roots: row?.root_ids ?? [], types: row?.ready_types, seen: Number(row?.delta_seen) };
  };
  const first = await sweepOnce(null);
  expect(first.roots).toContain(one);
  const { [late]: two = '' } = await t.create({ type: late, items: [{}] });
  const second = await sweepOnce(first.seen);
  expect(second.roots).toContain(one);
  expect(second.roots).not.toContain(two);
  expect(second.types).toContain(late);
  await t.fold(one);
  const third = await sweepOnce(second.seen);
  expect(third.roots).toContain(two);
  expect(third.roots).not.toContain(one);
});
