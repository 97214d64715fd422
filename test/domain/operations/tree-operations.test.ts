/** All trees that match are cancelled or deleted: each once, in batches, beside everything else. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TenantScope } from '../../../src/domain/access/rights.ts';
import type { Engine } from '../../../src/domain/engine/engine.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { createJob } from '../../../src/domain/jobs/create-job.ts';
import type { JobConditions } from '../../../src/domain/jobs/job-conditions.ts';
import { finishSome } from '../../../src/domain/operations/finish.ts';
import {
  cancelOperation,
  readOperations,
  type TreeOperationKind,
} from '../../../src/domain/operations/operations.ts';
import { runOnTrees, startOnTrees } from '../../../src/domain/operations/tree-operations.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';
import { checkInvariants } from '../../support/model/invariants.ts';

const t = useEngine();
const all: TenantScope = { tenant: null, types: null, rootIds: null };
const kinds = ['CANCEL_TREES', 'DELETE_TREES'] as const;
const ofType = (...types: string[]): JobConditions => ({ types, rootsOnly: true });

const operationOf = async (id: string) => (await readOperations(t.engine.database, [id]))[0];

/** Requests it without the half second that the call itself takes, as if the server had died then. */
async function request(kind: TreeOperationKind, conditions: JobConditions, scope = all): Promise<string> {
  const dead = Object.create(t.engine.database, {
    call: {
      value: (name: string, ...values: unknown[]) => {
        if (name === 'run_tree_operation') throw new Error('killed');
        return t.engine.database.call(name, ...values);
      },
    },
  });
  return startOnTrees({ ...t.engine, database: dead } as Engine, kind, conditions, scope, 'ada');
}

async function run(kind: TreeOperationKind, conditions: JobConditions, scope = all) {
  const id = await startOnTrees(t.engine, kind, conditions, scope, 'ada');
  await t.finish();
  return operationOf(id);
}

async function create(type: string, items = 1, job: Partial<Parameters<typeof createJob>[1]> = {}) {
  const { jobId } = await createJob(t.engine, {
    type,
    sealed: true,
    maxFailuresPerItem: 0,
    items: Array.from({ length: items }, () => ({ payload: 1 })),
    ...job,
  });
  return jobId;
}
const createMany = async (type: string, count: number) => {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await create(type));
  return ids;
};

/** What there is of the trees of a type: their roots, with whether they are cancelled or complete, or being deleted. */
async function statesOf(type: string): Promise<Record<string, string>> {
  const rows = await t.db.query<{ id: string; state: string }>(
    `select j.id, case when d.root_id is not null then 'DELETING' when p.completed_at is not null then p.outcome
       when j.cancelled_at is not null then 'CANCELLING' else 'OPEN' end as state
     from jobtree.job j join jobtree.job_progress p on p.job_id = j.id
     left join jobtree.tree d on d.root_id = j.id and d.deletion is not null where j.type = $1 and j.parent_id is null order by j.id`,
    [type],
  );
  return Object.fromEntries(rows.map(({ id, state }) => [id, state]));
}
const countsOf = async (type: string) => {
  const counts: Record<string, number> = {};
  for (const state of Object.values(await statesOf(type))) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
};

/** A tree in each state, by the state. */
async function inAllStates(type: string): Promise<Record<string, string>> {
  const report = async (failure: boolean) => {
    const { id: assignmentId } = await t.claimOne(type);
    const outcome = failure ? { failure: { code: 'E', message: 'no' } } : { result: 1 };
    await reportOutcomes(t.engine, [{ assignmentId, ...outcome }]);
  };
  const ids: Record<string, string> = {};
  ids.SUCCEEDED = await create(type);
  await report(false);
  ids.FAILED = await create(type);
  await report(true);
  ids.CANCELLED = await create(type);
  await cancelJob(t.engine, ids.CANCELLED);
  ids.RUNNING = await create(type, 2);
  await report(false);
  ids.HELD = await create(type);
  // The other item of the running tree is first.
  await t.claimOne(type);
  await t.claimOne(type);
  ids.OPEN = await create(type, 0, { sealed: false });
  ids.EMPTY = await create(type, 0);
  ids['CHILD RUNS'] = await create(type, 0, { children: [{ type: newType('child'), items: [{}] }] });
  ids.WAITING = await create(type);
  ids.DELETING = await create(type);
  await t.db.query('select jobtree.delete_job($1)', [ids.DELETING]);
  for (const id of Object.values(ids)) if (id !== ids.DELETING) await t.fold(id);
  return ids;
}

