/** Items know the items that fed them, and those the items that they fed. */
import { describe, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { readChildKeys } from '../../../src/domain/items/item-pages.ts';
import { readItems } from '../../../src/domain/items/read-items.ts';
import type { NewJob } from '../../../src/domain/jobs/create-job.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { type ItemKey, itemIdOf } from '../../../src/domain/values/ids.ts';
import type { JsonText } from '../../../src/domain/values/json-text.ts';
import { readTraceContexts } from '../../../src/domain/values/trace-context.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();
const parts = { details: true, payload: true, result: false };
const count = 7;

/** The children of a job, and what each makes of `n`, which is the payload of an item of their parent. */
const fed: Readonly<
  Record<string, (type: string) => { feed: NewJob['feed']; made: (n: number) => unknown[] }>
> = {
  'by the simplest mapping': () => ({ feed: { payload: 'payload' }, made: (n) => [n] }),
  'by a mapping': () => ({ feed: { payload: { n: 'payload' } }, made: (n) => [{ n }] }),
  'by a list': () => ({
    feed: { forEach: 'result.list' },
    made: (n) => Array.from({ length: n % 3 }, () => n),
  }),
  'with serialize keys': () => ({
    feed: { payload: 'payload', serializeKey: 'result.key' },
    made: (n) => [n],
  }),
  'by reports': () => ({ feed: { source: 'REPORTS' }, made: (n) => [n, n] }),
};

/** A tree whose items have fed children in each of these ways: all in one report, or in several and out of order. */
async function feed(ways: readonly string[]) {
  const parent = newType('parent');
  const children = ways.map((way) => {
    const type = newType(way);
    return { type, ...(fed[way] as (typeof fed)[string])(type) };
  });
  const ids = await t.create({
    type: parent,
    items: Array.from({ length: count }, (_, n) => ({ payload: n })),
    children: children.map(({ type, feed }) => ({ type, feed })),
  });
  const held = await claimItems(t.engine, 'w', [{ type: parent, limit: count }]);
  const reports = held.map(({ id: assignmentId, payload }) => {
    const n = payload.value as number;
    const newItems = children.flatMap(({ type, feed }) =>
      feed?.source !== 'REPORTS'
        ? []
        : // The second one has the key that each of them names.
          [
            { type, payload: n },
            { type, payload: n, dedupeKey: `${n}` },
            { type, payload: n, dedupeKey: 'all' },
          ],
    );
    const result = { list: Array(n % 3).fill(n), key: `${parent} ${n % 2}` };
    return { assignmentId, result, ...(newItems.length > 0 && { newItems }) };
  });
  for (const some of [reports.slice(4), reports.slice(0, 3).toReversed(), reports.slice(3, 4)]) {
    const answers = await reportOutcomes(t.engine, some);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['ACCEPTED']));
  }
  const parents = await t.items(ids[parent] ?? '');
  return { parents, children: children.map((child) => ({ ...child, id: ids[child.type] ?? '' })) };
}

const numberIn = (payload: unknown) => (typeof payload === 'number' ? payload : (payload as { n: number }).n);

describe.each([[['by the simplest mapping']], [Object.keys(fed)]])('fed %s', (ways) => {
  it('an item names the item that fed it, and is listed only among the children of that item', async () => {
    const { parents, children } = await feed(ways);
    const expected = new Map<string, ItemKey[]>(parents.map((parent) => [itemIdOf(parent), []]));
    for (const { id, made } of children.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const items = await readItems(t.engine.database, await t.items(id), parts);
      for (const item of items) {
        const n = numberIn(item?.payload?.value);
        expect(item?.parent).toEqual(parents[n]);
        expected.get(itemIdOf(parents[n] as ItemKey))?.push({ jobId: id, position: item?.position ?? 0 });
      }
      const each = parents.map((_, n) => items.filter((item) => numberIn(item?.payload?.value) === n).length);
      const isNamed = made(1).length === 2;
      // Of those with one key the first that was reported made it.
      expect(each).toEqual(parents.map((_, n) => made(n).length + (isNamed && n === 4 ? 1 : 0)));
    }
    for (const [i, parent] of parents.entries()) {
      const all = expected.get(itemIdOf(parent)) ?? [];
      for (const backwards of [false, true]) {
        const inOrder = backwards ? all.toReversed() : all;
        for (const [after, before, take] of [
          [undefined, undefined, 1_001],
          [undefined, undefined, 1],
          [all[0], undefined, 2],
          [undefined, all.at(-1), 2],
        ] as const) {
          const between = inOrder.filter(
            (key) =>
              (after === undefined || all.indexOf(key) > 0) &&
              (before === undefined || all.indexOf(key) < all.length - 1),
          );
          const other = parents[(i + 1) % count] as ItemKey;
          const pages = await readChildKeys(t.engine.database, null, backwards, [
            { parent, range: { after, before, take, backwards } },
            { parent: other, range: { take: 1_001, backwards } },
          ]);
          expect(pages[0]).toEqual(between.slice(0, take));
          expect(pages[1]?.length).toBe(expected.get(itemIdOf(other))?.length);
        }
      }
    }
    const [none] = await readItems(t.engine.database, parents);
    expect(none?.parent).toBeNull();
  });

  it('children are restricted to the requested types', async () => {
    const { parents, children } = await feed(ways);
    const [child] = children;
    const request = { parent: parents[1] as ItemKey, range: { take: 9, backwards: false } };
    const read = (types: string[]) => readChildKeys(t.engine.database, types, false, [request]);
    expect(await read([])).toEqual([[]]);
    expect((await read([child?.type ?? '']))[0]?.map(({ jobId }) => jobId)).toEqual([child?.id]);
  });
});

