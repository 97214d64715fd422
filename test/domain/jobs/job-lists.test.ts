/**
 * Lists of jobs are what the facts in the tables say, whatever is asked for: random filters, orders and sizes of pages, compared with a model that looks at
 * everything.
 *
 *     LISTS_RUNS   random lists of each kind (150)
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { jobOutcomes, jobStatus, worstOutcome } from '../../../src/domain/items/item-state.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import type { JobConditions } from '../../../src/domain/jobs/job-conditions.ts';
import {
  countJobs,
  createdAt,
  type Rank,
  type RankedJob,
  readJobIds,
  readRankedJobs,
} from '../../../src/domain/jobs/job-pages.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { useEngine } from '../../support/engine.ts';

const numRuns = Number(process.env.LISTS_RUNS ?? 150);
const t = useEngine();
const types = ['mail', 'print', 'scan'];

interface Fact {
  readonly id: string;
  readonly rootId: string;
  readonly isRoot: boolean;
  readonly type: string;
  readonly dedupeKey: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
  readonly outcome: (typeof jobOutcomes)[number] | null;
  readonly items: number;
  readonly done: number;
  readonly failed: number;
}

let facts: readonly Fact[];

/** Trees in every state, some of whose children differ from their roots. */
async function prepare(): Promise<void> {
  for (let n = 0; n < 72; n++) {
    const [type = '', below = ''] = [types[n % 3], types[(n + (n % 2)) % 3]];
    const items = Array.from({ length: n % 5 }, () => ({ payload: n }));
    const ids = await t.create({
      type,
      dedupeKey: n % 4 === 0 ? `order-${n % 8}-${n}` : null,
      sealed: n % 6 !== 5,
      maxFailuresPerItem: 0,
      items,
      children: n % 3 === 0 ? [{ type: `below-${below}`, sealed: true, maxFailuresPerItem: 0, items }] : [],
    });
    for (const [name, rate] of [
      [type, n % 7],
      [`below-${below}`, n % 4],
    ] as const) {
      for (let i = 0; i < items.length && i < rate && ids[name] !== undefined; i++) {
        const failure = { code: 'E', message: 'no' };
        const { id: assignmentId } = await t.claimOne(name);
        await reportOutcomes(t.engine, [
          { assignmentId, ...((n + i) % 3 === 0 ? { failure } : { result: 1 }) },
        ]);
      }
    }
    if (n % 9 === 8) await cancelJob(t.engine, ids[type] ?? '');
    await t.finish();
  }
  const roots = await t.db.query<{ id: string }>('select id from jobtree.job where parent_id is null');
  for (const { id } of roots) await t.fold(id);
  facts = await t.db.query<Fact>(
    `select j.id, j.root_id as "rootId", j.parent_id is null as "isRoot", j.type, j.dedupe_key as "dedupeKey", j.created_at as "createdAt",
       p.started_at as "startedAt", p.completed_at as "completedAt", p.outcome, p.item_count::float8 as items,
       (p.succeeded + p.failed + p.cancelled)::float8 as done, p.failed::float8 as failed
     from jobtree.job j join jobtree.job_progress p on p.job_id = j.id order by j.id`,
  );
}

beforeAll(prepare, 120_000);

/** A root as its tree is. */
function treeOf(root: Fact): Fact & { isOpen: boolean } {
  const jobs = facts.filter(({ rootId }) => rootId === root.id);
  const sum = (of: (job: Fact) => number) => jobs.reduce((all, job) => all + of(job), 0);
  const isOpen = jobs.some(({ completedAt }) => completedAt === null);
  const ends = jobs.map(({ completedAt }) => Number(completedAt));
  return {
    ...root,
    isOpen,
    startedAt: root.startedAt ?? (root.completedAt !== null && isOpen ? root.completedAt : null),
    completedAt: isOpen ? null : new Date(Math.max(...ends)),
    outcome: isOpen ? null : worstOutcome(jobs.map(({ outcome }) => outcome)),
    items: sum(({ items }) => items),
    done: sum(({ done }) => done),
    failed: sum(({ failed }) => failed),
  };
}

