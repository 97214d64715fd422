/** Pages of items by statuses are what the states of the items say, from any place, in both directions, for many jobs at once. */
import { expect, it } from 'vitest';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { readItemKeys } from '../../../src/domain/items/item-pages.ts';
import { type ItemStatus, itemStatuses, pendingStatuses } from '../../../src/domain/items/item-state.ts';
import { readItems } from '../../../src/domain/items/read-items.ts';
import { updateItem } from '../../../src/domain/items/update-item.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { readItemPage, readJobPage } from '../../../src/domain/jobs/watched-pages.ts';
import { startOperation } from '../../../src/domain/operations/operations.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import type { ItemKey } from '../../../src/domain/values/ids.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();
/** Each alone, and some together. */
const lists: readonly (readonly ItemStatus[])[] = [
  ...itemStatuses.map((status) => [status]),
  pendingStatuses,
  ['RUNNING', 'WAITING', 'READY', 'BLOCKED'],
  ['SCHEDULED', 'RETRYING'],
  ['SCHEDULED', 'FAILED'],
  ['SUCCEEDED', 'FAILED'],
  ['CANCELLED', 'SCHEDULED', 'SUCCEEDED'],
  itemStatuses,
];

/** A job with items in all states, in ranges that lie across each other. */
async function mixedJob(cancelled: 'NOT' | 'WHOLLY' | 'BEING'): Promise<string> {
  const type = newType();
  const items = Array.from({ length: 400 }, (_, i) => ({
    payload: i,
    priority: i % 100 === 50 ? 1 : null,
    runAt: i >= 300 && i < 340 ? new Date(Date.now() + 3_600_000) : null,
    serializeKey: i >= 340 && i < 390 && i % 2 === 0 ? type : null,
  }));
  const { [type]: jobId = '' } = await t.create({ type, items, backoffMs: [0], maxFailuresPerItem: 1 });
  const worker = 'w';
  for (const [limit, keep] of [
    [150, 7],
    [100, 5],
    [60, 3],
  ] as const) {
    const held = await claimItems(t.engine, worker, [{ type, limit }]);
    await releaseAssignments(
      t.engine,
      held.flatMap(({ id }, i) => (i % 11 === 1 ? id : [])),
    );
    await reportOutcomes(
      t.engine,
      held.flatMap(({ id: assignmentId }, i) => {
        if (i % 11 === 1 || i % keep === 0) return [];
        const retryAfterMs = i % 8 === 3 ? 3_600_000 : undefined;
        const failure = { code: 'E', message: 'no', permanent: i % 2 === 0, retryAfterMs };
        return i % 4 < 2 ? { assignmentId, result: i } : { assignmentId, failure };
      }),
    );
  }
  if (cancelled === 'WHOLLY') await cancelJob(t.engine, jobId);
  if (cancelled === 'BEING') await t.db.query('select jobtree.cancel_job($1, 4)', [jobId]);
  return jobId;
}

/** A job that waits for another one. */
async function dependentJob(): Promise<string> {
  const [type, other] = [newType(), newType()];
  const items = Array.from({ length: 200 }, (_, i) => ({
    payload: i,
    runAt: i < 20 ? new Date(Date.now() + 3_600_000) : null,
    serializeKey: i >= 150 ? type : null,
  }));
  const ids = await t.create({
    type: newType('root'),
    children: [{ type: other }, { type, items, after: [other] }],
  });
  return ids[type] ?? '';
}

it('pages have the items of the requested statuses', async () => {
  const jobs = [
    await mixedJob('NOT'),
    await mixedJob('WHOLLY'),
    await mixedJob('BEING'),
    await dependentJob(),
  ];
  for (const statuses of lists) {
    const all = await Promise.all(
      jobs.map(async (jobId) => {
        const rows = await t.db.query<{ position: number }>(
          `select position::float8 from jobtree.item_status where job_id = $1 and status = any ($2) order by position`,
          [jobId, statuses],
        );
        return rows.map(({ position }) => position);
      }),
    );
    expect([statuses, all.flat().length > 20]).toEqual([statuses, true]);
    const [first = 0] = (await t.items(jobs[0] ?? '')).map(({ position }) => position);
    for (const backwards of [false, true]) {
      for (const [after, before, take] of [
        [undefined, undefined, 1_001],
        [undefined, undefined, 10],
        [first + 5, undefined, 30],
        [undefined, first + 205, 30],
        [first + 90, first + 131, 1_001],
        [first + 90, first + 131, 3],
      ] as const) {
        const pages = await readItemKeys(
          t.engine.database,
          statuses,
          backwards,
          jobs.map((jobId) => ({ jobId, range: { after, before, take, backwards } })),
        );
        const between = all.map((positions) => {
          const found = positions.filter((p) => p > (after ?? -1) && p < (before ?? Infinity));
          return (backwards ? found.toReversed() : found).slice(0, take);
        });
        expect([statuses, after, pages.map((page) => page.map(({ position }) => position))]).toEqual([
          statuses,
          after,
          between,
        ]);
      }
    }
  }
});

