/** Races, each forced: one side holds its locks, the other is seen to wait (or to pass by), then the first lets go. */
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addItems } from '../../src/domain/add-items.ts';
import { cancelJob } from '../../src/domain/cancel-job.ts';
import { claimItems } from '../../src/domain/claim-items.ts';
import { createJob } from '../../src/domain/create-job.ts';
import { foldProgress } from '../../src/domain/fold-progress.ts';
import { heartbeat } from '../../src/domain/heartbeat.ts';
import { reportOutcomes } from '../../src/domain/report-outcomes.ts';
import { sealJob } from '../../src/domain/seal-job.ts';
import { sweep } from '../../src/domain/sweep.ts';
import { JobSealedError } from '../../src/errors.ts';
import { newType, useEngine } from '../support/engine.ts';
import { lockWaiters } from '../support/locks.ts';

const t = useEngine();
let other: pg.Client;

beforeEach(async () => {
  other = await t.db.connect();
  await other.query('begin');
});
afterEach(async () => {
  await other.query('rollback');
  await other.end();
});

const otherCalls = (name: string, ...values: unknown[]) =>
  other.query(`select * from jobtree.${name}(${values.map((_, i) => `$${i + 1}`).join(', ')})`, values);
const expire = (id: string) =>
  t.db.query(`update jobtree.assignment set deadline_at = now() - interval '1 second' where id = $1`, [id]);

describe('add against seal', () => {
  it('seal waits for an adder in flight, whose items then count', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await otherCalls('add_items', job, '[{"payload": 1}]');
    const sealed = sealJob(t.engine, job);
    await lockWaiters(t.db, 1);
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 0, completedAt: null });
    await other.query('commit');
    await sealed;
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 1, sealed: true, completedAt: null });
  });

  it('an adder that waited for a seal is refused, and adds nothing', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await otherCalls('seal_job', job);
    const added = addItems(t.engine, job, [{ payload: 1 }], { seal: false });
    const refused = expect(added).rejects.toThrow(JobSealedError);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 0, completedAt: expect.any(Number) });
  });

  it('two adders that both seal do not deadlock: the second is refused', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await otherCalls('add_items', job, '[{"payload": 1}]', true);
    const second = addItems(t.engine, job, [{ payload: 2 }], { seal: true });
    const refused = expect(second).rejects.toThrow(JobSealedError);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
  });
});

describe('dedupe keys', () => {
  it('two batches with the same keys in opposite order do not deadlock, and each key makes one item', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    const keys = Array.from({ length: 50 }, (_, i) => ({ payload: i, dedupeKey: `k${i}` }));
    await otherCalls('add_items', job, JSON.stringify(keys));
    const second = addItems(t.engine, job, keys.toReversed(), { seal: false });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await second).every(({ status }) => status === 'DUPLICATE')).toBe(true);
    expect((await t.fold(job))[type]?.itemCount).toBe(50);
  });

  it('of two creations with one dedupe key at once, the second waits and finds the first', async () => {
    const type = newType();
    const first = await otherCalls('create_job', JSON.stringify({ type, dedupeKey: 'k' }));
    const second = createJob(t.engine, { type, dedupeKey: 'k' });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await second).toEqual({ jobId: first.rows[0].job_id, created: false });
  });
});

describe('claim against claim', () => {
  it('a claim passes by what another claim holds, and gets it if that one is undone', async () => {
    const type = newType();
    await t.create({ type, items: [{ payload: 1 }, { payload: 2 }] });
    const held = (await otherCalls('claim_items', ['a'], [type], [1])) as unknown as {
      rows: { items: { id: string[] } }[];
    };
    expect(held.rows).toHaveLength(1);
    const got = await claimItems(t.engine, 'b', [{ type, limit: 5 }]);
    expect(got.map(({ payload }) => payload)).toEqual([2]);
    await other.query('rollback');
    await other.query('begin');
    t.engine.lowWater.returned(type);
    expect((await claimItems(t.engine, 'b', [{ type, limit: 5 }])).map(({ payload }) => payload)).toEqual([
      1,
    ]);
  });
});

describe('report against sweep, on one assignment', () => {
  it('a sweep passes by a hold that is being reported, and the report counts', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}] });
    const { id } = await t.claimOne(type);
    await expire(id);
    await otherCalls('report_outcomes', JSON.stringify([{ assignmentId: id, result: 1 }]));
    await sweep(t.engine, null);
    await other.query('commit');
    await sweep(t.engine, null);
    expect((await t.fold(job))[type]).toMatchObject({ succeeded: 1, failed: 0 });
  });

  it('a report that waited for the sweep to take the hold back is STALE and changes nothing', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}], backoffMs: [0] });
    const { id } = await t.claimOne(type);
    await expire(id);
    await otherCalls('sweep');
    const report = reportOutcomes(t.engine, [{ assignmentId: id, result: 1 }]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await report)[0]?.status).toBe('STALE');
    expect((await t.fold(job))[type]).toMatchObject({ succeeded: 0, failed: 0 });
    expect((await t.claimOne(type)).attempt).toBe(2);
  });

  it('a heartbeat that waited for the sweep learns that the hold is lost', async () => {
    const type = newType();
    await t.create({ type, items: [{}] });
    const { id } = await t.claimOne(type);
    await expire(id);
    await otherCalls('sweep');
    const beat = heartbeat(t.engine, [id]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await beat).toEqual(['LOST']);
  });
});

