/** The outcomes of jobs and trees, over all ways in which their items may end: the table of docs/failure-policies.md. */
import { describe, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { type JobOutcome, jobOutcomes, worstOutcome } from '../../../src/domain/items/item-state.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import { readOperations, startOperation } from '../../../src/domain/operations/operations.ts';
import { type JobProgress, readTreeOutcomes } from '../../../src/domain/progress/progress.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

const failure = { code: 'E', message: 'no', permanent: true };

/** Folds and finishes until nothing changes. */
async function settle(rootId: string): Promise<Record<string, JobProgress>> {
  for (let before = ''; ; ) {
    const progress = await t.fold(rootId);
    await t.finish();
    if (JSON.stringify(progress) === before) return progress;
    before = JSON.stringify(progress);
  }
}

async function work(type: string, succeeding: number, failing: number): Promise<void> {
  if (succeeding + failing === 0) return;
  const held = await claimItems(t.engine, 'w', [{ type, limit: succeeding + failing }]);
  if (held.length === 0) return;
  await reportOutcomes(
    t.engine,
    held.map(({ id }, i) => ({ assignmentId: id, ...(i < succeeding ? { result: 1 } : { failure }) })),
  );
}

const treeOutcome = async (rootId: string) =>
  (await readTreeOutcomes(t.engine.database, [rootId])).get(rootId);

interface Case {
  readonly succeeded: number;
  readonly failed: number;
  /** Cancelled one by one. */
  readonly withdrawn: number;
  readonly policy: object;
  /** The job is cancelled with an item pending. */
  readonly cancelled: boolean;
}

const policies = [{}, { toleratedFailureCount: 0 }, { toleratedFailurePercentage: 100 }];
const cases: Case[] = [0, 2].flatMap((succeeded) =>
  [0, 2].flatMap((failed) =>
    [0, 1].flatMap((withdrawn) =>
      policies.flatMap((policy) =>
        [false, true].map((cancelled) => ({ succeeded, failed, withdrawn, policy, cancelled })),
      ),
    ),
  ),
);

function expected({ succeeded, failed, policy, cancelled }: Case): JobOutcome {
  if (failed > 0 && 'toleratedFailureCount' in policy) return 'FAILED';
  if (cancelled) return 'CANCELLED';
  if (failed === 0) return 'SUCCEEDED';
  return succeeded > 0 ? 'PARTIAL' : 'FAILED';
}

async function cancelWaiting(type: string): Promise<void> {
  await startOperation(t.engine, 'CANCEL', { types: [type] });
  await t.finish();
}

it.each(cases)('of a job and of one that waits for it: %j', async (one) => {
  const { succeeded, failed, withdrawn, policy, cancelled } = one;
  const [root, job, next] = [newType('root'), newType('job'), newType('next')];
  const ids = await t.create({
    type: root,
    sealed: true,
    children: [
      { type: job, ...policy, items: Array(succeeded + failed + withdrawn + Number(cancelled)).fill({}) },
      { type: next, after: [job], sealed: true, items: [{}] },
    ],
  });
  const id = ids[job] as string;
  await work(job, succeeded, failed);
  if (cancelled) {
    await settle(ids[root] as string);
    await cancelJob(t.engine, id);
  } else {
    if (withdrawn > 0) await cancelWaiting(job);
    await sealJob(t.engine, id);
  }
  const outcome = expected(one);
  const ended = await settle(ids[root] as string);
  expect(ended[job]).toMatchObject({ outcome, succeeded, failed, completedAt: expect.any(Number) });

  const goesOn = outcome === 'SUCCEEDED' || outcome === 'PARTIAL';
  expect(ended[next]).toMatchObject({
    outcome: goesOn ? null : 'CANCELLED',
    cancelReason: goesOn ? null : 'DEPENDENCY',
  });
  await work(next, 1, 0);
  await settle(ids[root] as string);
  expect(await treeOutcome(ids[root] as string)).toBe(outcome);

  const canReplay =
    failed > 0 && !cancelled && outcome !== 'CANCELLED' && !('toleratedFailureCount' in policy);
  const operation = await startOperation(t.engine, 'REPLAY', { jobId: id });
  await t.finish();
  expect(await readOperations(t.engine.database, [operation])).toMatchObject([
    { done: canReplay ? failed : 0 },
  ]);
  await work(job, failed, 0);
  const again = await settle(ids[root] as string);
  expect(again[job]?.outcome).toBe(canReplay ? 'SUCCEEDED' : outcome);
  // A job that waited in vain stays cancelled.
  expect(again[next]?.outcome).toBe(goesOn ? 'SUCCEEDED' : 'CANCELLED');
});

describe('of items that fail without a worker', () => {
  it('expired items count as failed, and discarding them changes nothing', async () => {
    const type = newType();
    const { [type]: id = '' } = await t.create({ type, sealed: true, items: [{}, {}] });
    await t.db.query(`select jobtree.set_queue($1, '{"lifetimeMs": 1000}')`, [type]);
    await t.db.query(
      `update jobtree.job_item set created_at = created_at - interval '1 hour' where job_id = $1`,
      [id],
    );
    await t.db.query('select * from jobtree.expire_items()');
    expect((await settle(id))[type]).toMatchObject({ failed: 2, outcome: 'FAILED' });
    await startOperation(t.engine, 'DISCARD', { jobId: id });
    await t.finish();
    expect((await settle(id))[type]).toMatchObject({ failed: 2, outcome: 'FAILED' });
  });
});

it('of a tree is the worst of its jobs, whichever completes first, and after each replay', async () => {
  const set = ['SUCCEEDED', 'PARTIAL', 'FAILED', 'CANCELLED'] as const;
  for (const first of set) {
    for (const second of set) {
      const [root, a, b] = [newType('root'), newType('a'), newType('b')];
      const items = [{}, {}];
      const ids = await t.create({
        type: root,
        sealed: true,
        children: [a, b].map((type) => ({ type, sealed: true, items })),
      });
      for (const [type, outcome] of [
        [a, first],
        [b, second],
      ] as const) {
        const failing = { SUCCEEDED: 0, PARTIAL: 1, FAILED: 2, CANCELLED: 0 }[outcome];
        if (outcome === 'CANCELLED') await cancelJob(t.engine, ids[type] as string);
        else await work(type, 2 - failing, failing);
        await settle(ids[root] as string);
      }
      const worst = worstOutcome([first, second]);
      expect(worst).toBe([...jobOutcomes].find((one) => one === first || one === second));
      expect(await treeOutcome(ids[root] as string)).toBe(worst);
      await startOperation(t.engine, 'REPLAY', { jobId: ids[b] as string });
      await t.finish();
      await work(b, 2, 0);
      await settle(ids[root] as string);
      const after = worstOutcome([first, second === 'CANCELLED' ? 'CANCELLED' : 'SUCCEEDED']);
      expect(await treeOutcome(ids[root] as string)).toBe(after);
    }
  }
});
