/** Cancelling in bounded batches: over many items, beside workers that claim, and after a server died in the middle. */
import { describe, expect, it } from 'vitest';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../../src/domain/claims/heartbeat.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { finishSome } from '../../../src/domain/operations/finish.ts';
import type { JobProgress } from '../../../src/domain/progress/progress.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { assignmentIdOf, type ItemKey } from '../../../src/domain/values/ids.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';

const t = useEngine();

const many = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i }));
/** More than the API takes in one call. */
const addMany = (job: string, count: number) =>
  t.db.query(
    `select jobtree.add_items($1, (select json_agg('{"payload":1}'::json) from generate_series(1, $2::int)))`,
    [job, count],
  );

describe('cancelJob', () => {
  it('cancels pending items in any state, and keeps finished ones', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await addMany(job, 2_500);
    const held = await claimItems(t.engine, 'w', [{ type, limit: 1_000 }]);
    const done = held.slice(0, 300).map(({ id }) => ({ assignmentId: id, result: 1 }));
    const failed = held.slice(300, 350).map(({ id }) => ({
      assignmentId: id,
      failure: { code: 'E', message: 'no' },
    }));
    await reportOutcomes(t.engine, [...done, ...failed]);
    const told = t.unfinished;
    await cancelJob(t.engine, job);
    expect(t.unfinished).toBe(told);
    expect((await t.fold(job))[type]).toMatchObject({
      itemCount: 2_500,
      succeeded: 300,
      cancelled: 2_200,
      completedAt: expect.any(Number),
    });
    expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [job])).toEqual([]);
    expect(
      await t.db.query(
        `select count(*)::int as ranges, sum(count)::int as items, min(cancelled_at) = max(cancelled_at) as at_once
         from jobtree.cancellation where job_id = $1`,
        [job],
      ),
      'neighbours share a range',
    ).toEqual([{ ranges: 1, items: 2_200, at_once: true }]);
    expect(
      new Set(
        await heartbeat(
          t.engine,
          held.slice(350).map(({ id }) => id),
        ),
      ),
    ).toEqual(new Set(['CANCELLED']));
    await cancelJob(t.engine, job);
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 2_200 });
  });

  it('continues in batches over queue entries and leases', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: many(1_000) });
    for (let i = 0; i < 20; i++) await claimItems(t.engine, 'w', [{ type, limit: 10 }]);
    const pass = async (from: number) =>
      (
        await t.db.query<{ cancelled: number; from: number; done: boolean }>(
          'select cancelled::int, next_from::float8 as "from", done from jobtree.cancel_items($1, $2, 4)',
          [job, from],
        )
      )[0];
    const [row] = await t.db.query('select cancelling from jobtree.cancel_job($1, 3)', [job]);
    expect(row).toEqual({ cancelling: [job] });
    let cancelled = (await t.fold(job))[type]?.cancelled ?? 0;
    expect(cancelled).toBeGreaterThan(0);
    expect(cancelled).toBeLessThan(1_000);
    let step = await pass(0);
    for (; step?.done === false; step = await pass(step.from)) cancelled += step.cancelled;
    cancelled += step?.cancelled ?? 0;
    expect(cancelled).toBe(1_000);
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 1_000, completedAt: expect.any(Number) });
  });

  it('answers at once beside an uncommitted claim and ends its leases later, before the job completes', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: many(3) });
    const other = await t.db.connect();
    await other.query('begin');
    const { rows } = await other.query<{ lease_id: string }>(
      `select lease_id from jobtree.claim_items('{w}', $1, '{2}')`,
      [[type]],
    );
    const told = t.unfinished;
    await cancelJob(t.engine, job);
    expect(t.unfinished).toBe(told + 1);
    await t.finish();
    expect((await t.fold(job))[type]?.completedAt).toBeNull();
    await other.query('commit');
    await other.end();
    expect((await t.fold(job))[type]?.completedAt).toBeNull();
    await t.finish();
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 3, completedAt: expect.any(Number) });
    const ids = [1, 2].map((number) => assignmentIdOf(rows[0]?.lease_id ?? '', number));
    expect(await heartbeat(t.engine, ids)).toEqual(['CANCELLED', 'CANCELLED']);
    expect(await claimItems(t.engine, 'w', [{ type, limit: 9 }])).toEqual([]);
  });

  it('leaves nothing to a claim that waits for it', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: many(1) });
    const [item] = await t.items(job);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select * from jobtree.cancel_job($1)', [job]);
    expect(await claimItems(t.engine, 'w', [{ type, limit: 1 }])).toEqual([]);
    const claim = expect(claimItem(t.engine, item as ItemKey, 'w')).rejects.toMatchObject({
      reason: 'CANCELLED',
    });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await other.end();
    await claim;
  });

  it('leaves nothing to a claim that meets its remaining entries, which are counted as cancelled once', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: many(300) });
    const [, item] = await t.items(job);
    await t.db.query('select * from jobtree.cancel_job($1, 0)', [job]);
    await expect(claimItem(t.engine, item as ItemKey, 'w')).rejects.toMatchObject({ reason: 'CANCELLED' });
    expect(await claimItems(t.engine, 'w', [{ type, limit: 9 }])).toEqual([]);
    await t.finish();
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 300, completedAt: expect.any(Number) });
  });

  it('by two servers at once does not deadlock over items that are claimed in between', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: many(200) });
    await t.db.query('select * from jobtree.cancel_job($1, 0)', [job]);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query(
      'select from jobtree.queue_entry where job_id = $1 order by position limit 1 for update',
      [job],
    );
    const signal = new AbortController().signal;
    await Promise.all([finishSome(t.engine, signal), finishSome(t.otherEngine, signal)]);
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 72, completedAt: null });
    await other.query('commit');
    await other.end();
    await Promise.all([finishSome(t.engine, signal), finishSome(t.otherEngine, signal)]);
    await t.finish();
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 200, completedAt: expect.any(Number) });
  });

  it('leaves nothing to claim once the job is complete, whatever workers do meanwhile', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, backoffMs: [0], maxFailuresPerItem: 1_000 });
    await addMany(job, 3_000);
    let complete = false;
    const afterwards: string[] = [];
    const work = async (worker: string) => {
      while (!complete) {
        const held = await claimItems(t.engine, worker, [{ type, limit: 50 }]);
        const failed = held.slice(0, 40).map(({ id }) => ({
          assignmentId: id,
          failure: { code: 'E', message: 'no' },
        }));
        if (failed.length > 0) await reportOutcomes(t.engine, failed);
        await t.db.query('select jobtree.release_assignments($1)', [held.slice(40).map(({ id }) => id)]);
      }
      afterwards.push(...(await claimItems(t.engine, worker, [{ type, limit: 50 }])).map(({ id }) => id));
    };
    const workers = [work('a'), work('b'), work('c')];
    await Promise.all([cancelJob(t.engine, job), cancelJob(t.otherEngine, job)]);
    while (((await t.fold(job))[type]?.completedAt ?? null) === null) await t.finish();
    complete = true;
    const { itemCount, succeeded, cancelled, failed } = (await t.fold(job))[type] as JobProgress;
    expect([itemCount, succeeded, cancelled + failed]).toEqual([3_000, 0, 3_000]);
    await Promise.all(workers);
    expect(afterwards).toEqual([]);
    expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [job])).toEqual([]);
  });
});

