/** A search of payloads looks at a bounded number of items in a call, finds each that matches once, and says where to go on. */
import { describe, expect, it } from 'vitest';
import type { Survey } from '../../../src/db/surveys.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { type ItemConditions, searchItems } from '../../../src/domain/items/search-items.ts';
import type { ItemKey } from '../../../src/domain/values/ids.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { plansOf, surveyOn } from '../../support/plans.ts';

const t = useEngine();

async function jobOf(payloads: readonly unknown[]): Promise<string> {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({ type });
  for (let i = 0; i < payloads.length; i += 1_000)
    await addItems(
      t.engine,
      jobId,
      payloads.slice(i, i + 1_000).map((payload) => ({ payload })),
      { seal: false },
    );
  return jobId;
}

/** Which items of a job are found, by their numbers, in as many calls as it takes; and how many were looked at in each. */
async function search(jobId: string, conditions: ItemConditions, first = 100) {
  const items = await t.items(jobId);
  const found: number[] = [];
  const searched: number[] = [];
  let from: ItemKey | undefined;
  do {
    const part = await searchItems(t.engine.database, jobId, conditions, { from, first });
    found.push(...part.keys.map((key) => items.findIndex(({ position }) => position === key.position)));
    searched.push(part.searched);
    from = part.next ?? undefined;
  } while (from !== undefined);
  return { found, searched };
}

