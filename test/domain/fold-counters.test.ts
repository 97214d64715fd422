/** Folding many trees at once does what folding each alone does, and leaves alone what needs more than adding up. */
import { expect, it } from 'vitest';
import { addItems } from '../../src/domain/items/add-items.ts';
import { createJob } from '../../src/domain/jobs/create-job.ts';
import { foldTrees } from '../../src/domain/jobs/fold-progress.ts';
import { sealJob } from '../../src/domain/jobs/seal-job.ts';
import { reportOutcomes } from '../../src/domain/work/report-outcomes.ts';
import { listenTo } from '../support/database.ts';
import { newType, useEngine } from '../support/engine.ts';

const t = useEngine();

interface State {
  /** Whether nothing but counters changes. */
  readonly isPlain: boolean;
  readonly policy?: { toleratedFailureCount?: number; toleratedFailurePercentage?: number };
  /** What is done to a tree of two items, after it was folded once. */
  readonly prepare: (jobId: string, type: string) => Promise<unknown>;
}

const succeed = async (type: string) =>
  reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, result: 1 }]);
const fail = async (type: string) =>
  reportOutcomes(t.engine, [
    { assignmentId: (await t.claimOne(type)).id, failure: { code: 'X', message: '', permanent: true } },
  ]);

const states: Record<string, State> = {
  'nothing new': { isPlain: true, prepare: async () => {} },
  'items added': { isPlain: true, prepare: (jobId) => addItems(t.engine, jobId, [{}], { seal: false }) },
  'an item done': { isPlain: true, prepare: (_, type) => succeed(type) },
  'an item done of a sealed job': {
    isPlain: true,
    prepare: async (jobId, type) => {
      await sealJob(t.engine, jobId);
      await succeed(type);
    },
  },
  'all items done': {
    isPlain: true,
    prepare: async (_, type) => {
      await succeed(type);
      await succeed(type);
    },
  },
  'all items done of a sealed job': {
    isPlain: false,
    prepare: async (jobId, type) => {
      await succeed(type);
      await succeed(type);
      await sealJob(t.engine, jobId);
    },
  },
  'a failure': { isPlain: true, prepare: (_, type) => fail(type) },
  'a failure that a policy counts': {
    isPlain: false,
    policy: { toleratedFailureCount: 0 },
    prepare: (_, type) => fail(type),
  },
  'a failure of which a policy takes a share': {
    isPlain: false,
    policy: { toleratedFailurePercentage: 50 },
    prepare: (_, type) => fail(type),
  },
  'more done than is known to be added': {
    isPlain: false,
    prepare: (jobId) =>
      t.db.query('insert into jobtree.progress_delta (root_id, job_id, succeeded) values ($1, $1, 3)', [
        jobId.replace('Job:', ''),
      ]),
  },
};

async function tree({ policy, prepare }: State): Promise<string> {
  const type = newType();
  const { jobId } = await createJob(t.engine, { type, items: [{}, {}], ...policy });
  await t.fold(jobId);
  await prepare(jobId, type);
  return jobId;
}

const progressOf = (jobIds: readonly string[]) =>
  t.db.query<{ job_id: string }>(
    `select job_id, version, item_count, succeeded, failed, cancelled, open_jobs, started_at is null as started,
       completed_at is null as open, outcome, completions, (select count(*) from jobtree.progress_delta d where d.job_id = p.job_id) as deltas
     from jobtree.job_progress p where job_id = any ($1)`,
    [jobIds],
  );

it('folds trees of which only counters change together as it does one by one', async () => {
  const names = Object.keys(states);
  const together: string[] = [];
  const alone: string[] = [];
  for (const state of Object.values(states)) {
    together.push(await tree(state));
    alone.push(await tree(state));
  }
  const folded = await t.db.query<{ root_id: string; last_delta: string }>(
    'select * from jobtree.fold_counters($1, $2)',
    [together, together.map(() => 0)],
  );
  expect(folded.map(({ root_id }) => names[together.indexOf(root_id)]).sort()).toEqual(
    names.filter((name) => states[name]?.isPlain).sort(),
  );
  expect(folded.filter(({ last_delta }) => Number(last_delta) === 0).length).toBe(1);

  await foldTrees(
    t.engine,
    together.map((rootId) => ({ rootId, fromDelta: 0 })),
  );
  for (const jobId of alone) await t.db.query('select from jobtree.fold_progress($1)', [jobId]);
  const [rows, expected] = [await progressOf(together), await progressOf(alone)];
  for (const [i, name] of names.entries()) {
    const stateOf = (all: typeof rows, jobId: string | undefined) => ({
      ...all.find((row) => row.job_id === jobId),
      job_id: null,
    });
    expect(stateOf(rows, together[i]), name).toEqual(stateOf(expected, alone[i]));
  }
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

it('skips a tree that another fold has locked, and folds the others', async () => {
  const trees = [await tree(states['an item done'] as State), await tree(states['an item done'] as State)];
  const other = await t.db.connect();
  await other.query('begin');
  await other.query('select from jobtree.job_progress where job_id = $1 for update', [trees[0]]);
  const folds = await foldTrees(
    t.engine,
    trees.map((rootId) => ({ rootId, fromDelta: 0 })),
  );
  expect([...folds.keys()]).toEqual([trees[1]]);
  await other.query('rollback');
  await other.end();
});
