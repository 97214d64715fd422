/** The ranges of a job's items say of each item what the view of statuses says, however they are cut. */
import { describe, expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { itemRanges, readItemRanges } from '../../../src/domain/items/item-ranges.ts';
import { pendingStatuses } from '../../../src/domain/items/item-state.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { perSecond, readPendingCounts, secondsLeft } from '../../../src/domain/jobs/pending-counts.ts';
import { startOperation } from '../../../src/domain/operations/operations.ts';
import { pendingOfJobs } from '../../../src/domain/queues/standstills.ts';
import { type Report, reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { plansOf, surveyOn } from '../../support/plans.ts';

const t = useEngine();
const all = { from: undefined, to: undefined, most: 2_000 };

type Range = [first: number, last: number, counts: Record<string, number>];

const failure = { code: 'E', message: 'no' };
/** What becomes of the n-th item that is claimed; nothing for one that a worker keeps. */
const ends: readonly (Omit<Report, 'assignmentId'> | undefined)[] = [
  { result: 1 },
  { result: 2 },
  { result: 3 },
  { failure: { ...failure, permanent: true } },
  undefined,
  { failure: { ...failure, retryAfterMs: 60_000 } },
  { snoozeMs: 60_000 },
  { result: 4 },
];

/** A job whose items have every status but WAITING, in an order of their own, in blocks with gaps between them. */
async function makeMixed(): Promise<string> {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({
    type,
    items: Array.from({ length: 300 }, (_, n) => (n % 50 === 7 ? { serializeKey: `${type} ${n % 2}` } : {})),
  });
  for (let n = 0; n < 5; n++) await addItems(t.engine, jobId, Array(40).fill({}), { seal: false });
  for (const limit of [1, 7, 100, 3, 20]) {
    const claimed = await claimItems(t.engine, 'w', [{ type, limit }]);
    await reportOutcomes(
      t.engine,
      claimed.flatMap(({ id }, n) => {
        const end = ends[(n + limit) % ends.length];
        return end === undefined ? [] : [{ assignmentId: id, ...end }];
      }),
    );
  }
  // These were claimed before: their leases remain, and have nothing.
  const released = await claimItems(t.engine, 'w', [{ type, limit: 30 }]);
  await releaseAssignments(
    t.engine,
    released.map(({ id }) => id),
  );
  const items = await t.items(jobId);
  await startOperation(t.engine, 'CANCEL', { items: items.filter((_, n) => n % 11 === 0 || n > 480) });
  return jobId;
}

async function statusesOf(jobId: string): Promise<Map<number, string>> {
  const rows = await t.db.query<{ position: number; status: string }>(
    'select position::float8, status from jobtree.item_status where job_id = $1 order by position',
    [jobId],
  );
  return new Map(rows.map(({ position, status }) => [position, status]));
}

/** What is in a range by the view. */
function countsBetween(statuses: ReadonlyMap<number, string>, first: number, last: number) {
  const counts: Record<string, number> = {};
  for (const [position, status] of statuses)
    if (position >= first && position <= last) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** All ranges, in as many calls as it takes. */
async function rangesOf(
  jobId: string,
  most: number,
  rows: number,
): Promise<{ ranges: Range[]; calls: number }> {
  const ranges: Range[] = [];
  let from: number | null = 0;
  let calls = 0;
  for (; from !== null; calls++) {
    const [row]: { next_from: number | null; ranges: Range[] }[] = (
      await t.engine.database.surveys.query<{ next_from: number | null; ranges: Range[] }>({
        ...itemRanges,
        values: [jobId, from, Number.MAX_SAFE_INTEGER, most, rows],
      })
    ).rows;
    if (row === undefined) throw new Error('no row');
    ranges.push(...row.ranges);
    from = row.next_from;
  }
  return { ranges, calls };
}

const sum = (ranges: readonly Range[]) =>
  ranges.reduce((total, [, , counts]) => total + Object.values(counts).reduce((a, b) => a + b, 0), 0);

describe('a job whose items have every status', () => {
  it.each([
    ['each of one status', 2_000, 20_000],
    ['in 20 of the same size', 20, 20_000],
    ['in one', 1, 20_000],
    ['each of one status, in calls that read little', 2_000, 60],
    ['in few, in calls that read little', 3, 60],
  ])('is told in ranges, %s', async (_, most, rows) => {
    const jobId = await makeMixed();
    const statuses = await statusesOf(jobId);
    expect([...new Set(statuses.values())].sort()).toEqual(
      ['BLOCKED', 'CANCELLED', 'FAILED', 'READY', 'RETRYING', 'RUNNING', 'SCHEDULED', 'SUCCEEDED'].sort(),
    );
    const { ranges, calls } = await rangesOf(jobId, most, rows);
    if (rows === 20_000) {
      expect(calls).toBe(1);
      expect(ranges.length).toBeLessThanOrEqual(most);
    } else expect(calls).toBeGreaterThan(1);
    for (const [first, last, counts] of ranges) expect(counts).toEqual(countsBetween(statuses, first, last));
    expect(sum(ranges)).toBe(statuses.size);
    if (most === 2_000) for (const [, , counts] of ranges) expect(Object.keys(counts)).toHaveLength(1);
    // Neighbours of one status are one range, also across gaps, unless a call ended between them.
    if (most === 2_000 && calls === 1)
      for (const [i, [, , counts]] of ranges.entries())
        expect(Object.keys(counts)).not.toEqual(Object.keys(ranges[i - 1]?.[2] ?? {}));
    if (most === 20)
      for (const range of ranges.slice(0, -1)) expect(sum([range])).toBe(Math.ceil(statuses.size / 20));
  });

  it('is told in part, from one item to another', async () => {
    const jobId = await makeMixed();
    const statuses = await statusesOf(jobId);
    const positions = [...statuses.keys()];
    for (const [from, to] of [
      [3, 3],
      [60, 250],
      [290, 499],
    ] as const) {
      const key = (n: number) => ({ jobId, position: positions[n] ?? 0 });
      const { ranges, next } = await readItemRanges(t.engine.database, jobId, {
        ...all,
        from: key(from),
        to: key(to),
      });
      expect(next).toBeNull();
      expect(ranges[0]?.first).toEqual(key(from));
      expect(ranges.at(-1)?.last).toEqual(key(to));
      for (const { first, last, counts } of ranges)
        expect(Object.fromEntries(counts.map(({ status, count }) => [status, count]))).toEqual(
          countsBetween(statuses, first.position, last.position),
        );
    }
  });

  it('is counted by status', async () => {
    const jobId = await makeMixed();
    const counts = countsBetween(await statusesOf(jobId), 0, Number.MAX_SAFE_INTEGER);
    const [pending] = await readPendingCounts(t.engine.database, [jobId]);
    expect(pending).toMatchObject(
      Object.fromEntries(pendingStatuses.map((status) => [status.toLowerCase(), counts[status] ?? 0])),
    );
  });

  it('is cancelled wherever it was pending, once the job is', async () => {
    const jobId = await makeMixed();
    await cancelJob(t.engine, jobId);
    const check = async () => {
      const statuses = await statusesOf(jobId);
      const { ranges } = await rangesOf(jobId, 2_000, 20_000);
      for (const [first, last, counts] of ranges)
        expect(counts).toEqual(countsBetween(statuses, first, last));
      expect(sum(ranges)).toBe(statuses.size);
    };
    await check();
    await t.finish();
    await check();
  });
});

it('a job without items has no ranges, and one that waits has one', async () => {
  const type = newType();
  const { [type]: root = '', [`${type}2`]: waits = '' } = await t.create({
    type,
    children: [
      { type: `${type}1`, items: [{}] },
      { type: `${type}2`, after: [`${type}1`], items: [{}, {}] },
    ],
  });
  expect(await readItemRanges(t.engine.database, root, all)).toEqual({ ranges: [], next: null });
  const { ranges } = await readItemRanges(t.engine.database, waits, all);
  expect(ranges.map(({ counts }) => counts)).toEqual([[{ status: 'WAITING', count: 2 }]]);
});

it('refuses items of other jobs, and numbers of ranges out of bounds', async () => {
  const [a, b] = [newType(), newType()];
  const { [a]: jobId = '' } = await t.create({ type: a, items: [{}] });
  const { [b]: other = '' } = await t.create({ type: b, items: [{}] });
  const [from] = await t.items(other);
  await expect(readItemRanges(t.engine.database, jobId, { ...all, from })).rejects.toThrow(
    'from is not an item of this job.',
  );
  for (const most of [0, 2_001])
    await expect(readItemRanges(t.engine.database, jobId, { ...all, most })).rejects.toThrow('most is');
});

describe('how fast items end', () => {
  const paced = async (jobId: string) => (await readPendingCounts(t.engine.database, [jobId]))[0]?.perSecond;

  it('is unknown before the first claim, then counted by both folds, and unknown again at the end', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: Array(20).fill({}), sealed: true });
    await t.fold(jobId);
    expect(await paced(jobId)).toBeNull();
    const end = async (limit: number) =>
      reportOutcomes(
        t.engine,
        (await claimItems(t.engine, 'w', [{ type, limit }])).map(({ id }) => ({
          assignmentId: id,
          result: 1,
        })),
      );
    await end(5);
    await t.fold(jobId);
    await end(5);
    await t.db.query('select jobtree.fold_trees(array[$1::uuid], array[0::bigint])', [jobId]);
    const [{ pace } = { pace: [] }] = await t.db.query<{ pace: string[] }>(
      'select pace[2:7] as pace from jobtree.job_progress where job_id = $1',
      [jobId],
    );
    expect(pace.reduce((total, count) => total + Number(count), 0)).toBe(10);
    expect(await paced(jobId)).toBeGreaterThan(0);
    await end(10);
    await t.fold(jobId);
    expect(await paced(jobId)).toBeNull();
  });

  it('says how long the rest may take, unless nothing has ended lately or nothing moves', () => {
    const none = { waiting: 0, blocked: 0, scheduled: 0, retrying: 0, ready: 0, running: 0, perSecond: 2 };
    const rest = { waiting: 1, blocked: 2, scheduled: 3, retrying: 4 };
    expect(secondsLeft({ ...none, ...rest, ready: 8, running: 2 })).toBe(10);
    expect(secondsLeft({ ...none, ...rest, running: 2 })).toBe(6);
    expect(secondsLeft({ ...none, ...rest })).toBeNull();
    for (const perSecond of [0, null]) expect(secondsLeft({ ...none, ready: 1, perSecond })).toBeNull();
  });

  it('forgets what is more than a minute ago', async () => {
    const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000);
    const next = async (pace: string[], ended: number, seconds: number) =>
      (
        await t.db.query<{ pace: string[] }>('select jobtree.next_pace($1, $2, $3) as pace', [
          pace,
          ended,
          Math.floor(at(seconds).getTime() / 10_000),
        ])
      )[0]?.pace ?? [];
    const rate = (pace: string[], startedAt: number, seconds: number) =>
      perSecond(pace.map(Number), at(startedAt), at(seconds));
    let pace = await next([], 100, 3);
    expect(rate(pace, 1, 3)).toBe(50);
    pace = await next(pace, 20, 8);
    pace = await next(pace, 60, 45);
    expect(pace.slice(1)).toEqual(['60', '0', '0', '0', '120', '0']);
    expect(rate(pace, -100, 50)).toBe(180 / 50);
    expect(rate(pace, -100, 55)).toBe(180 / 55);
    expect(rate(pace, -100, 65)).toBe(60 / 55);
    expect(rate(pace, -100, 165)).toBe(0);
    pace = await next(pace, 5, 165);
    expect(pace.slice(1)).toEqual(['5', '0', '0', '0', '0', '0']);
  });
});