const within = (at: Date | null, from: Date | null | undefined, until: Date | null | undefined) =>
  (from == null || (at !== null && at >= from)) && (until == null || (at !== null && at < until));

function matches(conditions: JobConditions): (Fact & { isOpen?: boolean })[] {
  const all = conditions.rootsOnly ? facts.filter(({ isRoot }) => isRoot) : facts;
  return all
    .map((fact) => (conditions.wholeTrees === true ? treeOf(fact) : fact))
    .filter((job) => {
      const { types, statuses, outcomes, dedupeKeyPrefix, hasFailures } = conditions;
      const status = jobStatus({
        startedAt: job.startedAt && Number(job.startedAt),
        completedAt: job.completedAt && Number(job.completedAt),
        outcome: job.outcome,
      });
      return (
        (types?.includes(job.type) ?? true) &&
        (statuses?.includes(status) ?? true) &&
        (outcomes == null || (job.outcome !== null && outcomes.includes(job.outcome))) &&
        within(job.createdAt, conditions.createdFrom, conditions.createdUntil) &&
        within(job.completedAt, conditions.completedFrom, conditions.completedUntil) &&
        (dedupeKeyPrefix == null || (job.dedupeKey?.startsWith(dedupeKeyPrefix) ?? false)) &&
        (hasFailures == null || job.failed > 0 === hasFailures)
      );
    });
}

const some = <T>(values: readonly T[]) => fc.option(fc.subarray([...values], { minLength: 1 }));
/** Times of the jobs themselves are the hardest ones. */
const instant = fc.option(
  fc.nat(499).map((n) => {
    const { createdAt: at, completedAt } = facts[n % facts.length] as Fact;
    return n % 2 === 0 || completedAt === null ? at : completedAt;
  }),
);
const conditions: fc.Arbitrary<JobConditions> = fc
  .record(
    {
      types: some([...types, 'below-mail', 'nothing']),
      statuses: some(['WAITING', 'RUNNING', 'COMPLETED', 'CANCELLED'] as const),
      outcomes: fc.option(fc.subarray([...jobOutcomes], { minLength: 1 }), { freq: 2 }),
      createdFrom: instant,
      createdUntil: instant,
      completedFrom: instant,
      completedUntil: instant,
      dedupeKeyPrefix: fc.option(fc.constantFrom('o', 'order-', 'order-4', 'order-4-36', 'x'), { freq: 1 }),
      hasFailures: fc.option(fc.boolean()),
    },
    { requiredKeys: ['types'] },
  )
  .chain((given) =>
    fc
      .constantFrom({ rootsOnly: true, wholeTrees: true }, { rootsOnly: true }, { rootsOnly: false })
      .map((kind) => ({ ...given, ...kind })),
  );
const size = fc.integer({ min: 1, max: 12 });
const looksAt = fc.integer({ min: 1, max: 40 });

/** All pages one after the other; each goes on where the one before says that it ended. */
async function pages(
  given: JobConditions,
  { take, backwards, most }: { take: number; backwards: boolean; most: number },
  between: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const all: string[] = [];
  let from: string | undefined;
  for (let turns = 0; turns < 1_000; turns++) {
    const range = { take, backwards, ...(backwards ? { before: from } : { after: from }) };
    const { ids, end } = await readJobIds(t.engine.database, given, range, most);
    expect(ids.length).toBeLessThanOrEqual(take);
    all.push(...ids);
    if (ids.length < take && end === null) return all;
    from = ids.length < take ? (end as string) : ids.at(-1);
    await between();
  }
  throw new Error('The list does not end.');
}

const check = (property: fc.IAsyncPropertyWithHooks<never> | fc.IAsyncProperty<unknown>) =>
  fc.assert(property as fc.IAsyncProperty<unknown>, { numRuns });

