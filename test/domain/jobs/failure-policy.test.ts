/**
 * Failure policies over trees of three stages, each feeding the next, at every point where a limit can be passed: all trees end, with
 * the outcomes that docs/failure-policies.md says. The long form: FAILURE_POLICY_TREES, how many trees with random outcomes (20).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../../src/domain/claims/heartbeat.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { worstOutcome } from '../../../src/domain/items/item-state.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { createJob, type NewJob } from '../../../src/domain/jobs/create-job.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import {
  type JobProgress,
  progressMessage,
  readTreeOutcomes,
} from '../../../src/domain/progress/progress.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { InvalidInputError, JobSealedError } from '../../../src/errors.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

type Policy = Pick<NewJob, 'toleratedFailureCount' | 'toleratedFailurePercentage'>;

interface Tree {
  readonly types: readonly [string, string, string];
  readonly ids: readonly [string, string, string];
}

/** Three stages, each feeding the next; the first has so many items. */
async function stages(policies: readonly Policy[], items: number, root: Partial<NewJob> = {}): Promise<Tree> {
  const [a, b, c] = [newType('first'), newType('second'), newType('third')];
  const created = await t.create({
    type: a,
    ...policies[0],
    items: Array.from({ length: items }, (_, payload) => ({ payload })),
    ...root,
    children: [{ type: b, feed: {}, ...policies[1], children: [{ type: c, feed: {}, ...policies[2] }] }],
  });
  const id = (type: string) => created[type] ?? '';
  return { types: [a, b, c], ids: [id(a), id(b), id(c)] };
}

const claim = (type: string, limit = 1_000) => claimItems(t.engine, 'w', [{ type, limit }]);
const failure = { code: 'E', message: 'no', permanent: true };
type Outcome = { readonly result: number } | { readonly failure: typeof failure };
const report = async (held: readonly Assignment[], outcome: Outcome) => {
  if (held.length > 0)
    await reportOutcomes(
      t.engine,
      held.map(({ id }) => ({ assignmentId: id, ...outcome })),
    );
};
const succeed = (held: readonly Assignment[]) => report(held, { result: 1 });
const fail = (held: readonly Assignment[]) => report(held, { failure });
const statusOf = (held: readonly Assignment[]) =>
  heartbeat(
    t.engine,
    held.map(({ id }) => id),
  );

/** Folds and finishes until nothing changes; the stages in their order. */
async function settle({ types, ids }: Tree): Promise<[JobProgress, JobProgress, JobProgress]> {
  let before = '';
  for (;;) {
    const progress = await t.fold(ids[0]);
    await t.finish();
    const now = JSON.stringify(progress);
    if (now === before) return types.map((type) => progress[type]) as [JobProgress, JobProgress, JobProgress];
    before = now;
  }
}

async function treeOutcome({ ids }: Tree) {
  return (await readTreeOutcomes(t.engine.database, [ids[0]])).get(ids[0]);
}

/** `SUCCEEDED 3/0/0`: the outcome, and how many items succeeded, failed and were cancelled. */
const sumUp = ({ outcome, succeeded, failed, cancelled }: JobProgress) =>
  `${outcome} ${succeeded}/${failed}/${cancelled}`;

/** Brings the stages before one to where that one has its items: the first so many are claimable, and of the last the parent holds. */
async function bring(tree: Tree, stage: number, keepLast: boolean): Promise<readonly Assignment[]> {
  let kept: readonly Assignment[] = [];
  for (let i = 0; i < stage; i++) {
    const held = await claim(tree.types[i] as string);
    kept = keepLast && i === stage - 1 ? held.slice(-1) : [];
    await succeed(held.filter((each) => !kept.includes(each)));
    await settle(tree);
  }
  return kept;
}

const points: Record<
  string,
  { policy: Policy; run: (tree: Tree, stage: number) => Promise<void>; ends: string; feeds: number }
