/** For how long trees are kept: what is reaped, and when; what is idle, and what becomes of it. */
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import type { Engine, RetentionPolicy } from '../../../src/domain/engine/engine.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { createJob, type NewJob } from '../../../src/domain/jobs/create-job.ts';
import { hold, holdTree, ResultExport } from '../../../src/domain/jobs/export-results.ts';
import { readJobIds } from '../../../src/domain/jobs/job-pages.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import { startOperation } from '../../../src/domain/operations/operations.ts';
import { foldProgress } from '../../../src/domain/progress/fold-progress.ts';
import { readTrees } from '../../../src/domain/progress/progress.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { findIdle, readRetentions, reapSome, setRetention } from '../../../src/domain/retention/retention.ts';
import { putSchedule } from '../../../src/domain/schedules/put-schedule.ts';
import { JobSealedError, NotFoundError } from '../../../src/errors.ts';
import { addEndpoint } from '../../support/endpoints.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';

const t = useEngine();
const failure = { code: 'E', message: 'no' };
const week = 604_800;

/** Everything that is due, to the end, as a server does it that never rests. */
async function reap(engine: Engine = t.engine): Promise<void> {
  while (await reapSome(engine, async () => {}));
}
const withPolicy = (policy: Partial<RetentionPolicy>, engine: Engine = t.engine): Engine => ({
  ...engine,
  retention: { ...engine.retention, ...policy },
});
const exists = async (jobId: string) =>
  (await t.db.query('select from jobtree.job where id = $1', [jobId])).length === 1;
const retentionOf = async (jobId: string, engine: Engine = t.engine) =>
  (await readRetentions(engine.database, engine.retention, [jobId]))[0];
const completedAt = async (jobId: string) => {
  const [tree] = await readTrees(t.engine.database, [jobId]);
  return Math.max(...(tree?.jobs ?? []).map((job) => job.completedAt ?? Number.NaN));
};

const typeOf = async (jobId: string) =>
  (await t.db.query<{ type: string }>('select type from jobtree.job where id = $1', [jobId]))[0]?.type;

/** A tree of one job with so many items that succeed, and one that fails if wanted; complete if it is sealed. */
async function worked(job: Partial<NewJob> = {}, items = 2, fails = false) {
  const type = newType('kept');
  const payloads = Array.from({ length: items }, (_, payload) => ({ payload }));
  const { [type]: jobId = '' } = await t.create({
    type,
    sealed: true,
    maxFailuresPerItem: 0,
    items: payloads,
    ...job,
  });
  const claimed = items === 0 ? [] : await claimItems(t.engine, 'w', [{ type, limit: items }]);
  const reports = claimed.map(({ id: assignmentId }, i) =>
    fails && i === 0 ? { assignmentId, failure } : { assignmentId, result: i },
  );
  if (reports.length > 0) await reportOutcomes(t.engine, reports);
  await t.fold(jobId);
  return { type, jobId };
}

const replay = async (engine: Engine, jobId: string) => startOperation(engine, 'REPLAY', { jobId });

