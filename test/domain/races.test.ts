/** Races, each forced: one side holds its locks, the other is seen to wait (or to pass by), then the first lets go. */
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Assignment } from '../../src/domain/claims/assignment.ts';
import { claimItem } from '../../src/domain/claims/claim-item.ts';
import { claimItems } from '../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../src/domain/claims/heartbeat.ts';
import { findMissedEntries } from '../../src/domain/claims/missed-entries.ts';
import { releaseAssignments } from '../../src/domain/claims/release-assignments.ts';
import type { Engine } from '../../src/domain/engine/engine.ts';
import { addItems } from '../../src/domain/items/add-items.ts';
import { updateItem } from '../../src/domain/items/update-item.ts';
import { cancelJob } from '../../src/domain/jobs/cancel-job.ts';
import { createJob, type NewJob } from '../../src/domain/jobs/create-job.ts';
import { sealJob } from '../../src/domain/jobs/seal-job.ts';
import { cancelOperation, readOperations, startOperation } from '../../src/domain/operations/operations.ts';
import { runSome } from '../../src/domain/operations/run-operation.ts';
import { foldProgress, foldTrees } from '../../src/domain/progress/fold-progress.ts';
import { readProgress } from '../../src/domain/progress/progress.ts';
import { reportOutcomes } from '../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../src/domain/retention/delete-job.ts';
import { assignmentIdOf, type ItemKey, splitAssignmentId } from '../../src/domain/values/ids.ts';
import { splitTexts } from '../../src/domain/values/json-text.ts';
import { BusyError, JobSealedError, NotFoundError } from '../../src/errors.ts';
import { itemOf, newClaimId, newType, useEngine } from '../support/engine.ts';
import { anyRow, lockWaiters } from '../support/locks.ts';

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
const failure = { code: 'E', message: 'no' };
const reportsOf = (assignments: readonly Assignment[]) =>
  assignments.map(({ id, payload }) => ({ assignmentId: id, result: payload.value }));
const idsOf = (assignments: readonly Assignment[]) => assignments.map(({ id }) => id);
const payloadsOf = (assignments: readonly Assignment[]) => assignments.map(({ payload }) => payload.value);

/** A job of so many items, the payload of each its number, which are one entry. */
async function range(count: number, job: Partial<NewJob> = {}): Promise<{ type: string; jobId: string }> {
  const type = newType('range');
  const items = Array.from({ length: count }, (_, payload) => ({ payload }));
  const { [type]: jobId = '' } = await t.create({ type, items, ...job });
  return { type, jobId };
}

/** The same, held in one lease. */
async function lease(count: number, job: Partial<NewJob> = {}) {
  const { type, jobId } = await range(count, job);
  return { type, jobId, held: await claimItems(t.engine, 'w', [{ type, limit: count }]) };
}

/** The states of the items of a job, in order. */
async function statesOf(jobId: string): Promise<string[]> {
  const rows = await t.db.query<{ status: string }>(
    'select status from jobtree.item_status where job_id = $1 order by position',
    [jobId],
  );
  return rows.map(({ status }) => status);
}

describe('add against seal', () => {
  it('a seal does not wait for an adder in flight, whose items count before the job is complete', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await otherCalls('add_items', job, '[{"payload": 1}]');
    await sealJob(t.engine, job);
    expect(await foldProgress(t.engine, job, 0)).toMatchObject({ retry: true });
    await other.query('commit');
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 1, completedAt: null });
    await reportOutcomes(t.engine, reportsOf([await t.claimOne(type)]));
    expect((await t.fold(job))[type]).toMatchObject({ succeeded: 1, completedAt: expect.any(Number) });
  });

  it('a job is complete once an adder in flight has been rolled back', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await otherCalls('add_items', job, '[{"payload": 1}]');
    await sealJob(t.engine, job);
    expect(await foldProgress(t.engine, job, 0)).toMatchObject({ retry: true });
    await other.query('rollback');
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 0, completedAt: expect.any(Number) });
  });

  it('an adder does not wait for a seal in flight, and is refused once that is committed', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await otherCalls('seal_job', job);
    await addItems(t.engine, job, [{ payload: 1 }], { seal: false });
    await other.query('commit');
    await expect(addItems(t.engine, job, [{ payload: 2 }], { seal: false })).rejects.toThrow(JobSealedError);
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 1, sealed: true });
  });

  /** Transactions that add to a job, each beginning before the last one ends: there is never none. */
  async function addWithoutGap(job: string, between: () => Promise<unknown>) {
    const next = await t.db.connect();
    onTestFinished(() => next.end());
    const add = (client: pg.Client) => client.query(`select jobtree.add_items($1, '[{}]')`, [job]);
    await add(other);
    for (const [client, last] of [
      [next, other],
      [other, next],
      [next, other],
    ] as const) {
      await client.query('begin');
      await add(client);
      await last.query('commit');
    }
    await between();
    await next.query('commit');
  }

  it('a failure policy applies at once while there is always a transaction that adds', async () => {
    const { type, jobId, held } = await lease(1, { toleratedFailureCount: 0, maxFailuresPerItem: 0 });
    await reportOutcomes(t.engine, [{ assignmentId: idsOf(held)[0] ?? '', failure }]);
    await addWithoutGap(jobId, async () => {
      const [fold] = (await foldTrees(t.engine, [{ rootId: jobId, fromDelta: 0 }])).values();
      expect(fold).toMatchObject({ retry: true });
      const progress = await readProgress(t.engine.database, [jobId]);
      expect(progress).toMatchObject([{ failed: 1, sealed: false, completedAt: null }]);
      await expect(addItems(t.engine, jobId, [{}], { seal: false })).rejects.toThrow(JobSealedError);
    });
    await t.finish();
    expect((await t.fold(jobId))[type]).toMatchObject({
      itemCount: 5,
      cancelled: 4,
      completedAt: expect.any(Number),
    });
  });

  it.each([['seal_job'], ['cancel_job'], ['delete_job']])(
    'there is always a transaction that adds: %s does not wait, and nothing of the items is left pending or uncounted',
    async (name) => {
      const type = newType();
      const { [type]: job = '' } = await t.create({ type });
      await addWithoutGap(job, () => t.db.query(`select jobtree.${name}($1)`, [job]));
      await t.fold(job);
      await t.finish();
      if (name === 'delete_job') {
        expect(await t.db.query('select from jobtree.job where id = $1', [job])).toEqual([]);
        expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [job])).toEqual([]);
      } else {
        expect((await t.fold(job))[type]).toMatchObject({
          itemCount: 4,
          cancelled: name === 'seal_job' ? 0 : 4,
        });
      }
    },
  );

  it('a transaction that adds to very many jobs takes few locks of Postgres, and marks wait for the rest', async () => {
    const type = newType('many');
    const ids = (
      await t.db.query<{ id: string }>(
        `select t.job_id as id from generate_series(1, 3000) n,
         jobtree.create_job(json_build_object('type', $1::text, 'dedupeKey', n::text)) t order by 1`,
        [type],
      )
    ).map(({ id }) => id);
    await other.query(`select jobtree.add_items(u, '[{}]') from unnest($1::uuid[]) u`, [ids]);
    const { rows } = await other.query(
      `select count(*)::int as count from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'`,
    );
    expect(rows[0].count).toBeLessThanOrEqual(64);
    const last = ids.at(-1) ?? '';
    const sealed = sealJob(t.engine, last);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await sealed;
    expect((await t.fold(last))[type]).toMatchObject({ itemCount: 1, sealed: true, completedAt: null });
  });

  it('an adder with an old snapshot is refused if the job was sealed since', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await other.query('rollback');
    await other.query('begin isolation level repeatable read');
    await other.query('select 1 from jobtree.job limit 1');
    await sealJob(t.engine, job);
    await expect(otherCalls('add_items', job, '[{}]')).rejects.toMatchObject({ code: '40001' });
    await other.query('rollback');
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 0, completedAt: expect.any(Number) });
  });

  it('two adders that both seal do not deadlock, and the second is refused', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await otherCalls('add_items', job, '[{"payload": 1}]', true);
    const refused = expect(addItems(t.engine, job, [{ payload: 2 }], { seal: true })).rejects.toThrow(
      JobSealedError,
    );
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
  });
});

