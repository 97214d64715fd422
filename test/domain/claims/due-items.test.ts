/** Items come due in time, whatever else comes due with them. */
import { expect, it } from 'vitest';
import { promoteDue } from '../../../src/domain/claims/sweep.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { plansOf } from '../../support/plans.ts';

const t = useEngine();

/** Lets items of a type come due at once, each an entry of its own. */
async function makeDue(type: string, count: number, at = '1 minute'): Promise<void> {
  const { [type]: job } = await t.create({ type });
  await t.db.query(
    `select jobtree.add_items($1, (
       select json_agg(json_build_object('payload', n, 'runAt', now() + n * interval '1 s' + interval '1 h')) from generate_series(1, $2::int) n
     ))`,
    [job, count],
  );
  await t.db.query(
    'update jobtree.queue_entry set run_at = clock_timestamp() - $2::interval where type = $1',
    [type, at],
  );
}

const waiting = async (type: string) =>
  (
    await t.db.query<{ count: number }>(
      'select count(*)::int from jobtree.queue_entry where type = $1 and run_at is not null',
      [type],
    )
  )[0]?.count;

it('a type with very many due items keeps no other one waiting', async () => {
  const [crowd, single, late] = [newType('crowd'), newType('single'), newType('late')];
  await makeDue(crowd, 300);
  await makeDue(single, 1, '1 second');
  await makeDue(late, 30, '2 seconds');
  await t.db.query('select * from jobtree.promote_due(60)');
  expect([await waiting(crowd), await waiting(single), await waiting(late)]).toEqual([280, 0, 10]);
  while ((await promoteDue(t.engine)).more);
  expect([await waiting(crowd), await waiting(late)]).toEqual([0, 0]);
});

it('more types than a batch has items take turns', async () => {
  const types = Array.from({ length: 5 }, (_, n) => newType(`turn-${n}`)).sort();
  for (const type of types) await makeDue(type, 3);
  let after = '';
  const seen: unknown[] = [];
  for (let turn = 0; turn < 4; turn++) {
    const [row] = await t.db.query<{ last_type: string; more: boolean; ready: object }>(
      'select * from jobtree.promote_due(2, null, $1)',
      [after],
    );
    after = row?.last_type ?? '';
    expect(row?.more).toBe(true);
    seen.push(...Object.keys(row?.ready ?? {}).sort());
  }
  expect(seen).toEqual([...types, types[0], types[1]]);
  while ((await promoteDue(t.engine)).more);
});

it('due items that others have locked are not looked for again and again', async () => {
  const type = newType();
  await makeDue(type, 10);
  const other = await t.db.connect();
  await other.query('begin');
  await other.query('select from jobtree.queue_entry where type = $1 for update', [type]);
  const look = 'select promoted, more from jobtree.promote_due(5)';
  expect(await t.db.query(look)).toEqual([{ promoted: 0, more: false }]);
  await other.query('rollback');
  await other.end();
  expect(await t.db.query(look)).toEqual([{ promoted: 5, more: true }]);
});

it('the turn of a type reads none of the due items of another', async () => {
  const [crowd, single] = [newType('crowd'), newType('single')];
  for (const [type, count] of [
    [crowd, 60_000],
    [single, 1],
  ] as const) {
    const { [type]: job } = await t.create({ type });
    await t.db.query(
      `insert into jobtree.queue_entry (job_id, position, place, count, type, priority, attempt, bytes, run_at)
       select $1, i * 1024, i * 1024, 1, $2, 0, 1, 1, now() - interval '1 s' from generate_series(1, $3::int) i`,
      [job, type, count],
    );
  }
  await t.db.query('analyze jobtree.queue_entry');
  const plans = await plansOf(t.db, (client) => client.query('select * from jobtree.promote_due(100)'));
  const reads = plans.flatMap(({ nodes }) =>
    nodes.filter((node) => node['Index Name'] !== undefined && node['Relation Name'] === 'queue_entry'),
  );
  expect(reads.length).toBeGreaterThan(3);
  expect(Math.max(...reads.map((node) => node['Shared Hit Blocks'] ?? 0))).toBeLessThan(500);
});
