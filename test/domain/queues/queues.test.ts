/** Queues: what a pause, limits, a lifetime and defaults of a type do, whatever way an item takes. Races are forced. */
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { putEndpoint } from '../../../src/domain/callbacks/endpoints.ts';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claim, claimItems } from '../../../src/domain/claims/claim-items.ts';
import { exchange } from '../../../src/domain/claims/exchange.ts';
import { findMissedEntries } from '../../../src/domain/claims/missed-entries.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import {
  correctHeld,
  type QueueChange,
  readQueue,
  readQueues,
  setQueue,
  tendQueues,
} from '../../../src/domain/queues/queues.ts';
import { type Report, reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { InvalidInputError, ItemNotClaimableError } from '../../../src/errors.ts';
import { newClaimId, newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';

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

const set = (type: string, change: QueueChange) => setQueue(t.engine, type, change);
const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));
const payloadsOf = (assignments: readonly Assignment[]) => assignments.map(({ payload }) => payload.value);
const take = async (type: string, limit: number, engine = t.engine) =>
  (await claimItems(engine, 'w', [{ type, limit }])).length;
const otherClaims = (type: string, limit: number) =>
  other.query('select * from jobtree.claim_items($1, $2, $3)', [['other'], [type], [limit]]);
const deltas = async (type: string) =>
  (
    await t.db.query<{ items: number }>(
      'select items from jobtree.held_delta where type = $1 order by seen is null',
      [type],
    )
  ).map(({ items }) => items);
const success = ({ id }: Assignment): Report => ({ assignmentId: id, result: 1 });
const failure = ({ id }: Assignment, permanent: boolean): Report => ({
  assignmentId: id,
  failure: { code: 'E', message: 'no', permanent },
});

/** A job of a type of its own, with so many items. */
async function job(count: number, change: QueueChange = {}, more: Record<string, unknown> = {}) {
  const type = newType('queue');
  await set(type, change);
  const { [type]: jobId = '' } = await t.create({ type, items: items(count), ...more });
  return { type, jobId };
}

describe('a pause', () => {
  it('stops all claims, and hides nothing from later ones', async () => {
    const { type } = await job(300);
    expect(await take(type, 10)).toBe(10);
    await set(type, { paused: true });
    t.dry.length = 0;
    t.limited.length = 0;
    expect(await take(type, 500)).toBe(0);
    expect(await take(type, 500, t.otherEngine)).toBe(0);
    expect([t.dry, t.limited]).toEqual([
      [],
      [
        { type, againInMs: 1_000 },
        { type, againInMs: 1_000 },
      ],
    ]);
    await findMissedEntries(t.engine);
    await set(type, { paused: false });
    const assignments = await claimItems(t.engine, 'w', [{ type, limit: 500 }]);
    expect(payloadsOf(assignments)).toEqual(Array.from({ length: 290 }, (_, i) => i + 10));
  });

  it('affects only its type, and is shown', async () => {
    const paused = await job(3, { paused: true });
    const free = await job(3);
    const requests = [paused, free].map(({ type }) => ({ type, limit: 5 }));
    const { assignments, limitedTypes } = await claim(t.engine, 'w', requests);
    expect([assignments.map(({ type }) => type), limitedTypes]).toEqual([
      Array(3).fill(free.type),
      [paused.type],
    ]);
  });

  it('lets workers finish what they hold', async () => {
    const { type } = await job(1);
    const held = await t.claimOne(type);
    await set(type, { paused: true });
    expect(await reportOutcomes(t.engine, [success(held)])).toMatchObject([{ status: 'ACCEPTED' }]);
  });
});