describe('add against cancel', () => {
  it('a cancellation does not wait for an adder in flight, whose items are cancelled', async () => {
    const { type, jobId } = await range(1);
    await otherCalls('add_items', jobId, '[{"payload": 1}, {"payload": 2}]');
    await cancelJob(t.engine, jobId);
    await other.query('commit');
    await t.finish();
    expect((await t.fold(jobId))[type]).toMatchObject({
      itemCount: 3,
      cancelled: 3,
      completedAt: expect.any(Number),
    });
  });

  it('an adder that waited for a cancellation is refused and adds nothing', async () => {
    const { type, jobId } = await range(1);
    await otherCalls('cancel_job', jobId);
    const refused = expect(addItems(t.engine, jobId, [{ payload: 1 }], { seal: false })).rejects.toThrow(
      JobSealedError,
    );
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
    expect((await t.fold(jobId))[type]).toMatchObject({ itemCount: 1, cancelled: 1 });
  });
});

describe('dedupe keys', () => {
  it('two batches with the same keys in opposite order do not deadlock, and each key creates one item', async () => {
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

  it('of two concurrent creations with one dedupe key, the second waits and returns the first', async () => {
    const type = newType();
    const first = await otherCalls('create_job', JSON.stringify({ type, dedupeKey: 'k' }));
    const second = createJob(t.engine, { type, dedupeKey: 'k' });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await second).toEqual({ jobId: first.rows[0].job_id, created: false });
  });
});

describe('claim against claim', () => {
  it('a claim skips an entry that another claim holds, and gets it if that is rolled back', async () => {
    const type = newType();
    await t.create({ type, items: [{ payload: 1 }] });
    await t.create({ type, items: [{ payload: 2 }] });
    expect((await otherCalls('claim_items', ['a'], [type], [1])).rows).toMatchObject([{ payloads: '1' }]);
    expect(payloadsOf(await claimItems(t.engine, 'b', [{ type, limit: 1 }]))).toEqual([2]);
    await other.query('rollback');
    expect(await claimItems(t.engine, 'b', [{ type, limit: 5 }])).toEqual([]);
    await findMissedEntries(t.engine);
    expect(payloadsOf(await claimItems(t.engine, 'b', [{ type, limit: 5 }]))).toEqual([1]);
  });

  it('two claims meet in one entry: the second waits for the rest, and each item goes to one of them', async () => {
    // A claim waits a moment only: a test that is slower than that meets nobody, and has another try.
    for (;;) {
      const { type } = await range(5);
      const { rows } = await otherCalls('claim_items', ['a'], [type], [2]);
      const second = claimItems(t.engine, 'b', [{ type, limit: 9 }]);
      const met = await Promise.race([lockWaiters(t.db, 1).then(() => true), second.then(() => false)]);
      await other.query('commit');
      await other.query('begin');
      const got = payloadsOf(await second);
      if (!met || got.length === 0) continue;
      expect([splitTexts(rows[0].payloads).map(Number), got]).toEqual([
        [0, 1],
        [2, 3, 4],
      ]);
      break;
    }
  });

  it('a claim that meets an entry locked for long does not treat it as empty, and its worker looks again', async () => {
    const { type } = await range(5);
    await otherCalls('claim_items', ['a'], [type], [2]);
    t.dry.length = 0;
    expect(await claimItems(t.engine, 'b', [{ type, limit: 9 }])).toEqual([]);
    expect(t.dry).toEqual([]);
    await other.query('commit');
    t.ready.length = 0;
    await findMissedEntries(t.engine);
    expect(t.ready).toContain(type);
    expect(payloadsOf(await claimItems(t.engine, 'b', [{ type, limit: 9 }]))).toEqual([2, 3, 4]);
    expect(t.dry).toEqual([type]);
  });

  /** Works with both servers until a claim of each worker says that there is no more; what was claimed, in order. */
  async function drain(type: string, limit: number, onDry: (engine: Engine) => Promise<boolean>) {
    const got: number[] = [];
    const work = async (engine: Engine, worker: string) => {
      for (let done = false; !done; ) {
        const claimed = await claimItems(engine, worker, [{ type, limit }]);
        got.push(...(payloadsOf(claimed) as number[]));
        if (t.dry.includes(type)) done = await onDry(engine);
      }
    };
    await Promise.all(
      ['a', 'b', 'c', 'd'].map((worker, i) => work(i % 2 === 0 ? t.engine : t.otherEngine, worker)),
    );
    return got.toSorted((a, b) => a - b);
  }
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
  const left = (type: string) => t.db.query('select from jobtree.queue_entry where type = $1', [type]);

  it('claims of two servers in one entry find something while items are left, and each item goes to one of them', async () => {
    const { type } = await range(128);
    const got = await drain(type, 3, async () => {
      expect(await left(type)).toEqual([]);
      return true;
    });
    expect(got).toEqual(numbers(128));
  });

  it('claims of two servers over several entries give each item to one of them, including skipped rests', async () => {
    const { type } = await range(600);
    const got = await drain(type, 7, async (engine) => {
      await findMissedEntries(engine);
      return (await left(type)).length === 0;
    });
    expect(got).toEqual(numbers(600));
  });

  it('a claim skips an entry locked by another server, and gets its rest once earlier entries are searched', async () => {
    const { type } = await range(256);
    await other.query(
      'select from jobtree.queue_entry where type = $1 order by position limit 1 for update',
      [type],
    );
    const passing = await claimItems(t.engine, 'b', [{ type, limit: 2 }]);
    expect(payloadsOf(passing)).toEqual([128, 129]);
    await other.query('commit');
    expect(payloadsOf(await claimItems(t.otherEngine, 'a', [{ type, limit: 2 }]))).toEqual([0, 1]);
    expect(payloadsOf(await claimItems(t.engine, 'b', [{ type, limit: 1 }]))).toEqual([130]);
    await findMissedEntries(t.engine);
    expect(payloadsOf(await claimItems(t.engine, 'b', [{ type, limit: 1 }]))).toEqual([2]);
  });

  it('of two concurrent claims with one claim id, the second waits and returns the same leases', async () => {
    const { type } = await range(5);
    const id = newClaimId();
    const { rows } = await other.query('select * from jobtree.claim_items($1, $2, $3, p_claim_ids => $4)', [
      ['w'],
      [type],
      [3],
      [id],
    ]);
    const again = claimItems(t.engine, 'w', [{ type, limit: 3 }], id);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(idsOf(await again)).toEqual([1, 2, 3].map((n) => assignmentIdOf(rows[0].lease_id, n)));
    expect(payloadsOf(await claimItems(t.engine, 'w', [{ type, limit: 9 }]))).toEqual([3, 4]);
  });

  it('calls with the same claim ids in opposite orders do not deadlock, since each waits in order', async () => {
    const { type } = await range(5);
    const ids = [newClaimId(), newClaimId()];
    const key = 'hashtextextended($1::uuid::text, 0)';
    await other.query(`select pg_advisory_xact_lock(${key})`, [ids[0]]);
    const claimed = t.db.query('select payloads from jobtree.claim_items($1, $2, $3, $4)', [
      ['a', 'b'],
      [type, type],
      [1, 1],
      ids.toReversed(),
    ]);
    await lockWaiters(t.db, 1);
    expect((await other.query(`select pg_try_advisory_xact_lock(${key}) as free`, [ids[1]])).rows).toEqual([
      { free: true },
    ]);
    await other.query('commit');
    expect(await claimed).toEqual([{ payloads: '0' }, { payloads: '1' }]);
  });

  it('of two claims by name in the middle of one entry, the second waits and gets its own item', async () => {
    const { type, jobId } = await range(5);
    const items = await t.items(jobId);
    await otherCalls('claim_item', jobId, items[1]?.position, 'a');
    const second = claimItem(t.engine, items[3] as ItemKey, 'b');
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await second).payload.value).toBe(3);
    expect(await statesOf(jobId)).toEqual(['READY', 'RUNNING', 'READY', 'RUNNING', 'READY']);
    expect(payloadsOf(await claimItems(t.engine, 'b', [{ type, limit: 9 }]))).toEqual([0, 2, 4]);
  });

  it('a claim by name meets a claim of the start of the entry, waits, and gets its item', async () => {
    const { type, jobId } = await range(5);
    await otherCalls('claim_items', ['a'], [type], [2]);
    const named = claimItem(t.engine, (await t.items(jobId))[3] as ItemKey, 'b');
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await named).payload.value).toBe(3);
    expect(await statesOf(jobId)).toEqual(['RUNNING', 'RUNNING', 'READY', 'RUNNING', 'READY']);
  });

  it('a claim by name meets a claim of its item, waits, and learns that the item is held', async () => {
    const { type, jobId } = await range(5);
    await otherCalls('claim_items', ['a'], [type], [4]);
    const named = expect(
      claimItem(t.engine, (await t.items(jobId))[3] as ItemKey, 'b'),
    ).rejects.toMatchObject({
      reason: 'RUNNING',
    });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await named;
    expect(await statesOf(jobId)).toEqual(['RUNNING', 'RUNNING', 'RUNNING', 'RUNNING', 'READY']);
  });
});

