/** Jobs that wait for others of their tree: what they refuse, when they go on, when they are cancelled, and who finishes it. */

import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { findMissedEntries } from '../../../src/domain/claims/missed-entries.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { readItems } from '../../../src/domain/items/read-items.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { createJob, type NewJob } from '../../../src/domain/jobs/create-job.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import { type JobProgress, readTreeOutcomes } from '../../../src/domain/progress/progress.ts';
import { readQueues } from '../../../src/domain/queues/queues.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { InvalidInputError, ItemNotClaimableError } from '../../../src/errors.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

/** Claims items of a type, by default all, reports that it succeeded or failed for good, and gives how many there were. */
async function work(type: string, fails = false, limit = 1_000): Promise<number> {
  const held = await claimItems(t.engine, 'w', [{ type, limit }]);
  if (held.length === 0) return 0;
  const failure = { code: 'E', message: 'no', permanent: true };
  await reportOutcomes(
    t.engine,
    held.map(({ id }) => ({ assignmentId: id, ...(fails ? { failure } : { result: 1 }) })),
  );
  return held.length;
}

/** Folds and finishes until nothing changes. */
async function settle(rootId: string): Promise<Record<string, JobProgress>> {
  for (let before = ''; ; ) {
    const progress = await t.fold(rootId);
    await t.finish();
    if (JSON.stringify(progress) === before) return progress;
    before = JSON.stringify(progress);
  }
}

const outcomes = (progress: Record<string, JobProgress>, ...types: string[]) =>
  types.map((type) => progress[type]?.outcome);

/** A root with children that are not fed, each sealed, with two items unless it says otherwise. */
async function tree(...children: NewJob[]) {
  const root = newType('root');
  const full = children.map((child) => ({ sealed: true, items: [{ payload: 1 }, { payload: 2 }], ...child }));
  return { root, ids: await t.create({ type: root, sealed: true, children: full }) };
}

/** Names with a suffix of their own for each test. */
const named = (...names: string[]) => names.map((name) => newType(name));