it('an item has the status by which a page finds it, read whole or in part', async () => {
  const jobs = [await mixedJob('NOT'), await mixedJob('BEING'), await dependentJob()];
  const range = { take: 1_001, backwards: false };
  const requests = jobs.map((jobId) => ({ jobId, range }));
  for (const status of itemStatuses) {
    const keys = (await readItemKeys(t.engine.database, [status], false, requests)).flat();
    const isLater = status === 'SCHEDULED' || status === 'RETRYING';
    const none = { details: false, payload: false, result: false };
    for (const parts of [undefined, { ...none, status: true }]) {
      const items = await readItems(t.engine.database, keys, parts);
      expect([status, new Set(items.map((item) => item?.status))]).toEqual([status, new Set([status])]);
      expect(items.every((item) => (item?.retryAt != null) === isLater)).toBe(true);
    }
    const whole = await readItems(t.engine.database, keys);
    const hasWorker = status === 'RUNNING' || status === 'SUCCEEDED';
    expect(whole.every((item) => (item?.assignmentId != null) === hasWorker)).toBe(true);
    expect(whole.every((item) => item?.blockedBy != null)).toBe(status === 'BLOCKED');
  }
});

it('a job that does not exist has no items', async () => {
  const jobId = await mixedJob('NOT');
  const range = { take: 2, backwards: false };
  const pages = await readItemKeys(t.engine.database, pendingStatuses, false, [
    { jobId: '00000000-0000-7000-8000-000000000000', range },
    { jobId, range },
  ]);
  expect(pages.map(({ length }) => length)).toEqual([0, 2]);
});

/** Which of the rows differ between two readings, each a text by its id. */
const changed = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) =>
  [...after].flatMap(([id, text], i) => (before.get(id) === text ? [] : [i]));

it('after each change of what a watched item shows it has another mark, and others keep theirs', async () => {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({
    type,
    backoffMs: [0],
    items: [
      ...[0, 1, 2].map((payload) => ({ payload, serializeKey: type, priority: 1 })),
      { runAt: new Date(Date.now() + 3_600_000) },
      {},
      {},
      {},
    ],
  });
  const keys = await t.items(jobId);
  const [, , , , updated, , last] = keys;
  const read = async () => {
    const items = await readItems(t.engine.database, keys);
    const { rows } = await readItemPage(t.engine.database, { jobId, first: 50, failedOnly: false });
    return {
      shown: new Map(items.map((item, i) => [`${i}`, JSON.stringify(item)])),
      marks: new Map(rows.map(({ id, mark }) => [id, mark])),
    };
  };
  const report = async (outcome: object) =>
    reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, ...outcome }]);
  const steps: [string, number[], () => Promise<unknown>][] = [
    ['fails, and is due again', [0], () => report({ failure: { code: 'E', message: 'no' } })],
    ['passes on its serialize key', [0, 1, 2], () => report({ result: 1 })],
    ['is claimed', [1], () => t.claimOne(type)],
    [
      'is due',
      [3],
      async () => {
        await t.db.query(
          `update jobtree.queue_entry set run_at = now() - interval '1 s' where job_id = $1 and run_at is not null`,
          [jobId],
        );
        await t.sweep();
      },
    ],
    ['is updated', [4], () => updateItem(t.engine, updated as ItemKey, { priority: -1 })],
    [
      'is cancelled',
      [6],
      async () => {
        await startOperation(t.engine, 'CANCEL', { items: [last as ItemKey] });
        await t.finish();
      },
    ],
    ['is cancelled with its job', [1, 2, 3, 4, 5], () => cancelJob(t.engine, jobId)],
  ];
  for (const [what, expected, act] of steps) {
    const before = await read();
    await act();
    const after = await read();
    expect([what, changed(before.shown, after.shown)]).toEqual([what, expected]);
    expect([what, changed(before.marks, after.marks)]).toEqual([what, expected]);
  }
});

it('a watched job has another mark once it waits no longer, is sealed or is cancelled', async () => {
  const [root, first, second] = [newType('root'), newType('first'), newType('second')];
  const ids = await t.create({
    type: root,
    children: [
      { type: first, sealed: true, items: [{}] },
      { type: second, after: [first], items: [{}] },
    ],
  });
  await t.fold(ids[root] ?? '');
  const page = { types: [root, first, second], rootsOnly: false, first: 9, withTrees: false };
  const read = async () => {
    const rows = await readJobPage(t.engine.database, page);
    return new Map(rows.map(({ id, mark }) => [id, mark]));
  };
  const steps: [string[], () => Promise<unknown>][] = [
    [
      [second, first],
      async () => {
        await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(first)).id, result: 1 }]);
        await t.fold(ids[root] ?? '');
      },
    ],
    [[second], () => t.db.query('select jobtree.seal_job($1)', [ids[second]])],
    [[second], () => t.db.query('select jobtree.cancel_job($1)', [ids[second]])],
  ];
  for (const [expected, act] of steps) {
    const before = await read();
    await act();
    const after = await read();
    expect([...after.keys()].filter((id) => before.get(id) !== after.get(id))).toEqual(
      expected.map((type) => ids[type]),
    );
  }
});