describe('report against sweep, on one lease', () => {
  it('a sweep skips a lease that is being reported, and the report counts', async () => {
    const { type, jobId, held } = await lease(1);
    await t.expire(...idsOf(held));
    await otherCalls('report_outcomes', JSON.stringify(reportsOf(held)));
    await t.sweep();
    await other.query('commit');
    await t.sweep();
    expect((await t.fold(jobId))[type]).toMatchObject({ succeeded: 1, failed: 0 });
  });

  it('a report that waited while the sweep took the item back is STALE and changes nothing', async () => {
    const { type, jobId, held } = await lease(1, { backoffMs: [0] });
    await t.expire(...idsOf(held));
    await otherCalls('sweep_leases');
    const report = reportOutcomes(t.engine, reportsOf(held));
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await report)[0]?.status).toBe('STALE');
    expect((await t.fold(jobId))[type]).toMatchObject({ succeeded: 0, failed: 0 });
    expect((await t.claimOne(type)).attempt).toBe(2);
  });

  it('the sweep takes back half a lease while the other half is reported; the report waits and counts', async () => {
    const { type, jobId, held } = await lease(6);
    await t.expire(...idsOf(held.slice(0, 3)));
    expect((await otherCalls('sweep_leases')).rows).toMatchObject([{ lost: 3, leases: 1 }]);
    const report = reportOutcomes(t.engine, reportsOf(held.slice(2)));
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await report).map(({ status }) => status)).toEqual(['STALE', 'ACCEPTED', 'ACCEPTED', 'ACCEPTED']);
    expect(await statesOf(jobId)).toEqual([...Array(3).fill('RETRYING'), ...Array(3).fill('SUCCEEDED')]);
    expect((await t.fold(jobId))[type]).toMatchObject({ succeeded: 3, failed: 0 });
  });

  it('half a lease is reported while the other half is overdue; the sweep skips it, and takes it back next time', async () => {
    const { jobId, held } = await lease(6);
    await t.expire(...idsOf(held.slice(0, 3)));
    await otherCalls('report_outcomes', JSON.stringify(reportsOf(held.slice(3))));
    await t.sweep();
    expect(await statesOf(jobId)).toEqual(Array(6).fill('RUNNING'));
    await other.query('commit');
    await t.sweep();
    expect(await statesOf(jobId)).toEqual([...Array(3).fill('RETRYING'), ...Array(3).fill('SUCCEEDED')]);
    expect(await heartbeat(t.engine, idsOf(held))).toEqual([
      ...Array(3).fill('LOST'),
      ...Array(3).fill('FINISHED'),
    ]);
  });

  it('of two concurrent sweeps the second skips, and nothing is lost twice', async () => {
    const { type, jobId, held } = await lease(4, { maxFailuresPerItem: 0 });
    await t.expire(...idsOf(held));
    await otherCalls('sweep_leases');
    await t.sweep();
    await other.query('commit');
    await t.sweep();
    expect((await t.fold(jobId))[type]).toMatchObject({ failed: 4 });
  });
});

describe('heartbeat against sweep, on one lease', () => {
  it('a heartbeat skips a lease that the sweep takes back, and the next one learns of the loss', async () => {
    const { held } = await lease(2);
    await t.expire(...idsOf(held));
    await otherCalls('sweep_leases');
    expect(await heartbeat(t.engine, idsOf(held))).toEqual(['HELD', 'HELD']);
    await other.query('commit');
    expect(await heartbeat(t.engine, idsOf(held))).toEqual(['LOST', 'LOST']);
  });

  it('a sweep skips a lease whose heartbeat is under way, and its items are kept', async () => {
    const { jobId, held } = await lease(2);
    await t.expire(...idsOf(held));
    await otherCalls('heartbeat', idsOf(held));
    await t.sweep();
    await other.query('commit');
    await t.sweep();
    expect(await statesOf(jobId)).toEqual(['RUNNING', 'RUNNING']);
  });

  it('after a heartbeat of half a lease the other half is lost on time, and the first half is kept', async () => {
    const { jobId, held } = await lease(6);
    await t.expire(...idsOf(held));
    const [first, second] = [idsOf(held.slice(0, 3)), idsOf(held.slice(3))];
    expect(await heartbeat(t.engine, first)).toEqual(Array(3).fill('HELD'));
    await t.sweep();
    expect(await statesOf(jobId)).toEqual([...Array(3).fill('RUNNING'), ...Array(3).fill('RETRYING')]);
    // The sweep looks again when the heartbeat of the first half is overdue, and no sooner.
    const [row] = await t.db.query(
      'select check_at, deadlines[1] as first from jobtree.lease where job_id = $1',
      [jobId],
    );
    expect(row?.check_at).toEqual(row?.first);
    expect(await heartbeat(t.engine, [...first, ...second])).toEqual([
      ...Array(3).fill('HELD'),
      ...Array(3).fill('LOST'),
    ]);
    await t.expire(...first);
    await t.sweep();
    expect(await statesOf(jobId)).toEqual(Array(6).fill('RETRYING'));
  });

  it('concurrent heartbeats of both halves of a lease lose neither', async () => {
    const { jobId, held } = await lease(6);
    const [first, second] = [idsOf(held.slice(0, 3)), idsOf(held.slice(3))];
    await otherCalls('heartbeat', first);
    expect(await heartbeat(t.engine, second)).toEqual(Array(3).fill('HELD'));
    await other.query('commit');
    await t.sweep();
    expect(await heartbeat(t.engine, second)).toEqual(Array(3).fill('HELD'));
    await t.sweep();
    expect(await statesOf(jobId)).toEqual(Array(6).fill('RUNNING'));
  });
});

describe('in the middle of a lease', () => {
  it('a release meets a report of its neighbours, waits, and both count', async () => {
    const { jobId, held } = await lease(5);
    await otherCalls(
      'report_outcomes',
      JSON.stringify(reportsOf([held[1] as Assignment, held[3] as Assignment])),
    );
    const released = releaseAssignments(t.engine, idsOf(held.slice(2, 4)));
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await released).toEqual(['RELEASED', 'STALE']);
    expect(await statesOf(jobId)).toEqual(['RUNNING', 'SUCCEEDED', 'READY', 'SUCCEEDED', 'RUNNING']);
  });

  it('a report meets a release of its neighbours, waits, and both count', async () => {
    const { type, jobId, held } = await lease(5);
    await otherCalls('release_assignments', idsOf(held.slice(2, 4)));
    const report = reportOutcomes(t.engine, reportsOf(held.slice(3)));
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await report).map(({ status }) => status)).toEqual(['STALE', 'ACCEPTED']);
    expect(await statesOf(jobId)).toEqual(['RUNNING', 'RUNNING', 'READY', 'READY', 'SUCCEEDED']);
    expect(
      (await claimItems(t.otherEngine, 'w', [{ type, limit: 9 }])).map((got) => [
        got.payload.value,
        got.attempt,
      ]),
    ).toEqual([
      [2, 1],
      [3, 1],
    ]);
  });

  it('a claim by name meets a release of the item, learns that it is held, and gets it afterwards', async () => {
    const { jobId, held } = await lease(5);
    const item = itemOf(held[2] as Assignment);
    await otherCalls('release_assignments', idsOf(held.slice(1, 4)));
    await expect(claimItem(t.engine, item, 'b')).rejects.toMatchObject({ reason: 'RUNNING' });
    await other.query('commit');
    expect(await claimItem(t.engine, item, 'b')).toMatchObject({
      payload: { text: '2' },
      attempt: 1,
      worker: 'b',
    });
    expect(await statesOf(jobId)).toEqual(['RUNNING', 'READY', 'RUNNING', 'READY', 'RUNNING']);
  });
});