describe('waiting', () => {
  it('no claim gets items of a job until all jobs that it waits for are complete', async () => {
    const [a, b, c] = named('a', 'b', 'c') as [string, string, string];
    const { root, ids } = await tree({ type: a }, { type: b }, { type: c, after: [a, b] });
    expect(await work(c)).toBe(0);
    await work(a);
    await settle(ids[root] ?? '');
    expect(await work(c)).toBe(0);
    await work(b);
    t.ready.length = 0;
    await settle(ids[root] ?? '');
    expect(t.ready).toEqual([c]);
    expect(await work(c)).toBe(2);
    const ended = await settle(ids[root] ?? '');
    expect(outcomes(ended, a, b, c, root)).toEqual(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED']);
    expect((await readTreeOutcomes(t.engine.database, [ids[root] ?? ''])).get(ids[root] ?? '')).toBe(
      'SUCCEEDED',
    );
  });

  it('is visible in a refused claim by name, in the queue, and in the state of an item', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { ids } = await tree({ type: a }, { type: b, after: [a] });
    const [item] = await t.items(ids[b] ?? '');
    const refused = claimItem(t.engine, item as never, 'w');
    await expect(refused).rejects.toThrow(ItemNotClaimableError);
    await expect(refused).rejects.toMatchObject({ reason: 'WAITING' });
    expect(await readQueues(t.engine, [b])).toMatchObject([
      { type: b, ready: 0, scheduled: 0, waiting: 2, running: 0 },
    ]);
    expect(await readItems(t.engine.database, [item as never])).toMatchObject([
      { status: 'WAITING', retryAt: null },
    ]);
    const [row] = await t.db.query('select status, due_at from jobtree.item_status where job_id = $1', [
      ids[b],
    ]);
    expect(row).toEqual({ status: 'WAITING', due_at: null });
  });

  it('a chain proceeds link by link, also through an empty one', async () => {
    const [a, b, c, d] = named('a', 'b', 'c', 'd') as [string, string, string, string];
    const { root, ids } = await tree(
      { type: d, after: [c] },
      { type: c, after: [b] },
      { type: b, after: [a], items: [] },
      { type: a },
    );
    const before = await settle(ids[root] ?? '');
    expect(outcomes(before, a, b, c, d)).toEqual([null, null, null, null]);
    await work(a);
    const meanwhile = await settle(ids[root] ?? '');
    expect(outcomes(meanwhile, a, b, c, d)).toEqual(['SUCCEEDED', 'SUCCEEDED', null, null]);
    expect(await work(d)).toBe(0);
    expect(await work(c)).toBe(2);
    await settle(ids[root] ?? '');
    expect(await work(d)).toBe(2);
    expect(outcomes(await settle(ids[root] ?? ''), c, d)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  });

  it('a fold ends only some layers of a long chain of empty jobs, so that other trees need not wait', async () => {
    const names = Array.from({ length: 60 }, (_, i) => newType(`link ${i}`));
    const { root, ids } = await tree(
      ...names.map((type, i) => ({ type, items: [], ...(i > 0 && { after: [names[i - 1] as string] }) })),
    );
    const open = async () => {
      const [row] = await t.db.query<{ open: number }>(
        `select count(*)::int as open from jobtree.job_progress p join jobtree.job j on j.id = p.job_id
         where j.root_id = $1 and p.completed_at is null`,
        [ids[root]],
      );
      return row?.open ?? 0;
    };
    for (let before = await open(), more = true; more; ) {
      const [fold] = await t.db.query<{ retry: boolean }>(
        'select * from jobtree.fold_trees(array[$1::uuid], array[0])',
        [ids[root]],
      );
      const now = await open();
      // In the first one the root and the first link end, which wait for none.
      expect(before - now).toBeLessThan(15);
      expect(now).toBeLessThan(before);
      more = fold?.retry === true;
      before = now;
    }
    expect(await open()).toBe(0);
    expect((await settle(ids[root] ?? ''))[names.at(-1) as string]).toMatchObject({ outcome: 'SUCCEEDED' });
  });

  it('a fed job waits for its parent, or for the sibling that must be first', async () => {
    const [parent, child, sibling] = named('parent', 'child', 'sibling') as [string, string, string];
    const ids = await t.create({
      type: parent,
      sealed: true,
      items: [{}, {}],
      children: [
        { type: child, feed: {}, after: [parent, sibling] },
        { type: sibling, sealed: true, items: [{}] },
      ],
    });
    const [first] = await claimItems(t.engine, 'w', [{ type: parent, limit: 1 }]);
    await reportOutcomes(t.engine, [{ assignmentId: first?.id ?? '', result: 1 }]);
    await settle(ids[parent] ?? '');
    expect(await work(child)).toBe(0);
    await work(parent);
    expect((await settle(ids[parent] ?? ''))[child]).toMatchObject({
      sealed: true,
      itemCount: 2,
      completedAt: null,
    });
    expect(await work(child)).toBe(0);
    await work(sibling);
    await settle(ids[parent] ?? '');
    expect(await work(child)).toBe(2);
    expect(outcomes(await settle(ids[parent] ?? ''), child)).toEqual(['SUCCEEDED']);
  });

  it('jobs of one type wait for each other by their own names', async () => {
    const type = newType('step');
    const root = newType('root');
    const { jobId } = await createJob(t.engine, {
      type: root,
      sealed: true,
      children: ['three', 'two', 'one'].map((name, i, names) => ({
        type,
        name,
        sealed: true,
        items: [{ payload: name }],
        after: names.slice(i + 1, i + 2),
      })),
    });
    const payloads = [];
    for (let i = 0; i < 3; i++) {
      const held = await claimItems(t.engine, 'w', [{ type, limit: 9 }]);
      payloads.push(held.map(({ payload }) => payload.value));
      await reportOutcomes(
        t.engine,
        held.map(({ id }) => ({ assignmentId: id, result: 1 })),
      );
      await settle(jobId);
    }
    expect(payloads).toEqual([['one'], ['two'], ['three']]);
  });

  it('items added during the wait are released with it, and later ones are ready at once', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree({ type: a }, { type: b, after: [a], sealed: false });
    await addItems(t.engine, ids[b] ?? '', [{ payload: 3 }, { payload: 4, priority: 1 }], { seal: false });
    expect(await work(b)).toBe(0);
    await work(a);
    await settle(ids[root] ?? '');
    await addItems(t.engine, ids[b] ?? '', [{ payload: 5 }], { seal: true });
    expect(await work(b)).toBe(5);
    expect(outcomes(await settle(ids[root] ?? ''), b)).toEqual(['SUCCEEDED']);
  });

  it('scheduled items and jobs remain scheduled after the wait', async () => {
    const [a, b, c] = named('a', 'b', 'c') as [string, string, string];
    const later = new Date(Date.now() + 3_600_000);
    const { root, ids } = await tree(
      { type: a },
      { type: b, after: [a], items: [{}, { runAt: later }, {}, { runAt: new Date(0) }] },
      { type: c, after: [a], runAt: later },
    );
    await work(a);
    await settle(ids[root] ?? '');
    expect(await readQueues(t.engine, [b, c])).toMatchObject([
      { type: b, ready: 3, scheduled: 1, waiting: 0, blocked: 0, running: 0 },
      { type: c, ready: 0, scheduled: 2, waiting: 0, blocked: 0, running: 0 },
    ]);
    await t.sweep();
    expect(await work(b)).toBe(3);
  });

  it('released items go behind ready ones, in the order in which they were added', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree(
      { type: a },
      { type: b, after: [a], items: [{ payload: 1 }, { payload: 2, priority: 0 }] },
    );
    await t.create({ type: b, items: [{ payload: 0 }] });
    await work(a);
    await settle(ids[root] ?? '');
    const held = await claimItems(t.engine, 'w', [{ type: b, limit: 9 }]);
    expect(held.map(({ payload }) => payload.value)).toEqual([0, 1, 2]);
  });
});