describe('a concurrency limit', () => {
  /** What ends a hold; every way gives its place back, and one only. */
  const ends: Record<string, (held: Assignment, type: string) => Promise<unknown>> = {
    'a result': (held) => reportOutcomes(t.engine, [success(held)]),
    'a failure': (held) => reportOutcomes(t.engine, [failure(held, false)]),
    'a failure for good': (held) => reportOutcomes(t.engine, [failure(held, true)]),
    'a release': ({ id }) => releaseAssignments(t.engine, [id]),
    'a lost heartbeat': async ({ id }) => {
      await t.expire(id);
      await t.sweep();
    },
    'a cancellation': ({ jobId }) => cancelJob(t.engine, jobId),
    'a deletion': async ({ jobId }) => {
      await deleteJob(t.engine, jobId);
      await t.fold(jobId);
      await t.finish();
    },
  };
  it.each(Object.entries(ends))('%s frees the slot', async (_, end) => {
    const { type } = await job(1, { concurrency: 3 });
    const held = await t.claimOne(type);
    await t.create({ type, items: items(10), backoffMs: [60_000] });
    expect(await take(type, 10)).toBe(2);
    expect(await take(type, 10)).toBe(0);
    await end(held, type);
    expect(await take(type, 10)).toBe(1);
    expect(await take(type, 10)).toBe(0);
  });

  it('holds across servers, requests and parts of a claim', async () => {
    const { type } = await job(600, { concurrency: 150 });
    const requests = [
      { type, limit: 100 },
      { type, limit: 100 },
    ];
    const first = await claim(t.engine, 'w', requests);
    expect([first.assignments.length, first.limitedTypes]).toEqual([150, [type]]);
    expect(await take(type, 1, t.otherEngine)).toBe(0);
    await reportOutcomes(t.engine, first.assignments.slice(0, 40).map(success));
    expect(await take(type, 100, t.otherEngine)).toBe(40);
  });

  it('reuses the slot of a report for a claim in the same exchange', async () => {
    const { type } = await job(5, { concurrency: 1 });
    const held = await t.claimOne(type);
    const done = await exchange(t.engine, [success(held)], { worker: 'w', requests: [{ type, limit: 3 }] });
    expect([done.assignments.length, done.limitedTypes]).toEqual([1, [type]]);
  });

  it('counts items that ran before it was set, and gives nothing until they are fewer', async () => {
    const { type } = await job(20);
    const held = await claimItems(t.engine, 'w', [{ type, limit: 8 }]);
    await set(type, { concurrency: 5 });
    expect(await take(type, 5)).toBe(0);
    await reportOutcomes(t.engine, held.slice(0, 3).map(success));
    expect(await take(type, 5)).toBe(0);
    await reportOutcomes(t.engine, held.slice(3, 5).map(success));
    expect(await take(type, 5)).toBe(2);
  });

  it('holds when lowered or raised, and no longer when removed', async () => {
    const { type } = await job(20, { concurrency: 2 });
    const taken = [];
    for (const concurrency of [2, 1, 4, null]) {
      await set(type, { concurrency });
      taken.push(await take(type, 5));
    }
    expect(taken).toEqual([2, 0, 2, 5]);
    expect(await deltas(type)).toEqual([]);
  });

  it('counts a repeated claim once', async () => {
    const { type } = await job(5, { concurrency: 2 });
    const id = newClaimId();
    const ask = () => claimItems(t.engine, 'w', [{ type, limit: 1 }], id);
    expect((await ask())[0]?.id).toBe((await ask())[0]?.id);
    expect(await take(type, 5)).toBe(1);
  });

  it('keeps no record of what has ended: a claim adds it up', async () => {
    const { type } = await job(50, { concurrency: 1 });
    for (let i = 0; i < 5; i++) await reportOutcomes(t.engine, [success(await t.claimOne(type))]);
    expect(await take(type, 5)).toBe(1);
    expect(await deltas(type)).toEqual([0, 1]);
    expect(await take(type, 5)).toBe(0);
    expect(await deltas(type)).toEqual([1]);
    expect(await take(type, 5)).toBe(0);
    expect(await deltas(type)).toEqual([1]);
  });

  it('counts what a transaction gives back, whether before its claim or after it, and nothing if it is rolled back', async () => {
    const { type } = await job(20, { concurrency: 3 });
    await otherClaims(type, 3);
    const release = `select jobtree.release_assignments(array(select a.id from jobtree.assignment a
      where a.state = 'HELD' and a.worker = 'other' order by a.claimed_at, a.id limit 1))`;
    await other.query(release);
    await otherClaims(type, 5);
    await other.query(release);
    await other.query(release);
    await other.query('savepoint before');
    await other.query(release);
    await otherClaims(type, 1);
    await other.query('rollback to savepoint before');
    await other.query('commit');
    expect([await take(type, 5), await take(type, 5)]).toEqual([2, 0]);
  });

  it('is right again after the next look if the deltas are wrong', async () => {
    const { type } = await job(20, { concurrency: 5 });
    await take(type, 3);
    await t.db.query('insert into jobtree.held_delta (type, items) values ($1, 9)', [type]);
    expect(await take(type, 5)).toBe(0);
    expect(await correctHeld(t.engine)).toEqual([{ type, items: -9 }]);
    expect(await correctHeld(t.engine)).toEqual([]);
    expect([await take(type, 5), await take(type, 5)]).toEqual([2, 0]);
  });

  it('counts leases from before it was removed, if it is set again while they are open', async () => {
    const { type } = await job(20, { concurrency: 5 });
    const [first] = await claimItems(t.engine, 'w', [{ type, limit: 4 }]);
    await set(type, { concurrency: null });
    expect(await take(type, 2)).toBe(2);
    await reportOutcomes(t.engine, [success(first as Assignment)]);
    await set(type, { concurrency: 7 });
    expect([await take(type, 5), await take(type, 5)]).toEqual([2, 0]);
    await set(type, { concurrency: null });
    await releaseAssignments(t.engine, await heldBy('w', type));
    await correctHeld(t.engine);
    expect(await deltas(type)).toEqual([]);
  });

  it('counts after a restore into a cluster whose transactions have lower ids', async () => {
    const { type } = await job(20, { concurrency: 3 });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 3 }]);
    await take(type, 1);
    await t.db.query(
      `update jobtree.held_delta set xid = '99999999', seen = '99999999:99999999:' where type = $1`,
      [type],
    );
    await reportOutcomes(t.engine, held.slice(0, 2).map(success));
    expect([await take(type, 5), await take(type, 5)]).toEqual([2, 0]);
  });
});