describe('cancelling a part of a tree', () => {
  it('ends a job and its descendants, but no ancestor or sibling', async () => {
    const [top, left, below, right] = [newType('top'), newType('left'), newType('below'), newType('right')];
    const jobs = await t.create({
      type: top,
      items: many(2),
      children: [
        { type: left, items: many(3), children: [{ type: below, items: many(4), feed: {} }] },
        { type: right, items: many(5), feed: {} },
      ],
    });
    const held = await t.claimOne(below);
    await cancelJob(t.engine, jobs[left] ?? '');
    expect(await heartbeat(t.engine, [held.id])).toEqual(['CANCELLED']);
    const ended = { completedAt: expect.any(Number), outcome: 'CANCELLED' };
    expect(await t.fold(jobs[top] ?? '')).toMatchObject({
      [top]: { cancelled: 0, completedAt: null },
      [left]: { cancelled: 3, ...ended },
      [below]: { cancelled: 4, ...ended },
      [right]: { cancelled: 0, completedAt: null },
    });
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(top)).id, result: 1 }]);
    expect((await t.fold(jobs[top] ?? ''))[right]).toMatchObject({ itemCount: 6 });
  });
});

describe('a cancellation whose server died', () => {
  const unfinished = async (root: string) =>
    (
      await t.db.query<{ id: string }>(
        'select id from jobtree.job where root_id = $1 and cancelling order by id',
        [root],
      )
    ).map(({ id }) => id);

  it('is finished by any server, and then forgotten', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: many(2),
      children: [{ type: child, items: many(1) }],
    });
    const [root, below] = [jobs[parent] ?? '', jobs[child] ?? ''];
    const held = await t.claimOne(parent);
    await t.db.query('select * from jobtree.cancel_job($1, 0)', [root]);
    expect(await unfinished(root)).toEqual([root, below]);
    await finishSome(t.otherEngine, new AbortController().signal);
    expect(await unfinished(root)).toEqual([]);
    const progress = await t.fold(root);
    expect(progress[parent]).toMatchObject({ cancelled: 2, completedAt: expect.any(Number) });
    expect(progress[child]).toMatchObject({ cancelled: 1, completedAt: expect.any(Number) });
    expect(await heartbeat(t.engine, [held.id])).toEqual(['CANCELLED']);
  });

  it('of a complete job has no effect', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, sealed: true });
    await t.fold(job);
    await cancelJob(t.engine, job);
    expect(await unfinished(job)).toEqual([]);
    expect(await t.db.query('select cancelled_at from jobtree.job where id = $1', [job])).toEqual([
      { cancelled_at: null },
    ]);
  });
});
