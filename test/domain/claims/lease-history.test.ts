/** What remains of an item that is given back, or fails, again and again. */
import { describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../../src/domain/claims/heartbeat.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { readFailures } from '../../../src/domain/items/read-items.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();
const times = 200;
const failure = { code: 'E', message: 'no', retryAfterMs: 0 };

const ends: Record<string, (held: readonly Assignment[]) => Promise<unknown>> = {
  snoozed: (held) =>
    reportOutcomes(
      t.engine,
      held.map(({ id: assignmentId }) => ({ assignmentId, snoozeMs: 1_000 })),
    ),
  released: (held) =>
    releaseAssignments(
      t.engine,
      held.map(({ id }) => id),
    ),
  failed: (held) =>
    reportOutcomes(
      t.engine,
      held.map(({ id: assignmentId }) => ({ assignmentId, failure })),
    ),
  lost: async (held) => {
    await t.expire(...held.map(({ id }) => id));
    await t.sweep();
  },
};

/** What waits is due. */
async function sweep(type: string): Promise<void> {
  await t.db.query(
    `update jobtree.queue_entry set run_at = now() - interval '1 second' where type = $1 and run_at is not null`,
    [type],
  );
  await t.sweep();
}

async function claim(type: string, count: number): Promise<readonly Assignment[]> {
  await sweep(type);
  return claimItems(t.engine, 'w', [{ type, limit: count }]);
}

const leases = async (jobId: string) =>
  (
    await t.db.query<{ id: string }>('select id from jobtree.lease where job_id = $1 order by id', [jobId])
  ).map(({ id }) => id);

describe.each([1, 3])('%i items that are claimed together', (count) => {
  it.each(['snoozed', 'released'])('and %s 200 times leave their last 20 leases', async (how) => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: Array(count).fill({}) });
    let held: readonly Assignment[] = [];
    for (let i = 0; i < times; i++) {
      held = await claim(type, count);
      expect(held).toHaveLength(count);
      await ends[how]?.(held);
    }
    expect(await leases(jobId)).toHaveLength(20);

    const [first] = await claim(type, count);
    const report = { assignmentId: first?.id ?? '', result: 1 };
    expect((await reportOutcomes(t.engine, [report]))[0]?.status).toBe('ACCEPTED');
    expect((await reportOutcomes(t.engine, [report]))[0]?.status).toBe('DUPLICATE');
    expect(await heartbeat(t.engine, [report.assignmentId, held[0]?.id ?? ''])).toEqual(['FINISHED', 'LOST']);
    const [late] = await reportOutcomes(t.engine, [{ assignmentId: held[0]?.id ?? '', result: 1 }]);
    expect(late?.status).toBe('STALE');
  });
});

it.each(['failed', 'lost'])(
  'an item that %s 200 times keeps the leases of its first and last 20 failures, and repeats of these are known',
  async (how) => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      maxFailuresPerItem: 1_000,
      backoffMs: [],
      items: [{}],
    });
    const ids: string[] = [];
    for (let i = 0; i < times; i++) {
      const held = await claim(type, 1);
      ids.push(held[0]?.id ?? '');
      await ends[how]?.(held);
    }
    expect(await leases(jobId)).toHaveLength(40);
    const [failures] = await readFailures(t.engine.database, await t.items(jobId));
    expect(failures?.map(({ attempt }) => attempt)).toEqual([
      ...Array.from({ length: 20 }, (_, i) => i + 1),
      ...Array.from({ length: 20 }, (_, i) => times - 19 + i),
    ]);
    const expected = how === 'failed' ? 'DUPLICATE' : 'STALE';
    for (const assignmentId of [ids[0], ids.at(-1)])
      expect(
        (await reportOutcomes(t.engine, [{ assignmentId: assignmentId ?? '', failure }]))[0]?.status,
      ).toBe(expected);
    expect((await reportOutcomes(t.engine, [{ assignmentId: ids[100] ?? '', failure }]))[0]?.status).toBe(
      'STALE',
    );
  },
);

it('a lease remains while one of its items is held, succeeded or failed under it, however often the others are given back', async () => {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({
    type,
    maxFailuresPerItem: 1_000,
    backoffMs: [],
    items: Array(4).fill({}),
  });
  const held = await claim(type, 4);
  const [snoozed, succeeded, failed, open] = held.map(({ id }) => id) as [string, string, string, string];
  const reports = [
    { assignmentId: succeeded, result: 1 },
    { assignmentId: failed, failure: { ...failure, retryAfterMs: 3_600_000 } },
  ];
  await reportOutcomes(t.engine, [{ assignmentId: snoozed, snoozeMs: 1_000 }]);
  await sweep(type);
  await reportOutcomes(t.engine, reports);
  for (let i = 0; i < times; i++) await releaseAssignments(t.engine, [(await t.claimOne(type)).id]);
  expect(await leases(jobId)).toHaveLength(21);
  expect((await reportOutcomes(t.engine, reports)).map(({ status }) => status)).toEqual([
    'DUPLICATE',
    'DUPLICATE',
  ]);
  expect(await heartbeat(t.engine, [succeeded, failed, open])).toEqual(['FINISHED', 'FINISHED', 'HELD']);
});

it('a call that deletes a tree removes a bounded number of leases, however many an item has', async () => {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({ type, items: [{}, {}] });
  // As if items that were claimed together in many ways had many leases.
  await t.db.query(
    `insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, attempt, count, priority, open, worker)
     select jobtree.new_lease_id(jobtree.new_id()), i.job_id, i.position, now(), now(), 1, 1, 0, B'0'::bit(128), 'w'
     from jobtree.job_item i cross join generate_series(1, 100) where i.job_id = $1`,
    [jobId],
  );
  await t.db.query('select jobtree.delete_job($1)', [jobId]);
  await t.fold(jobId);
  const left = [await leases(jobId)];
  const isGone = async () =>
    (
      await t.db.query<{ gone: boolean }>('select jobtree.delete_trees(array[$1::uuid], 40) as gone', [jobId])
    )[0]?.gone;
  for (let gone: boolean | undefined; !gone; ) {
    gone = await isGone();
    left.push(await leases(jobId));
  }
  expect(left.map(({ length }) => length)).toEqual([200, 120, 40, 0]);
});