describe('a retention', () => {
  it('of the tree counts from its completion, and null means for ever', async () => {
    const { jobId } = await worked({ retentionSeconds: 60, idleExpirySeconds: 7 });
    expect(await retentionOf(jobId)).toEqual({
      rootId: jobId,
      retentionSeconds: 60,
      reapAt: new Date((await completedAt(jobId)) + 60_000),
      idleExpirySeconds: 7,
      idleSince: null,
    });
    const { jobId: kept } = await worked({ retentionSeconds: null, idleExpirySeconds: null });
    const never = { retentionSeconds: null, reapAt: null, idleExpirySeconds: null };
    expect(await retentionOf(kept)).toMatchObject(never);
    const strict = withPolicy({ retentionSeconds: 0, idleExpirySeconds: 1 });
    expect(await retentionOf(kept, strict)).toMatchObject(never);
    await reap(strict);
    expect(await exists(kept)).toBe(true);
  });

  it('of the servers applies to a tree without one, and changes with the setting', async () => {
    const { jobId } = await worked();
    const at = await completedAt(jobId);
    const ofServers = { retentionSeconds: week, reapAt: new Date(at + week * 1_000) };
    expect(await retentionOf(jobId)).toMatchObject(ofServers);
    await setRetention(t.engine, jobId, { idleExpirySeconds: 7 });
    expect(await retentionOf(jobId)).toMatchObject(ofServers);
    const never = withPolicy({ retentionSeconds: null });
    expect(await retentionOf(jobId, never)).toMatchObject({ retentionSeconds: null, reapAt: null });
    await reap(never);
    await reap();
    expect(await exists(jobId)).toBe(true);
    await reap(withPolicy({ retentionSeconds: 0 }));
    expect(await exists(jobId)).toBe(false);
  });

  it('of the tree overrides that of the servers in both directions', async () => {
    const { jobId: longer } = await worked({ retentionSeconds: 3_600 });
    await reap(withPolicy({ retentionSeconds: 0 }));
    expect(await exists(longer)).toBe(true);
    const { jobId: shorter } = await worked({ retentionSeconds: 0 });
    await reap(withPolicy({ retentionSeconds: null }));
    expect(await exists(shorter)).toBe(false);
  });

  it('counts from the end of the last job of the tree', async () => {
    const [root, child] = [newType('root'), newType('child')];
    const jobs = await t.create({
      type: root,
      retentionSeconds: 0,
      sealed: true,
      children: [{ type: child }],
    });
    const rootId = jobs[root] ?? '';
    await t.fold(rootId);
    expect(await retentionOf(rootId)).toMatchObject({ reapAt: null });
    await reap();
    await sealJob(t.engine, jobs[child] ?? '');
    await t.fold(rootId);
    expect(await retentionOf(rootId)).toMatchObject({ reapAt: new Date(await completedAt(rootId)) });
    await reap();
    expect(await exists(rootId)).toBe(false);
  });

  it('does not run out while a replay keeps the tree open, and restarts at the next completion', async () => {
    const { type, jobId } = await worked({ retentionSeconds: 0 }, 2, true);
    await replay(t.engine, jobId);
    expect(await retentionOf(jobId)).toMatchObject({ reapAt: null });
    await reap();
    expect(await exists(jobId)).toBe(true);
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, result: 1 }]);
    await t.fold(jobId);
    expect(await retentionOf(jobId)).toMatchObject({ reapAt: new Date(await completedAt(jobId)) });
    await reap();
    expect(await exists(jobId)).toBe(false);
  });

  it('is unchanged when a complete tree is folded again', async () => {
    for (const retentionSeconds of [undefined, 60]) {
      const { jobId } = await worked({ retentionSeconds });
      const before = await retentionOf(jobId);
      await cancelJob(t.engine, jobId);
      await t.fold(jobId);
      expect(await retentionOf(jobId)).toEqual(before);
    }
  });

  it('can be part of the template of a schedule', async () => {
    const name = newType('schedule');
    const template = { type: newType(), sealed: true, retentionSeconds: null, idleExpirySeconds: 60 };
    await putSchedule(t.engine, { name, everyMs: 3_600_000, template });
    const [row] = await t.db.query<{ run_schedule: string }>('select jobtree.run_schedule($1)', [name]);
    const [job] = await t.db.query<{ id: string }>('select id from jobtree.job where schedule_name = $1', [
      name,
    ]);
    expect(row).toBeDefined();
    expect(await retentionOf(job?.id ?? '')).toMatchObject({ retentionSeconds: null, idleExpirySeconds: 60 });
  });
});

describe('setRetention', () => {
  it('changes the given values, of an open tree and of a complete one', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, idleExpirySeconds: 60 });
    await setRetention(t.engine, jobId, { retentionSeconds: 5 });
    expect(await retentionOf(jobId)).toMatchObject({
      retentionSeconds: 5,
      idleExpirySeconds: 60,
      reapAt: null,
    });
    await sealJob(t.engine, jobId);
    await t.fold(jobId);
    const at = await completedAt(jobId);
    expect(await retentionOf(jobId)).toMatchObject({ reapAt: new Date(at + 5_000) });
    await setRetention(t.engine, jobId, { retentionSeconds: 7 });
    expect(await retentionOf(jobId)).toMatchObject({ reapAt: new Date(at + 7_000) });
    await setRetention(t.engine, jobId, { retentionSeconds: null, idleExpirySeconds: null });
    expect(await retentionOf(jobId)).toMatchObject({ reapAt: null, idleExpirySeconds: null });
    await setRetention(t.engine, jobId, { retentionSeconds: 0 });
    await reap();
    expect(await exists(jobId)).toBe(false);
  });

  it('refuses invalid retentions and changes nothing', async () => {
    const { jobId } = await worked({ retentionSeconds: 60, idleExpirySeconds: 60 });
    const before = await retentionOf(jobId);
    for (const [change, field] of [
      [{ retentionSeconds: -1 }, 'retentionSeconds'],
      [{ retentionSeconds: 1.5 }, 'retentionSeconds'],
      [{ retentionSeconds: 315_576_001 }, 'retentionSeconds'],
      [{ retentionSeconds: Number.MAX_SAFE_INTEGER }, 'retentionSeconds'],
      [{ idleExpirySeconds: 0 }, 'idleExpirySeconds'],
      [{ idleExpirySeconds: 315_576_001, retentionSeconds: 1 }, 'idleExpirySeconds'],
    ] as const) {
      const problem = { code: 'INVALID_INPUT', field };
      await expect(setRetention(t.engine, jobId, change)).rejects.toMatchObject(problem);
      await expect(createJob(t.engine, { type: newType(), ...change })).rejects.toMatchObject(problem);
      await expect(
        t.db.query('select jobtree.set_retention($1, $2)', [jobId, JSON.stringify(change)]),
      ).rejects.toMatchObject({ code: 'JT002', column: field });
      await expect(
        t.db.query('select jobtree.create_job($1)', [JSON.stringify({ type: 'x', ...change })]),
      ).rejects.toMatchObject({ code: 'JT002', column: field });
    }
    await expect(setRetention(t.engine, jobId, {})).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    // JSON has null for it, which would be for ever.
    await expect(setRetention(t.engine, jobId, { retentionSeconds: Number.NaN })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: 'retentionSeconds',
    });
    await expect(
      t.db.query(`select jobtree.set_retention($1, '{"keep": 1}')`, [jobId]),
    ).rejects.toMatchObject({
      code: 'JT002',
      column: 'keep',
    });
    expect(await retentionOf(jobId)).toEqual(before);
  });

  it('is only for roots: a job below one is refused, here and at creation', async () => {
    const [root, child] = [newType(), newType()];
    const jobs = await t.create({ type: root, children: [{ type: child }] });
    const change = { retentionSeconds: 1 };
    await expect(setRetention(t.engine, jobs[child] ?? '', change)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: 'jobId',
    });
    for (const own of [change, { retentionSeconds: null }, { idleExpirySeconds: 1 }]) {
      const tree = { type: newType(), children: [{ type: newType(), ...own }] };
      const field = `children[0].${Object.keys(own)[0]}`;
      await expect(createJob(t.engine, tree)).rejects.toMatchObject({ code: 'INVALID_INPUT', field });
      await expect(t.db.query('select jobtree.create_job($1)', [JSON.stringify(tree)])).rejects.toMatchObject(
        { code: 'JT002', column: field },
      );
    }
    const nobody = '00000000-0000-7000-8000-000000000000';
    await expect(setRetention(t.engine, nobody, change)).rejects.toThrow(NotFoundError);
  });
});

