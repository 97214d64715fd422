/** Folding many trees at once does what folding each alone does. */
import { beforeAll, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { createJob } from '../../../src/domain/jobs/create-job.ts';
import { foldTrees } from '../../../src/domain/progress/fold-progress.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { listenTo } from '../../support/database.ts';
import { addEndpoint } from '../../support/endpoints.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

beforeAll(async () => {
  await addEndpoint(t.db, 'endpoint');
});

interface Kind {
  readonly tree?: object;
  /** What has changed since the tree was folded: these counts of its jobs, by the ends of their types. */
  readonly counts?: Record<string, Record<string, number | boolean>>;
  /** Whether nothing of it was folded before. */
  readonly isNew?: boolean;
  readonly prepare?: (roots: readonly string[], type: string) => Promise<unknown>;
}

const sealed = { sealed: true };
const one = { items: [{ payload: 1 }] };
const policy = { ...sealed, toleratedFailureCount: 0 };
const failAndReplay: Kind['prepare'] = async (roots, type) => {
  const report = async (outcome: object) => {
    const held = await claimItems(t.engine, 'worker', [{ type, limit: roots.length }]);
    await reportOutcomes(
      t.engine,
      held.map(({ id }) => ({ assignmentId: id, ...outcome }) as never),
    );
  };
  await report({ failure: { code: 'X', message: '', permanent: true } });
  await fold(roots);
  await t.db.query(
    `select jobtree.replay_items(r, array[r], array(select position from jobtree.dead_letter where job_id = r)) from unnest($1::uuid[]) r`,
    [roots],
  );
  await report({ result: 1 });
};

const kinds: Record<string, Kind> = {
  'nothing new': {},
  'items added': { counts: { root: { items: 1, bytes: 7 } } },
  'an item claimed': { counts: { root: { started: true } } },
  'an item done': { counts: { root: { succeeded: 1 } } },
  'an item done of a sealed job': { tree: sealed, counts: { root: { succeeded: 1 } } },
  'all items done': { counts: { root: { succeeded: 2 } } },
  'a failure': { counts: { root: { failed: 1 } } },
  'all items of a sealed job done': {
    tree: sealed,
    counts: { root: { succeeded: 2, bytes: 4 } },
  },
  'some failed': { tree: sealed, counts: { root: { succeeded: 1, failed: 1 } } },
  'all failed': { tree: sealed, counts: { root: { failed: 2 } } },
  'sealed and empty': { tree: { ...sealed, items: [] }, isNew: true },
  'new and not done': { tree: sealed, isNew: true },
  'done and kept for an hour': {
    tree: { ...sealed, retentionSeconds: 3_600 },
    counts: { root: { succeeded: 2 } },
  },
  'done and kept for ever': {
    tree: { ...sealed, retentionSeconds: null },
    counts: { root: { succeeded: 2 } },
  },
  cancelled: {
    prepare: (roots) => t.db.query('select jobtree.cancel_job(r) from unnest($1::uuid[]) r', [roots]),
  },
  'a child done': {
    tree: { children: [{ type: 'child', ...sealed, ...one }] },
    counts: { child: { succeeded: 1 } },
  },
  'a failure in a child': {
    tree: { children: [{ type: 'child', ...one }] },
    counts: { child: { failed: 1 } },
  },
  'all jobs done': {
    tree: {
      ...sealed,
      children: [
        { type: 'child', ...sealed, ...one },
        { type: 'other', ...sealed, ...one },
      ],
    },
    counts: { root: { succeeded: 2 }, child: { failed: 1 }, other: { cancelled: 1 } },
  },
  'the last child done': {
    tree: { ...sealed, items: [], children: [{ type: 'child', ...sealed, ...one }] },
    counts: { child: { succeeded: 1 } },
  },
  'a job done that another waits for': {
    tree: {
      children: [
        { type: 'child', name: 'first', ...sealed, ...one },
        { type: 'other', after: ['first'], ...one },
      ],
    },
    counts: { child: { succeeded: 1 } },
  },
  'nothing left of a job that waits': {
    tree: {
      children: [
        { type: 'child', name: 'first', ...one },
        { type: 'other', after: ['first'], ...sealed, ...one },
      ],
    },
    counts: { other: { cancelled: 1 } },
  },
  'an item done of a job that feeds another': {
    tree: { ...sealed, children: [{ type: 'child', feed: {} }] },
    counts: { root: { succeeded: 1 }, child: { items: 1 } },
  },
  'a job done that feeds another': {
    tree: { ...sealed, children: [{ type: 'child', feed: {} }] },
    counts: { root: { succeeded: 2 }, child: { items: 2 } },
  },
  'a failure that a policy counts': { tree: policy, counts: { root: { failed: 1 } } },
  'a failure of which a policy takes a share': {
    tree: { ...sealed, toleratedFailurePercentage: 50 },
    counts: { root: { failed: 1 } },
  },
  'done without failures under a policy': { tree: policy, counts: { root: { succeeded: 2 } } },
  'done, with callbacks': {
    tree: {
      ...sealed,
      callbacks: [{ endpoint: 'endpoint' }, { endpoint: 'endpoint', on: 'JOB' }],
      children: [{ type: 'child', ...sealed, ...one }],
    },
    counts: { root: { succeeded: 2 }, child: { failed: 1 } },
  },
  'a child done, with callbacks': {
    tree: {
      callbacks: [{ endpoint: 'endpoint' }, { endpoint: 'endpoint', on: 'JOB' }],
      children: [{ type: 'child', ...sealed, ...one }],
    },
    counts: { child: { succeeded: 1 } },
  },
  'more done than is known to be added': { counts: { root: { succeeded: 3 } } },
  'larger after its completion': {
    tree: { ...sealed, items: [] },
    counts: { root: { bytes: 9 } },
  },
  'replayed and done': { tree: { ...sealed, ...one }, prepare: failAndReplay },
};
const copies = 30;
const names = Object.keys(kinds);

const fold = (roots: readonly string[]) =>
  foldTrees(
    t.engine,
    roots.map((rootId) => ({ rootId, fromDelta: 0 })),
  );

async function make({ tree, counts = {}, isNew = false, prepare }: Kind, count: number): Promise<string[]> {
  const type = newType();
  const rows = await t.db.query<{ job_id: string }>(
    'select c.job_id from json_array_elements($1) s, lateral jobtree.create_job(s) c',
    [JSON.stringify(Array(count).fill({ type, items: [{ payload: 1 }, { payload: 2 }], ...tree }))],
  );
  const roots = rows.map(({ job_id }) => job_id);
  if (!isNew) await fold(roots);
  for (const [name, changes] of Object.entries(counts))
    await t.db.query(
      `insert into jobtree.progress_delta (root_id, job_id, ${Object.keys(changes)})
       select j.root_id, j.id, ${Object.values(changes)} from jobtree.job j where j.root_id = any ($1) and j.type = $2`,
      [roots, name === 'root' ? type : name],
    );
  await prepare?.(roots, type);
  return roots;
}

/** All that a fold writes, without ids and times. */
const statesOf = async (roots: readonly string[]) => {
  const rows = await t.db.query<{ root_id: string; state: unknown }>(
    `select j.root_id, jsonb_agg(
       (to_jsonb(p) - '{job_id,pace}'::text[] - array(select k from jsonb_object_keys(to_jsonb(p)) k where k like '%_at')) || jsonb_build_object(
         'started', p.started_at is not null, 'completed', p.completed_at is not null, 'complete', t.completed_at is not null, 'ended', (select sum(n) from unnest(p.pace[2:7]) n),
         'sealed', j.sealed_at is not null, 'waits', j.waits, 'cancelled_at', j.cancelled_at is not null, 'reason', j.cancel_reason,
         'deltas', (select count(*) from jobtree.progress_delta d where d.job_id = j.id),
         'messages', case when p.is_root then (
           select jsonb_agg(array[d.event, d.body::jsonb #>> '{data,outcome}', d.body::jsonb #>> '{data,jobs}', d.body::jsonb #>> '{data,itemCount}'] order by d.event, d.body::jsonb #>> '{data,outcome}')
           from jobtree.callback_delivery d where d.root_id = j.id
         ) end
       ) order by j.id) as state
     from jobtree.job j join jobtree.job_progress p on p.job_id = j.id join jobtree.tree t on t.root_id = j.root_id
     where j.root_id = any ($1)
     group by j.root_id`,
    [roots],
  );
  const states = new Map(rows.map(({ root_id, state }) => [root_id, state]));
  return roots.map((root) => states.get(root));
};

/** What the tenants store more, since this was called last. */
const stored = async () =>
  t.db.query(
    `with gone as (delete from jobtree.stored_delta returning *) select sum(items)::int as items, sum(bytes)::int as bytes from gone`,
  );

it('folds a thousand trees of all kinds as it folds each alone', { timeout: 60_000 }, async () => {
  const together: string[] = [];
  const alone: string[] = [];
  for (const kind of Object.values(kinds)) {
    together.push(...(await make(kind, copies)));
    alone.push(...(await make(kind, copies)));
  }
  const nameOf = (root: string) => names[Math.floor(together.indexOf(root) / copies)] as string;
  await stored();
  const folds = await fold(together);
  const untouched = together.filter((root) => folds.get(root)?.lastDelta === 0);
  expect(untouched.map(nameOf)).toEqual(Array(copies).fill('nothing new'));
  const more = await stored();
  for (const root of alone) await fold([root]);
  expect(more).toEqual(await stored());

  const [states, expected] = [await statesOf(together), await statesOf(alone)];
  for (const [i, root] of together.entries()) expect(states[i], nameOf(root)).toEqual(expected[i]);
});

it('folds trees from their marks on, and completes jobs only with all that comes before these', async () => {
  const early = await make({ tree: { ...sealed, items: [] }, isNew: true }, 2);
  const [done, late] = [
    await make({ tree: sealed, counts: { root: { succeeded: 2 } } }, 1),
    await make({ tree: sealed, counts: { root: { items: 1 } } }, 1),
  ].flat() as [string, string];
  const [mark] = await t.db.query<{ last: number }>(
    'select max(id)::float8 as last from jobtree.progress_delta',
  );
  const fromDelta = Number(mark?.last) + 1;
  await t.db.query('insert into jobtree.progress_delta (root_id, job_id, succeeded) values ($1, $1, 2)', [
    late,
  ]);
  await t.db.query('insert into jobtree.progress_delta (root_id, job_id, started) values ($1, $1, true)', [
    done,
  ]);
  const folds = await foldTrees(
    t.engine,
    [...early, done, late].map((rootId) => ({ rootId, fromDelta })),
  );
  expect(folds.size).toBe(4);
  const states = await t.db.query(
    `select item_count::int, succeeded::int, completed_at is not null as completed from jobtree.job_progress
     where job_id = any ($1) order by array_position($1, job_id)`,
    [[...early, done, late]],
  );
  // What nothing new points to waits for a fold from the start.
  expect(states).toEqual([
    { item_count: 0, succeeded: 0, completed: false },
    { item_count: 0, succeeded: 0, completed: false },
    { item_count: 2, succeeded: 0, completed: false },
    { item_count: 3, succeeded: 2, completed: false },
  ]);
});

it('publishes the same as single folds, and how many jobs of each tree are open', async () => {
  const listener = await t.db.connect();
  const told: { root: string; openJobs: number; jobs: { jobId: string; itemCount: number }[] }[] = [];
  listener.on('notification', ({ payload }) => told.push(JSON.parse(payload as string)));
  await listenTo('progress', listener);
  const roots: string[] = [];
  for (let i = 0; i < 3; i++) {
    const type = newType();
    const jobs = await t.create({ type, children: [{ type: `${type}-child`, items: [{}] }] });
    roots.push(jobs[type] as string);
    await t.fold(jobs[type] as string);
    await addItems(t.engine, jobs[`${type}-child`] as string, Array(i).fill({}), { seal: false }).catch(
      () => {},
    );
  }
  await listener.query('select 1');
  told.length = 0;
  const last = roots.at(-1) as string;
  await foldTrees(
    t.engine,
    roots.map((rootId) => ({ rootId, fromDelta: 0 })),
  );
  await expect.poll(() => told.map(({ root }) => root)).toContain(last);
  await listener.query('unlisten *');
  await listener.end();
  // Nothing is told of the first, to which nothing was added.
  expect(told.map(({ root, openJobs, jobs }) => [roots.indexOf(root), openJobs, jobs.length]).sort()).toEqual(
    [
      [1, 2, 2],
      [2, 2, 2],
    ],
  );
  expect(told.flatMap(({ jobs }) => jobs.map(({ itemCount }) => itemCount)).sort()).toEqual([0, 0, 2, 3]);
});

it('skips a tree that somebody has locked, and completes 999 others; more wait for the next call', async () => {
  const trees = await make({ tree: { ...sealed, ...one }, counts: { root: { succeeded: 1 } } }, 1_001);
  const other = await t.db.connect();
  await other.query('begin');
  await other.query('select from jobtree.tree where root_id = $1 for update', [trees[500]]);
  const folds = await fold(trees);
  await other.query('rollback');
  await other.end();
  expect(trees.filter((root) => !folds.has(root))).toEqual([trees[500], trees[1_000]]);
  const complete = () =>
    t.db.query(
      `select count(*)::int as trees from jobtree.job_progress
       where job_id = any ($1) and open_jobs = 0 and succeeded = 1 and completions = 1`,
      [trees],
    );
  expect(await complete()).toEqual([{ trees: 999 }]);
  await fold([trees[500] as string, trees[1_000] as string]);
  expect(await complete()).toEqual([{ trees: 1_001 }]);
});

it('completes layer after layer of jobs with locks for a few thousand of them at most', async () => {
  const type = newType();
  const children = [0, 1, 2].flatMap((layer) =>
    Array.from({ length: 300 }, (_, n) => ({
      type,
      name: `${layer}.${n}`,
      sealed: true,
      ...(layer > 0 && { after: [`${layer - 1}.${n}`] }),
    })),
  );
  const roots: string[] = [];
  for (let tree = 0; tree < 5; tree++)
    roots.push((await createJob(t.engine, { type: newType(), children })).jobId);
  const session = await t.db.connect();
  await session.query('begin');
  await session.query('select jobtree.fold_trees($1, $2)', [roots, roots.map(() => 0)]);
  const { rows } = await session.query(
    `select count(*)::int as locks from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'`,
  );
  await session.query('commit');
  await session.end();
  expect(rows[0].locks).toBeLessThanOrEqual(4_000);
  for (const root of roots) await t.fold(root);
  const [done] = await t.db.query(
    'select count(*)::int as jobs from jobtree.job_progress p where p.completed_at is not null and p.job_id in (select id from jobtree.job where root_id = any ($1))',
    [roots],
  );
  expect(done).toEqual({ jobs: 5 * 900 });
});

it('a message about as many jobs as it takes fits into a notification, however large their counts', async () => {
  const type = newType('large');
  const children = Array.from({ length: 100 }, () => ({ type, sealed: true }));
  const { root = '' } = await t.create({ type: 'root', children });
  await t.db.query(
    `update jobtree.job_progress set generation = 2147483647, completions = 2147483647, item_count = $2, succeeded = $2, failed = $2, cancelled = $2,
       started_at = '9999-01-01', completed_at = '9999-01-01', outcome = 'SUCCEEDED', open_jobs = 2147483647
     where job_id in (select id from jobtree.job where root_id = $1)`,
    [root, Number.MAX_SAFE_INTEGER],
  );
  await t.db.query(
    "update jobtree.job set cancel_reason = 'DEPENDENCY', sealed_at = now() where root_id = $1",
    [root],
  );
  const heard: string[] = [];
  const listener = await t.db.connect();
  listener.on('notification', ({ payload = '' }) => heard.push(payload));
  await listenTo('progress', listener);
  await t.db.query(
    'select jobtree.tell_progress(array(select p from jobtree.job_progress p join jobtree.job j on j.id = p.job_id where j.root_id = $1))',
    [root],
  );
  await expect.poll(() => heard.flatMap((text) => JSON.parse(text).jobs)).toHaveLength(101);
  await listener.end();
});