describe('races for the slots of a type', () => {
  it('while another claim decides about a type, a claim gets items of the others only', async () => {
    const limited = await job(5, { concurrency: 2 });
    const free = await job(5);
    await otherClaims(limited.type, 1);
    const requests = [limited, free].map(({ type }) => ({ type, limit: 5 }));
    const { assignments, limitedTypes } = await claim(t.engine, 'w', requests);
    expect([assignments.map(({ type }) => type), limitedTypes]).toEqual([
      Array(5).fill(free.type),
      [limited.type],
    ]);
    await other.query('commit');
    expect(await take(limited.type, 5)).toBe(1);
  });

  it('a claim that got nothing because another one was deciding asks again afterwards', async () => {
    const { type } = await job(5, { concurrency: 3 });
    await otherClaims(type, 1);
    const stop = beforeClaims((count) => count === 2 && other.query('commit'));
    expect(await take(type, 5)).toBe(2);
    stop();
  });

  it('a claim that began before the limit was set and commits after it counts', async () => {
    const { type } = await job(300);
    await otherClaims(type, 4);
    await set(type, { concurrency: 5 });
    expect(await take(type, 3)).toBe(3);
    await other.query('commit');
    expect(await take(type, 3)).toBe(0);
    await reportOutcomes(
      t.engine,
      (await heldBy('w', type)).map((id) => ({ assignmentId: id, result: 1 })),
    );
    expect(await take(type, 3)).toBe(1);
  });

  it('leases that reports have locked at each look at a new limit count', async () => {
    const { type } = await job(300);
    await take(type, 4);
    const lock = () =>
      other.query(`begin; select from jobtree.lease where check_at is not null and worker = 'w' for update`);
    await other.query('commit');
    await lock();
    await set(type, { concurrency: 5 });
    expect(await take(type, 3)).toBe(1);
    for (let look = 0; look < 3; look++) {
      await other.query('commit');
      await lock();
      expect(await take(type, 3)).toBe(0);
    }
    await other.query('commit');
    expect(await take(type, 3)).toBe(0);
    const [first] = await heldBy('w', type);
    await reportOutcomes(t.engine, [{ assignmentId: first as string, result: 1 }]);
    expect([await take(type, 3), await take(type, 3)]).toEqual([1, 0]);
  });

  it('a claim that began while the limit was being set and commits after it counts', async () => {
    const { type } = await job(300);
    const setter = await t.db.connect();
    await setter.query('begin');
    await setter.query('select jobtree.set_queue($1, $2)', [type, { concurrency: 5 }]);
    await otherClaims(type, 4);
    await setter.query('commit');
    await setter.end();
    expect(await take(type, 3)).toBe(3);
    await other.query('commit');
    expect(await take(type, 3)).toBe(0);
  });

  it('a limit that is set while the counts are corrected counts the claims that are in progress', async () => {
    const { type } = await job(20);
    await otherClaims(type, 4);
    // The correction stops before its end, at what is left of a former limit.
    const former = newType('queue');
    await t.db.query('insert into jobtree.held_delta (type, items) values ($1, 1)', [former]);
    const locker = await t.db.connect();
    await locker.query('begin');
    await locker.query('select from jobtree.held_delta where type = $1 for update', [former]);
    const corrected = correctHeld(t.engine);
    await lockWaiters(t.db, 1);
    await set(type, { concurrency: 5 });
    await locker.query('rollback');
    await locker.end();
    await corrected;
    await other.query('commit');
    expect(await take(type, 5)).toBe(1);
  });

  it('a place that a transaction gives back counts once it commits, however many claims have added up meanwhile', async () => {
    const { type } = await job(20, { concurrency: 4 });
    const [first] = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
    await other.query('select jobtree.report_outcomes($1)', [
      JSON.stringify([{ assignmentId: first?.id, result: 1 }]),
    ]);
    for (let i = 0; i < 3; i++) await reportOutcomes(t.engine, [success(await t.claimOne(type))]);
    expect([await take(type, 5), await take(type, 5)]).toEqual([2, 0]);
    await other.query('commit');
    expect([await take(type, 5), await take(type, 5)]).toEqual([1, 0]);
  });

  it('a pause that commits between two looks of a claim at the queue lets none of its items through', async () => {
    const { type } = await job(20, { concurrency: 5, rate: { limit: 5, intervalMs: 60_000 } });
    const [locker, claimer] = [await t.db.connect(), await t.db.connect()];
    await other.query('select jobtree.set_queue($1, $2)', [type, { paused: true }]);
    await locker.query('begin; lock table jobtree.rate_slice in access exclusive mode');
    const claimed = claimer.query('select * from jobtree.claim_items($1, $2, $3)', [['w'], [type], [20]]);
    // It skips the locked queue, and stops before it counts.
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await locker.query('rollback');
    const { rows } = await claimed;
    await locker.end();
    await claimer.end();
    expect(rows.map(({ kind }) => kind)).toEqual(['TAKEN']);
  });

  it("a claim that can't see what others have committed is refused", async () => {
    const { type } = await job(10, { concurrency: 5 });
    await other.query('set transaction isolation level repeatable read');
    await expect(otherClaims(type, 4)).rejects.toThrow(/READ COMMITTED/);
  });

  it('a change of settings waits for a claim that is under way', async () => {
    const { type } = await job(10, { concurrency: 5 });
    await otherClaims(type, 4);
    const changed = set(type, { concurrency: 2 });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await changed;
    expect(await take(type, 5)).toBe(0);
  });

  it('two concurrent first settings of a type are both kept', async () => {
    const type = newType('queue');
    await other.query('select jobtree.set_queue($1, $2)', [type, '{"priority": 7}']);
    const changed = set(type, { concurrency: 2 });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await changed;
    expect(await readQueue(t.engine, type)).toMatchObject({ priority: 7, concurrency: 2 });
  });

  it('a setting that waits while another one removes the last setting is kept', async () => {
    const type = newType('queue');
    await set(type, { priority: 7 });
    await other.query('select jobtree.set_queue($1, $2)', [type, '{"priority": null}']);
    const changed = set(type, { concurrency: 2 });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await changed;
    expect(await readQueue(t.engine, type)).toMatchObject({ priority: null, concurrency: 2 });
  });

  it('a claim by name waits for a claim that decides, and then finds no slot', async () => {
    const { type, jobId } = await job(10, { concurrency: 1 });
    const [, second] = await t.items(jobId);
    await otherClaims(type, 1);
    const refused = expect(claimItem(t.engine, second as never, 'w')).rejects.toMatchObject({
      reason: 'LIMITED',
    });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
  });
});

