/** What tenants store is added up, however late it is noted. */
import { afterEach, expect, it, vi } from 'vitest';
import { StoredFold } from '../../../src/domain/access/stored.ts';
import { useEngine } from '../../support/engine.ts';
import { plansOf } from '../../support/plans.ts';

const t = useEngine();
afterEach(() => void vi.useRealTimers());

const note = `insert into jobtree.stored_delta (tenant, items, bytes) values ('late', 1, 1)`;
const storedItems = async () =>
  (await t.db.query<{ items: number }>(`select items::int from jobtree.stored where tenant = 'late'`))[0]
    ?.items;

it('a record that commits behind the mark is added up when all are read', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const fold = new StoredFold(t.engine.database);
  const late = await t.db.connect();
  await late.query('begin');
  await late.query(note);
  for (let run = 0; run < 4; run++) {
    await t.db.query(note);
    await fold.run();
    vi.advanceTimersByTime(11_000);
  }
  await late.query('commit');
  await late.end();
  await fold.run();
  expect(await storedItems()).toBe(4);
  vi.advanceTimersByTime(60_000);
  await fold.run();
  expect(await storedItems()).toBe(5);
});

it('behind the mark, rows that an old snapshot keeps are not read', async () => {
  const snapshot = await t.db.connect();
  await snapshot.query('begin isolation level repeatable read');
  await snapshot.query('select');
  await t.db.query(
    `${note.replace('values', 'select')} from generate_series(1, 20000)`.replace(
      `('late', 1, 1)`,
      `'late', 1, 1`,
    ),
  );
  await t.db.query('select * from jobtree.fold_stored(100000)');
  const [{ last = 0 } = {}] = await t.db.query<{ last: number }>(
    `select last_value::int as last from jobtree.stored_delta_id_seq`,
  );
  const plans = await plansOf(t.db, (client) =>
    client.query('select * from jobtree.fold_stored(100, $1)', [last]),
  );
  await snapshot.query('rollback');
  await snapshot.end();
  const reads = plans.flatMap(({ nodes }) =>
    nodes.filter((node) => node['Relation Name'] === 'stored_delta'),
  );
  const pages = reads.map((node) => node['Shared Hit Blocks'] ?? 0);
  expect(Math.max(...pages)).toBeLessThan(50);
});