it('a call that reports on several trees feeds each of them from its own items, and only the jobs that are fed', async () => {
  const [parent, mapped, reported] = [newType('parent'), newType('mapped'), newType('reported')];
  const trees = [];
  for (const tree of ['a', 'b']) {
    const root = await t.create({
      type: parent,
      items: [1, 2].map((n) => ({ payload: `${tree}${n}` })),
      children: [
        { type: mapped, feed: { payload: 'payload' } },
        { type: reported, feed: { source: 'REPORTS' } },
        { type: reported },
      ],
    });
    trees.push({ tree, root });
  }
  const held = await claimItems(t.engine, 'w', [{ type: parent, limit: 4 }]);
  const reports = held.map(({ id: assignmentId, payload }) => ({ assignmentId, result: 0, payload }));
  const isFirst = ({ payload }: { payload: JsonText }) => payload.text.includes('1');
  await reportOutcomes(t.engine, reports.filter(isFirst));
  const newItems = ({ payload }: { payload: JsonText }) => [{ type: reported, payload: payload.value }];
  await reportOutcomes(
    t.engine,
    reports.filter((report) => !isFirst(report)).map((report) => ({ ...report, newItems: newItems(report) })),
  );
  for (const { tree, root } of trees) {
    const rows = await t.db.query(
      `select j.type, j.feed is not null as fed, json_agg(i.payload order by i.position) as payloads
       from jobtree.job j join jobtree.job_item i on i.job_id = j.id
       where j.root_id = $1 and j.parent_id is not null group by j.id order by j.type`,
      [root[parent]],
    );
    expect(rows).toEqual([
      { type: mapped, fed: true, payloads: [`${tree}1`, `${tree}2`] },
      { type: reported, fed: true, payloads: [`${tree}2`] },
    ]);
  }
});

it('a fed item belongs to the trace of the item that fed it, and to none if that has none', async () => {
  const [parent, child] = [newType('parent'), newType('child')];
  const ids = await t.create({ type: parent, children: [{ type: child, feed: { payload: 'payload' } }] });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  // Of four neighbours the second and the third.
  await t.db.query('select jobtree.add_items($1, $2, false, $3)', [
    ids[parent],
    JSON.stringify([0, 1, 2, 3].map((payload) => ({ payload }))),
    JSON.stringify([{ traceparent, from: 1, count: 2 }]),
  ]);
  const held = await claimItems(t.engine, 'w', [{ type: parent, limit: 4 }]);
  await reportOutcomes(
    t.engine,
    held.map(({ id: assignmentId }) => ({ assignmentId, result: null })),
  );
  const keys = await t.items(ids[child] ?? '');
  const traces = await readTraceContexts(t.engine.database, keys);
  expect(traces.map((trace) => trace?.traceparent)).toEqual([undefined, traceparent, traceparent, undefined]);
});