> = {
  'at the first item': {
    policy: { toleratedFailureCount: 0 },
    run: async (tree, stage) => {
      await bring(tree, stage, false);
      await fail(await claim(tree.types[stage] as string, 1));
    },
    ends: 'FAILED 0/1/3',
    feeds: 0,
  },
  'at the last item': {
    policy: { toleratedFailureCount: 0 },
    run: async (tree, stage) => {
      await bring(tree, stage, false);
      const held = await claim(tree.types[stage] as string);
      await succeed(held.slice(1));
      await settle(tree);
      await fail(held.slice(0, 1));
    },
    ends: 'FAILED 3/1/0',
    feeds: 3,
  },
  'at the last item, by a percentage': {
    policy: { toleratedFailurePercentage: 49.9 },
    run: async (tree, stage) => {
      await bring(tree, stage, false);
      const held = await claim(tree.types[stage] as string);
      await succeed(held.slice(2));
      await fail(held.slice(0, 1));
      await settle(tree);
      await fail(held.slice(1, 2));
    },
    ends: 'FAILED 2/2/0',
    feeds: 2,
  },
  'at a percentage that only the sealing tells': {
    policy: { toleratedFailurePercentage: 40 },
    run: async (tree, stage) => {
      const kept = await bring(tree, stage, true);
      const held = await claim(tree.types[stage] as string, 3);
      await fail(held.slice(0, 2));
      const before = await settle(tree);
      expect(before[stage]).toMatchObject({ failed: 2, cancelled: 0, sealed: false, outcome: null });
      if (stage === 0) await sealJob(t.engine, tree.ids[0]);
      else await succeed(kept);
    },
    ends: 'FAILED 0/2/2',
    feeds: 0,
  },
  'while the child is working': {
    policy: { toleratedFailureCount: 1 },
    run: async (tree, stage) => {
      await bring(tree, stage, false);
      const held = await claim(tree.types[stage] as string);
      await succeed(held.slice(0, 1));
      const child = tree.types[stage + 1];
      const working = child === undefined ? [] : await claim(child);
      await fail(held.slice(1, 3));
      await settle(tree);
      expect(await statusOf(held.slice(3))).toEqual(['CANCELLED']);
      if (working.length > 0) expect(await statusOf(working)).toEqual(working.map(() => 'HELD'));
      await succeed(working);
    },
    ends: 'FAILED 1/2/1',
    feeds: 1,
  },
};

describe.each(Object.entries(points))('a failure policy, passed %s', (name, { policy, run, ends, feeds }) => {
  it.each([0, 1, 2])('if stage %i fails, later stages end and the tree fails', async (stage) => {
    const policies = [0, 1, 2].map((i) => (i === stage ? policy : {}));
    const open = name.includes('sealing') && stage === 0;
    const tree = await stages(policies, 4, { sealed: !open });
    await run(tree, stage);
    for (let i = stage + 1; i < 3; i++) {
      await settle(tree);
      await succeed(await claim(tree.types[i] as string));
    }
    const ended = await settle(tree);
    expect(ended.map(sumUp)).toEqual(
      ended.map((_, i) => {
        if (i === stage) return ends;
        return `SUCCEEDED ${i < stage ? 4 : feeds}/0/0`;
      }),
    );
    expect(progressMessage(ended[stage] as JobProgress)).toBe('Job failed');
    expect(await treeOutcome(tree)).toBe('FAILED');
    const [job] = await t.db.query<{ failed_at: Date | null; cancelling: boolean }>(
      'select failed_at, cancelling from jobtree.job where id = $1',
      [tree.ids[stage]],
    );
    expect(job).toEqual({ failed_at: expect.any(Date), cancelling: false });
  });
});

it('failures counted together fail the job like failures counted one by one', async () => {
  const tree = await stages([{ toleratedFailureCount: 1 }], 4, { sealed: true });
  await fail(await claim(tree.types[0]));
  expect((await settle(tree)).map(sumUp)).toEqual(['FAILED 0/4/0', 'SUCCEEDED 0/0/0', 'SUCCEEDED 0/0/0']);
});

it('an unsealed job fails as well, and takes no more items', async () => {
  const tree = await stages([{ toleratedFailureCount: 0 }], 1);
  await fail(await claim(tree.types[0]));
  expect((await settle(tree)).map(sumUp)).toEqual(['FAILED 0/1/0', 'SUCCEEDED 0/0/0', 'SUCCEEDED 0/0/0']);
  await expect(addItems(t.engine, tree.ids[0], [{}], { seal: false })).rejects.toThrow(JobSealedError);
});