describe('the outcome of what a job waits for', () => {
  const failing = { toleratedFailureCount: 0 };

  it.each([
    ['within its policy', { toleratedFailureCount: 2 }, 1, 'PARTIAL', 'SUCCEEDED'],
    ['without a policy', {}, 1, 'PARTIAL', 'SUCCEEDED'],
    ['of all items', {}, 2, 'FAILED', 'CANCELLED'],
    ['beyond its policy', failing, 1, 'FAILED', 'CANCELLED'],
  ])('failures %s', async (_, policy, count, verdict, outcome) => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree({ type: a, ...policy }, { type: b, after: [a] });
    await work(a, true, count);
    if (verdict === 'PARTIAL') await work(a);
    await settle(ids[root] ?? '');
    expect(await work(b)).toBe(outcome === 'CANCELLED' ? 0 : 2);
    const ended = await settle(ids[root] ?? '');
    expect(outcomes(ended, a, b)).toEqual([verdict, outcome]);
    expect(ended[b]).toMatchObject({ cancelled: outcome === 'CANCELLED' ? 2 : 0 });
    expect((await readTreeOutcomes(t.engine.database, [ids[root] ?? ''])).get(ids[root] ?? '')).toBe(verdict);
  });

  it('one unsuccessful job is enough to cancel, and the cancellation spreads to those that wait for it', async () => {
    const [a, b, c, d, fed] = named('a', 'b', 'c', 'd', 'fed') as [string, string, string, string, string];
    const { root, ids } = await tree(
      { type: a, ...failing },
      { type: b },
      { type: c, after: [a, b], children: [{ type: fed, feed: {} }] },
      { type: d, after: [c] },
    );
    await work(a, true);
    const ended = await settle(ids[root] ?? '');
    // What a cancelled job feeds is sealed, and ends with what it got.
    expect(outcomes(ended, a, b, c, d, fed)).toEqual(['FAILED', null, 'CANCELLED', 'CANCELLED', 'SUCCEEDED']);
    await work(b);
    expect(outcomes(await settle(ids[root] ?? ''), b, root)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  });

  it('a cancelled job cancels those that wait for it', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree({ type: a }, { type: b, after: [a] });
    await cancelJob(t.engine, ids[a] ?? '');
    expect(outcomes(await settle(ids[root] ?? ''), a, b)).toEqual(['CANCELLED', 'CANCELLED']);
  });
});