describe('operations on trees', () => {
  it('cancels trees in every open state, and leaves complete ones as they are', async () => {
    const type = newType();
    const ids = await inAllStates(type);
    expect(await run('CANCEL_TREES', ofType(type))).toMatchObject({
      kind: 'CANCEL_TREES',
      requestedBy: 'ada',
      total: 6,
      done: 5,
      finishedAt: expect.any(Date),
    });
    for (const id of Object.values(ids)) if (id !== ids.DELETING) await t.fold(id);
    const states = await statesOf(type);
    const { DELETING, ...others } = ids;
    expect(states[DELETING ?? '']).toBeUndefined();
    expect(Object.fromEntries(Object.entries(others).map(([name, id]) => [name, states[id]]))).toEqual({
      SUCCEEDED: 'SUCCEEDED',
      FAILED: 'FAILED',
      CANCELLED: 'CANCELLED',
      RUNNING: 'CANCELLED',
      HELD: 'CANCELLED',
      OPEN: 'CANCELLED',
      EMPTY: 'SUCCEEDED',
      'CHILD RUNS': 'SUCCEEDED',
      WAITING: 'CANCELLED',
    });
    await checkInvariants(t.db);
    expect(await run('CANCEL_TREES', ofType(type))).toMatchObject({ total: 0, done: 0 });
  });

  it('deletes trees in every state, once each', async () => {
    const type = newType();
    const ids = await inAllStates(type);
    const other = await create(newType('other'));
    expect(await run('DELETE_TREES', ofType(type))).toMatchObject({
      total: Object.keys(ids).length,
      // One was being deleted already.
      done: Object.keys(ids).length - 1,
    });
    await t.finish();
    expect(await statesOf(type)).toEqual({});
    expect(await t.db.query('select from jobtree.job where id = $1', [other])).toHaveLength(1);
    await checkInvariants(t.db);
  });

  it.each(kinds)('%s goes by every condition of a list, as conditions on whole trees', async (kind) => {
    const type = newType();
    const ids = await inAllStates(type);
    const is = (outcome: 'FAILED' | 'CANCELLED') => ({ ...ofType(type), outcomes: [outcome] });
    expect(await run(kind, is('FAILED'))).toMatchObject(
      kind === 'CANCEL_TREES' ? { total: 0, done: 0 } : { total: 1, done: 1 },
    );
    expect(await run(kind, { ...ofType(type), createdUntil: new Date(0) })).toMatchObject({ total: 0 });
    const open = { ...ofType(type), statuses: ['RUNNING'] as const, createdFrom: new Date(0) };
    // Its root is complete; its child is not.
    const { done } = (await run(kind, open)) ?? {};
    expect(done).toBe(3);
    const states = await statesOf(type);
    for (const name of ['RUNNING', 'HELD', 'CHILD RUNS'])
      if (kind === 'DELETE_TREES') expect(states[ids[name] ?? '']).toBeUndefined();
    expect(states[ids.WAITING ?? '']).toBe('OPEN');
  });

  it.each(kinds)('%s goes on in another server after a kill, and handles each tree once', async (kind) => {
    const type = newType();
    await createMany(type, 120);
    const id = await request(kind, ofType(type));
    expect(await operationOf(id)).toMatchObject({ total: 120, done: 0, finishedAt: null });
    expect(await runOnTrees(t.engine, id)).toBe('MORE');
    const before = await operationOf(id);
    expect(before?.done).toBeGreaterThan(0);
    expect(before?.done).toBeLessThan(120);
    while (await finishSome(t.otherEngine, new AbortController().signal));
    expect(await operationOf(id)).toMatchObject({ total: 120, done: 120, finishedAt: expect.any(Date) });
    expect(await runOnTrees(t.engine, id)).toBe('FINISHED');
    await t.finish();
    expect((await countsOf(type)).OPEN).toBeUndefined();
  });

  it.each(kinds)('%s by two servers at once handles each tree once', async (kind) => {
    const type = newType();
    await createMany(type, 150);
    const id = await request(kind, ofType(type));
    const toTheEnd = async (engine: Engine) => {
      while ((await runOnTrees(engine, id)) !== 'FINISHED');
    };
    await Promise.all([toTheEnd(t.engine), toTheEnd(t.otherEngine)]);
    expect(await operationOf(id)).toMatchObject({ total: 150, done: 150 });
  });

  it.each(kinds)('%s is not for trees that are created after the request', async (kind) => {
    const type = newType();
    const [first = ''] = await createMany(type, 1);
    const id = await request(kind, ofType(type));
    const late = await create(type);
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ total: 1, done: 1 });
    const states = await statesOf(type);
    expect(states[late]).toBe('OPEN');
    expect(states[first]).not.toBe('OPEN');
  });

  it.each(kinds)('%s skips a tree that no longer matches when it is its turn', async (kind) => {
    const type = newType();
    const [first = '', second = ''] = await createMany(type, 2);
    const id = await request(kind, { ...ofType(type), statuses: ['WAITING'] });
    await t.claimOne(type);
    await t.fold(first);
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ total: 2, done: 1, finishedAt: expect.any(Date) });
    const states = await statesOf(type);
    expect(states[first]).toBe('OPEN');
    expect(states[second]).not.toBe('OPEN');
  });

  it.each(kinds)('%s stops when it is cancelled, and what it has done remains', async (kind) => {
    const type = newType();
    await createMany(type, 110);
    const id = await request(kind, ofType(type));
    await runOnTrees(t.engine, id);
    const before = await operationOf(id);
    await cancelOperation(t.engine, id);
    expect(await runOnTrees(t.engine, id)).toBe('FINISHED');
    await t.finish();
    expect(await operationOf(id)).toMatchObject({
      done: before?.done,
      cancelledAt: expect.any(Date),
      finishedAt: expect.any(Date),
    });
    expect((await countsOf(type)).OPEN).toBe(110 - (before?.done ?? 0));
  });

  it.each(kinds)('%s leaves trees alone that the scope does not cover completely', async (kind) => {
    const [type, below] = [newType('mine'), newType('theirs')];
    const mine = await create(type);
    const mixed = await create(type, 1, { children: [{ type: below, items: [{}] }] });
    const scope = { tenant: null, types: [type], rootIds: null };
    expect(await run(kind, { ...ofType(type), isScoped: true }, scope)).toMatchObject({ total: 2, done: 1 });
    const states = await statesOf(type);
    expect(states[mixed]).toBe('OPEN');
    expect(states[mine]).not.toBe('OPEN');
  });

  it.each(kinds)('%s belongs to the tenant that requested it', async (kind) => {
    const [type, other] = ['acme//tree', 'other//tree'].map((name) => newType(name)) as [string, string];
    await create(type);
    await create(other);
    const scope = { tenant: 'acme', types: ['acme//*'], rootIds: null };
    const id = await request(kind, { ...ofType(type, other), isScoped: true }, scope);
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 1 });
    expect(await countsOf(other)).toEqual({ OPEN: 1 });
    expect(await readOperations(t.engine.database, [id], scope)).toHaveLength(1);
    const others = { tenant: 'other', types: ['other//*'], rootIds: null };
    expect(await readOperations(t.engine.database, [id], others)).toEqual([]);
  });

  it('finds few trees among many of which each is looked at', async () => {
    const type = newType();
    await createMany(type, 3);
    const keyed = await create(type, 1, { dedupeKey: `rare-${type}` });
    await createMany(type, 3);
    const conditions = { ...ofType(type), hasFailures: false, dedupeKeyPrefix: 'rare' };
    expect(await run('DELETE_TREES', conditions)).toMatchObject({ total: 1, done: 1 });
    expect(Object.keys(await statesOf(type))).not.toContain(keyed);
    expect(await countsOf(type)).toEqual({ OPEN: 6 });
  });
});