/** RANGES_ITEMS: items of a job (100,000). */
const size = Number(process.env.RANGES_ITEMS ?? 100_000);
/** In ranges of 100, with a gap in each block. $1 is the job, $2 how many. */
const positions =
  'select 1024 * (n / 10) + 100 * (n % 10) as position, n from generate_series(0, $2::int / 100 - 1) n';
const leasesOf = (open: string, condition = 'true') =>
  `insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker)
   select gen_random_uuid(), $1, p.position, now(), now(), case when bit_count(${open}) > 0 then now() end, 1, 100, 0, ${open}, 'w'
   from (${positions}) p where ${condition}`;
const none = "B'0'::bit(128)";
const full = "(~B'0'::bit(128) << 28)";
const failedEvery = (each: number) =>
  `insert into jobtree.outcome (job_id, position, finished_at, failed)
   select $1, p.position + i, now(), true from (${positions}) p cross join lateral generate_series(0, 99, ${each}) i`;
const entriesOf = (condition: string) =>
  `insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type)
   select $1, p.position, p.position, 1, 1, 100, 0, 'large' from (${positions}) p where ${condition}`;

describe.each([
  ['finished', [leasesOf(none)], 1, 1],
  ['half finished', [leasesOf(none, 'n < $2::int / 200'), entriesOf('n >= $2::int / 200')], 2, 1],
  ['finished, with failures all over', [leasesOf(none), failedEvery(100)], 500, 12],
  ['in open leases', [leasesOf(full)], 1, 1],
])('a job of many items that is %s', (name, fills, count, perThousand) => {
  it('costs a few blocks for a thousand of them, and no compilation', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type });
    for (const fill of fills) await t.db.query(fill, [jobId, size]);
    await t.db.query('vacuum analyze jobtree.lease, jobtree.queue_entry, jobtree.outcome');
    let ranges: Range[] = [];
    const plans = await plansOf(t.db, async (client) => {
      const values = [jobId, 0, Number.MAX_SAFE_INTEGER, 500, 20_000];
      const read = () => surveyOn(client, { ...itemRanges, values });
      ranges = (await read()).rows[0].ranges;
      if (process.env.RANGES_ITEMS === undefined) return;
      const at = performance.now();
      await read();
      console.log(`${name}: ${Math.round(performance.now() - at)} ms`);
    });
    expect(sum(ranges)).toBe(size);
    expect(ranges.length).toBe(count);
    const { nodes } = plans.find(({ query }) => query.includes('with entry as materialized')) ?? {
      nodes: [],
    };
    const blocks = (nodes[0]?.['Shared Hit Blocks'] ?? 0) + (nodes[0]?.['Shared Read Blocks'] ?? 0);
    if (process.env.RANGES_ITEMS !== undefined) console.log(`${name}: ${blocks} blocks`);
    expect(blocks).toBeGreaterThan(0);
    expect(blocks).toBeLessThan(50 + (size / 1_000) * perThousand);
  });
});

it('what the items of a job wait for is read at the same cost, however many wait', async () => {
  const blocksOf = async (entries: number) => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type });
    await t.db.query(
      `insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
       select $1, n, n, 1, now() + interval '1 day', 1, 1, 0, 'large' from generate_series(1, $2::int) n`,
      [jobId, entries],
    );
    await t.db.query('vacuum analyze jobtree.queue_entry');
    const plans = await plansOf(t.db, (client) =>
      surveyOn(client, { ...pendingOfJobs, values: [[jobId], 1000] }),
    );
    const [all] = plans.find(({ query }) => query.includes(pendingOfJobs.text))?.nodes ?? [];
    return (all?.['Shared Hit Blocks'] ?? 0) + (all?.['Shared Read Blocks'] ?? 0);
  };
  const few = await blocksOf(5_000);
  expect(few).toBeGreaterThan(0);
  expect(await blocksOf(100_000)).toBeLessThan(few + 100);
});