describe('a waiting job', () => {
  it('can be cancelled', async () => {
    const [a, b, c] = named('a', 'b', 'c') as [string, string, string];
    const { root, ids } = await tree({ type: a }, { type: b, after: [a] }, { type: c, after: [b] });
    await cancelJob(t.engine, ids[b] ?? '');
    const ended = await settle(ids[root] ?? '');
    expect(outcomes(ended, a, b, c)).toEqual([null, 'CANCELLED', 'CANCELLED']);
    expect(ended[b]).toMatchObject({ cancelled: 2 });
    await work(a);
    expect(outcomes(await settle(ids[root] ?? ''), a, b)).toEqual(['SUCCEEDED', 'CANCELLED']);
  });

  it('can be sealed, and completes only after its wait', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree({ type: a }, { type: b, after: [a], sealed: false, items: [] });
    await sealJob(t.engine, ids[b] ?? '');
    expect((await settle(ids[root] ?? ''))[b]).toMatchObject({ sealed: true, completedAt: null });
    await work(a);
    expect(outcomes(await settle(ids[root] ?? ''), b)).toEqual(['SUCCEEDED']);
  });

  it('can be deleted with its tree', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree({ type: a }, { type: b, after: [a] });
    await deleteJob(t.engine, ids[root] ?? '');
    await t.finish();
    expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [ids[b]])).toEqual([]);
    expect(await t.db.query('select from jobtree.job where root_id = $1', [ids[root]])).toEqual([]);
  });
});

describe('release', () => {
  it('continues in batches after a crash, on any server, and releases nothing twice', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const many = Array.from({ length: 20 }, (_, i) => ({ payload: i, priority: i }));
    const { root, ids } = await tree({ type: a }, { type: b, after: [a], items: many });
    await work(a);
    await t.fold(ids[root] ?? '');
    // The server that folded dies here, and the next one after a batch.
    const [step] = await t.db.query('select * from jobtree.release_items($1, 0, 8)', [ids[b]]);
    expect(step).toMatchObject({ type: b, entries: 8, done: false });
    expect(await claimItems(t.otherEngine, 'w', [{ type: b, limit: 100 }])).toHaveLength(8);
    await t.finish();
    await findMissedEntries(t.otherEngine);
    expect(await claimItems(t.otherEngine, 'w', [{ type: b, limit: 100 }])).toHaveLength(12);
    expect(await t.db.query('select from jobtree.job where releasing')).toEqual([]);
  });

  it('comes before the next batch of a large cancellation', async () => {
    const [large, a, b] = named('large', 'a', 'b') as [string, string, string];
    const { [large]: cancelled = '' } = await t.create({ type: large });
    // Each in a range of its own.
    await t.db.query(
      `select jobtree.add_items($1, (select json_agg(json_build_object('priority', n % 2)) from generate_series(1, 21000) n))`,
      [cancelled],
    );
    await t.db.query('select * from jobtree.cancel_job($1, 0)', [cancelled]);
    const { root, ids } = await tree({ type: a }, { type: b, after: [a] });
    await work(a);
    const { database } = t.engine;
    const call = database.call.bind(database);
    const called: string[] = [];
    vi.spyOn(database, 'call').mockImplementation(async (name, ...values) => {
      called.push(typeof name === 'string' ? name : name.name);
      const rows = await call(name, ...values);
      if (called.length === 1)
        await database.pool.query('select jobtree.fold_trees(array[$1::uuid], array[0])', [ids[root]]);
      return rows as never[];
    });
    await t.finish();
    vi.restoreAllMocks();
    expect(called).toEqual(['cancel_items', 'release_items', 'cancel_items', 'cancel_items']);
    expect(await work(b)).toBe(2);
  });

  it('of a job that is cancelled meanwhile ends', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree({ type: a }, { type: b, after: [a] });
    await work(a);
    await t.fold(ids[root] ?? '');
    await cancelJob(t.engine, ids[b] ?? '');
    expect(outcomes(await settle(ids[root] ?? ''), a, b)).toEqual(['SUCCEEDED', 'CANCELLED']);
    expect(await t.db.query('select from jobtree.job where releasing')).toEqual([]);
    expect(await work(b)).toBe(0);
  });
});

describe('races', () => {
  let other: pg.Client;
  beforeEach(async () => {
    other = await t.db.connect();
    await other.query('begin');
  });
  afterEach(async () => {
    await other.query('rollback');
    await other.end();
  });

  it('a job with an open adder is released without it, and what that adds is ready once it has ended', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree({ type: a }, { type: b, after: [a], sealed: false });
    await other.query('select from jobtree.add_items($1, $2)', [ids[b], '[{"payload": 3}]']);
    await work(a);
    await settle(ids[root] ?? '');
    expect(await work(b)).toBe(2);
    await other.query('commit');
    await settle(ids[root] ?? '');
    expect(await work(b)).toBe(1);
  });

  it('an adder that arrives during the release waits, and its items are ready', async () => {
    const [a, b] = named('a', 'b') as [string, string];
    const { root, ids } = await tree({ type: a }, { type: b, after: [a], sealed: false });
    await work(a);
    await other.query('select * from jobtree.fold_trees(array[$1::uuid], array[0])', [ids[root]]);
    const added = addItems(t.engine, ids[b] ?? '', [{ payload: 3 }], { seal: false });
    await other.query('commit');
    await added;
    await settle(ids[root] ?? '');
    expect(await work(b)).toBe(3);
  });
});