/** Before each call of `claim_items` that follows, calls this with its number; until the returned function is called. */
function beforeClaims(before: (count: number) => unknown): () => void {
  const { database } = t.engine;
  const { call } = database;
  let count = 0;
  database.call = (async (name: string, ...values: unknown[]) => {
    if (name === 'claim_items') await before(++count);
    return call.apply(database, [name, ...values]);
  }) as typeof call;
  return () => {
    database.call = call;
  };
}

async function heldBy(worker: string, type: string): Promise<string[]> {
  const rows = await t.db.query<{ id: string }>(
    `select a.id from jobtree.assignment a join jobtree.job j on j.id = a.job_id
     where a.state = 'HELD' and a.worker = $1 and j.type = $2`,
    [worker, type],
  );
  return rows.map(({ id }) => id);
}

describe('a rate', () => {
  /** The most items that were claimed in any interval, by the times of the leases. */
  async function mostIn(type: string, intervalMs: number): Promise<number> {
    const [row] = await t.db.query<{ most: number }>(
      `with c as (select l.claimed_at as at, l.count from jobtree.lease l join jobtree.job j on j.id = l.job_id where j.type = $1)
       select max(s.sum)::int as most
       from c cross join lateral (
         select sum(d.count) from c d where d.at > c.at - $2 * interval '1 millisecond' and d.at <= c.at
       ) s`,
      [type, intervalMs],
    );
    return row?.most ?? 0;
  }

  it('is never exceeded in any interval, and is reached', async () => {
    const [limit, intervalMs] = [20, 400];
    const { type } = await job(1_000, { rate: { limit, intervalMs } });
    let taken = 0;
    const startedAt = performance.now();
    while (performance.now() - startedAt < 5 * intervalMs) {
      t.limited.length = 0;
      const engine = taken % 2 === 0 ? t.engine : t.otherEngine;
      taken += await take(type, 1 + (taken % 7), engine);
      const ms = t.limited[0]?.againInMs ?? 0;
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    }
    expect(await mostIn(type, intervalMs)).toBe(limit);
    // A busy machine may come late.
    expect(taken).toBeGreaterThanOrEqual(3 * limit);
  });

  it('counts a release, a failure and a lost heartbeat as claims', async () => {
    const { type } = await job(10, { rate: { limit: 4, intervalMs: 600_000 } }, { backoffMs: [] });
    await releaseAssignments(t.engine, [(await t.claimOne(type)).id]);
    await reportOutcomes(t.engine, [failure(await t.claimOne(type), false)]);
    const { id } = await t.claimOne(type);
    await t.expire(id);
    await t.sweep();
    expect(await take(type, 5)).toBe(1);
    expect(await take(type, 5)).toBe(0);
    expect(t.limited.at(-1)?.againInMs).toBeGreaterThan(500_000);
  });

  it('holds together with a concurrency limit, and for claims by name', async () => {
    const { type, jobId } = await job(10, { concurrency: 2, rate: { limit: 3, intervalMs: 600_000 } });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 5 }]);
    await reportOutcomes(t.engine, held.map(success));
    const named = (await t.items(jobId)).slice(5);
    await claimItem(t.engine, named[0] as never, 'w');
    await expect(claimItem(t.engine, named[1] as never, 'w')).rejects.toMatchObject({ reason: 'LIMITED' });
    expect([held.length, await take(type, 5)]).toEqual([2, 0]);
  });

  it('applies new settings at once, to earlier claims too', async () => {
    const { type } = await job(50, { rate: { limit: 3, intervalMs: 600_000 } });
    const taken = [await take(type, 9)];
    for (const limit of [10, 5, 12]) {
      await set(type, { rate: { limit, intervalMs: 600_000 } });
      taken.push(await take(type, 9));
    }
    await set(type, { rate: null });
    expect([...taken, await take(type, 20)]).toEqual([3, 7, 0, 2, 20]);
  });

  it('forgets claims that no longer count', async () => {
    const { type } = await job(5, { rate: { limit: 3, intervalMs: 1 } });
    await take(type, 1);
    const slices = 'select from jobtree.rate_slice where type = $1';
    expect(await t.db.query(slices, [type])).toHaveLength(1);
    await t.db.query(
      `update jobtree.rate_slice set ends_at = ends_at - interval '1 minute' where type = $1`,
      [type],
    );
    await tendQueues(t.engine);
    expect(await t.db.query(slices, [type])).toEqual([]);
  });
});