describe('reaping', () => {
  const failing = { maxFailuresPerItem: 0, sealed: true };
  async function created(job: Partial<NewJob>) {
    const { jobId } = await createJob(t.engine, { type: newType(), ...job });
    await t.fold(jobId);
    return jobId;
  }
  async function held(job: Partial<NewJob>) {
    const type = newType();
    const { jobId } = await createJob(t.engine, { type, ...job });
    await t.claimOne(type);
    await t.fold(jobId);
    return jobId;
  }
  const twins = () => [{ serializeKey: newType() }].flatMap((item) => [item, item]);
  const waiting = () =>
    created({
      name: 'first',
      sealed: true,
      children: [{ type: newType(), after: ['first'], items: [{}] }],
      items: [{}],
    });
  async function cancelled() {
    const jobId = await created({ items: [{}] });
    await cancelJob(t.engine, jobId);
    await t.fold(jobId);
    return jobId;
  }
  async function uncounted() {
    const jobId = await created({ items: [{}] });
    await cancelJob(t.engine, jobId);
    return jobId;
  }
  async function reopened() {
    const { jobId } = await worked({}, 2, true);
    await replay(t.engine, jobId);
    return jobId;
  }
  async function deleting() {
    const { jobId } = await worked();
    await t.db.query('select jobtree.delete_job($1)', [jobId]);
    return jobId;
  }

  const states: readonly [string, boolean, () => Promise<string>][] = [
    ['empty and open', false, async () => (await worked({ sealed: false }, 0)).jobId],
    ['open, with all items done', false, async () => (await worked({ sealed: false })).jobId],
    ['sealed, with ready items', false, () => created({ sealed: true, items: [{}] })],
    [
      'sealed, with scheduled items',
      false,
      () => created({ sealed: true, items: [{ runAt: new Date(8e12) }] }),
    ],
    ['sealed, with held items', false, () => held({ sealed: true, items: [{}] })],
    ['sealed, with items that wait for another job', false, waiting],
    ['sealed, with blocked items', false, () => created({ sealed: true, items: twins() })],
    ['cancelled, and not counted yet', false, uncounted],
    ['reopened by a replay', false, reopened],
    ['complete: succeeded', true, async () => (await worked()).jobId],
    ['complete: succeeded, with dead letters', true, async () => (await worked({}, 2, true)).jobId],
    [
      'complete: failed',
      true,
      async () => (await worked({ ...failing, toleratedFailureCount: 0 }, 1, true)).jobId,
    ],
    ['complete: cancelled', true, cancelled],
    ['complete: empty', true, () => created({ sealed: true })],
    ['being deleted by hand', false, deleting],
  ];

  it.each(states)('of a tree that is %s happens: %s', async (_, isReaped, make) => {
    const jobId = await make();
    if (await exists(jobId)) await setRetention(t.engine, jobId, { retentionSeconds: 0 }).catch(() => {});
    const items = async () =>
      (
        await t.db.query('select status from jobtree.item_status where job_id = $1 order by position', [
          jobId,
        ])
      ).length;
    const before = await items();
    await reap(withPolicy({ retentionSeconds: 0 }));
    expect(await exists(jobId)).toBe(!isReaped);
    expect(await items()).toBe(isReaped ? 0 : before);
  });

  it('takes one batch at a time, shows how far it is, and continues on another server after a crash', async () => {
    const { jobId } = await worked({ retentionSeconds: 0, dedupeKey: newType() }, 1_000);
    await t.db.query(
      `insert into jobtree.job_item (job_id, position, created_at, payload_bytes, payload)
       select $1, 1000000000 + n, now(), 1, '1' from generate_series(1, 3000) n`,
      [jobId],
    );
    const turn = (engine: Engine) => reapSome(engine, async () => {});
    expect(await turn(t.engine)).toBe(true);
    const progress = () =>
      t.db.query('select deletion, deleted_items::int as n from jobtree.tree where root_id = $1', [jobId]);
    expect(await progress()).toEqual([{ deletion: 'REAPED', n: 2_000 }]);
    const keys = await t.db.query('select dedupe_key from jobtree.job where id = $1', [jobId]);
    expect(keys, 'its dedupe key is free').toEqual([{ dedupe_key: null }]);
    expect(await turn(t.otherEngine)).toBe(true);
    expect(await progress()).toEqual([{ deletion: 'REAPED', n: 4_000 }]);
    await reap(t.otherEngine);
    expect(await exists(jobId)).toBe(false);
  });

  it('rests after each call of Postgres', async () => {
    await worked({ retentionSeconds: 0 });
    let rests = 0;
    const rest = async (tookMs: number) => {
      expect(tookMs).toBeGreaterThan(0);
      rests++;
    };
    await reapSome(t.engine, rest);
    expect(rests).toBe(2);
    await reap();
  });

  it('takes many small trees in one call, empty ones too, and skips locked ones', async () => {
    const ids = await Promise.all(
      Array.from({ length: 150 }, () => created({ sealed: true, retentionSeconds: 0 })),
    );
    const [locked = ''] = ids;
    await t.db.query('select jobtree.reap_trees(null, 1000)');
    const left = async () => (await t.db.query('select from jobtree.job where id = any ($1)', [ids])).length;
    const other = await t.db.connect();
    try {
      await other.query('begin');
      await other.query('select from jobtree.job where id = $1 for share', [locked]);
      expect(await t.db.query('select jobtree.delete_reaped() as more')).toEqual([{ more: true }]);
      // A hundred, and the locked one may have been among them.
      expect([50, 51]).toContain(await left());
      await reap();
      expect(await left()).toBe(1);
      expect(await exists(locked)).toBe(true);
    } finally {
      await other.end();
    }
    await reap();
    expect(await left()).toBe(0);
  });

  it.each([
    ['tree', 'root_id'],
    ['job', 'id'],
  ])(
    'of many small trees, a large one and one with a locked row of %s deletes all but the locked one, in batches',
    async (table, id) => {
      const small = await Promise.all(
        Array.from({ length: 12 }, (_, i) => worked({ retentionSeconds: 0 }, i % 4, i % 2 === 0)),
      );
      const large = await worked(
        { retentionSeconds: 0, children: [{ type: newType(), sealed: true }] },
        300,
        true,
      );
      const locked = await worked({ retentionSeconds: 0 }, 3, true);
      const ids = [...small, large, locked].map(({ jobId }) => jobId);
      await t.db.query('select jobtree.reap_trees(null, 1000)');
      const rowsOf = async (jobIds: readonly string[]) =>
        Promise.all(
          ['job_item', 'outcome', 'lease', 'failure', 'dead_letter', 'job_progress'].map(
            async (name) =>
              (await t.db.query(`select from jobtree.${name} where job_id = any ($1)`, [jobIds])).length,
          ),
        );
      const stored = async () =>
        Number((await t.db.query('select sum(items) as n from jobtree.stored_delta'))[0]?.n ?? 0);
      const [kept, before] = [await rowsOf([locked.jobId]), await stored()];
      const other = await t.db.connect();
      try {
        await other.query('begin');
        await other.query(`select from jobtree.${table} where ${id} = $1 for update`, [locked.jobId]);
        let [left = 0] = await rowsOf(ids);
        const all = left;
        while ((await t.db.query('select jobtree.delete_reaped(100) as more'))[0]?.more) {
          const [now = 0] = await rowsOf(ids);
          expect(left - now).toBeLessThanOrEqual(100);
          left = now;
        }
        expect(await rowsOf(ids)).toEqual(kept);
        expect(await t.db.query('select root_id from jobtree.tree where root_id = any ($1)', [ids])).toEqual([
          { root_id: locked.jobId },
        ]);
        expect(await t.db.query('select from jobtree.job where root_id = any ($1)', [ids])).toHaveLength(1);
        expect((await stored()) - before).toBe(3 - all);
      } finally {
        await other.end();
      }
      await reap();
      expect(await rowsOf(ids)).toEqual([0, 0, 0, 0, 0, 0]);
    },
  );

  it('marks no more trees than can be under way', async () => {
    for (let i = 0; i < 5; i++) await worked({ retentionSeconds: 0 });
    const marked = async () => (await t.db.query('select jobtree.reap_trees(null, 3) as n'))[0]?.n;
    expect([await marked(), await marked()]).toEqual([3, 0]);
    await reap();
  });

  it('keeps callback deliveries, both due and failed ones', async () => {
    await addEndpoint(t.db, 'reaped');
    const { jobId } = await worked({ retentionSeconds: 0, callbacks: [{ endpoint: 'reaped' }] });
    const deliveries = () =>
      t.db.query('select id, due_at, body from jobtree.callback_delivery where root_id = $1', [jobId]);
    const before = await deliveries();
    expect(before).toMatchObject([{ due_at: expect.any(Date) }]);
    await reap();
    expect(await exists(jobId)).toBe(false);
    expect(await deliveries()).toEqual(before);
  });

  it('takes dead letters with the tree, and keeps the notes of their groups', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 }, 1, true);
    const [letter] = await t.db.query<{ fingerprint: string }>(
      'select fingerprint from jobtree.dead_letter where job_id = $1',
      [jobId],
    );
    await t.db.query('insert into jobtree.dead_letter_note values ($1, $2, now())', [
      letter?.fingerprint,
      'known',
    ]);
    await reap();
    expect(await t.db.query('select from jobtree.dead_letter where job_id = $1', [jobId])).toEqual([]);
    expect(
      await t.db.query('select note from jobtree.dead_letter_note where fingerprint = $1', [
        letter?.fingerprint,
      ]),
    ).toEqual([{ note: 'known' }]);
  });

  it.each([
    ['of the tree', (jobId: string) => ({ jobId })],
    ['of everything of a code', () => ({ codes: ['E'] })],
  ])('waits for a replay %s that is under way, if the tree has dead letters', async (_, filterOf) => {
    const { jobId } = await worked({ retentionSeconds: 0 }, 1, true);
    const { jobId: other } = await worked({ retentionSeconds: 0 });
    const [row] = await t.db.query<{ operation_id: string }>(
      `select operation_id from jobtree.start_operation('REPLAY', $1)`,
      [JSON.stringify(filterOf(jobId))],
    );
    await reap();
    expect([await exists(jobId), await exists(other)]).toEqual([true, false]);
    await t.db.query('update jobtree.operation set finished_at = now() where id = $1', [row?.operation_id]);
    await reap();
    expect(await exists(jobId)).toBe(false);
  });

  it('does not wait for items to be promoted, nor for trees that are kept', async () => {
    const { jobId: kept } = await worked({ retentionSeconds: 0 });
    await holdTree(t.engine.database, kept);
    const { jobId } = await worked({ retentionSeconds: 0 }, 1, true);
    const [row] = await t.db.query<{ operation_id: string }>(
      `select operation_id from jobtree.start_operation('PROMOTE', '{"codes": ["E"]}')`,
    );
    expect(await t.db.query('select jobtree.reap_trees(null, 1) as n')).toEqual([{ n: 1 }]);
    await reap();
    expect([await exists(kept), await exists(jobId)]).toEqual([true, false]);
    await t.db.query('update jobtree.operation set finished_at = now() where id = $1', [row?.operation_id]);
  });

  it('waits for an export, which then is complete; a manual deletion does not wait, and the export says so', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 }, 3);
    const read = async (rootId: string, meanwhile: () => Promise<unknown>) => {
      await holdTree(t.engine.database, rootId);
      await meanwhile();
      const results = new ResultExport(t.engine.database, rootId, undefined);
      let items = 0;
      for (let part = await results.next(1_000); part !== undefined; part = await results.next(1_000))
        items += part.length;
      return items;
    };
    expect(await read(jobId, reap)).toBe(3);
    await expect(read(jobId, () => deleteJob(t.engine, jobId))).rejects.toThrow(NotFoundError);
    await expect(holdTree(t.engine.database, jobId)).rejects.toThrow(NotFoundError);
  });
});