describe('the search of payloads', () => {
  it('finds what a path leads to, as text: strings, numbers of any size, truth values, null, lists and positions', async () => {
    const jobId = await jobOf([
      { customer: { id: 4711 }, tags: ['a', 'b'] },
      { customer: { id: '4711' }, paid: true },
      { customer: { id: 47110 }, note: null },
      'customer.id',
      [{ id: 7 }],
      { customer: [4711] },
    ]);
    const found = async (path: string, equals: string) => (await search(jobId, { path, equals })).found;
    expect(await found('customer.id', '4711')).toEqual([0, 1]);
    expect(await found('customer.0', '4711')).toEqual([5]);
    expect(await found('tags.1', 'b')).toEqual([0]);
    expect(await found('paid', 'true')).toEqual([1]);
    expect(await found('0.id', '7')).toEqual([4]);
    expect(await found('customer.name', '')).toEqual([]);
  });

  it('finds text anywhere in a payload, in capital or small letters, and both conditions together', async () => {
    const jobId = await jobOf([{ name: 'ADA', n: 1 }, { name: 'Ada', n: 2 }, { 100: '%_' }, 'Grace']);
    expect((await search(jobId, { text: 'ada' })).found).toEqual([0, 1]);
    expect((await search(jobId, { text: '%_' })).found).toEqual([2]);
    expect((await search(jobId, { text: 'GRACE' })).found).toEqual([3]);
    expect((await search(jobId, { text: 'ada', path: 'n', equals: '2' })).found).toEqual([1]);
  });

  it('looks at 10,000 items in a call, ends a call at the last item that it may return, and loses none', async () => {
    const jobId = await jobOf(Array.from({ length: 20_500 }, (_, n) => ({ n, even: n % 2 === 0 })));
    await jobOf([{ n: 12_345 }]);
    expect(await search(jobId, { path: 'n', equals: '12345' })).toEqual({
      found: [12_345],
      searched: [10_000, 10_000, 500],
    });
    const few = await search(jobId, { text: '"n":1234' }, 2);
    expect(few.found).toEqual([1_234, ...Array.from({ length: 10 }, (_, n) => 12_340 + n)]);
    expect(few.searched.reduce((sum, count) => sum + count)).toBe(20_500);
  });

  it('reads 16 million characters of payloads in a call, and at least one item', async () => {
    const large = 'x'.repeat(900_000);
    const jobId = await jobOf(Array.from({ length: 20 }, (_, n) => `${large}${n}`));
    expect(await search(jobId, { text: 'xxx19' })).toEqual({ found: [19], searched: [18, 2] });
  });

  it('finds items by the code of their last failure, and by their dedupe keys without a look at any others', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type });
    const items = Array.from({ length: 40 }, (_, n) => ({ payload: { n }, dedupeKey: `k${n}` }));
    await addItems(t.engine, jobId, items, { seal: false });
    await t.db.query(
      `insert into jobtree.failure (job_id, position, attempt, at, lost, code, message)
        select i.job_id, i.position, a.attempt, now(), false, a.code, 'm'
        from jobtree.job_item i
        cross join (values (1, 'OLD'), (2, 'NEW')) a(attempt, code)
        where i.job_id = $1 and (i.payload ->> 'n')::integer % 20 = a.attempt`,
      [jobId],
    );
    await t.db.query(
      `insert into jobtree.failure (job_id, position, attempt, at, lost, code, message)
        select f.job_id, f.position, 10, now(), false, 'LAST', 'm' from jobtree.failure f
        join jobtree.job_item i using (job_id, position)
        where f.job_id = $1 and (i.payload ->> 'n')::integer = 21`,
      [jobId],
    );
    expect(await search(jobId, { codes: ['OLD', 'NONE'] })).toEqual({ found: [1], searched: [40] });
    expect(await search(jobId, { codes: ['NEW', 'LAST'] })).toEqual({ found: [2, 21, 22], searched: [40] });
    expect((await search(jobId, { codes: ['NEW'], text: '22' })).found).toEqual([22]);
    const keys = { dedupeKeys: ['k22', 'k1', 'none'] };
    expect(await search(jobId, keys)).toEqual({ found: [1, 22], searched: [2] });
    expect((await search(jobId, { ...keys, codes: ['NEW'] })).found).toEqual([22]);
    expect((await search(jobId, keys, 1)).found).toEqual([1, 22]);
  });

  it('refuses conditions that say nothing, and an item of another job', async () => {
    const jobId = await jobOf([1]);
    const other = await jobOf([1]);
    const [from] = await t.items(other);
    for (const [conditions, field] of [
      [{}, 'text'],
      [{ path: 'a' }, 'equals'],
      [{ equals: 'a' }, 'path'],
      [{ path: 'a..b', equals: '1' }, 'path'],
      [{ text: '' }, 'text'],
      [{ codes: [] }, 'codes'],
      [{ codes: [''] }, 'codes[0]'],
      [{ dedupeKeys: [] }, 'dedupeKeys'],
      [{ text: 'x'.repeat(1_001) }, 'text'],
    ] as const)
      await expect(
        searchItems(t.engine.database, jobId, conditions, { from: undefined, first: 100 }),
      ).rejects.toMatchObject({ code: 'INVALID_INPUT', field });
    await expect(
      searchItems(t.engine.database, jobId, { text: 'a' }, { from, first: 100 }),
    ).rejects.toMatchObject({ field: 'from' });
    await expect(
      searchItems(t.engine.database, jobId, { text: 'a' }, { from: undefined, first: 101 }),
    ).rejects.toMatchObject({ field: 'first' });
  });

  it('reads the items of its job alone, in their order, by their key', async () => {
    const jobId = await jobOf(Array.from({ length: 3_000 }, (_, n) => ({ n })));
    const reads = async (conditions: ItemConditions) => {
      const plans = await plansOf(t.db, async (client) => {
        await client.query('analyze jobtree.job_item');
        const surveys = { query: (survey: Survey) => surveyOn(client, survey) };
        await searchItems({ surveys } as never, jobId, conditions, { from: undefined, first: 100 });
      });
      return [...new Set(plans.flatMap(({ reads }) => reads))].toSorted();
    };
    const failures = 'failure by failure_pkey';
    expect(await reads({ text: '2999' })).toEqual([failures, 'job_item by job_item_pkey']);
    expect(await reads({ codes: ['A'] })).toEqual([failures, 'job_item by job_item_pkey']);
    expect(await reads({ dedupeKeys: ['a'] })).toEqual([failures, 'job_item by job_item_dedupe']);
  });
});