describe('report against report', () => {
  it('of two identical concurrent reports the second waits, and is a DUPLICATE', async () => {
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

  it('another transaction concludes about a fed child: the result waits, and a snooze sent with it counts and is answered once', async () => {
    const [type, child] = [newType(), newType('child')];
    const ids = await t.create({ type, items: [{}, {}], children: [{ type: child, feed: {} }] });
    const held = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
    await otherCalls('exclude_adders', [ids[child]]);
    const [{ answers } = { answers: [] }] = await t.db.query<{ answers: object[] }>(
      `select answers from jobtree.report_results($1, $2, '[1, {"snoozeMs": 60000}]', '{result,snooze}', false)`,
      [
        held.map(({ id }) => splitAssignmentId(id).leaseId),
        held.map(({ id }) => splitAssignmentId(id).number),
      ],
    );
    expect(answers.map((answer) => ({ retryAt: null, ...answer }))).toMatchObject([
      { index: 1, status: 'ACCEPTED', retryAt: expect.any(String) },
      { index: 0, status: 'BUSY' },
    ]);
    await other.query('commit');
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

  it('of two concurrent reports of one lease the second waits, and both count', async () => {
    const { type, jobId, held } = await lease(6);
    await otherCalls('report_outcomes', JSON.stringify(reportsOf(held.slice(0, 3))));
    const second = reportOutcomes(t.engine, reportsOf(held.slice(3)));
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await second).map(({ status }) => status)).toEqual(Array(3).fill('ACCEPTED'));
    expect((await t.fold(jobId))[type]?.succeeded).toBe(6);
  });

  it('of two concurrent reports of one lease, one a failure, the second waits, and both count', async () => {
    const { jobId, held } = await lease(4);
    await otherCalls(
      'report_outcomes',
      JSON.stringify(idsOf(held.slice(0, 2)).map((assignmentId) => ({ assignmentId, failure }))),
    );
    const second = reportOutcomes(
      t.engine,
      idsOf(held.slice(2)).map((assignmentId) => ({
        assignmentId,
        failure: { ...failure, permanent: true },
      })),
    );
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await second).map(({ status }) => status)).toEqual(['ACCEPTED', 'ACCEPTED']);
    expect(await statesOf(jobId)).toEqual(['RETRYING', 'RETRYING', 'FAILED', 'FAILED']);
  });

  it('a report that meets a locked lease does not delay those sent with it', async () => {
    const [locked, free] = [await lease(2), await lease(2)];
    await other.query('select from jobtree.lease where job_id = $1 for update', [locked.jobId]);
    const answers = reportOutcomes(t.engine, reportsOf([...locked.held, ...free.held]));
    await anyRow(t.db, 'select from jobtree.outcome where job_id = $1', [free.jobId]);
    expect(await statesOf(locked.jobId)).toEqual(['RUNNING', 'RUNNING']);
    await other.query('commit');
    expect((await answers).map(({ status }) => status)).toEqual(Array(4).fill('ACCEPTED'));
  });

  it('a report that does not wait and meets a locked lease is BUSY and never STALE', async () => {
    const { held } = await lease(2);
    const [first] = held;
    const leaseId = assignmentIdOf(first?.id ?? '', 0);
    await other.query('select from jobtree.lease where id = $1 for update', [leaseId]);
    const report = (numbers: number[], values: unknown[], kinds: string[]) =>
      t.db.query('select answers from jobtree.report_results($1, $2, $3, $4, false)', [
        numbers.map(() => leaseId),
        numbers,
        JSON.stringify(values),
        kinds,
      ]);
    expect(await report([1], [1], ['result'])).toMatchObject([{ answers: [{ index: 0, status: 'BUSY' }] }]);
    const both = await report([1, 2], [1, { failure }], ['result', 'report']);
    expect(both).toMatchObject([{ answers: [{ status: 'BUSY' }, { status: 'BUSY' }] }]);
    await other.query('rollback');
    expect(await report([1], [1], ['result'])).toMatchObject([{ answers: null }]);
  });

  it('a report of a lease locked for long is refused as BUSY, alone, and counts when sent again', async () => {
    const { type, jobId, held } = await lease(2);
    const free = await lease(1);
    await other.query('select from jobtree.lease where job_id = $1 for update', [jobId]);
    const busy = reportOutcomes(t.engine, reportsOf(held));
    const beside = reportOutcomes(t.engine, reportsOf(free.held));
    await expect(busy).rejects.toThrow(BusyError);
    expect((await beside)[0]?.status).toBe('ACCEPTED');
    await other.query('commit');
    expect((await t.fold(jobId))[type]?.succeeded).toBe(0);
    expect((await reportOutcomes(t.engine, reportsOf(held))).map(({ status }) => status)).toEqual([
      'ACCEPTED',
      'ACCEPTED',
    ]);
  });
});

describe('fold', () => {
  it('of two folds of one tree the second skips, and nothing is counted twice', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}, {}] });
    await otherCalls('fold_trees', [job], [0]);
    expect(await foldProgress(t.engine, job, 0)).toBeUndefined();
    await other.query('commit');
    expect((await t.fold(job))[type]?.itemCount).toBe(2);
  });

  it('a delta that commits late, below the mark, counts before the job completes', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}, {}] });
    // Two leases.
    const held = [await t.claimOne(type), await t.claimOne(type)];
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

  it('items added below the mark, by a long transaction, keep the job from completing', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    await otherCalls('add_items', job, '[{"payload": "late"}]');
    await addItems(t.engine, job, [{ payload: 'early' }], { seal: false });
    const fold = await foldProgress(t.engine, job, 0);
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, result: 1 }]);
    await other.query('commit');
    await sealJob(t.engine, job);
    await foldProgress(t.engine, job, (fold?.lastDelta ?? 0) + 1);
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 2, succeeded: 1, completedAt: null });
  });

  it('a child with an open adder when its parent completes is sealed by a later fold', async () => {
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

  it('a job that gets its last items and its seal while a fold counts it does not complete before they are done', async () => {
    const [root, child] = [newType('root'), newType('child')];
    const jobs = await t.create({ type: root, children: [{ type: child, items: [{}] }] });
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(child)).id, result: 1 }]);
    // It would wait for 50 ms only, which a busy machine may take for what happens meanwhile.
    await t.db.query(`alter function jobtree.fold_trees set lock_timeout = '60s'`);
    onTestFinished(async () => {
      await t.db.query(`alter function jobtree.fold_trees set lock_timeout = '50ms'`);
    });
    await other.query('select from jobtree.job_progress where job_id = $1 for update', [jobs[child]]);
    const fold = t.db.query('select from jobtree.fold_trees(array[$1::uuid], array[0])', [jobs[root]]);
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

  describe('of many trees', () => {
    const others = 20;
    /** A tree whose only item is done, and others like it; none is folded or sealed. */
    async function doneTrees() {
      const type = newType();
      const jobIds: string[] = [];
      for (let i = 0; i <= others; i++) jobIds.push((await t.create({ type, items: [{}] }))[type] ?? '');
      const held = await claimItems(t.engine, 'w', [{ type, limit: others + 1 }]);
      await reportOutcomes(t.engine, reportsOf(held));
      const foldAll = () =>
        foldTrees(
          t.engine,
          jobIds.map((rootId) => ({ rootId, fromDelta: 0 })),
        );
      const sealAll = () => Promise.all(jobIds.map((id) => sealJob(t.engine, id)));
      const complete = async () => {
        const rows = await t.db.query<{ job_id: string }>(
          'select job_id from jobtree.job_progress where job_id = any ($1) and open_jobs = 0 and completions = 1',
          [jobIds],
        );
        return rows.length;
      };
      return { type, jobIds, one: jobIds[7] ?? '', foldAll, sealAll, complete };
    }

    it('an adder is in flight: its job is complete only with its items, and the others at once', async () => {
      const { type, one, foldAll, sealAll, complete } = await doneTrees();
      await otherCalls('add_items', one, '[{"payload": "late"}]');
      await sealAll();
      const folds = await foldAll();
      expect([await complete(), folds.get(one)?.retry]).toEqual([others, true]);
      await other.query('commit');
      await foldAll();
      expect(await complete()).toBe(others);
      expect((await t.fold(one))[type]).toMatchObject({ itemCount: 2, succeeded: 1, completedAt: null });
      await reportOutcomes(t.engine, reportsOf([await t.claimOne(type)]));
      await foldAll();
      expect(await complete()).toBe(others + 1);
    });

    it('an adder waits for the fold that completes its job, and is refused', async () => {
      const { one, jobIds, sealAll, complete } = await doneTrees();
      await sealAll();
      await otherCalls(
        'fold_trees',
        jobIds,
        jobIds.map(() => 0),
      );
      const added = addItems(t.engine, one, [{}], { seal: false });
      const refused = expect(added).rejects.toThrow(JobSealedError);
      await lockWaiters(t.db, 1);
      await other.query('commit');
      await refused;
      expect(await complete()).toBe(others + 1);
    });

    it('two folds at once: each tree is counted by one of them, and is complete once', async () => {
      const { jobIds, foldAll, sealAll, complete } = await doneTrees();
      await sealAll();
      const half = jobIds.slice(0, others / 2);
      await otherCalls(
        'fold_trees',
        half,
        half.map(() => 0),
      );
      expect([...(await foldAll()).keys()].sort()).toEqual(jobIds.slice(others / 2).sort());
      await other.query('commit');
      expect((await foldAll()).size).toBe(others + 1);
      expect(await complete()).toBe(others + 1);
    });

    it('a cancellation is in flight: its job is complete only with it, and the others at once', async () => {
      const { type, one, foldAll, sealAll, complete } = await doneTrees();
      await sealAll();
      await otherCalls('cancel_job', one);
      const folds = await foldAll();
      expect([await complete(), folds.has(one)]).toEqual([others, false]);
      await other.query('commit');
      await foldAll();
      expect(await complete()).toBe(others + 1);
      expect((await t.fold(one))[type]).toMatchObject({ succeeded: 1, cancelled: 0, outcome: 'CANCELLED' });
    });

    it('a fold that completes a job is in flight: a cancellation of the job waits, and finds it complete', async () => {
      const { type, one, sealAll } = await doneTrees();
      await sealAll();
      await otherCalls('fold_trees', [one], [0]);
      const cancelled = cancelJob(t.engine, one);
      await lockWaiters(t.db, 1);
      await other.query('commit');
      await cancelled;
      expect((await t.fold(one))[type]).toMatchObject({ succeeded: 1, outcome: 'SUCCEEDED' });
      const [job] = await t.db.query('select cancelled_at from jobtree.job where id = $1', [one]);
      expect(job).toEqual({ cancelled_at: null });
    });

    it('a replay is in flight: its tree is skipped, and complete only when the item is done again', async () => {
      const { type, jobIds, foldAll, sealAll } = await doneTrees();
      const { [type]: dead = '' } = await t.create({ type, items: [{}], sealed: true });
      await reportOutcomes(t.engine, [
        { assignmentId: (await t.claimOne(type)).id, failure: { ...failure, permanent: true } },
      ]);
      await t.fold(dead);
      await sealAll();
      const [item] = await t.items(dead);
      await otherCalls('replay_items', dead, [dead], [item?.position]);
      jobIds.push(dead);
      expect((await foldAll()).has(dead)).toBe(false);
      await other.query('commit');
      await foldAll();
      expect((await t.fold(dead))[type]).toMatchObject({ failed: 0, completedAt: null, generation: 1 });
      await reportOutcomes(t.engine, reportsOf([await t.claimOne(type)]));
      await foldAll();
      expect((await t.fold(dead))[type]).toMatchObject({
        succeeded: 1,
        outcome: 'SUCCEEDED',
        completions: 2,
      });
    });
  });

  it('a fold meets a seal in flight and counts without it, and the next fold completes the job', async () => {
    const { type, jobId, held } = await lease(1);
    await reportOutcomes(t.engine, reportsOf(held));
    await otherCalls('seal_job', jobId);
    expect((await t.fold(jobId))[type]).toMatchObject({ succeeded: 1, sealed: false, completedAt: null });
    await other.query('commit');
    expect((await t.fold(jobId))[type]).toMatchObject({
      succeeded: 1,
      sealed: true,
      completedAt: expect.any(Number),
    });
  });

  it('a seal meets a fold in flight and does not wait, and the next fold completes the job', async () => {
    const { type, jobId, held } = await lease(1);
    await reportOutcomes(t.engine, reportsOf(held));
    await otherCalls('fold_trees', [jobId], [0]);
    await sealJob(t.engine, jobId);
    await other.query('commit');
    expect((await t.fold(jobId))[type]).toMatchObject({
      succeeded: 1,
      sealed: true,
      completedAt: expect.any(Number),
    });
  });

  it('the last two items of a job, finished at once by two workers, complete it once', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, sealed: true, items: [{}, {}] });
    // Two leases.
    const held = [await t.claimOne(type), await t.claimOne(type)];
    await otherCalls('report_outcomes', JSON.stringify([{ assignmentId: held[0]?.id, result: 0 }]));
    await reportOutcomes(t.engine, [{ assignmentId: held[1]?.id ?? '', result: 1 }]);
    expect((await t.fold(job))[type]?.completedAt).toBeNull();
    await other.query('commit');
    expect((await t.fold(job))[type]).toMatchObject({ succeeded: 2, completedAt: expect.any(Number) });
  });
});

