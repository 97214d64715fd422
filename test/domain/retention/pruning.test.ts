/** What goes after a month: operations that are done, and notes that nobody will see. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { noteGroup, pruneNotes } from '../../../src/domain/operations/dead-letter-notes.ts';
import { readLargestGroups } from '../../../src/domain/operations/dead-letters.ts';
import {
  pruneOperations,
  readOperations,
  startOperation,
} from '../../../src/domain/operations/operations.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { startServer } from '../../support/server.ts';

const t = useEngine();

describe('an operation', () => {
  /** Whose request is so many days ago. */
  async function operation(days: number, state = ''): Promise<string> {
    const id = await startOperation(t.engine, 'DISCARD', { types: [newType()] });
    const [row] = await t.db.query<{ id: string }>(
      `update jobtree.operation set ${state} id = overlay(id::text placing
         left(m, 8) || '-' || right(m, 4) from 1 for 13)::uuid
       from (select lpad(to_hex((extract(epoch from now() - $2 * interval '1 day') * 1000)::bigint), 12, '0') as m) p
       where id = $1 returning id`,
      [id, days],
    );
    return row?.id ?? '';
  }

  it('goes 30 days after its request, unless it is not finished', async () => {
    await operation(31);
    const kept = [await operation(29), await operation(31, 'finished_at = null,')];
    expect(await pruneOperations(t.engine.database)).toBe(false);
    const left = await t.db.query<{ id: string }>('select id from jobtree.operation');
    expect(left.map(({ id }) => id).toSorted()).toEqual(kept.toSorted());
  });

  it('and a note are looked after by every server', async () => {
    const id = await operation(31);
    const server = await startServer(t.db.url);
    await expect.poll(() => readOperations(t.engine.database, [id])).toEqual([]);
    await server.close();
  });
});

it('trees are reaped even if what is too old can not be removed', async () => {
  const type = newType();
  const { [type]: tree = '' } = await t.create({ type, sealed: true, retentionSeconds: 0 });
  await t.fold(tree);
  await t.db.query(
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
     create trigger refuse before delete on jobtree.operation for each statement execute function public.refuse()`,
  );
  onTestFinished(async () => {
    await t.db.query('drop function public.refuse() cascade');
  });
  const server = await startServer(t.db.url);
  onTestFinished(() => server.close());
  await expect
    .poll(() => t.db.query('select from jobtree.job where id = $1', [tree]), { timeout: 10_000 })
    .toEqual([]);
});

describe('a note on a group', () => {
  const everyone = { tenant: null, types: null, rootIds: null };
  const notes = async () =>
    (await t.db.query<{ fingerprint: string }>('select fingerprint from jobtree.dead_letter_note')).map(
      ({ fingerprint }) => fingerprint,
    );
  /** A group of one dead letter, with a note. */
  async function noted(): Promise<{ type: string; id: string }> {
    const type = newType();
    await t.create({ type, items: [{}] });
    const failure = { code: 'E', message: 'no', permanent: true };
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, failure }]);
    const [group] = await readLargestGroups(t.engine.database, {
      types: [type],
      codes: null,
      after: null,
      first: 1,
    });
    await noteGroup(t.engine.database, everyone, group?.id ?? '', 'known');
    return { type, id: group?.id ?? '' };
  }
  const discard = async (type: string) => {
    await startOperation(t.engine, 'DISCARD', { types: [type] });
    await t.finish();
  };
  const pass = (days: number) =>
    t.db.query(`update jobtree.dead_letter_note set empty_since = empty_since - $1 * interval '1 day'`, [
      days,
    ]);

  it('remains while the group has dead letters, and for 30 days without any', async () => {
    const [full, emptied] = [await noted(), await noted()];
    await pruneNotes(t.engine.database);
    await discard(emptied.type);
    for (const days of [0, 29]) {
      await pass(days);
      expect(await pruneNotes(t.engine.database)).toBeUndefined();
      expect((await notes()).toSorted()).toEqual([full.id, emptied.id].toSorted());
    }
    await pass(2);
    await pruneNotes(t.engine.database);
    expect(await notes()).toEqual([full.id]);
  });

  it('counts from anew when the failure recurs', async () => {
    const { type, id } = await noted();
    await discard(type);
    await pruneNotes(t.engine.database);
    await t.create({ type, items: [{}] });
    const failure = { code: 'E', message: 'no', permanent: true };
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, failure }]);
    await pass(31);
    await pruneNotes(t.engine.database);
    await discard(type);
    await pruneNotes(t.engine.database);
    await pruneNotes(t.engine.database);
    expect(await notes()).toContain(id);
  });

  it('is found however many there are', async () => {
    await t.db.query(
      `insert into jobtree.dead_letter_note (fingerprint, note, noted_at, empty_since)
       select gen_random_uuid(), 'old', now(), now() - interval '31 days' from generate_series(1, 2500)`,
    );
    let from: string | undefined;
    let looks = 0;
    do from = await pruneNotes(t.engine.database, from);
    while (++looks < 10 && from !== undefined);
    expect(looks).toBe(3);
    expect(await t.db.query(`select from jobtree.dead_letter_note where note = 'old'`)).toEqual([]);
  });
});