describe('a claim by name', () => {
  it.each([
    ['PAUSED', { paused: true }],
    ['LIMITED', { rate: { limit: 1, intervalMs: 600_000 } }],
    ['LIMITED', { concurrency: 1 }],
  ] as const)('is refused as %s with %j, after other errors', async (reason, change) => {
    const { type, jobId } = await job(3);
    const [first, second] = await t.items(jobId);
    await set(type, { ...change, paused: false });
    await claimItem(t.engine, first as never, 'w');
    await set(type, change);
    await expect(claimItem(t.engine, second as never, 'w')).rejects.toMatchObject({ reason });
    await expect(claimItem(t.engine, first as never, 'w')).rejects.toMatchObject({ reason: 'RUNNING' });
    await expect(claimItem(t.engine, second as never, 'w')).rejects.toThrow(ItemNotClaimableError);
  });
});

describe('defaults of new jobs', () => {
  const defaults = {
    priority: 5,
    maxFailuresPerItem: 7,
    backoffMs: [1, 2],
    backoffJitter: 0.5,
    heartbeatIntervalMs: 2_000,
  };
  const policies = async (jobId: string) =>
    (
      await t.db.query(
        `select priority, max_failures_per_item as "maxFailuresPerItem", backoff_ms as "backoffMs",
           backoff_jitter as "backoffJitter", heartbeat_interval_ms as "heartbeatIntervalMs"
         from jobtree.job where id = $1`,
        [jobId],
      )
    )[0];

  it('apply where a job says nothing, at the root and below it', async () => {
    const type = newType('queue');
    await set(type, defaults);
    const jobs = await t.create({ type: `${type} root`, children: [{ type }, { type: `${type} other` }] });
    expect(await policies(jobs[type] ?? '')).toEqual(defaults);
    const standard = {
      priority: 0,
      maxFailuresPerItem: 3,
      backoffMs: [30_000, 300_000, 1_800_000],
      backoffJitter: 0.1,
      heartbeatIntervalMs: 60_000,
    };
    expect(await policies(jobs[`${type} other`] ?? '')).toEqual(standard);
    const own = {
      priority: 0,
      maxFailuresPerItem: 0,
      backoffMs: [],
      backoffJitter: 0,
      heartbeatIntervalMs: 1_000,
    };
    const { [type]: jobId = '' } = await t.create({ type, ...own });
    expect(await policies(jobId)).toEqual(own);
  });

  it('include an empty backoff, and null is none', async () => {
    const type = newType('queue');
    await set(type, { backoffMs: [] });
    const none = await t.create({ type });
    expect(await policies(none[type] ?? '')).toMatchObject({ backoffMs: [] });
    await set(type, { backoffMs: null });
    const standard = await t.create({ type });
    expect(await policies(standard[type] ?? '')).toMatchObject({ backoffMs: [30_000, 300_000, 1_800_000] });
  });
});