describe('a path that leads nowhere', () => {
  const result = { id: 7, empty: null, lines: [{ sku: 'a' }, { no: 1 }] };
  /** What a report with this result comes to, and the payloads and serialize keys of what it creates. */
  async function reported(feed: NewJob['feed']) {
    const [parent, child] = [newType('parent'), newType('child')];
    const ids = await t.create({
      type: parent,
      items: [{ payload: { url: 'u' } }],
      children: [{ type: child, feed }],
    });
    const { id: assignmentId } = await t.claimOne(parent);
    const [answer] = await reportOutcomes(t.engine, [{ assignmentId, result }]);
    const created = await t.db.query(
      'select payload, serialize_key as key from jobtree.job_item where job_id = $1 order by position',
      [ids[child]],
    );
    return { status: answer?.status, error: answer?.error?.message?.replaceAll(child, 'T'), created };
  }

  it.each<[NewJob['feed'], string]>([
    [{ payload: 'result.amount' }, 'result.amount leads nowhere'],
    [{ payload: 'payload.amount' }, 'payload.amount leads nowhere'],
    [{ payload: 'result.empty.amount' }, 'result.empty.amount leads nowhere'],
    [{ payload: 'result.lines.2' }, 'result.lines.2 leads nowhere'],
    [{ payload: { id: 'result.id', of: 'payload.link' } }, 'payload.link leads nowhere'],
    [{ payload: 'result', serializeKey: 'result.customer' }, 'result.customer leads nowhere'],
    [
      { forEach: 'result.lines', payload: 'element.sku' },
      'element.sku leads nowhere in element 2 of result.lines',
    ],
    [
      { forEach: 'result.lines', serializeKey: 'element.sku' },
      'element.sku leads nowhere in element 2 of result.lines',
    ],
  ])('makes the report INVALID and creates nothing: %j', async (feed, error) => {
    const made = await reported(feed);
    expect(made).toMatchObject({ status: 'INVALID', created: [] });
    expect(made.error).toMatch(
      `${error}, so it can't feed the job of type T. If it may be missing, the mapping says `,
    );
  });

  it.each<[NewJob['feed'], unknown[]]>([
    [{ payload: 'result.amount?' }, [null]],
    [{ payload: 'payload.amount?' }, [null]],
    [{ payload: { id: 'result.id?', of: 'payload.link?' } }, [{ id: 7, of: null }]],
    [{ payload: 'result.id', serializeKey: 'result.customer?' }, [7]],
    [{ forEach: 'result.lines', payload: 'element.sku?' }, ['a', null]],
    [{ forEach: 'result.rows?' }, []],
    [{ forEach: 'result.empty?' }, []],
    [{ payload: 'result.empty' }, [null]],
    [{ payload: 'result.id', serializeKey: 'result.empty' }, [7]],
  ])('gives null where it is optional, and so does one that leads to null: %j', async (feed, payloads) => {
    const { status, created } = await reported(feed);
    expect(status).toBe('ACCEPTED');
    expect(created).toEqual(payloads.map((payload) => ({ payload, key: null })));
  });
});

describe('several reports of one assignment in one call', () => {
  const success = { result: { id: 7 } };
  const failure = { failure: { code: 'E', message: 'no' } };
  const snooze = { snoozeMs: 60_000 };
  const nowhere = { result: null };
  const unknown = { result: { id: 7 }, newItems: [{ type: 'unknown', payload: 1 }] };

  it.each([
    ['a failure', [nowhere, failure], ['INVALID', 'ACCEPTED'], 0],
    ['a failure, after new items', [unknown, failure], ['INVALID', 'ACCEPTED'], 0],
    ['a result', [nowhere, success], ['INVALID', 'ACCEPTED'], 1],
    ['a snooze', [unknown, snooze], ['INVALID', 'ACCEPTED'], 0],
    ['the third', [nowhere, unknown, success, failure], ['INVALID', 'INVALID', 'ACCEPTED', 'STALE'], 1],
    ['none', [nowhere, unknown, nowhere], ['INVALID', 'INVALID', 'INVALID'], 0],
    ['the first', [success, nowhere, success], ['ACCEPTED', 'STALE', 'DUPLICATE'], 1],
    ['the first, a failure', [failure, nowhere, failure], ['ACCEPTED', 'STALE', 'DUPLICATE'], 0],
  ])('are judged up to the first that is valid: %s', async (_, outcomes, statuses, fed) => {
    const call = async (report: (id: string) => Promise<readonly string[]>) => {
      const [parent, child] = [newType('parent'), newType('child')];
      const feed = { payload: 'result.id' };
      const ids = await t.create({ type: parent, items: [{}], children: [{ type: child, feed }] });
      const { id } = await t.claimOne(parent);
      expect(await report(id)).toEqual(statuses);
      expect((await t.items(ids[child] ?? '')).length).toBe(fed);
      // What was accepted has ended the assignment; what was not has left it to the worker.
      const [again] = await reportOutcomes(t.engine, [{ assignmentId: id, result: { id: 8 } }]);
      expect(again?.status).toBe(statuses.includes('ACCEPTED') ? 'STALE' : 'ACCEPTED');
    };
    const reports = (assignmentId: string) => outcomes.map((outcome) => ({ assignmentId, ...outcome }));
    await call(async (id) => (await reportOutcomes(t.engine, reports(id))).map(({ status }) => status));
    await call(async (id) => {
      const [row] = await t.db.query<{ answers: { index: number; status: string }[] | null }>(
        'select answers from jobtree.report_outcomes($1)',
        [JSON.stringify(reports(id))],
      );
      const given = new Map(row?.answers?.map(({ index, status }) => [index, status]));
      return outcomes.map((_, i) => given.get(i) ?? 'ACCEPTED');
    });
  });
});