describe('bad input', () => {
  const child = (name: string, after?: unknown, more: object = {}) =>
    ({ type: name, after, ...more }) as NewJob;
  const cases: [string, NewJob, string, RegExp][] = [
    ['itself', child('x', ['x']), 'after[0]', /^after\[0\] names "x", which is the job itself\.$/],
    [
      'an unknown job',
      child('x', undefined, { children: [child('y', ['x', 'no such'])] }),
      'children[0].after[1]',
      /^children\[0\]\.after\[1\] names "no such", but no job of this tree has that name\.$/,
    ],
    [
      'a job of another tree, by its id',
      child('x', ['Job:01a1ff75-d8bf-7d7f-a6e4-8874ba000001']),
      'after[0]',
      /no job of this tree has that name/,
    ],
    [
      'one of several of a name',
      child('x', undefined, { children: [child('y'), child('y'), child('z', ['y'])] }),
      'children[2].after[0]',
      /several jobs of this tree have that name: give them different names/,
    ],
    [
      'a type whose job has another name',
      child('x', undefined, { children: [child('y', undefined, { name: 'other' }), child('z', ['y'])] }),
      'children[1].after[0]',
      /no job of this tree has that name/,
    ],
    [
      'a circle',
      child('x', undefined, {
        children: [child('a', ['x']), child('b', ['a', 'd']), child('c', ['b']), child('d', ['c'])],
      }),
      'children[1].after',
      /is a circle: b waits for d, d waits for c, c waits for b\.$/,
    ],
    [
      'a circle through what it feeds',
      child('x', ['z'], {
        children: [child('y', undefined, { feed: {}, children: [child('z', undefined, { feed: {} })] })],
      }),
      'after',
      /is a circle: x waits for z, z waits for y, y waits for x\.$/,
    ],
    ['an empty name', child('x', ['']), 'after[0]', /after\[0\]/],
    ['too many names', child('x', Array.from({ length: 101 }, String)), 'after', /limit is 100|at most 100/],
    ['an empty name of its own', child('x', undefined, { name: '' }), 'name', /name/],
    ['a long name of its own', child('x', undefined, { name: 'x'.repeat(201) }), 'name', /200/],
  ];
  it.each(cases)('refuses %s, and creates nothing', async (_, job, field, message) => {
    const refused = createJob(t.engine, job);
    await expect(refused).rejects.toThrow(InvalidInputError);
    await expect(refused).rejects.toMatchObject({ field, message: expect.stringMatching(message) });
    const bySql = t.db.query('select * from jobtree.create_job($1)', [JSON.stringify(job)]);
    await expect(bySql).rejects.toMatchObject({ code: 'JT002', column: field });
    expect(await t.db.query(`select from jobtree.job where type in ('x', 'y', 'z')`)).toEqual([]);
  });

  it.each([
    ['not a list', 'x', 'after'],
    ['a number', ['a', 1], 'after[1]'],
  ])('SQL refuses names that are %s', async (_, after, column) => {
    const bySql = t.db.query('select * from jobtree.create_job($1)', [JSON.stringify({ type: 'x', after })]);
    await expect(bySql).rejects.toMatchObject({ code: 'JT002', column });
  });

  it('a line of 1,000 jobs that wait for each other is accepted, and one more edge makes it a circle', async () => {
    const [type, root] = named('link', 'root') as [string, string];
    const line = Array.from({ length: 999 }, (_, i) => ({
      type,
      name: `${i}`,
      after: Array.from({ length: Math.min(i, 100) }, (_, k) => `${i - 1 - k}`),
    }));
    await createJob(t.engine, { type: root, children: line });
    const circle = line.map((job, i) => (i === 0 ? { ...job, after: ['998'] } : job));
    await expect(createJob(t.engine, { type: root, children: circle })).rejects.toThrow(
      /is a circle: 0 waits for 998, 998 waits/,
    );
  });
});