describe('a lifetime', () => {
  const age = (jobId: string, ms: number) =>
    t.db.query(
      `update jobtree.job_item set created_at = created_at - $2 * interval '1 millisecond' where job_id = $1`,
      [jobId, ms],
    );
  const expireAll = async () => {
    while (await tendQueues(t.engine));
  };

  it('fails for good what no worker started in time, and the tree completes', async () => {
    const { type, jobId } = await job(300, { lifetimeMs: 60_000 }, { sealed: true });
    await expireAll();
    expect((await t.fold(jobId))[type]).toMatchObject({ failed: 0 });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 100 }]);
    await age(jobId, 60_001);
    await expireAll();
    await expireAll();
    expect((await t.fold(jobId))[type]).toMatchObject({ succeeded: 0, failed: 200, completedAt: null });
    await reportOutcomes(t.engine, held.map(success));
    expect((await t.fold(jobId))[type]).toMatchObject({
      succeeded: 100,
      failed: 200,
      completedAt: expect.any(Number),
    });
    const failures = await t.db.query(
      `select distinct code, message, attempt, worker, lease_id, retry_at, lost from jobtree.failure where job_id = $1`,
      [jobId],
    );
    expect(failures).toEqual([
      {
        code: 'EXPIRED',
        message: 'No worker started it within 60000 ms.',
        attempt: 1,
        worker: null,
        lease_id: null,
        retry_at: null,
        lost: false,
      },
    ]);
  });

  /** What becomes of an item that is older than the lifetime, by what has become of it before. */
  const endings: Record<
    string,
    {
      prepare?: (type: string, jobId: string) => Promise<unknown>;
      status: string;
      more?: Record<string, unknown>;
    }
  > = {
    ready: { status: 'FAILED' },
    'ready, of a paused type': { prepare: (type) => set(type, { paused: true }), status: 'FAILED' },
    'due for less than that': {
      prepare: (_, jobId) =>
        t.db.query(`update jobtree.job_item set run_at = now() - interval '10 seconds' where job_id = $1`, [
          jobId,
        ]),
      status: 'READY',
    },
    scheduled: { more: { runAt: new Date(Date.now() + 3_600_000) }, status: 'SCHEDULED' },
    held: { prepare: (type) => t.claimOne(type), status: 'RUNNING' },
    released: {
      prepare: async (type) => releaseAssignments(t.engine, [(await t.claimOne(type)).id]),
      status: 'FAILED',
    },
    snoozed: {
      prepare: async (type) => {
        const { id: assignmentId } = await t.claimOne(type);
        await reportOutcomes(t.engine, [{ assignmentId, snoozeMs: 1_000 }]);
        await t.db.query('update jobtree.queue_entry set run_at = now() where type = $1', [type]);
        await t.sweep();
      },
      status: 'READY',
    },
    'failed once': {
      prepare: async (type) => reportOutcomes(t.engine, [failure(await t.claimOne(type), false)]),
      more: { backoffMs: [] },
      status: 'READY',
    },
    lost: {
      prepare: async (type) => {
        await t.expire((await t.claimOne(type)).id);
        await t.sweep();
      },
      more: { backoffMs: [] },
      status: 'READY',
    },
    succeeded: {
      prepare: async (type) => reportOutcomes(t.engine, [success(await t.claimOne(type))]),
      status: 'SUCCEEDED',
    },
    'of a cancelled job': { prepare: (_, jobId) => cancelJob(t.engine, jobId), status: 'CANCELLED' },
    'of a job that is being cancelled': {
      prepare: (_, jobId) =>
        t.db.query('update jobtree.job set cancelled_at = now(), cancelling = true where id = $1', [jobId]),
      status: 'CANCELLED',
    },
  };
  it.each(Object.entries(endings))(
    'expires an old item unless it may not: %s',
    async (_, { prepare, status, more = {} }) => {
      const { type, jobId } = await job(1, { lifetimeMs: 60_000 }, more);
      await age(jobId, 120_000);
      await prepare?.(type, jobId);
      await expireAll();
      const rows = await t.db.query('select status from jobtree.item_status where job_id = $1', [jobId]);
      expect(rows).toEqual([{ status }]);
    },
  );

  it('covers every priority, and entries behind locked ones', async () => {
    const { type, jobId } = await job(0, { lifetimeMs: 60_000 });
    await t.db.query(
      `select jobtree.add_items($1, (select json_agg(json_build_object('payload', n, 'priority', n % 5 - 2)) from generate_series(1, 500) n))`,
      [jobId],
    );
    await age(jobId, 120_000);
    await other.query(
      'select from jobtree.queue_entry where job_id = $1 order by position limit 3 for update',
      [jobId],
    );
    await expireAll();
    const count = async () => (await t.fold(jobId))[type]?.failed;
    expect(await count()).toBe(497);
    await other.query('commit');
    await expireAll();
    expect(await count()).toBe(500);
  });

  it('does not wait for types of which somebody has locked more jobs than a batch has', async () => {
    const locked = await job(0, { lifetimeMs: 60_000 });
    await t.db.query(
      `select jobtree.add_items($1, (select json_agg(json_build_object('payload', n)) from generate_series(1, 128 * 110) n))`,
      [locked.jobId],
    );
    const free = await job(1, { lifetimeMs: 60_000 });
    await age(locked.jobId, 180_000);
    await age(free.jobId, 120_000);
    await other.query('select from jobtree.job where id = $1 for no key update', [locked.jobId]);
    const failed = async ({ type, jobId }: typeof free) => (await t.fold(jobId))[type]?.failed;
    await expect.poll(() => expireAll().then(() => failed(free))).toBe(1);
    expect(await failed(locked)).toBe(0);
    await other.query('commit');
    await expireAll();
    expect(await failed(locked)).toBe(128 * 110);
  });

  it('a cancellation waits for a batch under way, whose items have failed', async () => {
    const { type, jobId } = await job(2, { lifetimeMs: 1_000 });
    await age(jobId, 2_000);
    await other.query('select * from jobtree.expire_items()');
    const cancelled = cancelJob(t.engine, jobId);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await cancelled;
    expect((await t.fold(jobId))[type]).toMatchObject({
      failed: 2,
      cancelled: 0,
      completedAt: expect.any(Number),
    });
  });

  it('applies to waiting items when it is set, and to none when it is removed', async () => {
    const { jobId, type } = await job(2, { lifetimeMs: 600_000 });
    await age(jobId, 60_000);
    await expireAll();
    await set(type, { lifetimeMs: null });
    await expireAll();
    expect((await t.fold(jobId))[type]).toMatchObject({ failed: 0 });
    await set(type, { lifetimeMs: 30_000 });
    await expireAll();
    expect((await t.fold(jobId))[type]).toMatchObject({ failed: 2 });
  });
});