describe('cancel against feed', () => {
  it('a cancellation does not wait for a report that feeds the job, and cancels what it feeds', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({ type: parent, items: [{}], children: [{ type: child, feed: {} }] });
    const { id } = await t.claimOne(parent);
    await otherCalls('report_outcomes', JSON.stringify([{ assignmentId: id, result: 1 }]));
    await cancelJob(t.engine, jobs[child] ?? '');
    await other.query('commit');
    await t.finish();
    expect((await t.fold(jobs[parent] ?? ''))[child]).toMatchObject({ itemCount: 1, cancelled: 1 });
  });

  it('a report that waited for the cancellation of a child counts and feeds only the others', async () => {
    const [parent, child, sibling] = [newType('parent'), newType('child'), newType('sibling')];
    const jobs = await t.create({
      type: parent,
      items: [{}],
      children: [child, sibling].map((type) => ({ type, feed: {} })),
    });
    const { id } = await t.claimOne(parent);
    await otherCalls('cancel_job', jobs[child]);
    const report = reportOutcomes(t.engine, [{ assignmentId: id, result: 1 }]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await report)[0]?.status).toBe('ACCEPTED');
    const progress = await t.fold(jobs[parent] ?? '');
    expect(progress[child]?.itemCount).toBe(0);
    expect(progress[sibling]?.itemCount).toBe(1);
    expect(progress[parent]?.succeeded).toBe(1);
  });
});

/** More than a transaction holds by advisory locks. */
describe('a report that feeds 70 children, one of which another transaction cancels', () => {
  const children = 70;
  const begin = async () => {
    const parent = newType('parent');
    const jobs = await t.create({
      type: parent,
      items: [{}],
      children: Array.from({ length: children }, (_, i) => ({ type: `${parent}-${i}`, feed: {} })),
    });
    const [held, free] = [await t.claimOne(parent), await lease(1)];
    const rows = await other.query('select id from jobtree.job where parent_id = $1 order by id', [
      jobs[parent],
    ]);
    await otherCalls('cancel_job', rows.rows[children - 1].id);
    const answer = reportOutcomes(t.engine, [{ assignmentId: held.id, result: 1 }]);
    const beside = reportOutcomes(t.engine, reportsOf(free.held));
    return { root: jobs[parent] ?? '', parent, held, answer, beside };
  };

  it('waits for it alone, counts, and feeds the others', async () => {
    const { root, parent, answer, beside } = await begin();
    await lockWaiters(t.db, 1);
    expect((await beside)[0]?.status).toBe('ACCEPTED');
    await other.query('commit');
    expect((await answer)[0]?.status).toBe('ACCEPTED');
    const progress = Object.values(await t.fold(root));
    expect(progress.filter(({ itemCount }) => itemCount === 1)).toHaveLength(children);
    expect((await t.fold(root))[parent]?.succeeded).toBe(1);
  });

  it('is BUSY, alone, if that goes on, and nothing of it is done', async () => {
    const { root, parent, held, answer, beside } = await begin();
    await expect(answer).rejects.toThrow(BusyError);
    expect((await beside)[0]?.status).toBe('ACCEPTED');
    await other.query('rollback');
    expect((await t.fold(root))[parent]?.succeeded).toBe(0);
    expect((await reportOutcomes(t.engine, [{ assignmentId: held.id, result: 1 }]))[0]?.status).toBe(
      'ACCEPTED',
    );
    expect(Object.values(await t.fold(root)).map(({ itemCount }) => itemCount)).toEqual(
      Array(children + 1).fill(1),
    );
  });
});