describe('what is tolerated', () => {
  const cases: [string, Policy, number, number, string][] = [
    ['no policy tolerates all but one', {}, 4, 3, 'PARTIAL'],
    ['as many as the count', { toleratedFailureCount: 2 }, 4, 2, 'PARTIAL'],
    ['one more than the count', { toleratedFailureCount: 2 }, 4, 3, 'FAILED'],
    ['the share itself', { toleratedFailurePercentage: 50 }, 4, 2, 'PARTIAL'],
    ['more than the share', { toleratedFailurePercentage: 50 }, 4, 3, 'FAILED'],
    ['0 % tolerates none', { toleratedFailurePercentage: 0 }, 4, 1, 'FAILED'],
    ['100 % tolerates all but one', { toleratedFailurePercentage: 100 }, 4, 3, 'PARTIAL'],
    ['a share in decimals, exactly', { toleratedFailurePercentage: 0.57 }, 1_000, 5, 'PARTIAL'],
    ['of both the count', { toleratedFailureCount: 0, toleratedFailurePercentage: 100 }, 4, 1, 'FAILED'],
    ['of both the share', { toleratedFailureCount: 4, toleratedFailurePercentage: 25 }, 4, 2, 'FAILED'],
    ['of both neither', { toleratedFailureCount: 2, toleratedFailurePercentage: 50 }, 4, 2, 'PARTIAL'],
  ];
  it.each(cases)('%s', async (_, policy, items, failing, outcome) => {
    const tree = await stages([policy], items, { sealed: true });
    const held = await claim(tree.types[0]);
    await fail(held.slice(0, failing));
    await settle(tree);
    await succeed(held.slice(failing));
    expect((await settle(tree))[0].outcome).toBe(outcome);
  });

  it('57 of 10,000 are exactly 0.57 %', async () => {
    const type = newType('large');
    const { [type]: id = '' } = await t.create({ type, toleratedFailurePercentage: 0.57 });
    for (let i = 0; i < 10; i++) {
      await addItems(
        t.engine,
        id,
        Array.from({ length: 1_000 }, () => ({})),
        { seal: i === 9 },
      );
    }
    await fail(await claim(type, 57));
    expect((await t.fold(id))[type]).toMatchObject({ failed: 57, itemCount: 10_000, cancelled: 0 });
    expect(
      await t.db.query('select from jobtree.job where id = $1 and failed_at is null', [id]),
    ).toHaveLength(1);
    await fail(await claim(type, 1));
    await t.fold(id);
    await t.finish();
    expect((await t.fold(id))[type]).toMatchObject({ failed: 58, cancelled: 9_942, outcome: 'FAILED' });
  });

  it('retries do not count, only items that failed for good', async () => {
    const type = newType('retried');
    const { [type]: id = '' } = await t.create({
      type,
      sealed: true,
      backoffMs: [],
      maxFailuresPerItem: 1,
      toleratedFailureCount: 0,
      items: [{}],
    });
    await reportOutcomes(t.engine, [
      { assignmentId: (await t.claimOne(type)).id, failure: { code: 'E', message: '' } },
    ]);
    await t.fold(id);
    await succeed([await t.claimOne(type)]);
    expect((await t.fold(id))[type]).toMatchObject({ outcome: 'SUCCEEDED' });
  });
});