describe('settings', () => {
  it('keep what is omitted, remove null, and leave no row without a setting', async () => {
    const type = newType('queue');
    await putEndpoint(t.engine, { name: 'alerts', url: 'https://alerts.invalid/' });
    const all = {
      paused: true,
      concurrency: 5,
      rate: { limit: 100, intervalMs: 10_000 },
      lifetimeMs: 60_000,
      deadLetterAlert: { endpoint: 'alerts', count: 10, intervalMs: 60_000 },
      priority: -3,
      maxFailuresPerItem: 0,
      backoffMs: [1_000],
      backoffJitter: 0.25,
      heartbeatIntervalMs: 5_000,
    };
    const read = () => readQueue(t.engine, type);
    await set(type, all);
    const counts = { ready: 0, scheduled: 0, retrying: 0, waiting: 0, blocked: 0, running: 0 };
    const figures = { type, ...counts, oldestReadyMs: null, alertedAt: null };
    expect(await read()).toEqual({ ...figures, ...all });
    await set(type, { concurrency: 6 });
    await set(type, {});
    expect(await read()).toEqual({ ...figures, ...all, concurrency: 6 });
    for (const name of Object.keys(all)) await set(type, { [name]: null });
    const none = Object.fromEntries(Object.keys(all).map((name) => [name, name === 'paused' ? false : null]));
    expect(await read()).toEqual({ ...figures, ...none });
    expect(await t.db.query('select from jobtree.queue where type = $1', [type])).toEqual([]);
    expect(await readQueues(t.engine, [type])).toEqual([]);
  });

  it('are listed with the types that have waiting or running items, page by page', async () => {
    const prefix = newType('listed');
    const [a, b, c] = ['a', 'b', 'c'].map((letter) => `${prefix} ${letter}`) as [string, string, string];
    await set(c, { concurrency: 1 });
    await t.create({ type: a, items: items(2) });
    await t.create({ type: b, items: items(1), runAt: new Date(Date.now() + 3_600_000) });
    await t.claimOne(a);
    const read = (after: string, take: number) => readQueues(t.engine, null, { after, take });
    expect(await read(prefix, 2)).toMatchObject([
      { type: a, ready: 1, scheduled: 0, running: 1, concurrency: null },
      { type: b, ready: 0, scheduled: 1, running: 0, paused: false },
    ]);
    expect(await read(b, 1)).toMatchObject([{ type: c, ready: 0, concurrency: 1 }]);
  });

  const bad: [string, Record<string, unknown>, string][] = [
    ['', {}, 'type'],
    ['x'.repeat(201), {}, 'type'],
    ...[0, -1, 1_000_001, 1.5].flatMap((value): [string, Record<string, unknown>, string][] => [
      ['t', { concurrency: value }, 'concurrency'],
      ['t', { rate: { limit: value, intervalMs: 1_000 } }, 'rate.limit'],
    ]),
    ...[0, -5, 86_400_001, 0.5].map((intervalMs): [string, Record<string, unknown>, string] => [
      't',
      { rate: { limit: 1, intervalMs } },
      'rate.intervalMs',
    ]),
    ...[0, -1, 2_147_483_648].map((lifetimeMs): [string, Record<string, unknown>, string] => [
      't',
      { lifetimeMs },
      'lifetimeMs',
    ]),
    ['t', { priority: 32_768 }, 'priority'],
    ['t', { maxFailuresPerItem: -1 }, 'maxFailuresPerItem'],
    ['t', { maxFailuresPerItem: 1_001 }, 'maxFailuresPerItem'],
    ['t', { backoffJitter: 1.1 }, 'backoffJitter'],
    ['t', { heartbeatIntervalMs: 999 }, 'heartbeatIntervalMs'],
    ...[999, 86_400_001].map((intervalMs): [string, Record<string, unknown>, string] => [
      't',
      { deadLetterAlert: { endpoint: 'e', count: 1, intervalMs } },
      'deadLetterAlert.intervalMs',
    ]),
  ];
  it.each(bad)('refuse %j %j, and change nothing', async (type, change, field) => {
    await expect(set(type, { ...change, paused: true })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field,
    });
    const sql = t.engine.database.call('set_queue', type, JSON.stringify({ ...change, paused: true }));
    await expect(sql).rejects.toMatchObject({ code: 'INVALID_INPUT', field });
    await expect(sql).rejects.toThrow(InvalidInputError);
    expect(await t.db.query('select from jobtree.queue where type = $1', [type])).toEqual([]);
  });

  it.each([
    ['null', ''],
    ['[]', ''],
    ['{"concurency": 5}', 'concurency'],
    ['{"paused": 1}', 'paused'],
    ['{"concurrency": "5"}', 'concurrency'],
    ['{"rate": 5}', 'rate'],
    ['{"rate": {"limit": 5}}', 'rate.intervalMs'],
    ['{"rate": {"intervalMs": 5, "limit": null}}', 'rate.limit'],
    ['{"rate": {"limit": 5, "intervalMs": 5, "burst": 1}}', 'rate.burst'],
    ['{"backoffMs": [-1]}', 'backoffMs[0]'],
  ])('are refused in SQL: %s', async (settings, field) => {
    const refused = t.engine.database.call('set_queue', 'sql', settings);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT', field });
  });
});
