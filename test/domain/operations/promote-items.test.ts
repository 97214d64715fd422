/** Scheduled items that are made ready before their time, by a filter: in batches, beside workers. */
import { describe, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { readItems } from '../../../src/domain/items/read-items.ts';
import { updateItem } from '../../../src/domain/items/update-item.ts';
import {
  countMatching,
  type PendingItemFilter,
  readOperations,
  startOperation,
} from '../../../src/domain/operations/operations.ts';
import { setQueue } from '../../../src/domain/queues/queues.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { itemOf, newType, useEngine } from '../../support/engine.ts';
import { checkInvariants } from '../../support/model/invariants.ts';

const t = useEngine();

const failure = { code: 'E', message: 'no' };
const hour = 3_600_000;
const later = () => new Date(Date.now() + hour);
const scheduled = ['SCHEDULED'] as const;

async function promote(filter: PendingItemFilter) {
  const id = await startOperation(t.engine, 'PROMOTE', filter);
  await t.finish();
  const [operation] = await readOperations(t.engine.database, [id]);
  return operation;
}

/** Claims so many items of the type, and fails each. */
async function fail(type: string, limit: number, code = 'E'): Promise<void> {
  const held = await claimItems(t.engine, 'w', [{ type, limit }]);
  expect(held).toHaveLength(limit);
  await reportOutcomes(
    t.engine,
    held.map(({ id }) => ({ assignmentId: id, failure: { ...failure, code } })),
  );
}

const statesOf = async (jobId: string) =>
  (
    await t.db.query<{ status: string; count: number }>(
      'select status, count(*)::int from jobtree.item_status where job_id = $1 group by status order by status',
      [jobId],
    )
  ).map(({ status, count }) => `${count} ${status}`);
const claim = async (type: string) => {
  const held = await claimItems(t.engine, 'w', [{ type, limit: 1_000 }]);
  return held.map(({ payload }) => JSON.parse(payload.text));
};

describe('promoting items', () => {
  it('makes ready what waits for its next attempt, which counts on, and nothing else', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      backoffMs: [hour],
      maxFailuresPerItem: 1,
      items: [...Array.from({ length: 5 }, (_, payload) => ({ payload })), { payload: 5, runAt: later() }],
    });
    await fail(type, 3);
    await t.claimOne(type);
    t.announced.length = 0;
    expect(await promote({ jobId })).toMatchObject({ total: 3, done: 3, finishedAt: expect.any(Date) });
    expect(t.announced).toEqual([[type, 3]]);
    expect(await statesOf(jobId)).toEqual(['4 READY', '1 RUNNING', '1 SCHEDULED']);
    await checkInvariants(t.db);
    const held = await claimItems(t.engine, 'w', [{ type, limit: 9 }]);
    expect(held.map(({ payload, attempt }) => [payload.text, attempt])).toEqual([
      ['4', 1],
      ['0', 2],
      ['1', 2],
      ['2', 2],
    ]);
    await reportOutcomes(t.engine, [{ assignmentId: held[1]?.id ?? '', failure }]);
    expect(await statesOf(jobId)).toEqual(['1 FAILED', '4 RUNNING', '1 SCHEDULED']);
    const [item] = await readItems(t.engine.database, [(await t.items(jobId))[0] ?? { jobId, position: 0 }]);
    expect(item).toMatchObject({ status: 'FAILED', failureCount: 2 });
  });

  it('makes ready what is due later if the filter says so, and a lifetime counts from now', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      backoffMs: [hour],
      items: [{ payload: 0 }, { payload: 1, runAt: later() }],
    });
    await fail(type, 1);
    const [before] = await t.db.query<{ now: Date }>('select now() as now');
    expect(await promote({ jobId, statuses: scheduled })).toMatchObject({ total: 1, done: 1 });
    expect(await statesOf(jobId)).toEqual(['1 READY', '1 RETRYING']);
    expect(
      await t.db.query(
        'select ready_at >= $2 as anew from jobtree.queue_entry where job_id = $1 and run_at is null',
        [jobId, before?.now],
      ),
    ).toEqual([{ anew: true }]);
    const keys = await t.items(jobId);
    const [retrying, promoted] = await readItems(t.engine.database, keys);
    expect(promoted).toMatchObject({ status: 'READY', retryAt: null });
    expect(promoted?.runAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect(retrying?.runAt).toBeNull();
    expect(await promote({ jobId, statuses: ['RETRYING', 'SCHEDULED'] })).toMatchObject({
      total: 1,
      done: 1,
    });
    expect(await claim(type)).toEqual([1, 0]);
  });

  it('leaves alone what waits for other jobs, or for a serialize key, whatever its time', async () => {
    const [first, second] = [newType('first'), newType('second')];
    const jobs = await t.create({
      type: newType('root'),
      children: [
        { type: first, items: Array.from({ length: 3 }, () => ({ runAt: later(), serializeKey: first })) },
        { type: second, after: [first], items: [{ runAt: later() }, { serializeKey: second }] },
      ],
    });
    const filter = { types: [first, second], statuses: ['RETRYING', 'SCHEDULED'] as const };
    expect(await promote(filter)).toMatchObject({ total: 1, done: 1 });
    expect(await statesOf(jobs[first] ?? '')).toEqual(['2 BLOCKED', '1 READY']);
    expect(await statesOf(jobs[second] ?? '')).toEqual(['2 WAITING']);
    await checkInvariants(t.db);
  });

  it('goes behind what is ready, in order, within the priority of each item', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      backoffMs: [hour],
      items: Array.from({ length: 6 }, (_, payload) => ({ payload, priority: payload % 2 })),
    });
    await fail(type, 6);
    await t.create({ type, items: [{ payload: 'new' }] });
    await promote({ jobId });
    expect(await claim(type)).toEqual([1, 3, 5, 'new', 0, 2, 4]);
  });

  it('splits entries around what it takes, each rest in its place and as it waited', async () => {
    const type = newType();
    const runAt = later();
    const { [type]: jobId = '' } = await t.create({
      type,
      items: Array.from({ length: 100 }, (_, payload) => ({ payload, dedupeKey: `k${payload}`, runAt })),
    });
    const [first] = await t.items(jobId);
    const entries = () =>
      t.db.query(
        `select position - $2::bigint as at, place - position as shift, count, run_at, attempt, ready_at
         from jobtree.queue_entry where job_id = $1 and run_at is not null order by position`,
        [jobId, first?.position],
      );
    const [before] = await entries();
    const filter = { jobId, dedupeKeys: ['k0', 'k3', 'k4', 'k50'], statuses: scheduled };
    expect(await promote(filter)).toMatchObject({ total: 4, done: 4 });
    expect(await entries()).toEqual(
      [
        ['1', 2],
        ['5', 45],
        ['51', 49],
      ].map(([at, count]) => ({ ...before, at, count })),
    );
    expect(await claim(type)).toEqual([0, 3, 4, 50]);
    const items = await readItems(t.engine.database, await t.items(jobId));
    expect(items.filter((item) => item?.runAt?.getTime() === runAt.getTime())).toHaveLength(96);
    await checkInvariants(t.db);
  });

  it.each<[string, PendingItemFilter, number]>([
    ['nothing more', {}, 3],
    ['code of the last failure', { codes: ['E'] }, 2],
    ['dedupe key', { dedupeKeys: ['a', 'nobody'] }, 1],
    ['time added', { addedFrom: new Date(Date.now() - 600_000) }, 3],
    ['time added before', { addedUntil: new Date(Date.now() - 600_000) }, 0],
    ['status', { statuses: scheduled }, 2],
    ['statuses', { statuses: ['SCHEDULED', 'RETRYING'] }, 5],
    ['all that is set', { statuses: ['SCHEDULED', 'RETRYING'], dedupeKeys: ['a', 'b'], codes: ['E'] }, 1],
  ])('by type and %s', async (_, filter, expected) => {
    const [type, other] = [newType(), newType('other')];
    for (const each of [type, other]) {
      const job = {
        type: each,
        backoffMs: [hour],
        items: [{ dedupeKey: 'a' }, {}, {}, { dedupeKey: 'b', runAt: later() }, { runAt: later() }],
      };
      await t.create(job);
      await fail(each, 2);
      await fail(each, 1, 'F');
    }
    const counted = { types: [type], ...filter, statuses: filter.statuses ?? (['RETRYING'] as const) };
    expect(await countMatching(t.engine, 'CANCEL', counted)).toBe(expected);
    expect(await promote({ types: [type], ...filter })).toMatchObject({ total: expected, done: expected });
    expect(await claim(type)).toHaveLength(expected);
    expect(await claim(other)).toEqual([]);
    await checkInvariants(t.db);
  });

  it('of a job and those below it, of named items, and not of a cancelled job', async () => {
    const [type, below] = [newType(), newType()];
    const items = Array.from({ length: 3 }, () => ({ runAt: later() }));
    const jobs = await t.create({ type, items, children: [{ type: below, items }] });
    const between = newType();
    await t.create({ type: between, items });
    const others = await t.create({ type, items });
    const [, item] = await t.items(jobs[type] ?? '');
    const [last] = (await t.items(others[type] ?? '')).slice(-1);
    const named = [item, item, last].flatMap((each) => each ?? []);
    expect(await promote({ items: named, statuses: scheduled })).toMatchObject({ total: 2, done: 2 });
    expect(await promote({ jobId: jobs[type] ?? '', statuses: scheduled })).toMatchObject({
      total: 5,
      done: 5,
    });
    expect(await claim(between)).toEqual([]);
    await t.db.query('select jobtree.cancel_job($1)', [others[type]]);
    expect(await promote({ types: [type, below], statuses: scheduled })).toMatchObject({ total: 0 });
    await checkInvariants(t.db);
  });

  it('lets the head of a serialize key go first, and nobody overtake it', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      backoffMs: [hour],
      items: Array.from({ length: 3 }, (_, payload) => ({ payload, serializeKey: type })),
    });
    await fail(type, 1);
    expect(await claim(type)).toEqual([]);
    expect(await promote({ jobId })).toMatchObject({ total: 1, done: 1 });
    const done: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const { id, payload } = await t.claimOne(type);
      expect(await claim(type)).toEqual([]);
      done.push(JSON.parse(payload.text));
      await reportOutcomes(t.engine, [{ assignmentId: id, result: null }]);
    }
    expect(done).toEqual([0, 1, 2]);
    await checkInvariants(t.db);
  });

  it('respects the pause and the limit of the type', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      backoffMs: [hour],
      items: Array.from({ length: 5 }, (_, payload) => ({ payload })),
    });
    await fail(type, 5);
    await setQueue(t.engine, type, { paused: true, concurrency: 2 });
    expect(await promote({ jobId })).toMatchObject({ done: 5 });
    expect(await claim(type)).toEqual([]);
    await setQueue(t.engine, type, { paused: false });
    expect(await claim(type)).toEqual([0, 1]);
  });

  it('leaves an item that fails again after it was requested, or gets another time, until then', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, backoffMs: [hour], items: [{}, {}, {}] });
    await fail(type, 3);
    const [again, moved] = await t.items(jobId);
    const [row] = await t.db.query<{ operation_id: string }>(
      `select operation_id from jobtree.start_operation('PROMOTE', $1)`,
      [JSON.stringify({ jobId })],
    );
    if (again === undefined || moved === undefined) throw new Error('There are three items.');
    await updateItem(t.engine, again, { runAt: null });
    await fail(type, 1);
    await updateItem(t.engine, moved, { runAt: later() });
    await t.finish();
    expect(await readOperations(t.engine.database, [row?.operation_id ?? ''])).toMatchObject([
      { total: 3, done: 1, finishedAt: expect.any(Date) },
    ]);
    expect(await statesOf(jobId)).toEqual(['1 READY', '2 RETRYING']);
    expect(itemOf(await t.claimOne(type))).toEqual((await t.items(jobId))[2]);
  });

  it('leaves what is added after it was asked for', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: [{ runAt: later() }] });
    await t.db.query(`select jobtree.start_operation('PROMOTE', $1)`, [
      JSON.stringify({ jobId, statuses: scheduled }),
    ]);
    await t.db.query(`select jobtree.add_items($1, $2)`, [jobId, JSON.stringify([{ runAt: later() }])]);
    await t.finish();
    expect(await statesOf(jobId)).toEqual(['1 READY', '1 SCHEDULED']);
  });

  it('asked for twice does nothing the second time', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, backoffMs: [hour], items: [{}, {}] });
    await fail(type, 2);
    expect(await promote({ jobId })).toMatchObject({ done: 2 });
    const entries = () => t.db.query('select * from jobtree.queue_entry where job_id = $1', [jobId]);
    const before = await entries();
    expect(await promote({ jobId })).toMatchObject({ total: 0, done: 0 });
    expect(await entries()).toEqual(before);
  });

  it.each([
    ['of a type', (type: string, _root: string) => ({ types: [type] })],
    ['of a tree', (_type: string, jobId: string) => ({ jobId })],
  ])('goes on window after window, over very many small entries of several jobs, %s', async (_, select) => {
    const [type, child] = [newType(), newType('child')];
    const runAt = later();
    const items = Array.from({ length: 60 }, (_, payload) => ({ payload, priority: payload % 2, runAt }));
    const jobs = await t.create({ type, items, children: [{ type: child, items: items.slice(0, 30) }] });
    const root = jobs[type] ?? '';
    const filter = { ...select(type, root), statuses: scheduled };
    const expected = 'jobId' in filter ? 90 : 60;
    const [row] = await t.db.query<{ operation_id: string; total: string }>(
      `select * from jobtree.start_operation('PROMOTE', $1)`,
      [JSON.stringify(filter)],
    );
    expect(Number(row?.total)).toBe(expected);
    // Each step ends after one window, as if the time were up.
    let steps = 0;
    for (let more = true; more; steps++) {
      const [step] = await t.db.query<{ more: boolean }>(
        `with step as (
           select s.* from jobtree.operation o cross join lateral jobtree.run_pending(o, now() - interval '1 s', 7) s where o.id = $1
         ), kept as (
           update jobtree.operation o
           set next_job_id = (s.operation).next_job_id, next_position = (s.operation).next_position, done = (s.operation).done
           from step s where o.id = $1
         )
         select more from step`,
        [row?.operation_id],
      );
      more = step?.more ?? false;
    }
    expect(steps).toBeGreaterThan(expected / 7);
    const [operation] = await readOperations(t.engine.database, [row?.operation_id ?? '']);
    expect(operation).toMatchObject({ total: expected, done: expected });
    expect(await claim(type)).toHaveLength(60);
    expect(await claim(child)).toHaveLength(expected - 60);
    await t.finish();
    await checkInvariants(t.db);
  });

  it.each([
    [{}, 'JT002', 'filter'],
    [{ groupIds: ['00000000-0000-0000-0000-000000000000'] }, 'JT002', 'filter.groupIds'],
    [{ items: [] }, 'JT002', 'filter.items'],
    [{ codes: ['E'], types: [] }, 'JT002', 'filter.types'],
    [{ statuses: ['RETRYING', 'READY'] }, 'JT002', 'filter.statuses'],
    [{ statuses: ['DEAD'] }, 'JT002', 'filter.statuses'],
    [{ jobId: '00000000-0000-0000-0000-000000000000' }, 'JT001', 'filter.jobId'],
  ])('is refused for %j', async (filter, code, column) => {
    await expect(
      t.db.query('select jobtree.start_operation($1, $2)', ['PROMOTE', JSON.stringify(filter)]),
    ).rejects.toMatchObject({ code, column });
  });
});