describe('random filters', () => {
  it('the trees have all outcomes and statuses, and some differ from their roots', () => {
    const trees = facts.filter(({ isRoot }) => isRoot).map(treeOf);
    expect(new Set(trees.map(({ outcome }) => outcome))).toEqual(new Set([null, ...jobOutcomes]));
    const differing = trees.filter(
      ({ id, outcome }) => facts.find((fact) => fact.id === id)?.outcome !== outcome,
    );
    expect(differing.length).toBeGreaterThan(3);
  });

  it('by age, the pages together are the list, however little a page looks at', async () => {
    await check(
      fc.asyncProperty(conditions, size, fc.boolean(), looksAt, async (given, take, backwards, most) => {
        const expected = matches(given).map(({ id }) => id);
        if (backwards) expected.reverse();
        expect(await pages(given, { take, backwards, most })).toEqual(expected);
      }),
    );
  }, 300_000);

  it.each(['FAILURES', 'PROGRESS'] as const)(
    'by %s, the pages together are the list',
    async (rank: Rank) => {
      const rankOf = (tree: Fact) =>
        rank === 'FAILURES' ? tree.failed : tree.done / Math.max(1, tree.items);
      await check(
        fc.asyncProperty(conditions, size, fc.boolean(), async (some, take, backwards) => {
          const given = { ...some, rootsOnly: true, wholeTrees: true };
          const expected = matches(given)
            .filter((tree) => (rank === 'FAILURES' ? tree.failed > 0 : tree.isOpen))
            .map((tree) => ({ id: tree.id, value: rankOf(tree) }))
            .sort((a, b) => a.value - b.value || (a.id < b.id ? -1 : 1));
          if (backwards) expected.reverse();
          const all: RankedJob[] = [];
          for (;;) {
            const from = all.at(-1);
            const range = { take, backwards, ...(backwards ? { before: from } : { after: from }) };
            const page = (await readRankedJobs(t.engine.database, rank, given, range)) ?? [];
            all.push(...page);
            if (page.length < take) break;
          }
          expect(all).toEqual(expected);
        }),
      );
    },
    300_000,
  );

  it('a count is that of the list, in all and by time', async () => {
    await check(
      fc.asyncProperty(conditions, fc.integer({ min: 1, max: 9 }), looksAt, async (given, parts, most) => {
        const expected = matches(given);
        const whole = await countJobs(t.engine.database, given, parts);
        expect([whole.count, whole.since]).toEqual([expected.length, null]);
        expect(whole.buckets.length).toBeLessThanOrEqual(parts);
        expect(whole.buckets.map(({ count }) => count)).toEqual(
          whole.buckets.map(({ from, until }, i) => {
            const isLast = i === whole.buckets.length - 1;
            return expected.filter((job) => within(job.createdAt, from, isLast ? null : until)).length;
          }),
        );
        if (expected.length > 0)
          expect(whole.buckets.reduce((sum, { count }) => sum + count, 0)).toBe(expected.length);
        const { count, since } = await countJobs(t.engine.database, given, 0, { all: most, each: 1 });
        // Of the millisecond itself, perhaps not all.
        const newer = expected.filter((job) => since === null || job.createdAt > since).length;
        expect(count).toBeGreaterThanOrEqual(newer);
        expect(count).toBeLessThanOrEqual(expected.length);
        if (since === null) expect(count).toBe(expected.length);
      }),
    );
  }, 300_000);
});

it('a list neither repeats nor leaves out a tree that was there when others are created meanwhile', async () => {
  const given: JobConditions = { types: null, rootsOnly: true };
  const expected = matches(given)
    .map(({ id }) => id)
    .reverse();
  let made = 0;
  const create = () => t.create({ type: `new ${made++}` });
  expect(await pages(given, { take: 7, backwards: true, most: 5_000 }, create)).toEqual(expected);
  expect(made).toBeGreaterThan(5);
  const all = await pages(given, { take: 7, backwards: false, most: 5_000 });
  expect(all.slice(0, expected.length)).toEqual(expected.toReversed());
});

it('the time of creation is that of the id', async () => {
  for (const { id, createdAt: at } of facts) expect([id, createdAt(id)]).toEqual([id, at]);
});

it('too many trees are not put in order', async () => {
  const given: JobConditions = { types: null, rootsOnly: true, wholeTrees: true };
  const range = { take: 3, backwards: true };
  expect(await readRankedJobs(t.engine.database, 'FAILURES', given, range, 2)).toBe(undefined);
  expect(await readRankedJobs(t.engine.database, 'PROGRESS', given, range, 2)).toBe(undefined);
});