describe('report against report', () => {
  it('the same report twice at once: the second waits, and is a DUPLICATE', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}] });
    const { id } = await t.claimOne(type);
    await otherCalls('report_outcomes', JSON.stringify([{ assignmentId: id, result: { a: 1 } }]));
    const second = reportOutcomes(t.engine, [{ assignmentId: id, result: { a: 1 } }]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await second)[0]?.status).toBe('DUPLICATE');
    expect((await t.fold(job))[type]?.succeeded).toBe(1);
  });

  it('two batches over the same assignments in opposite order do not deadlock', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: Array.from({ length: 20 }, () => ({})) });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 20 }]);
    const reports = held.map(({ id }) => ({ assignmentId: id, result: null }));
    await otherCalls('report_outcomes', JSON.stringify(reports));
    const second = reportOutcomes(t.engine, reports.toReversed());
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(new Set((await second).map(({ status }) => status))).toEqual(new Set(['DUPLICATE']));
    expect((await t.fold(job))[type]?.succeeded).toBe(20);
  });
});

describe('fold', () => {
  it('two folds of one tree: the second passes by, and nothing is counted twice', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}, {}] });
    await otherCalls('fold_progress', job);
    expect(await foldProgress(t.engine, job, 0)).toBeUndefined();
    await other.query('commit');
    expect((await t.fold(job))[type]?.itemCount).toBe(2);
  });

  it('a delta that commits late, below the mark, still counts before the job is declared complete', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}, {}] });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
    const report = (i: number) => JSON.stringify([{ assignmentId: held[i]?.id, result: i }]);
    await otherCalls('report_outcomes', report(0));
    await reportOutcomes(t.engine, [{ assignmentId: held[1]?.id ?? '', result: 1 }]);
    await sealJob(t.engine, job);
    const fold = await foldProgress(t.engine, job, 0);
    await other.query('commit');
    const last = fold?.lastDelta ?? 0;
    expect(last).toBeGreaterThan(0);
    // Above the mark there is nothing, so this fold can't see the late delta; a fold from the start does.
    await foldProgress(t.engine, job, last);
    expect((await t.fold(job))[type]).toMatchObject({ succeeded: 2, completedAt: expect.any(Number) });
  });

  it('a child that somebody is adding to when its parent completes is sealed by a later fold', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      sealed: true,
      items: [],
      children: [{ type: child, feed: {} }],
    });
    await otherCalls('add_items', jobs[child], '[{"payload": 1}]');
    const fold = await foldProgress(t.engine, jobs[parent] ?? '', 0);
    expect(fold?.retry).toBe(true);
    await other.query('commit');
    expect((await t.fold(jobs[parent] ?? ''))[child]).toMatchObject({
      sealed: true,
      itemCount: 1,
      completedAt: null,
    });
  });

  it('a job that gets its last items and its seal while a fold counts it is not complete before they are done', async () => {
    const [root, child] = [newType('root'), newType('child')];
    const jobs = await t.create({ type: root, children: [{ type: child, items: [{}] }] });
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(child)).id, result: 1 }]);
    await other.query('select from jobtree.job_progress where job_id = $1 for update', [jobs[child]]);
    const fold = foldProgress(t.engine, jobs[root] ?? '', 0);
    await lockWaiters(t.db, 1);
    await addItems(t.engine, jobs[child] ?? '', [{}], { seal: true });
    await other.query('commit');
    await fold;
    expect((await t.fold(jobs[root] ?? ''))[child]).toMatchObject({
      itemCount: 2,
      succeeded: 1,
      sealed: true,
      completedAt: null,
    });
  });

  it('the last two items of a job, finished at once by two workers, complete it once', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, sealed: true, items: [{}, {}] });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
    await otherCalls('report_outcomes', JSON.stringify([{ assignmentId: held[0]?.id, result: 0 }]));
    await reportOutcomes(t.engine, [{ assignmentId: held[1]?.id ?? '', result: 1 }]);
    expect((await t.fold(job))[type]?.completedAt).toBeNull();
    await other.query('commit');
    expect((await t.fold(job))[type]).toMatchObject({ succeeded: 2, completedAt: expect.any(Number) });
  });
});

describe('cancel against feed', () => {
  it('cancel waits for a report that feeds the job, and cancels what it fed', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({ type: parent, items: [{}], children: [{ type: child, feed: {} }] });
    const { id } = await t.claimOne(parent);
    await otherCalls('report_outcomes', JSON.stringify([{ assignmentId: id, result: 1 }]));
    const cancelled = cancelJob(t.engine, jobs[child] ?? '');
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await cancelled).toEqual({ cancelledItems: 1 });
    expect((await t.fold(jobs[parent] ?? ''))[child]).toMatchObject({ itemCount: 1, cancelled: 1 });
  });

  it('a report that waited for the cancellation of a child feeds it nothing, and counts itself', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({ type: parent, items: [{}], children: [{ type: child, feed: {} }] });
    const { id } = await t.claimOne(parent);
    await otherCalls('cancel_job', jobs[child]);
    const report = reportOutcomes(t.engine, [{ assignmentId: id, result: 1 }]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await report)[0]?.status).toBe('ACCEPTED');
    const progress = await t.fold(jobs[parent] ?? '');
    expect(progress[child]?.itemCount).toBe(0);
    expect(progress[parent]?.succeeded).toBe(1);
  });
});
