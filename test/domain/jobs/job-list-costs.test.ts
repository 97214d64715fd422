/**
 * A page of a list reads a bounded number of blocks, whatever is asked for: of a few matches among many jobs, and for a tenant that owns little beside
 * what others own, of whose rows nothing is read.
 *
 *     LIST_JOBS   jobs that others own (60,000)
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import type { JobConditions } from '../../../src/domain/jobs/job-conditions.ts';
import { type Rank, readJobIds, readRankedJobs } from '../../../src/domain/jobs/job-pages.ts';
import { fillForeign } from '../../support/fill-foreign.ts';
import { type Plan, plansOf } from '../../support/plans.ts';
import { useDatabase } from '../../support/use-server.ts';

const rows = Number(process.env.LIST_JOBS ?? 60_000);
const own = ['mine//a', 'mine//b'];
const db = useDatabase();
beforeAll(async () => {
  await fillForeign(db, rows);
  for (const type of own)
    for (let n = 0; n < 3; n++)
      await db.query('select jobtree.create_job($1)', [
        JSON.stringify({ type, dedupeKey: `d${n}`, sealed: n === 1, items: n === 2 ? [{}] : [] }),
      ]);
  await db.query('vacuum analyze jobtree.job, jobtree.job_progress');
}, 600_000);

const blocks = ({ nodes: [root] }: Plan) =>
  (root?.['Shared Hit Blocks'] ?? 0) + (root?.['Shared Read Blocks'] ?? 0);

const filters: Readonly<Record<string, Partial<JobConditions>>> = {
  nothing: {},
  'some types': { types: own },
  ...Object.fromEntries(
    (['WAITING', 'RUNNING', 'COMPLETED', 'CANCELLED'] as const).map((one) => [one, { statuses: [one] }]),
  ),
  'two statuses': { statuses: ['WAITING', 'CANCELLED'] },
  ...Object.fromEntries(
    (['SUCCEEDED', 'PARTIAL', 'FAILED', 'CANCELLED'] as const).map((one) => [
      `the outcome ${one}`,
      { outcomes: [one] },
    ]),
  ),
  'created in a time without jobs': { createdFrom: new Date(1e12), createdUntil: new Date(1.1e12) },
  'completed long ago': { completedUntil: new Date(1e12) },
  'some dedupe keys': { dedupeKeyPrefix: 'd59' },
  'dedupe keys that all have': { dedupeKeyPrefix: 'd' },
  'dedupe keys that none has': { dedupeKeyPrefix: 'x' },
  failures: { hasFailures: true },
  'no failures': { hasFailures: false },
  'a schedule': { schedule: 'none' },
  idle: { idleSince: new Date() },
  'two rare conditions': { statuses: ['RUNNING'], completedFrom: new Date(1e12), hasFailures: false },
};
const kinds = {
  trees: { rootsOnly: true, wholeTrees: true },
  roots: { rootsOnly: true },
  jobs: { rootsOnly: false },
} as const;

async function costOf(act: (database: Database) => Promise<unknown>): Promise<[number, string][]> {
  const plans = await plansOf(db, async (client) => {
    const database = { pool: client, surveys: client } as unknown as Database;
    // As on the connections of a server.
    await client.query('set jit = off');
    // The first time a connection also reads the catalog.
    await act(database);
    await client.query('/* begin */ select 1');
    await act(database);
  });
  const begin = plans.findIndex(({ query }) => query.startsWith('/* begin */'));
  return plans.slice(begin + 1).map((plan) => [blocks(plan), `${plan.query} ${plan.reads}`]);
}

const scopes: Readonly<Record<string, Partial<JobConditions>>> = {
  everybody: { types: null },
  'a tenant with little': { types: own, isScoped: true },
};
/** An index and two rows of each job that a page looks at, of up to three levels each; far less than the tables have. */
const mostOfAll = 5_000 * 8;
const mostOfOwn = 150;

describe.each(Object.entries(scopes))('for %s', (_, scope) => {
  const most = scope.isScoped === true ? mostOfOwn : mostOfAll;
  const cases = Object.entries(filters).flatMap(([name, filter]) =>
    Object.entries(kinds).map(([kind, of]) => ({
      name,
      kind,
      conditions: { types: null, ...filter, ...of, ...scope },
    })),
  );
  it.each(cases)('$kind of $name cost little, in both orders', async ({ conditions }) => {
    for (const backwards of [false, true]) {
      const costs = await costOf((database) => readJobIds(database, conditions, { take: 51, backwards }));
      expect(costs.filter(([count]) => count > most)).toEqual([]);
    }
  });

  it.each(['FAILURES', 'PROGRESS'] as const)('an order by %s costs little', async (rank: Rank) => {
    const conditions = { types: null, rootsOnly: true, wholeTrees: true, ...scope };
    const costs = await costOf((database) =>
      readRankedJobs(database, rank, conditions, { take: 51, backwards: true }),
    );
    expect(costs.filter(([count]) => count > most)).toEqual([]);
  });
});