describe('cancel against workers', () => {
  it('a report that waited for the cancellation of its job is STALE, and the item is cancelled', async () => {
    const { type, jobId, held } = await lease(3);
    await otherCalls('cancel_job', jobId);
    const report = reportOutcomes(t.engine, reportsOf(held.slice(1)));
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await report).map(({ status }) => status)).toEqual(['STALE', 'STALE']);
    expect((await t.fold(jobId))[type]).toMatchObject({
      succeeded: 0,
      cancelled: 3,
      completedAt: expect.any(Number),
    });
    expect(await heartbeat(t.engine, idsOf(held))).toEqual(Array(3).fill('CANCELLED'));
  });

  it('a cancellation skips a lease that is being reported; the report counts, and the rest is cancelled later', async () => {
    const { type, jobId, held } = await lease(3);
    await otherCalls('report_outcomes', JSON.stringify(reportsOf(held.slice(1, 2))));
    const told = t.unfinished;
    await cancelJob(t.engine, jobId);
    expect(t.unfinished).toBe(told + 1);
    await other.query('commit');
    await t.finish();
    expect(await statesOf(jobId)).toEqual(['CANCELLED', 'SUCCEEDED', 'CANCELLED']);
    expect((await t.fold(jobId))[type]).toMatchObject({
      succeeded: 1,
      cancelled: 2,
      completedAt: expect.any(Number),
    });
  });

  it.each<[string, (held: readonly Assignment[]) => Promise<unknown>]>([
    [
      'a failure',
      (held) => otherCalls('report_outcomes', JSON.stringify([{ assignmentId: held[1]?.id, failure }])),
    ],
    ['a release', (held) => otherCalls('release_assignments', [held[1]?.id])],
  ])(
    'a cancellation meets %s in the middle of a lease, and returned items are cancelled as well',
    async (_, act) => {
      const { type, jobId, held } = await lease(3);
      await act(held);
      await cancelJob(t.engine, jobId);
      await t.finish();
      expect((await t.fold(jobId))[type]).toMatchObject({ cancelled: 0, completedAt: null });
      await other.query('commit');
      await t.finish();
      expect((await t.fold(jobId))[type]).toMatchObject({
        cancelled: 3,
        failed: 0,
        completedAt: expect.any(Number),
      });
      expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [jobId])).toEqual([]);
    },
  );

  it('a cancellation meets a sweep of half a lease, and all of it is cancelled', async () => {
    const { type, jobId, held } = await lease(4);
    await t.expire(...idsOf(held.slice(0, 2)));
    await otherCalls('sweep_leases');
    await cancelJob(t.engine, jobId);
    await other.query('commit');
    await t.finish();
    expect((await t.fold(jobId))[type]).toMatchObject({ cancelled: 4, completedAt: expect.any(Number) });
  });

  it('a cancellation meets a claim by name in the middle of an entry, and both rests are cancelled', async () => {
    const { type, jobId } = await range(5);
    const { rows } = await otherCalls('claim_item', jobId, (await t.items(jobId))[2]?.position, 'a');
    await cancelJob(t.engine, jobId);
    await other.query('commit');
    await t.finish();
    expect((await t.fold(jobId))[type]).toMatchObject({ cancelled: 5, completedAt: expect.any(Number) });
    expect(await heartbeat(t.engine, [assignmentIdOf(rows[0].lease_id, 1)])).toEqual(['CANCELLED']);
  });
});