describe('outcomes of what was cancelled', () => {
  it('a cancelled job is CANCELLED, whatever failed in it, and so is its tree', async () => {
    const tree = await stages([{ toleratedFailureCount: 0 }], 2, { sealed: true });
    const held = await claim(tree.types[0]);
    await fail(held.slice(0, 1));
    await cancelJob(t.engine, tree.ids[0]);
    const ended = await settle(tree);
    expect(ended.map(sumUp)).toEqual(['CANCELLED 0/1/1', 'CANCELLED 0/0/0', 'CANCELLED 0/0/0']);
    expect(ended.map(progressMessage)).toEqual(['Job cancelled', 'Job cancelled', 'Job cancelled']);
    expect(await treeOutcome(tree)).toBe('CANCELLED');
  });

  it('a failed job stays FAILED when it is cancelled afterwards', async () => {
    const tree = await stages([{ toleratedFailureCount: 0 }], 2, { sealed: true });
    await fail(await claim(tree.types[0], 1));
    await t.fold(tree.ids[0]);
    await cancelJob(t.engine, tree.ids[0]);
    expect((await settle(tree)).map(sumUp)).toEqual(['FAILED 0/1/1', 'CANCELLED 0/0/0', 'CANCELLED 0/0/0']);
    expect(await treeOutcome(tree)).toBe('FAILED');
  });

  it('a tree has no outcome while a job of it is open', async () => {
    const tree = await stages([{ toleratedFailureCount: 0 }], 2, { sealed: true });
    const held = await claim(tree.types[0]);
    await succeed(held.slice(1));
    await fail(held.slice(0, 1));
    expect((await settle(tree)).map(({ outcome }) => outcome)).toEqual(['FAILED', null, null]);
    expect(await treeOutcome(tree)).toBe(null);
  });
});

describe('races', () => {
  it('a job with an open adder fails once that has ended, and the added items are cancelled', async () => {
    const tree = await stages([{ toleratedFailureCount: 0 }], 1);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select from jobtree.add_items($1, $2)', [
      tree.ids[0],
      '[{"payload": 1}, {"payload": 2}]',
    ]);
    await fail(await claim(tree.types[0]));
    const [fold] = await t.db.query<{ retry: boolean }>(
      'select * from jobtree.fold_trees(array[$1::uuid], array[0])',
      [tree.ids[0]],
    );
    expect(fold?.retry).toBe(true);
    await other.query('commit');
    await other.end();
    expect((await settle(tree))[0]).toMatchObject({
      outcome: 'FAILED',
      failed: 1,
      cancelled: 2,
      itemCount: 3,
    });
  });

  it('items that commit late, below the mark of the fold, do not distort the percentage', async () => {
    const tree = await stages([{ toleratedFailurePercentage: 50 }], 2);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select from jobtree.add_items($1, $2)', [
      tree.ids[0],
      '[{"payload": 1}, {"payload": 2}]',
    ]);
    await fail(await claim(tree.types[0], 2));
    await t.fold(tree.ids[0]);
    const [mark] = await t.db.query<{ last: string }>(
      `select last_value::text as last from jobtree.progress_delta_id_seq`,
    );
    await other.query('commit');
    await other.end();
    await sealJob(t.engine, tree.ids[0]);
    const [fold] = await t.db.query<{ unfinished: boolean }>(
      'select * from jobtree.fold_trees(array[$1::uuid], array[$2::bigint])',
      [tree.ids[0], mark?.last],
    );
    expect(fold?.unfinished).toBe(false);
    await succeed(await claim(tree.types[0]));
    expect((await settle(tree)).map(sumUp)[0]).toBe('PARTIAL 2/2/0');
  });

  it('a child that gets items late, below the mark of the fold that seals it, does not complete before them', async () => {
    const tree = await stages([], 0, { sealed: true });
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select from jobtree.add_items($1, $2)', [tree.ids[1], '[{"payload": 1}]']);
    const fold = async (from: string) => {
      const [row] = await t.db.query<{ retry: boolean; last_delta: string }>(
        'select * from jobtree.fold_trees(array[$1::uuid], array[$2::bigint])',
        [tree.ids[0], from],
      );
      return row;
    };
    expect(await fold('0')).toMatchObject({ retry: true });
    const again = await fold('0');
    await other.query('commit');
    await other.end();
    await fold(again?.last_delta ?? '0');
    expect((await settle(tree))[1]).toMatchObject({ itemCount: 1, sealed: true, completedAt: null });
  });
});