describe('an idle tree', () => {
  const idle = { idleSeconds: 1 };
  const age = (jobId: string, seconds: number) =>
    t.db.query(
      `update jobtree.job_progress set changed_at = now() - $2 * interval '1 second'
       where job_id in (select id from jobtree.job where root_id = $1)`,
      [jobId, seconds],
    );
  /** All open jobs, in small parts. */
  async function look(policy: Partial<RetentionPolicy> = idle, engine: Engine = t.engine) {
    let from: string | undefined;
    do from = await findIdle(withPolicy(policy, engine), from);
    while (from !== undefined);
  }
  const shown = async (since = new Date(), more: object = {}) =>
    (
      await readJobIds(
        t.engine.database,
        { types: null, rootsOnly: true, idleSince: since, ...more },
        { take: 100, backwards: false },
      )
    ).ids;
  const isIdle = async (jobId: string) => (await retentionOf(jobId))?.idleSince !== null;

  it('is shown after a while, in the list too, until work continues', async () => {
    const { jobId, type } = await worked({ sealed: false });
    await look();
    expect(await isIdle(jobId)).toBe(false);
    await age(jobId, 100);
    await look({ idleSeconds: 1_000 });
    expect(await isIdle(jobId)).toBe(false);
    await look();
    const { idleSince } = (await retentionOf(jobId)) ?? {};
    expect(Date.now() - Number(idleSince)).toBeGreaterThan(99_000);
    expect(await shown()).toContain(jobId);
    expect(await shown(undefined, { types: [type] })).toEqual([jobId]);
    expect(await shown(undefined, { types: [type], statuses: ['RUNNING'] })).toEqual([jobId]);
    expect(await shown(undefined, { types: [type], statuses: ['WAITING'], schedule: 'x' })).toEqual([]);
    expect(await shown(new Date(Date.now() - 200_000))).not.toContain(jobId);
    await addItems(t.engine, jobId, [{}], { seal: false });
    expect(await isIdle(jobId)).toBe(false);
    expect(await shown()).not.toContain(jobId);
    await t.fold(jobId);
    await look();
    expect(
      await t.db.query('select from jobtree.tree where root_id = $1 and idle_since is not null', [jobId]),
    ).toEqual([]);
  });

  const child = (more: Partial<NewJob>): NewJob => ({ type: newType(), ...more });
  const trees: readonly [string, boolean, Partial<NewJob>][] = [
    ['an empty job that is open', true, {}],
    ['an open job below a sealed one', true, { sealed: true, children: [child({})] }],
    ['an open job that feeds another', true, { children: [child({ feed: {} })] }],
    [
      'an open job that another waits for, with items',
      true,
      { name: 'a', children: [child({ after: ['a'], items: [{}], sealed: true })] },
    ],
    ['an open job with an item that is ready', false, { items: [{}] }],
    ['an open job with an item that is scheduled', false, { items: [{ runAt: new Date(8e12) }] }],
    ['an open job beside one that has an item', false, { children: [child({ sealed: true, items: [{}] })] }],
    ['a sealed job with an item', false, { sealed: true, items: [{}] }],
    ['a complete job', false, { sealed: true }],
  ];
  it.each(trees)('%s: %s', async (_, isIdleThen, job) => {
    const { jobId } = await createJob(t.engine, { type: newType(), ...job });
    await t.fold(jobId);
    await age(jobId, 100);
    await look();
    expect(await isIdle(jobId)).toBe(isIdleThen);
    await look({ idleSeconds: 1, idleExpirySeconds: 50 });
    await t.finish();
    const jobs = Object.values(await t.fold(jobId));
    expect(jobs.some(({ cancelReason }) => cancelReason === 'IDLE')).toBe(isIdleThen);
    expect(jobs.every((one) => one.completedAt !== null)).toBe(
      isIdleThen || (job.sealed === true && !job.items),
    );
  });

  it('that expires is cancelled with its reason, calls its callbacks, and is reaped', async () => {
    await addEndpoint(t.db, 'idle');
    const callbacks = [{ endpoint: 'idle' }, { endpoint: 'idle', on: 'JOB' as const }];
    const { jobId, type } = await worked({
      sealed: false,
      idleExpirySeconds: 50,
      retentionSeconds: 0,
      callbacks,
    });
    await age(jobId, 49);
    await look({});
    expect(await isIdle(jobId)).toBe(false);
    await age(jobId, 51);
    await look({});
    expect((await t.fold(jobId))[type]).toMatchObject({
      outcome: 'CANCELLED',
      cancelReason: 'IDLE',
      completedAt: expect.any(Number),
      succeeded: 2,
    });
    const bodies = await t.db.query<{ body: string }>(
      'select body from jobtree.callback_delivery where root_id = $1',
      [jobId],
    );
    const told = bodies.map(({ body }) => JSON.parse(body).data);
    expect(told).toMatchObject(Array(2).fill({ outcome: 'CANCELLED', cancelReason: 'IDLE' }));
    await reap();
    expect(await exists(jobId)).toBe(false);
  });

  it('with its own expiry ignores that of the servers', async () => {
    const { jobId } = await worked({ sealed: false, idleExpirySeconds: null });
    await age(jobId, 100);
    await look({ idleExpirySeconds: 50 });
    expect(await t.fold(jobId)).toMatchObject({ [(await typeOf(jobId)) ?? '']: { completedAt: null } });
  });
  it('is none while a file waits to be imported', async () => {
    const { jobId, type } = await worked({ sealed: false, idleExpirySeconds: 50 });
    await t.db.query(
      `insert into jobtree.file_import (job_id, type, upload_id, options, size, created_at) values ($1, $2, $1, '{}', 1, now())`,
      [jobId, type],
    );
    await age(jobId, 51);
    await look();
    expect(await isIdle(jobId)).toBe(false);
    expect((await t.fold(jobId))[type]).toMatchObject({ completedAt: null });
    await t.db.query('update jobtree.file_import set finished_at = now() where job_id = $1', [jobId]);
    await age(jobId, 51);
    await look();
    expect((await t.fold(jobId))[type]).toMatchObject({ cancelReason: 'IDLE' });
  });

  it('is found among others, in parts', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await worked({ sealed: false }, 1)).jobId);
    for (const id of ids) await age(id, 100);
    let from: string | null = '00000000-0000-0000-0000-000000000000';
    let steps = 0;
    while (from !== null) {
      const rows: { next_from: string | null }[] = await t.db.query(
        'select next_from from jobtree.find_idle($1, 2, 1, null)',
        [from],
      );
      from = rows[0]?.next_from ?? null;
      steps++;
    }
    expect(steps).toBeGreaterThan(2);
    expect(await shown()).toEqual(expect.arrayContaining(ids));
  });

  it('gives other cancellations their own reasons', async () => {
    const [a, b] = [newType('a'), newType('b')];
    const jobs = await t.create({
      type: a,
      sealed: true,
      maxFailuresPerItem: 0,
      toleratedFailureCount: 0,
      items: [{}],
      children: [{ type: b, after: [a], sealed: true, items: [{}] }],
    });
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(a)).id, failure }]);
    await t.fold(jobs[a] ?? '');
    await t.finish();
    expect(await t.fold(jobs[a] ?? '')).toMatchObject({
      [a]: { cancelReason: 'FAILURES' },
      [b]: { cancelReason: 'DEPENDENCY' },
    });
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type });
    await cancelJob(t.engine, jobId);
    expect((await t.fold(jobId))[type]).toMatchObject({ cancelReason: 'REQUESTED' });
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
  const otherCalls = (name: string, ...values: unknown[]) =>
    other.query(`select * from jobtree.${name}(${values.map((_, i) => `$${i + 1}`).join(', ')})`, values);
  const marked = (jobId: string) =>
    t.db.query('select deletion from jobtree.tree where root_id = $1', [jobId]);
  const deadOf = async (jobId: string) =>
    (
      await t.db.query<{ position: string }>('select position from jobtree.dead_letter where job_id = $1', [
        jobId,
      ])
    ).map(({ position }) => position);

  it('the reaper meets a replay in flight and skips the tree, which is open', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 }, 1, true);
    await otherCalls('replay_items', jobId, [jobId], await deadOf(jobId));
    await reap();
    await other.query('commit');
    await reap();
    expect(await exists(jobId)).toBe(true);
    expect((await t.fold(jobId))[(await typeOf(jobId)) ?? '']).toMatchObject({
      completedAt: null,
      failed: 0,
    });
  });
  it('a replay meets the reaper, waits, and is refused, and nothing of the tree returns', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 }, 1, true);
    const positions = await deadOf(jobId);
    await otherCalls('reap_trees', null);
    const refused = expect(
      t.db.query('select jobtree.replay_items($1, $2, $3)', [jobId, [jobId], positions]),
    ).rejects.toMatchObject({ code: 'JT001' });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
    await reap();
    expect(await exists(jobId)).toBe(false);
    expect(await t.db.query('select from jobtree.queue_entry where job_id = $1', [jobId])).toEqual([]);
  });

  it('a longer retention meets the reaper, waits, and is refused', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 });
    await otherCalls('reap_trees', null);
    const refused = expect(setRetention(t.engine, jobId, { retentionSeconds: null })).rejects.toThrow(
      NotFoundError,
    );
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
    await reap();
  });

  it('the reaper meets a longer retention in flight and skips the tree, which is kept', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 });
    await otherCalls('set_retention', jobId, '{"retentionSeconds": 3600}');
    await reap();
    await other.query('commit');
    await reap();
    expect(await exists(jobId)).toBe(true);
  });

  it('a completion meets a new retention in flight; the fold skips, and the new one applies', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, sealed: true, retentionSeconds: 0 });
    await otherCalls('set_retention', jobId, '{"retentionSeconds": null}');
    expect(await foldProgress(t.engine, jobId, 0)).toBeUndefined();
    await other.query('commit');
    expect((await t.fold(jobId))[type]).toMatchObject({ completedAt: expect.any(Number) });
    expect(await retentionOf(jobId)).toMatchObject({ reapAt: null });
  });

  it('an add to a tree that is being reaped is refused as sealed, and then as not found', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 });
    await otherCalls('reap_trees', null);
    await expect(addItems(t.engine, jobId, [{}], { seal: false })).rejects.toThrow(JobSealedError);
    await other.query('commit');
    await expect(addItems(t.engine, jobId, [{}], { seal: false })).rejects.toThrow(JobSealedError);
    await reap();
    await expect(addItems(t.engine, jobId, [{}], { seal: false })).rejects.toThrow(NotFoundError);
  });

  it('an add meets the last batch and is refused as sealed, and then as not found', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 });
    await t.db.query('select jobtree.reap_trees(null)');
    await otherCalls('delete_trees', [jobId]);
    await expect(addItems(t.engine, jobId, [{}], { seal: false })).rejects.toThrow(JobSealedError);
    await other.query('commit');
    await expect(addItems(t.engine, jobId, [{}], { seal: false })).rejects.toThrow(NotFoundError);
  });

  it('of two servers that mark trees each skips what the other has in flight, and no tree is marked twice', async () => {
    const ids = [await worked({ retentionSeconds: 0 }), await worked({ retentionSeconds: 0 })];
    const { rows } = await otherCalls('reap_trees', null, 1);
    expect(rows).toEqual([{ reap_trees: 1 }]);
    expect(await t.db.query('select jobtree.reap_trees(null) as n')).toEqual([{ n: 1 }]);
    await other.query('commit');
    for (const { jobId } of ids) expect(await marked(jobId)).toEqual([{ deletion: 'REAPED' }]);
    await Promise.all([reap(t.engine), reap(t.otherEngine)]);
    for (const { jobId } of ids) expect(await exists(jobId)).toBe(false);
  });

  it('of two servers that delete trees each skips the tree of the other', async () => {
    const [one, two] = [await worked({ retentionSeconds: 0 }), await worked({ retentionSeconds: 0 })];
    await t.db.query('select jobtree.reap_trees(null)');
    await otherCalls('delete_trees', [one.jobId], 1);
    await reap(t.otherEngine);
    expect([await exists(one.jobId), await exists(two.jobId)]).toEqual([true, false]);
    await other.query('commit');
    await reap();
    expect(await exists(one.jobId)).toBe(false);
  });

  it('if a server dies within a batch, all of the batch remains, and another one does it', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 }, 10);
    await t.db.query('select jobtree.reap_trees(null)');
    await otherCalls('delete_trees', [jobId], 5);
    const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = new Promise((resolve) => other.on('error', resolve));
    await t.db.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await ended;
    other = await t.db.connect();
    await other.query('begin');
    expect(await t.items(jobId)).toHaveLength(10);
    await reap(t.otherEngine);
    expect(await exists(jobId)).toBe(false);
  });

  it('a manual deletion meets a batch of the reaper, waits for it, and takes the rest at once', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 }, 10);
    await t.db.query('select jobtree.reap_trees(null)');
    await otherCalls('delete_trees', [jobId], 5);
    const deleted = deleteJob(t.engine, jobId);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await deleted).toEqual({ deleted: true });
    expect(await exists(jobId)).toBe(false);
  });

  it('a manual deletion meets the last batch of the reaper, waits, and finds the tree gone', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 });
    await t.db.query('select jobtree.reap_trees(null)');
    await otherCalls('delete_trees', [jobId]);
    const deleted = expect(deleteJob(t.engine, jobId)).rejects.toThrow(NotFoundError);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await deleted;
    expect(await t.db.query('select from jobtree.progress_delta where root_id = $1', [jobId])).toEqual([]);
  });

  it('the reaper meets a manual deletion in flight and skips', async () => {
    const { jobId } = await worked({ retentionSeconds: 0, dedupeKey: newType() });
    await otherCalls('delete_job', jobId);
    expect(await t.db.query('select jobtree.reap_trees(null) as n')).toEqual([{ n: 0 }]);
    await other.query('commit');
    await reap();
    expect(await marked(jobId)).toEqual([{ deletion: 'REQUESTED' }]);
    await t.finish();
    expect(await exists(jobId)).toBe(false);
  });

  it('of two exports of a tree the longer one keeps it', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 });
    for (const seconds of [60, 0]) await t.db.query(hold.text, [jobId, seconds]);
    await reap();
    expect(await exists(jobId)).toBe(true);
  });

  it('of a starting export and the reaper the first one gets the tree', async () => {
    const { jobId } = await worked({ retentionSeconds: 0 });
    await other.query(hold.text, [jobId, 60]);
    await reap();
    await other.query('commit');
    await reap();
    expect(await exists(jobId), 'the export').toBe(true);
    const { jobId: second } = await worked({ retentionSeconds: 0 });
    await other.query('begin');
    await otherCalls('reap_trees', null);
    const refused = expect(holdTree(t.engine.database, second)).rejects.toThrow(NotFoundError);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
    await reap();
    expect(await exists(second), 'the reaper').toBe(false);
  });

  it('an expiry meets an add in flight, and the tree continues', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, idleExpirySeconds: 1 });
    await t.db.query(
      `update jobtree.job_progress set changed_at = now() - interval '1 hour' where job_id = $1`,
      [jobId],
    );
    await otherCalls('add_items', jobId, '[{}]');
    const expired = await t.db.query('select jobtree.expire_tree($1, null) as cancelling', [jobId]);
    await other.query('commit');
    expect(expired).toEqual([{ cancelling: null }]);
    expect((await t.fold(jobId))[type]).toMatchObject({ cancelReason: null, itemCount: 1 });
  });

  it('an expiry meets a change to never and leaves the tree', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, idleExpirySeconds: 1 });
    await t.db.query(
      `update jobtree.job_progress set changed_at = now() - interval '1 hour' where job_id = $1`,
      [jobId],
    );
    await setRetention(t.engine, jobId, { idleExpirySeconds: null });
    expect(await t.db.query('select jobtree.expire_tree($1, 1) as cancelling', [jobId])).toEqual([
      { cancelling: null },
    ]);
    expect((await t.fold(jobId))[type]).toMatchObject({ cancelReason: null });
  });

  it('an add meets an expiry in flight, waits, and is refused', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, idleExpirySeconds: 1 });
    await t.db.query(
      `update jobtree.job_progress set changed_at = now() - interval '1 hour' where job_id = $1`,
      [jobId],
    );
    await otherCalls('expire_tree', jobId, null);
    const refused = expect(addItems(t.engine, jobId, [{}], { seal: false })).rejects.toThrow(JobSealedError);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await refused;
  });
});