describe('deletion against workers', () => {
  it('a deletion meets a claim in flight, waits for its items, and the tree is gone', async () => {
    const { type, jobId } = await range(5);
    const { rows } = await otherCalls('claim_items', ['a'], [type], [2]);
    const told = t.unfinished;
    expect(await deleteJob(t.engine, jobId)).toEqual({ deleted: false });
    expect(t.unfinished).toBe(told + 1);
    await t.finish();
    expect(await statesOf(jobId)).toHaveLength(5);
    await other.query('commit');
    const held = assignmentIdOf(rows[0].lease_id, 1);
    expect(await heartbeat(t.engine, [held])).toEqual(['CANCELLED']);
    await t.finish();
    expect(await t.db.query('select from jobtree.lease where job_id = $1', [jobId])).toEqual([]);
    await expect(deleteJob(t.engine, jobId)).rejects.toThrow(NotFoundError);
    expect(await heartbeat(t.engine, [held])).toEqual(['LOST']);
    expect((await reportOutcomes(t.engine, [{ assignmentId: held, result: 1 }]))[0]?.status).toBe('STALE');
  });

  it('a claim meets the deletion of a tree and takes nothing of it', async () => {
    const { type, jobId } = await range(5);
    await otherCalls('delete_job', jobId);
    expect(await claimItems(t.engine, 'b', [{ type, limit: 9 }])).toEqual([]);
    await other.query('commit');
    expect(await claimItems(t.engine, 'b', [{ type, limit: 9 }])).toEqual([]);
    expect(await deleteJob(t.engine, jobId)).toEqual({ deleted: true });
  });

  it('a claim by name meets the deletion of the tree, waits, and learns that the item is cancelled', async () => {
    const { jobId } = await range(5);
    const item = (await t.items(jobId))[2] as ItemKey;
    await otherCalls('delete_job', jobId);
    const refused = expect(claimItem(t.engine, item, 'b')).rejects.toMatchObject({ reason: 'CANCELLED' });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
    await t.finish();
    await expect(claimItem(t.engine, item, 'b')).rejects.toThrow(NotFoundError);
  });

  it('the last batch meets a repeated deletion and waits, and no delta of the tree is left', async () => {
    const { jobId } = await range(5);
    await t.db.query('select jobtree.delete_job($1)', [jobId]);
    await t.fold(jobId);
    await otherCalls('delete_job', jobId);
    const gone = t.db.query('select jobtree.delete_trees(array[$1::uuid])', [jobId]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await gone).toEqual([{ delete_trees: true }]);
    expect(await t.db.query('select from jobtree.progress_delta where root_id = $1', [jobId])).toEqual([]);
  });

  it('a repeated deletion meets the last batch, waits, and marks nothing that is gone', async () => {
    const { jobId } = await range(5);
    await t.db.query('select jobtree.delete_job($1)', [jobId]);
    await t.fold(jobId);
    await otherCalls('delete_trees', [jobId]);
    const again = t.db.query('select jobtree.delete_job($1)', [jobId]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await again;
    expect(await t.db.query('select from jobtree.tree where root_id = $1', [jobId])).toEqual([]);
    expect(await t.db.query('select from jobtree.progress_delta where root_id = $1', [jobId])).toEqual([]);
  });

  it('of two deletions of one tree the second skips, and the tree is gone', async () => {
    const { jobId } = await range(5);
    await t.db.query('select jobtree.delete_job($1)', [jobId]);
    await t.fold(jobId);
    expect((await otherCalls('delete_trees', [jobId], 2)).rows).toEqual([{ delete_trees: false }]);
    expect(await deleteJob(t.engine, jobId)).toEqual({ deleted: false });
    await other.query('commit');
    await t.finish();
    expect(await t.db.query('select from jobtree.job where id = $1', [jobId])).toEqual([]);
  });
});

describe('replay', () => {
  /** A sealed job, all of whose items have failed for good; what it feeds is complete, too. */
  async function dead(count: number, job: Partial<NewJob> = {}) {
    const { type, jobId, held } = await lease(count, { sealed: true, maxFailuresPerItem: 0, ...job });
    await reportOutcomes(
      t.engine,
      held.map(({ id }) => ({ assignmentId: id, failure })),
    );
    const items = await t.items(jobId);
    const call = [jobId, items.map(() => jobId), items.map(({ position }) => position)] as const;
    return { type, jobId, items, call, progress: (await t.fold(jobId))[type] };
  }
  const replay = (call: readonly unknown[]) =>
    t.db.query('select positions from jobtree.replay_items($1, $2, $3)', [...call]);
  const operationOf = async (id: string) => (await readOperations(t.engine.database, [id]))[0];
  const deadLetters = (jobId: string) =>
    t.db.query('select from jobtree.dead_letter where job_id = $1', [jobId]);

  it('a fold meets a replay in flight and skips, and the next one counts the job as open', async () => {
    const { type, jobId, call, progress } = await dead(2);
    expect(progress).toMatchObject({ failed: 2, completions: 1, completedAt: expect.any(Number) });
    await otherCalls('replay_items', ...call);
    expect(await foldProgress(t.engine, jobId, 0)).toBeUndefined();
    await other.query('commit');
    expect((await t.fold(jobId))[type]).toMatchObject({
      failed: 0,
      completions: 1,
      completedAt: null,
      sealed: true,
    });
  });

  it('a replay meets a fold in flight, waits for the new counters, and subtracts what that counted', async () => {
    const { type, jobId, held } = await lease(2, { maxFailuresPerItem: 0 });
    await reportOutcomes(t.engine, [{ assignmentId: held[0]?.id ?? '', failure }]);
    await otherCalls('fold_trees', [jobId], [0]);
    const [item] = await t.items(jobId);
    const replayed = replay([jobId, [jobId], [item?.position]]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await replayed).toMatchObject([{ positions: expect.objectContaining({ length: 1 }) }]);
    expect((await t.fold(jobId))[type]).toMatchObject({ failed: 0, itemCount: 2, generation: 1 });
  });

  it('of two replays of one item the second waits, and finds no dead letter', async () => {
    const { type, jobId, call, items } = await dead(1);
    await otherCalls('replay_items', ...call);
    const second = t.db.query(
      'select cardinality(positions) as count from jobtree.replay_items($1, $2, $3)',
      [...call],
    );
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await second).toEqual([{ count: 0 }]);
    expect((await t.fold(jobId))[type]).toMatchObject({ failed: 0, generation: 1, itemCount: 1 });
    expect(await claimItems(t.engine, 'w', [{ type, limit: 9 }])).toHaveLength(items.length);
  });

  it('a discard meets a replay of the item, waits, and does nothing', async () => {
    const { jobId, call } = await dead(1);
    await otherCalls('replay_items', ...call);
    const discarded = t.db.query('select jobtree.discard_items($1, $2) as count', [call[1], call[2]]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await discarded).toEqual([{ count: 0 }]);
    expect(await statesOf(jobId)).toEqual(['READY']);
  });

  it('a replay meets a discard of the item, waits, and the item stays failed', async () => {
    const { type, jobId, call } = await dead(1);
    await otherCalls('discard_items', call[1], call[2]);
    const replayed = t.db.query(
      'select cardinality(positions) as count from jobtree.replay_items($1, $2, $3)',
      [...call],
    );
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await replayed).toEqual([{ count: 0 }]);
    expect(await statesOf(jobId)).toEqual(['FAILED']);
    expect((await t.fold(jobId))[type]).toMatchObject({ generation: 0, failed: 1 });
  });

  it('a cancellation meets a replay in flight, waits, and cancels the replayed items', async () => {
    const { type, jobId, call } = await dead(3);
    await otherCalls('replay_items', ...call);
    const cancelled = cancelJob(t.engine, jobId);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await cancelled;
    expect((await t.fold(jobId))[type]).toMatchObject({
      cancelled: 3,
      failed: 0,
      completions: 2,
      completedAt: expect.any(Number),
    });
  });

  it('a replay that waited for a cancellation changes no items', async () => {
    const { jobId, held } = await lease(2, { maxFailuresPerItem: 0 });
    await reportOutcomes(t.engine, [{ assignmentId: held[0]?.id ?? '', failure }]);
    await t.fold(jobId);
    const [item] = await t.items(jobId);
    await otherCalls('cancel_job', jobId);
    const replayed = t.db.query(
      'select cardinality(positions) as count from jobtree.replay_items($1, $2, $3)',
      [jobId, [jobId], [item?.position]],
    );
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await replayed).toEqual([{ count: 0 }]);
    expect(await statesOf(jobId)).toEqual(['FAILED', 'CANCELLED']);
  });

  it('a deletion meets a replay in flight, waits, and the tree is gone with the replayed items', async () => {
    const { jobId, call } = await dead(2);
    await otherCalls('replay_items', ...call);
    const deleted = deleteJob(t.engine, jobId);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await deleted;
    await t.finish();
    expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [jobId])).toEqual([]);
    expect(await t.db.query('select from jobtree.job where id = $1', [jobId])).toEqual([]);
  });

  it('a replay that waited for a deletion is refused, and nothing of the tree returns', async () => {
    const { jobId, call } = await dead(2);
    await otherCalls('delete_job', jobId);
    const refused = expect(replay(call)).rejects.toMatchObject({ code: 'JT001' });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
    expect(await statesOf(jobId)).toEqual(['FAILED', 'FAILED']);
    await t.finish();
    expect(await t.db.query('select from jobtree.job where id = $1', [jobId])).toEqual([]);
  });

  it('a replay waits for an adder that seals, and the job completes once all is done', async () => {
    const { type, jobId, held } = await lease(1, { maxFailuresPerItem: 0 });
    await reportOutcomes(t.engine, [{ assignmentId: held[0]?.id ?? '', failure }]);
    await t.fold(jobId);
    const [item] = await t.items(jobId);
    await otherCalls('add_items', jobId, '[{"payload": "new"}]', true);
    const replayed = replay([jobId, [jobId], [item?.position]]);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await replayed;
    expect((await t.fold(jobId))[type]).toMatchObject({
      itemCount: 2,
      failed: 0,
      sealed: true,
      completedAt: null,
    });
    const both = await claimItems(t.engine, 'w', [{ type, limit: 9 }]);
    await reportOutcomes(t.engine, reportsOf(both));
    expect((await t.fold(jobId))[type]).toMatchObject({ succeeded: 2, completions: 1 });
  });

  it('a replay skips an adder in flight, and both count', async () => {
    const { type, jobId, held } = await lease(1, { maxFailuresPerItem: 0 });
    await reportOutcomes(t.engine, [{ assignmentId: held[0]?.id ?? '', failure }]);
    await t.fold(jobId);
    const [item] = await t.items(jobId);
    await otherCalls('add_items', jobId, '[{"payload": "new"}]');
    await replay([jobId, [jobId], [item?.position]]);
    await other.query('commit');
    expect((await t.fold(jobId))[type]).toMatchObject({ itemCount: 2, failed: 0, generation: 1 });
  });

  it('a replay skips a report that feeds the child of the job, which keeps its generation', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      sealed: true,
      maxFailuresPerItem: 0,
      items: [{ payload: 0 }, { payload: 1 }],
      children: [{ type: child, feed: {} }],
    });
    const root = jobs[parent] ?? '';
    const [a, b] = [await t.claimOne(parent), await t.claimOne(parent)];
    await reportOutcomes(t.engine, [{ assignmentId: a.id, failure }]);
    await t.fold(root);
    await otherCalls('report_outcomes', JSON.stringify([{ assignmentId: b.id, result: 'fed' }]));
    await replay([root, [root], [itemOf(a).position]]);
    await other.query('commit');
    const progress = await t.fold(root);
    expect(progress[parent]).toMatchObject({ failed: 0, succeeded: 1, generation: 1, completedAt: null });
    expect(progress[child]).toMatchObject({ itemCount: 1, generation: 0, sealed: false });
  });

  it('if a replay meets the last report of the feeding job, the child is sealed once, in the end', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      sealed: true,
      maxFailuresPerItem: 0,
      items: [{ payload: 0 }, { payload: 1 }],
      children: [{ type: child, feed: {} }],
    });
    const root = jobs[parent] ?? '';
    const [a, b] = [await t.claimOne(parent), await t.claimOne(parent)];
    await reportOutcomes(t.engine, [{ assignmentId: a.id, failure }]);
    await t.fold(root);
    await otherCalls('replay_items', root, [root], [itemOf(a).position]);
    await reportOutcomes(t.engine, [{ assignmentId: b.id, result: 'first' }]);
    await other.query('commit');
    expect((await t.fold(root))[child]).toMatchObject({ sealed: false, itemCount: 1 });
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(parent)).id, result: 'second' }]);
    expect((await t.fold(root))[child]).toMatchObject({ sealed: true, itemCount: 2, completions: 0 });
  });

  it('an operation meets a locked tree, does the others, and that one later', async () => {
    const [locked, free] = [await dead(1), await dead(1)];
    await other.query('select from jobtree.tree where root_id = $1 for update', [locked.jobId]);
    const id = await startOperation(t.engine, 'REPLAY', { types: [locked.type, free.type] });
    expect(await operationOf(id)).toMatchObject({ total: 2, done: 1, finishedAt: null });
    expect(await statesOf(free.jobId)).toEqual(['READY']);
    await other.query('commit');
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 2, finishedAt: expect.any(Date) });
    expect(await statesOf(locked.jobId)).toEqual(['READY']);
  });

  it('if a server dies in an operation, another one continues it, and no item is replayed twice', async () => {
    const { type, jobId, items } = await dead(5);
    const { rows } = await other.query(
      `select operation_id as id from jobtree.start_operation('REPLAY', $1)`,
      [JSON.stringify({ jobId })],
    );
    const [{ id }] = rows;
    await other.query('commit');
    await t.db.query('select jobtree.run_operation($1, 2)', [id]);
    // The batch that it was at when it died is undone.
    await other.query('begin');
    await otherCalls('run_operation', id, 2);
    expect(await runSome(t.otherEngine, id)).toBe('WAITING');
    await other.query('rollback');
    expect(await operationOf(id)).toMatchObject({ done: 2, finishedAt: null });
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ total: 5, done: 5, finishedAt: expect.any(Date) });
    expect(await deadLetters(jobId)).toEqual([]);
    expect(await claimItems(t.engine, 'w', [{ type, limit: 9 }])).toHaveLength(items.length);
    expect((await t.fold(jobId))[type]).toMatchObject({ failed: 0, itemCount: 5 });
  });

  it('an operation that is cancelled during a batch keeps that batch, and does no other', async () => {
    const { jobId } = await dead(4);
    const { rows } = await other.query(
      `select operation_id as id from jobtree.start_operation('REPLAY', $1)`,
      [JSON.stringify({ jobId })],
    );
    const [{ id }] = rows;
    await other.query('commit');
    await other.query('begin');
    await otherCalls('run_operation', id, 2);
    const cancelled = cancelOperation(t.engine, id);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await cancelled;
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 2, cancelledAt: expect.any(Date) });
    expect(await deadLetters(jobId)).toHaveLength(2);
  });
});