describe('operations on trees against others', () => {
  async function locked(sql: string, ...values: unknown[]) {
    const other = await t.db.connect();
    onTestFinished(() => other.end());
    await other.query('begin');
    await other.query(sql, values);
    return { release: () => other.query('commit') };
  }

  it.each(kinds)('%s passes by a tree whose jobs are locked, and comes back to it', async (kind) => {
    const type = newType();
    const [first = '', second = '', third = ''] = await createMany(type, 3);
    const holder = await locked('select from jobtree.job where id = $1 for update', second);
    const id = await request(kind, ofType(type));
    // The call that meets the lock ends its batch after it.
    expect(await runOnTrees(t.engine, id)).toBe('MORE');
    expect(await runOnTrees(t.engine, id)).toBe('WAITING');
    expect(await operationOf(id)).toMatchObject({ total: 3, done: 2, finishedAt: null });
    expect((await statesOf(type))[second]).toBe('OPEN');
    await holder.release();
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ total: 3, done: 3, finishedAt: expect.any(Date) });
    const states = await statesOf(type);
    for (const tree of [first, second, third]) expect(states[tree]).not.toBe('OPEN');
  });

  it('a server whose page is older than the last batch of another does nothing with it', async () => {
    const type = newType();
    const [first = ''] = await createMany(type, 60);
    const id = await request('DELETE_TREES', ofType(type));
    await runOnTrees(t.otherEngine, id);
    const before = await operationOf(id);
    const again = await create(type);
    const [row] = await t.engine.database.call('run_tree_operation', id, -1, [first, again], null);
    expect(row).toMatchObject({ finished: false, more: true, root_ids: null });
    expect(await operationOf(id)).toEqual(before);
    expect((await statesOf(type))[again]).toBe('OPEN');
  });

  it('those that many others of one tenant leave unfinished hold up nobody else', async () => {
    const type = newType();
    const tree = await create(type);
    const flood = await t.db.query<{ id: string }>(
      `insert into jobtree.operation (id, kind, requested_at, types, before_position, total, tenant, conditions)
       select jobtree.new_id(), 'CANCEL_TREES', now(), '{}', 0, 0, 'flood', '{"types": []}' from generate_series(1, 1000) returning id`,
    );
    const holder = await locked(
      'select from jobtree.operation where id = any ($1) for update',
      flood.map(({ id }) => id),
    );
    const id = await request('CANCEL_TREES', ofType(type));
    await finishSome(t.engine, new AbortController().signal);
    expect(await operationOf(id)).toMatchObject({ done: 1, finishedAt: expect.any(Date) });
    expect((await statesOf(type))[tree]).not.toBe('OPEN');
    await holder.release();
    await t.finish();
    const left = `select from jobtree.operation where id = any ($1) and finished_at is null`;
    expect(await t.db.query(left, [flood.map((each) => each.id)])).toHaveLength(0);
  });

  it('while another server is at its batch, it passes by', async () => {
    const type = newType();
    await createMany(type, 1);
    const id = await request('CANCEL_TREES', ofType(type));
    const holder = await locked('select from jobtree.operation where id = $1 for update', id);
    expect(await runOnTrees(t.engine, id)).toBe('WAITING');
    await holder.release();
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ done: 1 });
  });

  it('cancelling against the end of a tree: the one that completes first is not counted', async () => {
    const type = newType();
    const tree = await create(type);
    const id = await request('CANCEL_TREES', ofType(type));
    const { id: assignmentId } = await t.claimOne(type);
    await reportOutcomes(t.engine, [{ assignmentId, result: 1 }]);
    const other = await t.db.connect();
    onTestFinished(() => other.end());
    await other.query('begin');
    await other.query('select * from jobtree.fold_trees($1, $2)', [[tree], [0]]);
    const running = t.engine.database.call<{ root_ids: null }>('run_tree_operation', id, -1, [tree], null);
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect((await running)[0]?.root_ids).toBeNull();
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ total: 1, done: 0, finishedAt: expect.any(Date) });
    expect(await countsOf(type)).toEqual({ SUCCEEDED: 1 });
  });

  it('deleting against another deletion: the tree counts for the one that begins it', async () => {
    const type = newType();
    const [tree = ''] = await createMany(type, 1);
    const id = await request('DELETE_TREES', ofType(type));
    await deleteJob(t.otherEngine, tree);
    await t.finish();
    expect(await operationOf(id)).toMatchObject({ total: 1, done: 0, finishedAt: expect.any(Date) });
  });
});
