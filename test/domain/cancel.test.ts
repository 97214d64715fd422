/** Cancelling in bounded batches: over many items, beside workers that claim, and after a server died in the middle. */
import { describe, expect, it } from 'vitest';
import { cancelItems, cancelJob } from '../../src/domain/cancel-job.ts';
import { claimItem } from '../../src/domain/claim-item.ts';
import { claimItems } from '../../src/domain/claim-items.ts';
import { heartbeat } from '../../src/domain/heartbeat.ts';
import { reportOutcomes } from '../../src/domain/report-outcomes.ts';
import { sweep } from '../../src/domain/sweep.ts';
import { newType, useEngine } from '../support/engine.ts';
import { lockWaiters } from '../support/locks.ts';

const t = useEngine();

const many = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i }));
/** More than the API takes in one call. */
const addMany = (job: string, count: number) =>
  t.db.query(
    `select jobtree.add_items($1, (select jsonb_agg('{"payload": 1}'::jsonb) from generate_series(1, $2::int)))`,
    [job, count],
  );

describe('cancelJob', () => {
  it('takes as many batches as the job needs, whatever its items are at', async () => {
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
    expect(await cancelJob(t.engine, job)).toEqual({ cancelledItems: 2_200 });
    expect((await t.fold(job))[type]).toMatchObject({
      itemCount: 2_500,
      succeeded: 300,
      cancelled: 2_200,
      completedAt: expect.any(Number),
    });
    expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [job])).toEqual([]);
    expect(
      new Set(
        await heartbeat(
          t.engine,
          held.slice(350).map(({ id }) => id),
        ),
      ),
    ).toEqual(new Set(['CANCELLED']));
  });

  it('ends holds of a claim that was not committed yet, so that nobody works on after completion', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: many(3) });
    const other = await t.db.connect();
    await other.query('begin');
    const claimed = await other.query<{ id: string }>(
      `select json_array_elements_text(items -> 'id') as id from jobtree.claim_items('{w}', $1, '{2}')`,
      [[type]],
    );
    const cancelled = cancelJob(t.engine, job);
    await lockWaiters(t.db, 1);
    expect((await t.fold(job))[type]?.completedAt).toBeNull();
    await other.query('commit');
    await other.end();
    expect(await cancelled).toEqual({ cancelledItems: 3 });
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 3, completedAt: expect.any(Number) });
    const ids = claimed.rows.map(({ id }) => id);
    expect(await heartbeat(t.engine, ids)).toEqual(['CANCELLED', 'CANCELLED']);
    expect(await claimItems(t.engine, 'w', [{ type, limit: 9 }])).toEqual([]);
  });

  it('and a claim that waits for it takes nothing', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: many(1) });
    const [item] = await t.db.query<{ id: string }>('select id from jobtree.job_item where job_id = $1', [
      job,
    ]);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select * from jobtree.cancel_job($1)', [job]);
    await other.query('select * from jobtree.cancel_items($1)', [job]);
    expect(await claimItems(t.engine, 'w', [{ type, limit: 1 }])).toEqual([]);
    const claim = expect(claimItem(t.engine, item?.id ?? '', 'w')).rejects.toMatchObject({
      reason: 'CANCELLED',
    });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await other.end();
    await claim;
  });

  it('by two servers at once does not deadlock over an item that is claimed between their looks', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: many(2) });
    await t.db.query('select * from jobtree.cancel_job($1)', [job]);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query(
      'select from jobtree.queue_entry where job_id = $1 order by item_id limit 1 for update',
      [job],
    );
    const first = cancelItems(t.engine, job);
    await lockWaiters(t.db, 1);
    await t.claimOne(type);
    const second = cancelItems(t.engine, job);
    await lockWaiters(t.db, 2);
    await other.query('commit');
    await other.end();
    expect((await first) + (await second)).toBe(2);
    expect((await t.fold(job))[type]).toMatchObject({ cancelled: 2, completedAt: expect.any(Number) });
  });

  it('leaves nothing to claim once the job is complete, however workers claim, fail and give back meanwhile', async () => {
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
    await Promise.all([cancelJob(t.engine, job), cancelJob(t.engine, job)]);
    expect((await t.fold(job))[type]).toMatchObject({ itemCount: 3_000, completedAt: expect.any(Number) });
    complete = true;
    await Promise.all(workers);
    expect(afterwards).toEqual([]);
    expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [job])).toEqual([]);
  });
});

describe('a cancellation whose server died', () => {
  /** Which of the jobs a sweep tells to be cancelled and unfinished. */
  const told = async (...jobs: string[]) => {
    const { cancelling } = await sweep(t.engine);
    return jobs.filter((job) => cancelling.includes(job));
  };

  it('is told by the sweep until the job is complete, and then no more', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: many(2),
      children: [{ type: child, items: many(1) }],
    });
    const [root, below] = [jobs[parent] ?? '', jobs[child] ?? ''];
    await t.db.query('select * from jobtree.cancel_job($1)', [root]);
    expect(await told(root, below)).toEqual([root, below]);
    await cancelItems(t.engine, below);
    await t.fold(root);
    expect(await told(root, below)).toEqual([root]);
    await cancelItems(t.engine, root);
    await t.fold(root);
    expect(await told(root, below)).toEqual([]);
    expect(await t.db.query('select from jobtree.job where root_id = $1 and cancelling', [root])).toEqual([]);
  });

  it('is no matter of a job that was complete already', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, sealed: true });
    await t.fold(job);
    await cancelJob(t.engine, job);
    expect(await told(job)).toEqual([]);
  });
});