it('trees with random outcomes, folded at random moments, all end according to their policies', async () => {
  const share = fc.option(fc.constantFrom(0, 25, 50, 100), { freq: 2 });
  const policy = fc.record({ count: fc.option(fc.nat(3), { freq: 2 }), share });
  const random = fc.record({
    policies: fc.tuple(policy, policy, policy),
    items: fc.nat(8),
    sealed: fc.boolean(),
    steps: fc.array(
      fc.record({
        stage: fc.nat(2),
        limit: fc.integer({ min: 1, max: 4 }),
        fails: fc.nat(9),
        folds: fc.boolean(),
      }),
      {
        maxLength: 30,
      },
    ),
  });
  await fc.assert(
    fc.asyncProperty(random, async ({ policies, items, sealed, steps }) => {
      const tree = await stages(
        policies.map(({ count, share }) => ({
          toleratedFailureCount: count,
          toleratedFailurePercentage: share,
        })),
        items,
        { sealed },
      );
      const work = async (stage: number, limit: number, fails: number) => {
        const held = await claim(tree.types[stage] as string, limit);
        const failing = held.filter((_, i) => (i + fails) % 3 === 0);
        await fail(failing);
        await succeed(held.filter((each) => !failing.includes(each)));
      };
      for (const { stage, limit, fails, folds } of steps) {
        await work(stage, limit, fails);
        if (folds) await settle(tree);
      }
      if (!sealed) await sealJob(t.engine, tree.ids[0]);
      for (let stage = 0; stage < 3; stage++) {
        await settle(tree);
        await work(stage, 1_000, 1);
      }
      const ended = await settle(tree);
      const outcomes = ended.map(({ failed, itemCount, outcome, succeeded, cancelled }, i) => {
        const { count, share } = policies[i] as { count: number | null; share: number | null };
        const over =
          (count !== null && failed > count) || (share !== null && 100 * failed > share * itemCount);
        expect(succeeded + failed + cancelled).toBe(itemCount);
        if (!over) expect(cancelled).toBe(0);
        if (failed === 0) return [outcome, 'SUCCEEDED'] as const;
        return [outcome, over || succeeded === 0 ? 'FAILED' : 'PARTIAL'] as const;
      });
      for (const [outcome, expected] of outcomes) expect(outcome).toBe(expected);
      expect(await treeOutcome(tree)).toBe(worstOutcome(outcomes.map(([, expected]) => expected)));
    }),
    { numRuns: Number(process.env.FAILURE_POLICY_TREES ?? 20) },
  );
});

describe('bad input', () => {
  const cases: [NewJob, string, RegExp][] = [
    [
      { type: 'x', toleratedFailureCount: -1 },
      'toleratedFailureCount',
      /-1; it must be a whole number from 0/,
    ],
    [{ type: 'x', toleratedFailureCount: 1.5 }, 'toleratedFailureCount', /1.5; it must be a whole number/],
    [
      { type: 'x', toleratedFailureCount: 2 ** 31 },
      'toleratedFailureCount',
      /whole number from 0 to 2147483647/,
    ],
    [
      { type: 'x', toleratedFailurePercentage: -0.1 },
      'toleratedFailurePercentage',
      /-0.1; it must be a number from 0 to 100/,
    ],
    [
      { type: 'x', toleratedFailurePercentage: 100.1 },
      'toleratedFailurePercentage',
      /100.1; it must be a number from 0 to 100/,
    ],
    [
      { type: 'x', toleratedFailurePercentage: Number.NaN },
      'toleratedFailurePercentage',
      /a number beyond what JavaScript can hold/,
    ],
    [
      { type: 'x', children: [{ type: 'y', toleratedFailureCount: -1 }] },
      'children[0].toleratedFailureCount',
      /must be a whole number/,
    ],
  ];
  it.each(cases)('refuses %j', async (job, field, message) => {
    const refused = createJob(t.engine, job);
    await expect(refused).rejects.toThrow(InvalidInputError);
    await expect(refused).rejects.toMatchObject({ field, message: expect.stringMatching(message) });
    if (Number.isNaN(job.toleratedFailurePercentage)) return;
    const bySql = t.db.query('select * from jobtree.create_job($1)', [JSON.stringify(job)]);
    await expect(bySql).rejects.toMatchObject({ code: 'JT002', column: field });
    expect(await t.db.query(`select from jobtree.job where type in ('x', 'y')`)).toEqual([]);
  });
});
