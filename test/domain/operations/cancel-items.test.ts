/** Single pending items of jobs that go on, cancelled by a filter: in batches, beside workers. */
import { describe, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../../src/domain/claims/heartbeat.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { readItemKeys } from '../../../src/domain/items/item-pages.ts';
import { readItems } from '../../../src/domain/items/read-items.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import {
  countMatching,
  type PendingItemFilter,
  readOperations,
  startOperation,
} from '../../../src/domain/operations/operations.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { checkInvariants } from '../../support/model/invariants.ts';

const t = useEngine();

const many = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i }));
const failure = { code: 'E', message: 'no' };
const later = () => new Date(Date.now() + 3_600_000);

async function cancel(filter: PendingItemFilter) {
  const id = await startOperation(t.engine, 'CANCEL', filter);
  await t.finish();
  const [operation] = await readOperations(t.engine.database, [id]);
  return operation;
}

const statesOf = async (jobId: string) =>
  (
    await t.db.query<{ status: string; count: number }>(
      'select status, count(*)::int from jobtree.item_status where job_id = $1 group by status order by status',
      [jobId],
    )
  ).map(({ status, count }) => `${count} ${status}`);

describe('cancelling pending items', () => {
  it('removes waiting items from the queue and held ones from their workers, and keeps finished ones', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, sealed: true, items: many(400) });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 10 }]);
    await reportOutcomes(t.engine, [{ assignmentId: held[0]?.id ?? '', result: 1 }]);
    const operation = await cancel({ jobId });
    expect(operation).toMatchObject({ total: 399, done: 399, finishedAt: expect.any(Date) });
    expect(await statesOf(jobId)).toEqual(['399 CANCELLED', '1 SUCCEEDED']);
    expect(await heartbeat(t.engine, [held[0]?.id ?? '', held[1]?.id ?? ''])).toEqual([
      'FINISHED',
      'CANCELLED',
    ]);
    const [late] = await reportOutcomes(t.engine, [{ assignmentId: held[1]?.id ?? '', result: 1 }]);
    expect(late?.status).toBe('STALE');
    expect((await t.fold(jobId))[type]).toMatchObject({
      itemCount: 400,
      succeeded: 1,
      cancelled: 399,
      completedAt: expect.any(Number),
      outcome: 'SUCCEEDED',
    });
    expect(await t.db.query('select count from jobtree.cancellation where job_id = $1', [jobId])).toEqual([
      { count: '399' },
    ]);
    await checkInvariants(t.db);
  });

  it('splits entries around the items, and the rest keep their place and conditions', async () => {
    const type = newType();
    const runAt = later();
    const { [type]: jobId = '' } = await t.create({
      type,
      items: Array.from({ length: 100 }, (_, i) => ({ payload: i, dedupeKey: `k${i}`, runAt })),
    });
    const entries = () =>
      t.db.query(
        `select position - min(position) over () as at, place - position as shift, count, run_at, attempt from jobtree.queue_entry
         where job_id = $1 order by position`,
        [jobId],
      );
    const [before] = await entries();
    await cancel({ jobId, dedupeKeys: ['k3', 'k4', 'k50', 'k99'] });
    expect(await entries()).toEqual(
      [
        ['0', 3],
        ['5', 45],
        ['51', 48],
      ].map(([at, count]) => ({ ...before, at, count })),
    );
    const [first = { jobId, position: 0 }] = await t.items(jobId);
    const pages = await readItemKeys(t.engine.database, ['CANCELLED'], false, [
      { jobId, range: { take: 10, backwards: false } },
    ]);
    expect(pages[0]?.map(({ position }) => position - first.position)).toEqual([3, 4, 50, 99]);
    const [item] = await readItems(t.engine.database, pages[0] ?? []);
    expect(item).toMatchObject({ status: 'CANCELLED', finishedAt: expect.any(Date), retryAt: null });
    await checkInvariants(t.db);
  });

  it.each<[string, PendingItemFilter, number]>([
    ['status', { statuses: ['SCHEDULED'] }, 2],
    ['status after a failure', { statuses: ['RETRYING'] }, 1],
    ['statuses', { statuses: ['READY', 'RUNNING'] }, 7],
    ['status of what is held', { statuses: ['RUNNING'] }, 2],
    ['dedupe key', { dedupeKeys: ['a', 'nobody'] }, 1],
    ['code of the last failure', { codes: ['E'] }, 1],
    ['another code', { codes: ['F'] }, 0],
    ['time added', { addedFrom: new Date(Date.now() - 600_000) }, 10],
    ['time added before', { addedUntil: new Date(Date.now() - 600_000) }, 0],
    ['all that is set', { statuses: ['READY'], dedupeKeys: ['a', 'b'] }, 2],
  ])('by %s', async (_, filter, expected) => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      backoffMs: [3_600_000],
      items: [
        ...many(3),
        { dedupeKey: 'a' },
        { dedupeKey: 'b' },
        ...many(3),
        { runAt: later() },
        { runAt: later() },
      ],
    });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 3 }]);
    await reportOutcomes(t.engine, [{ assignmentId: held[1]?.id ?? '', failure }]);
    expect(await countMatching(t.engine, 'CANCEL', { types: [type], ...filter })).toBe(expected);
    expect(await cancel({ types: [type], ...filter })).toMatchObject({ total: expected, done: expected });
    expect((await t.fold(jobId))[type]).toMatchObject({ cancelled: expected });
    await checkInvariants(t.db);
  });

  it('by the code of the last failure only, by what servers have noticed to be due, and from a time inclusive until a time exclusive', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, backoffMs: [3_600_000], items: [{}] });
    for (const more of [{ code: 'E', retryAfterMs: 0 }, { code: 'F' }]) {
      const { id } = await t.claimOne(type);
      await reportOutcomes(t.engine, [{ assignmentId: id, failure: { ...failure, ...more } }]);
    }
    const [item] = await readItems(t.engine.database, await t.items(jobId));
    const counts = (kind: 'CANCEL' | 'PROMOTE', ...filters: PendingItemFilter[]) =>
      Promise.all(filters.map((filter) => countMatching(t.engine, kind, { types: [type], ...filter })));
    const at = item?.createdAt;
    const filters = [{ codes: ['E'] }, { codes: ['F'] }, { addedFrom: at }, { addedUntil: at }];
    for (const kind of ['CANCEL', 'PROMOTE'] as const)
      expect([kind, await counts(kind, ...filters)]).toEqual([kind, [0, 1, 1, 0]]);
    await t.db.query(`update jobtree.queue_entry set run_at = now() - interval '1 s' where job_id = $1`, [
      jobId,
    ]);
    expect(await counts('CANCEL', { statuses: ['READY'] }, { statuses: ['RETRYING'] })).toEqual([0, 1]);
    await t.sweep();
    expect(await counts('CANCEL', { statuses: ['READY'] }, { statuses: ['RETRYING'] })).toEqual([1, 0]);
    expect(await counts('PROMOTE', { statuses: ['RETRYING'] })).toEqual([0]);
    // Its item is still in the queue.
    await t.db.query('select jobtree.cancel_job($1, 0)', [jobId]);
    expect(await counts('CANCEL', {})).toEqual([0]);
  });

  it('takes single items from a worker, who keeps the others', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: many(3) });
    const ids = (await claimItems(t.engine, 'w', [{ type, limit: 3 }])).map(({ id }) => id);
    const [, second] = await t.items(jobId);
    expect(await cancel({ items: [second ?? { jobId, position: 0 }] })).toMatchObject({ done: 1 });
    expect(await statesOf(jobId)).toEqual(['1 CANCELLED', '2 RUNNING']);
    // The others are taken back once they are silent.
    await t.expire(ids[0] ?? '', ids[2] ?? '');
    await t.sweep();
    expect(await statesOf(jobId)).toEqual(['1 CANCELLED', '2 RETRYING']);
    await checkInvariants(t.db);
  });

  it('leaves an item that gets the key of a cancelled one, as it was not in that state before', async () => {
    const [first, second] = [newType(), newType()];
    const items = [{ serializeKey: first }];
    await t.create({ type: first, items });
    const { [second]: jobId = '' } = await t.create({ type: second, items });
    expect(await cancel({ types: [first, second], statuses: ['READY'] })).toMatchObject({
      total: 1,
      done: 1,
    });
    await t.sweep();
    expect(await statesOf(jobId)).toEqual(['1 READY']);
  });

  it('finds jobs of which all items wait for serialize keys of others', async () => {
    const [first, second] = [newType(), newType()];
    const items = [{ serializeKey: first }];
    await t.create({ type: first, items });
    await t.create({ type: second, items });
    expect(await cancel({ types: [second] })).toMatchObject({ total: 1, done: 1 });
  });

  it('of a job and its descendants, and of named items, skips cancelled jobs', async () => {
    const [type, below, other] = [newType(), newType(), newType()];
    const jobs = await t.create({ type, items: many(4), children: [{ type: below, items: many(3) }] });
    const others = await t.create({ type: other, items: many(2) });
    await cancelJob(t.engine, others[other] ?? '');
    const [, item] = await t.items(jobs[type] ?? '');
    const items = [item, item, { jobId: others[other] ?? '', position: 1 }].flatMap((each) => each ?? []);
    expect(await cancel({ items })).toMatchObject({ total: 1, done: 1 });
    expect(await cancel({ types: [type, below, other] })).toMatchObject({ total: 6, done: 6 });
    expect(await cancel({ jobId: jobs[type] ?? '' })).toMatchObject({ total: 0 });
    await checkInvariants(t.db);
  });

  it('skips items added after the request', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: many(2) });
    const [row] = await t.db.query<{ operation_id: string }>(
      `select operation_id from jobtree.start_operation('CANCEL', $1)`,
      [JSON.stringify({ jobId })],
    );
    await t.db.query(`select jobtree.add_items($1, '[{"payload": 1}]')`, [jobId]);
    await t.finish();
    expect(await readOperations(t.engine.database, [row?.operation_id ?? ''])).toMatchObject([{ done: 2 }]);
    expect(await statesOf(jobId)).toEqual(['2 CANCELLED', '1 READY']);
  });

  it('lets a job and what it feeds complete, with an outcome other than CANCELLED', async () => {
    const [type, fed] = [newType(), newType()];
    const jobs = await t.create({ type, sealed: true, items: many(2), children: [{ type: fed, feed: {} }] });
    const { id } = await t.claimOne(type);
    await reportOutcomes(t.engine, [{ assignmentId: id, result: 1 }]);
    await cancel({ jobId: jobs[type] ?? '' });
    expect(await t.fold(jobs[type] ?? '')).toMatchObject({
      [type]: { outcome: 'SUCCEEDED', cancelled: 1 },
      [fed]: { outcome: 'SUCCEEDED', cancelled: 1, itemCount: 1 },
    });
  });

  it('finds every matching item, even if it moves between entries and leases', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      backoffMs: [0],
      maxFailuresPerItem: 1_000,
      items: many(900),
    });
    let done = false;
    const work = async (worker: string) => {
      while (!done) {
        const held = await claimItems(t.engine, worker, [{ type, limit: 40 }]);
        await reportOutcomes(
          t.engine,
          // The first items are claimed in each round: none of them fails so often that it fails for good.
          held
            .filter(({ attempt }, i) => i % 3 === 0 && attempt <= 1_000)
            .map(({ id }) => ({ assignmentId: id, failure })),
        ).catch(() => []);
        if (held.length > 0)
          await releaseAssignments(
            t.engine,
            held.map(({ id }) => id),
          );
      }
    };
    const workers = [work('a'), work('b')];
    const id = await startOperation(t.engine, 'CANCEL', { jobId });
    const finished = async () => (await readOperations(t.engine.database, [id]))[0]?.finishedAt;
    while ((await finished()) === null) await t.finish();
    done = true;
    await Promise.all(workers);
    expect(await statesOf(jobId)).toEqual(['900 CANCELLED']);
    await checkInvariants(t.db);
  });

  it('skips locked items and returns to them', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: many(3) });
    const { id } = await t.claimOne(type);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select from jobtree.lease where id = jobtree.lease_id($1) for update', [id]);
    const operation = await startOperation(t.engine, 'CANCEL', { jobId });
    expect(await readOperations(t.engine.database, [operation])).toMatchObject([
      { done: 2, finishedAt: null },
    ]);
    await other.query('rollback');
    await other.end();
    await t.finish();
    expect(await readOperations(t.engine.database, [operation])).toMatchObject([
      { done: 3, finishedAt: expect.any(Date) },
    ]);
  });

  it('continues on another server, window after window, over very many small ranges', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      items: Array.from({ length: 900 }, (_, i) => ({ payload: i, priority: i % 2 })),
    });
    const [row] = await t.db.query<{ operation_id: string; total: string }>(
      `select * from jobtree.start_operation('CANCEL', $1)`,
      [JSON.stringify({ jobId })],
    );
    const steps = await t.db.query<{ done: number; more: boolean }>(
      `select (s.operation).done::float8 as done, s.more
       from jobtree.operation o cross join lateral jobtree.run_pending(o, '-infinity', 50) s where o.id = $1`,
      [row?.operation_id],
    );
    expect(steps).toEqual([{ done: 50, more: true }]);
    await t.finish();
    expect(await statesOf(jobId)).toEqual(['900 CANCELLED']);
    expect(await readOperations(t.engine.database, [row?.operation_id ?? ''])).toMatchObject([
      { total: 900, done: 850 },
    ]);
    await checkInvariants(t.db);
  });

  it('goes through many trees together, part by part, and leaves other types alone', async () => {
    const [type, other] = [newType(), newType()];
    const keyed = { payload: 0, serializeKey: type };
    for (let n = 0; n < 30; n++) {
      await t.create({
        type: n % 3 === 2 ? other : type,
        sealed: true,
        items: [...many(1 + (n % 4)), keyed],
      });
    }
    // Leases and entries of a job overlap, and blocked items are between them.
    const held = await claimItems(t.engine, 'w', [{ type, limit: 25 }]);
    await releaseAssignments(
      t.engine,
      held.filter((_, n) => n % 2 === 0).map(({ id }) => id),
    );
    const [row] = await t.db.query<{ operation_id: string; total: string }>(
      `select * from jobtree.start_operation('CANCEL', $1)`,
      [JSON.stringify({ types: [type] })],
    );
    const roots = new Set<string>();
    let steps = 0;
    for (let more = true; more; steps++) {
      const [step] = await t.db.query<{ more: boolean; root_ids: string[] | null }>(
        `with step as materialized (
           select s.* from jobtree.operation o cross join lateral jobtree.run_pending(o, '-infinity', 7) s where o.id = $1
         ), saved as (
           update jobtree.operation o
           set done = (s.operation).done, next_job_id = (s.operation).next_job_id, next_position = (s.operation).next_position
           from step s where o.id = $1
         )
         select s.more, s.root_ids from step s`,
        [row?.operation_id],
      );
      more = step?.more ?? false;
      for (const id of step?.root_ids ?? []) roots.add(id);
    }
    expect(roots.size).toBe(20);
    // A part of seven ranges is of several trees.
    expect(steps).toBeLessThan(20);
    const states = await t.db.query(
      `select j.type = $1 as ours, s.status = 'CANCELLED' as cancelled, count(*)::int
       from jobtree.item_status s join jobtree.job j on j.id = s.job_id where j.type in ($1, $2) group by 1, 2`,
      [type, other],
    );
    const total = Number(row?.total);
    expect(states).toEqual(
      expect.arrayContaining([
        { ours: true, cancelled: true, count: total },
        { ours: false, cancelled: false, count: expect.any(Number) },
      ]),
    );
    expect(states).toHaveLength(2);
    expect(await readOperations(t.engine.database, [row?.operation_id ?? ''])).toMatchObject([
      { done: total },
    ]);
    await checkInvariants(t.db);
  });

  it.each(['CANCEL', 'PROMOTE'] as const)(
    'a part that %s goes through has a limited number of items',
    async (kind) => {
      const type = newType();
      const runAt = kind === 'PROMOTE' ? later() : undefined;
      const { [type]: jobId = '' } = await t.create({
        type,
        items: many(600).map((item) => ({ ...item, ...(runAt && { runAt }) })),
      });
      const [first] = await t.items(jobId);
      const [part] = await t.db.query<{ first: number; last: number }>(
        `select o.next_position::float8 as first, last_position::float8 as last
       from jobtree.operation_of($1, $2) o cross join lateral jobtree.pending_window(o, 1000, 200)`,
        [kind, JSON.stringify({ jobId, statuses: ['SCHEDULED', ...(kind === 'CANCEL' ? ['READY'] : [])] })],
      );
      // Of what may overlap only the first item of the last range is in it.
      const last = (first?.position ?? 0) + (kind === 'CANCEL' ? 128 : 255);
      expect(part).toEqual({ first: -1, last });
    },
  );

  it('promotes the next item of a serialize key, and removes blocked items from the line', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      items: Array.from({ length: 5 }, (_, payload) => ({ payload, serializeKey: type })),
    });
    const items = await t.items(jobId);
    const at = (...numbers: number[]) => numbers.flatMap((n) => items[n] ?? []);
    await t.claimOne(type);
    expect(await cancel({ jobId, statuses: ['BLOCKED'], items: at(0, 1, 3) })).toMatchObject({
      total: 2,
      done: 2,
    });
    expect(await statesOf(jobId)).toEqual(['2 BLOCKED', '2 CANCELLED', '1 RUNNING']);
    t.ready.length = 0;
    expect(await cancel({ items: at(0) })).toMatchObject({ done: 1 });
    expect(t.ready).toEqual([type]);
    expect(JSON.parse((await t.claimOne(type)).payload.text)).toBe(2);
    expect(await cancel({ jobId })).toMatchObject({ total: 2, done: 2 });
    expect(await t.db.query('select from jobtree.serialize_key where key = $1', [type])).toEqual([]);
    await checkInvariants(t.db);
  });

  it('ends with the job: cancelled items are deleted with their tree', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: many(5) });
    await cancel({ jobId });
    expect(await deleteJob(t.engine, jobId)).toEqual({ deleted: true });
    expect(await t.db.query('select from jobtree.cancellation where job_id = $1', [jobId])).toEqual([]);
  });

  it.each([
    [{}, 'JT002', 'filter'],
    [{ groupIds: ['00000000-0000-0000-0000-000000000000'] }, 'JT002', 'filter.groupIds'],
    [{ items: [] }, 'JT002', 'filter.items'],
    [{ codes: ['E'], types: [] }, 'JT002', 'filter.types'],
    [{ statuses: ['DEAD'] }, 'JT002', 'filter.statuses'],
    [{ statuses: ['READY', 'SUCCEEDED'] }, 'JT002', 'filter.statuses'],
    [{ jobId: '00000000-0000-0000-0000-000000000000' }, 'JT001', 'filter.jobId'],
  ])('is refused for %j', async (filter, code, column) => {
    await expect(
      t.db.query('select jobtree.start_operation($1, $2)', ['CANCEL', JSON.stringify(filter)]),
    ).rejects.toMatchObject({ code, column });
  });
});