describe('promoting items against others', () => {
  const later = () => new Date(Date.now() + 3_600_000);
  const operationOf = async (id: string) => (await readOperations(t.engine.database, [id]))[0];

  /** A job of so many items that have failed and wait, in entries of their own. */
  async function retrying(count: number): Promise<{ type: string; jobId: string; keys: ItemKey[] }> {
    const items = Array.from({ length: count }, (_, payload) => ({ payload, priority: payload % 2 }));
    const { type, jobId, held } = await lease(count, { backoffMs: [3_600_000], items });
    await reportOutcomes(
      t.engine,
      held.map(({ id }) => ({ assignmentId: id, failure })),
    );
    return { type, jobId, keys: await t.items(jobId) };
  }

  const promote = (jobId: string) => startOperation(t.engine, 'PROMOTE', { jobId });

  it('an item is made ready by itself and claimed meanwhile: the operation passes by, and leaves it to its worker', async () => {
    const { type, jobId, keys } = await retrying(3);
    await otherCalls('update_item', jobId, keys[1]?.position, '{"runAt": null}');
    const id = await promote(jobId);
    expect(await operationOf(id)).toMatchObject({ total: 3, done: 2, finishedAt: null });
    await other.query('commit');
    const held = await claimItem(t.engine, keys[1] as ItemKey, 'w');
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 2, finishedAt: expect.any(Date) });
    expect(await statesOf(jobId)).toEqual(['READY', 'RUNNING', 'READY']);
    expect((await reportOutcomes(t.engine, reportsOf([held])))[0]?.status).toBe('ACCEPTED');
    expect(payloadsOf(await claimItems(t.engine, 'w', [{ type, limit: 9 }]))).toEqual([0, 2]);
  });

  it('a claim meets an operation that is not committed: nothing is due yet, and neither waits', async () => {
    const { type, jobId, keys } = await retrying(2);
    await otherCalls('start_operation', 'PROMOTE', JSON.stringify({ jobId }));
    await other.query('select jobtree.run_operation(id) from jobtree.operation where job_id = $1', [jobId]);
    expect(await claimItems(t.engine, 'w', [{ type, limit: 9 }])).toEqual([]);
    await expect(claimItem(t.engine, keys[0] as ItemKey, 'w')).rejects.toMatchObject({ reason: 'RETRYING' });
    await other.query('commit');
    expect((await claimItem(t.engine, keys[0] as ItemKey, 'w')).attempt).toBe(2);
    expect(payloadsOf(await claimItems(t.engine, 'w', [{ type, limit: 9 }]))).toEqual([1]);
  });

  it('an item is cancelled meanwhile: it stays cancelled', async () => {
    const { jobId, keys } = await retrying(3);
    await otherCalls(
      'start_operation',
      'CANCEL',
      JSON.stringify({ items: [{ jobId, position: keys[1]?.position }] }),
    );
    await other.query(
      'select jobtree.run_operation(id) from jobtree.operation where $1 = any (item_job_ids)',
      [jobId],
    );
    const id = await promote(jobId);
    expect(await operationOf(id)).toMatchObject({ total: 3, done: 2, finishedAt: null });
    await other.query('commit');
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 2, finishedAt: expect.any(Date) });
    expect(await statesOf(jobId)).toEqual(['READY', 'CANCELLED', 'READY']);
  });

  it.each<[string, boolean]>([
    ['cancelled', false],
    ['deleted', true],
  ])(
    'the job is %s while items of it are being made ready: none of them remains in the queue',
    async (_, deletes) => {
      const { type, jobId } = await retrying(3);
      await otherCalls('start_operation', 'PROMOTE', JSON.stringify({ jobId }));
      await other.query('select jobtree.run_operation(id) from jobtree.operation where job_id = $1', [jobId]);
      if (deletes) expect(await deleteJob(t.engine, jobId)).toEqual({ deleted: false });
      else await cancelJob(t.engine, jobId);
      await other.query('commit');
      await t.finish();
      expect(await claimItems(t.engine, 'w', [{ type, limit: 9 }])).toEqual([]);
      expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [jobId])).toEqual([]);
      expect(await statesOf(jobId)).toEqual(deletes ? [] : Array(3).fill('CANCELLED'));
    },
  );

  it('the tree is deleted between two batches: the operation does the others, and ends', async () => {
    const [gone, kept] = [await retrying(2), await retrying(2)];
    await otherCalls('delete_job', gone.jobId);
    const id = await startOperation(t.engine, 'PROMOTE', { types: [gone.type, kept.type] });
    expect(await operationOf(id)).toMatchObject({ total: 4, done: 2, finishedAt: null });
    await other.query('commit');
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 2, finishedAt: expect.any(Date) });
    expect(await statesOf(gone.jobId)).toEqual([]);
    expect(await statesOf(kept.jobId)).toEqual(['READY', 'READY']);
  });

  it('the time of an item comes meanwhile: it is in the queue once, where its time has put it', async () => {
    const { type, jobId, keys } = await retrying(3);
    await other.query(
      `update jobtree.queue_entry set run_at = clock_timestamp() - interval '1 s' where job_id = $1 and position = $2`,
      [jobId, keys[2]?.position],
    );
    await otherCalls('promote_due');
    const id = await promote(jobId);
    expect(await operationOf(id)).toMatchObject({ total: 3, done: 2, finishedAt: null });
    await other.query('commit');
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 2, finishedAt: expect.any(Date) });
    expect(payloadsOf(await claimItems(t.engine, 'w', [{ type, limit: 9 }]))).toEqual([1, 2, 0]);
  });

  it('promote_due passes by what an operation is making ready', async () => {
    const { type, jobId } = await retrying(2);
    await otherCalls('start_operation', 'PROMOTE', JSON.stringify({ jobId }));
    await other.query('select jobtree.run_operation(id) from jobtree.operation where job_id = $1', [jobId]);
    await t.db.query('select * from jobtree.promote_due()');
    await other.query('commit');
    await t.sweep();
    expect(payloadsOf(await claimItems(t.engine, 'w', [{ type, limit: 9 }]))).toEqual([1, 0]);
  });

  it('an item gets another time while it is being made ready: the later change counts', async () => {
    const { jobId, keys } = await retrying(1);
    await otherCalls('start_operation', 'PROMOTE', JSON.stringify({ jobId }));
    await other.query('select jobtree.run_operation(id) from jobtree.operation where job_id = $1', [jobId]);
    const changed = updateItem(t.engine, keys[0] as ItemKey, { runAt: later() });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await changed;
    await t.finish();
    expect(await statesOf(jobId)).toEqual(['RETRYING']);
  });

  it('two operations for the same items: each item is made ready once, and neither waits for the other', async () => {
    const { type, jobId } = await retrying(4);
    await otherCalls('start_operation', 'PROMOTE', JSON.stringify({ jobId }));
    await other.query('select jobtree.run_operation(id) from jobtree.operation where job_id = $1', [jobId]);
    const second = await promote(jobId);
    expect(await operationOf(second)).toMatchObject({ total: 4, done: 0, finishedAt: null });
    await other.query('commit');
    await t.finish();
    expect(await operationOf(second)).toMatchObject({ done: 0, finishedAt: expect.any(Date) });
    expect(payloadsOf(await claimItems(t.engine, 'w', [{ type, limit: 9 }]))).toEqual([1, 3, 0, 2]);
  });

  it('a server dies in the middle of a batch: another one goes on where it was', async () => {
    const { type, jobId } = await retrying(5);
    const [row] = await t.db.query<{ id: string }>(
      `select operation_id as id from jobtree.start_operation('PROMOTE', $1)`,
      [JSON.stringify({ jobId })],
    );
    const id = row?.id ?? '';
    await otherCalls('run_operation', id);
    expect(await runSome(t.otherEngine, id)).toBe('WAITING');
    await other.query('rollback');
    expect(await operationOf(id)).toMatchObject({ total: 5, done: 0, finishedAt: null });
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 5, finishedAt: expect.any(Date) });
    expect(await claimItems(t.engine, 'w', [{ type, limit: 9 }])).toHaveLength(5);
  });
});
