/** Every operation against an item in every state: what it answers, the state that it leaves, and what becomes of the neighbours. */
import { beforeAll, describe, expect, it } from 'vitest';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../../src/domain/claims/heartbeat.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { type ItemChanges, updateItem } from '../../../src/domain/items/update-item.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import {
  type OperationKind,
  type PendingItemFilter,
  readOperations,
  startOperation,
} from '../../../src/domain/operations/operations.ts';
import { type Report, reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { type ItemKey, itemIdOf } from '../../../src/domain/values/ids.ts';
import { ItemNotClaimableError, ItemNotUpdatableError } from '../../../src/errors.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

const states = [
  'READY',
  'SCHEDULED',
  'RETRYING',
  'RUNNING',
  'EXPIRED',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'CANCELLED_HELD',
  'CANCELLED_ALONE',
  'CANCELLED_ALONE_HELD',
  'RELEASED',
  'LOST',
  'REPLAYED',
  'BLOCKED',
] as const;
type State = (typeof states)[number];

/** The item alone in its entry or its lease, or the middle one of five. */
const places = { alone: 1, 'in the middle of five': 5 } as const;

/** What the other items of the same entry or lease are, once the one in the middle is in a state. */
const neighbours: Record<State, State> = {
  READY: 'READY',
  SCHEDULED: 'SCHEDULED',
  RETRYING: 'RUNNING',
  RUNNING: 'RUNNING',
  EXPIRED: 'RUNNING',
  SUCCEEDED: 'RUNNING',
  FAILED: 'RUNNING',
  CANCELLED: 'CANCELLED',
  CANCELLED_HELD: 'CANCELLED_HELD',
  CANCELLED_ALONE: 'READY',
  CANCELLED_ALONE_HELD: 'RUNNING',
  RELEASED: 'RUNNING',
  LOST: 'RUNNING',
  REPLAYED: 'RUNNING',
  BLOCKED: 'BLOCKED',
};

interface Subject {
  type: string;
  jobId: string;
  item: ItemKey;
  /** Its last assignment, also if it is over; a made-up one if there never was any. */
  assignmentId: string;
}

const nobody = '00000000-0000-7000-8000-000000000001';
const failure = { code: 'E', message: 'no' };

async function itemIn(state: State, count: number): Promise<Subject> {
  const type = newType(state);
  const runAt = state === 'SCHEDULED' ? new Date(Date.now() + 3_600_000) : null;
  const backoffMs = state === 'LOST' ? [0] : [3_600_000];
  const middle = (count - 1) / 2;
  const serializeKey = state === 'BLOCKED' ? type : undefined;
  if (state === 'BLOCKED') await t.create({ type: newType('head'), items: [{ serializeKey }] });
  const { [type]: jobId = '' } = await t.create({
    type,
    backoffMs,
    items: Array.from({ length: count }, (_, i) => ({
      payload: i,
      dedupeKey: `k${i - middle}`,
      runAt,
      serializeKey,
    })),
  });
  const item = (await t.items(jobId))[middle] as ItemKey;
  const subject = { type, jobId, item, assignmentId: nobody };
  if (state === 'CANCELLED') await cancelJob(t.engine, jobId);
  if (state === 'CANCELLED_ALONE') await startOperation(t.engine, 'CANCEL', { items: [item] });
  if (['READY', 'SCHEDULED', 'CANCELLED', 'CANCELLED_ALONE', 'BLOCKED'].includes(state)) return subject;
  const held = await claimItems(t.engine, 'worker', [{ type, limit: count }]);
  expect(await t.db.query('select from jobtree.lease where job_id = $1', [jobId])).toHaveLength(1);
  subject.assignmentId = held[middle]?.id ?? '';
  await bring(state, subject);
  return subject;
}

async function bring(state: State, { assignmentId: id, jobId, item }: Subject): Promise<void> {
  switch (state) {
    case 'RETRYING':
      await reportOutcomes(t.engine, [{ assignmentId: id, failure }]);
      break;
    case 'EXPIRED':
      await t.expire(id);
      break;
    case 'SUCCEEDED':
      await reportOutcomes(t.engine, [{ assignmentId: id, result: 'done' }]);
      break;
    case 'FAILED':
      await reportOutcomes(t.engine, [{ assignmentId: id, failure: { ...failure, permanent: true } }]);
      break;
    case 'CANCELLED_HELD':
      await cancelJob(t.engine, jobId);
      break;
    case 'CANCELLED_ALONE_HELD':
      await startOperation(t.engine, 'CANCEL', { items: [item] });
      break;
    case 'RELEASED':
      await releaseAssignments(t.engine, [id]);
      break;
    case 'LOST':
      await t.expire(id);
      await t.sweep();
      break;
    case 'REPLAYED':
      await reportOutcomes(t.engine, [{ assignmentId: id, failure: { ...failure, permanent: true } }]);
      await startOperation(t.engine, 'REPLAY', { items: [item] });
  }
}

interface Row {
  position: number;
  state: string;
  /** Of the view item_status. */
  viewed: string;
  attempt: number | null;
  [detail: string]: unknown;
}

/** How the items of the job stand, from their rows alone; fails if an item is in two places, or in none. */
async function rowsOf(jobId: string): Promise<Row[]> {
  const rows = await t.db.query<
    Row & { outcomes: number; entries: number; holds: number; blocked: number; cancellations: number }
  >(
    `select i.position::float8, lower(s.status) as viewed, s.attempt, s.due_at, s.lease_id, s.worker, s.finished_at, s.result,
       a.deadline_at, (select max(f.attempt) from jobtree.failure f where f.job_id = i.job_id and f.position = i.position) as failures,
       n.*,
       case
         when n.failed then 'failed'
         when n.outcomes > 0 then 'succeeded'
         when j.cancelled_at is not null or n.cancellations > 0 then 'cancelled'
         when n.holds > 0 then 'running'
         when n.scheduled then case when n.has_failed then 'retrying' else 'scheduled' end
         when n.entries > 0 then 'ready'
         when n.blocked > 0 then 'blocked'
       end as state
     from jobtree.job_item i
     join jobtree.job j on j.id = i.job_id
     join jobtree.item_status s on s.job_id = i.job_id and s.position = i.position
     left join jobtree.assignment a on a.job_id = i.job_id and a.position = i.position and a.state = 'HELD'
     cross join lateral (
       select
         (select count(*)::int from jobtree.outcome o where o.job_id = i.job_id and o.position = i.position) as outcomes,
         (select bool_or(o.failed) from jobtree.outcome o where o.job_id = i.job_id and o.position = i.position) as failed,
         (select count(*)::int from jobtree.queue_entry q where q.job_id = i.job_id and q.type = j.type and i.position >= q.position and i.position < q.position + q.count) as entries,
         (select bool_or(q.run_at is not null) from jobtree.queue_entry q where q.job_id = i.job_id and i.position >= q.position and i.position < q.position + q.count) as scheduled,
         (select count(*)::int from jobtree.cancellation c where c.job_id = i.job_id and i.position >= c.position and i.position < c.position + c.count) as cancellations,
         (select count(*)::int from jobtree.lease l where l.job_id = i.job_id and substring(l.open::text, (i.position - l.position + 1)::int, 1) = '1' and i.position >= l.position) as holds,
         exists (select from jobtree.failure f where f.job_id = i.job_id and f.position = i.position) as has_failed,
         (select count(*)::int from jobtree.blocked_item b where b.job_id = i.job_id and b.position = i.position) as blocked
     ) n
     where i.job_id = $1 order by i.position`,
    [jobId],
  );
  for (const { state, viewed, outcomes, entries, holds, blocked, cancellations } of rows) {
    expect(viewed).toBe(state);
    expect([outcomes + entries + holds + blocked, cancellations]).toEqual(
      state === 'cancelled' ? [0, 1] : [1, 0],
    );
  }
  return rows;
}

const report = async (report: Report) => (await reportOutcomes(t.engine, [report]))[0];
const twice = async (given: Report) => {
  const [first, second] = [await report(given), await report(given)];
  expect(second?.retryAt).toEqual(first?.retryAt);
  return `${first?.status}, ${second?.status}`;
};

/** How many items the operation did. */
const operate = async (kind: OperationKind, { item }: Subject, more: PendingItemFilter = {}) => {
  const id = await startOperation(t.engine, kind, { items: [item], ...more });
  const [operation] = await readOperations(t.engine.database, [id]);
  expect(operation?.finishedAt).toBeInstanceOf(Date);
  return operation?.done;
};

const update = (item: ItemKey, changes: ItemChanges) =>
  updateItem(t.engine, item, changes).then(
    () => 'UPDATED',
    (error: unknown) => (error instanceof ItemNotUpdatableError ? error.reason : Promise.reject(error)),
  );

const operations: Record<string, (subject: Subject) => Promise<unknown>> = {
  claimItems: async ({ type, item }) =>
    (await claimItems(t.engine, 'w', [{ type, limit: 9 }])).some(({ itemId }) => itemId === itemIdOf(item)),
  claimItem: ({ item }) =>
    claimItem(t.engine, item, 'w').then(
      ({ itemId }) => itemId === itemIdOf(item),
      (error: unknown) => (error instanceof ItemNotClaimableError ? error.reason : Promise.reject(error)),
    ),
  reportSuccess: async ({ assignmentId }) => (await report({ assignmentId, result: 'done' }))?.status,
  reportFailure: async ({ assignmentId }) => (await report({ assignmentId, failure }))?.status,
  reportPermanentFailure: async ({ assignmentId }) =>
    (await report({ assignmentId, failure: { ...failure, permanent: true } }))?.status,
  reportOtherFailure: async ({ assignmentId }) =>
    (await report({ assignmentId, failure: { ...failure, code: 'OTHER' } }))?.status,
  reportSuccessTwice: ({ assignmentId }) => twice({ assignmentId, result: 'done' }),
  reportFailureTwice: ({ assignmentId }) => twice({ assignmentId, failure }),
  heartbeat: async ({ assignmentId }) => (await heartbeat(t.engine, [assignmentId]))[0],
  release: async ({ assignmentId }) => (await releaseAssignments(t.engine, [assignmentId]))[0],
  snooze: async ({ assignmentId }) => (await report({ assignmentId, snoozeMs: 60_000 }))?.status,
  addAgain: ({ jobId, item }) =>
    addItems(t.engine, jobId, [{ payload: 2, dedupeKey: 'k0' }], { seal: false }).then(
      ([entry]) => (entry?.status === 'DUPLICATE' && entry.itemId === itemIdOf(item) ? 'DUPLICATE' : entry),
      (error: Error) => error.name,
    ),
  replay: (subject) => operate('REPLAY', subject),
  discard: (subject) => operate('DISCARD', subject),
  cancelItems: (subject) => operate('CANCEL', subject),
  promoteItems: (subject) => operate('PROMOTE', subject),
  promoteScheduled: (subject) => operate('PROMOTE', subject, { statuses: ['SCHEDULED'] }),
  correct: ({ item }) => update(item, { payload: 'corrected' }),
  makeDue: ({ item }) => update(item, { runAt: null }),
  sweep: () => t.sweep(),
  cancel: ({ jobId }) => cancelJob(t.engine, jobId),
  delete: async ({ jobId }) => (await deleteJob(t.engine, jobId)).deleted,
};

/** What these do, they do to the whole job: to each of its items as to one that is alone. */
const toWholeJob = new Set(['claimItems', 'cancel', 'delete']);

/** operation → state before → [answer, state after] */
const expected: Record<string, Record<State, [unknown, string]>> = {
  claimItems: {
    READY: [true, 'running'],
    SCHEDULED: [false, 'scheduled'],
    RETRYING: [false, 'retrying'],
    RUNNING: [false, 'running'],
    EXPIRED: [false, 'running'],
    SUCCEEDED: [false, 'succeeded'],
    FAILED: [false, 'failed'],
    CANCELLED: [false, 'cancelled'],
    CANCELLED_HELD: [false, 'cancelled'],
    CANCELLED_ALONE: [false, 'cancelled'],
    CANCELLED_ALONE_HELD: [false, 'cancelled'],
    RELEASED: [true, 'running'],
    LOST: [true, 'running'],
    REPLAYED: [true, 'running'],
    BLOCKED: [false, 'blocked'],
  },
  claimItem: {
    READY: [true, 'running'],
    SCHEDULED: ['SCHEDULED', 'scheduled'],
    RETRYING: ['RETRYING', 'retrying'],
    RUNNING: ['RUNNING', 'running'],
    EXPIRED: ['RUNNING', 'running'],
    SUCCEEDED: ['SUCCEEDED', 'succeeded'],
    FAILED: ['FAILED', 'failed'],
    CANCELLED: ['CANCELLED', 'cancelled'],
    CANCELLED_HELD: ['CANCELLED', 'cancelled'],
    CANCELLED_ALONE: ['CANCELLED', 'cancelled'],
    CANCELLED_ALONE_HELD: ['CANCELLED', 'cancelled'],
    RELEASED: [true, 'running'],
    LOST: [true, 'running'],
    REPLAYED: [true, 'running'],
    BLOCKED: ['BLOCKED', 'blocked'],
  },
  reportSuccess: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'scheduled'],
    RETRYING: ['STALE', 'retrying'],
    RUNNING: ['ACCEPTED', 'succeeded'],
    EXPIRED: ['ACCEPTED', 'succeeded'],
    SUCCEEDED: ['DUPLICATE', 'succeeded'],
    FAILED: ['STALE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    CANCELLED_HELD: ['STALE', 'cancelled'],
    CANCELLED_ALONE: ['STALE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
    REPLAYED: ['STALE', 'ready'],
    BLOCKED: ['STALE', 'blocked'],
  },
  reportFailure: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'scheduled'],
    RETRYING: ['DUPLICATE', 'retrying'],
    RUNNING: ['ACCEPTED', 'retrying'],
    EXPIRED: ['ACCEPTED', 'retrying'],
    SUCCEEDED: ['STALE', 'succeeded'],
    FAILED: ['DUPLICATE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    CANCELLED_HELD: ['STALE', 'cancelled'],
    CANCELLED_ALONE: ['STALE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
    REPLAYED: ['DUPLICATE', 'ready'],
    BLOCKED: ['STALE', 'blocked'],
  },
  reportPermanentFailure: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'scheduled'],
    RETRYING: ['DUPLICATE', 'retrying'],
    RUNNING: ['ACCEPTED', 'failed'],
    EXPIRED: ['ACCEPTED', 'failed'],
    SUCCEEDED: ['STALE', 'succeeded'],
    FAILED: ['DUPLICATE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    CANCELLED_HELD: ['STALE', 'cancelled'],
    CANCELLED_ALONE: ['STALE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
    REPLAYED: ['DUPLICATE', 'ready'],
    BLOCKED: ['STALE', 'blocked'],
  },
  reportOtherFailure: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'scheduled'],
    RETRYING: ['STALE', 'retrying'],
    RUNNING: ['ACCEPTED', 'retrying'],
    EXPIRED: ['ACCEPTED', 'retrying'],
    SUCCEEDED: ['STALE', 'succeeded'],
    FAILED: ['STALE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    CANCELLED_HELD: ['STALE', 'cancelled'],
    CANCELLED_ALONE: ['STALE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
    REPLAYED: ['STALE', 'ready'],
    BLOCKED: ['STALE', 'blocked'],
  },
  reportSuccessTwice: {
    READY: ['STALE, STALE', 'ready'],
    SCHEDULED: ['STALE, STALE', 'scheduled'],
    RETRYING: ['STALE, STALE', 'retrying'],
    RUNNING: ['ACCEPTED, DUPLICATE', 'succeeded'],
    EXPIRED: ['ACCEPTED, DUPLICATE', 'succeeded'],
    SUCCEEDED: ['DUPLICATE, DUPLICATE', 'succeeded'],
    FAILED: ['STALE, STALE', 'failed'],
    CANCELLED: ['STALE, STALE', 'cancelled'],
    CANCELLED_HELD: ['STALE, STALE', 'cancelled'],
    CANCELLED_ALONE: ['STALE, STALE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['STALE, STALE', 'cancelled'],
    RELEASED: ['STALE, STALE', 'ready'],
    LOST: ['STALE, STALE', 'ready'],
    REPLAYED: ['STALE, STALE', 'ready'],
    BLOCKED: ['STALE, STALE', 'blocked'],
  },
  reportFailureTwice: {
    READY: ['STALE, STALE', 'ready'],
    SCHEDULED: ['STALE, STALE', 'scheduled'],
    RETRYING: ['DUPLICATE, DUPLICATE', 'retrying'],
    RUNNING: ['ACCEPTED, DUPLICATE', 'retrying'],
    EXPIRED: ['ACCEPTED, DUPLICATE', 'retrying'],
    SUCCEEDED: ['STALE, STALE', 'succeeded'],
    FAILED: ['DUPLICATE, DUPLICATE', 'failed'],
    CANCELLED: ['STALE, STALE', 'cancelled'],
    CANCELLED_HELD: ['STALE, STALE', 'cancelled'],
    CANCELLED_ALONE: ['STALE, STALE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['STALE, STALE', 'cancelled'],
    RELEASED: ['STALE, STALE', 'ready'],
    LOST: ['STALE, STALE', 'ready'],
    REPLAYED: ['DUPLICATE, DUPLICATE', 'ready'],
    BLOCKED: ['STALE, STALE', 'blocked'],
  },
  heartbeat: {
    READY: ['LOST', 'ready'],
    SCHEDULED: ['LOST', 'scheduled'],
    RETRYING: ['FINISHED', 'retrying'],
    RUNNING: ['HELD', 'running'],
    EXPIRED: ['HELD', 'running'],
    SUCCEEDED: ['FINISHED', 'succeeded'],
    FAILED: ['FINISHED', 'failed'],
    CANCELLED: ['LOST', 'cancelled'],
    CANCELLED_HELD: ['CANCELLED', 'cancelled'],
    CANCELLED_ALONE: ['LOST', 'cancelled'],
    CANCELLED_ALONE_HELD: ['CANCELLED', 'cancelled'],
    RELEASED: ['LOST', 'ready'],
    LOST: ['LOST', 'ready'],
    REPLAYED: ['FINISHED', 'ready'],
    BLOCKED: ['LOST', 'blocked'],
  },
  release: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'scheduled'],
    RETRYING: ['STALE', 'retrying'],
    RUNNING: ['RELEASED', 'ready'],
    EXPIRED: ['RELEASED', 'ready'],
    SUCCEEDED: ['STALE', 'succeeded'],
    FAILED: ['STALE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    CANCELLED_HELD: ['STALE', 'cancelled'],
    CANCELLED_ALONE: ['STALE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
    REPLAYED: ['STALE', 'ready'],
    BLOCKED: ['STALE', 'blocked'],
  },
  snooze: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'scheduled'],
    RETRYING: ['STALE', 'retrying'],
    RUNNING: ['ACCEPTED', 'scheduled'],
    EXPIRED: ['ACCEPTED', 'scheduled'],
    SUCCEEDED: ['STALE', 'succeeded'],
    FAILED: ['STALE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    CANCELLED_HELD: ['STALE', 'cancelled'],
    CANCELLED_ALONE: ['STALE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
    REPLAYED: ['STALE', 'ready'],
    BLOCKED: ['STALE', 'blocked'],
  },
  addAgain: {
    READY: ['DUPLICATE', 'ready'],
    SCHEDULED: ['DUPLICATE', 'scheduled'],
    RETRYING: ['DUPLICATE', 'retrying'],
    RUNNING: ['DUPLICATE', 'running'],
    EXPIRED: ['DUPLICATE', 'running'],
    SUCCEEDED: ['DUPLICATE', 'succeeded'],
    FAILED: ['DUPLICATE', 'failed'],
    CANCELLED: ['JobSealedError', 'cancelled'],
    CANCELLED_HELD: ['JobSealedError', 'cancelled'],
    CANCELLED_ALONE: ['DUPLICATE', 'cancelled'],
    CANCELLED_ALONE_HELD: ['DUPLICATE', 'cancelled'],
    RELEASED: ['DUPLICATE', 'ready'],
    LOST: ['DUPLICATE', 'ready'],
    REPLAYED: ['DUPLICATE', 'ready'],
    BLOCKED: ['DUPLICATE', 'blocked'],
  },
  replay: {
    READY: [0, 'ready'],
    SCHEDULED: [0, 'scheduled'],
    RETRYING: [0, 'retrying'],
    RUNNING: [0, 'running'],
    EXPIRED: [0, 'running'],
    SUCCEEDED: [0, 'succeeded'],
    FAILED: [1, 'ready'],
    CANCELLED: [0, 'cancelled'],
    CANCELLED_HELD: [0, 'cancelled'],
    CANCELLED_ALONE: [0, 'cancelled'],
    CANCELLED_ALONE_HELD: [0, 'cancelled'],
    RELEASED: [0, 'ready'],
    LOST: [0, 'ready'],
    REPLAYED: [0, 'ready'],
    BLOCKED: [0, 'blocked'],
  },
  discard: {
    READY: [0, 'ready'],
    SCHEDULED: [0, 'scheduled'],
    RETRYING: [0, 'retrying'],
    RUNNING: [0, 'running'],
    EXPIRED: [0, 'running'],
    SUCCEEDED: [0, 'succeeded'],
    FAILED: [1, 'failed'],
    CANCELLED: [0, 'cancelled'],
    CANCELLED_HELD: [0, 'cancelled'],
    CANCELLED_ALONE: [0, 'cancelled'],
    CANCELLED_ALONE_HELD: [0, 'cancelled'],
    RELEASED: [0, 'ready'],
    LOST: [0, 'ready'],
    REPLAYED: [0, 'ready'],
    BLOCKED: [0, 'blocked'],
  },
  cancelItems: {
    READY: [1, 'cancelled'],
    SCHEDULED: [1, 'cancelled'],
    RETRYING: [1, 'cancelled'],
    RUNNING: [1, 'cancelled'],
    EXPIRED: [1, 'cancelled'],
    SUCCEEDED: [0, 'succeeded'],
    FAILED: [0, 'failed'],
    CANCELLED: [0, 'cancelled'],
    CANCELLED_HELD: [0, 'cancelled'],
    CANCELLED_ALONE: [0, 'cancelled'],
    CANCELLED_ALONE_HELD: [0, 'cancelled'],
    RELEASED: [1, 'cancelled'],
    LOST: [1, 'cancelled'],
    REPLAYED: [1, 'cancelled'],
    BLOCKED: [1, 'cancelled'],
  },
  promoteItems: {
    READY: [0, 'ready'],
    SCHEDULED: [0, 'scheduled'],
    RETRYING: [1, 'ready'],
    RUNNING: [0, 'running'],
    EXPIRED: [0, 'running'],
    SUCCEEDED: [0, 'succeeded'],
    FAILED: [0, 'failed'],
    CANCELLED: [0, 'cancelled'],
    CANCELLED_HELD: [0, 'cancelled'],
    CANCELLED_ALONE: [0, 'cancelled'],
    CANCELLED_ALONE_HELD: [0, 'cancelled'],
    RELEASED: [0, 'ready'],
    LOST: [0, 'ready'],
    REPLAYED: [0, 'ready'],
    BLOCKED: [0, 'blocked'],
  },
  promoteScheduled: {
    READY: [0, 'ready'],
    SCHEDULED: [1, 'ready'],
    RETRYING: [0, 'retrying'],
    RUNNING: [0, 'running'],
    EXPIRED: [0, 'running'],
    SUCCEEDED: [0, 'succeeded'],
    FAILED: [0, 'failed'],
    CANCELLED: [0, 'cancelled'],
    CANCELLED_HELD: [0, 'cancelled'],
    CANCELLED_ALONE: [0, 'cancelled'],
    CANCELLED_ALONE_HELD: [0, 'cancelled'],
    RELEASED: [0, 'ready'],
    LOST: [0, 'ready'],
    REPLAYED: [0, 'ready'],
    BLOCKED: [0, 'blocked'],
  },
  correct: {
    READY: ['UPDATED', 'ready'],
    SCHEDULED: ['UPDATED', 'scheduled'],
    RETRYING: ['UPDATED', 'retrying'],
    RUNNING: ['RUNNING', 'running'],
    EXPIRED: ['RUNNING', 'running'],
    SUCCEEDED: ['SUCCEEDED', 'succeeded'],
    FAILED: ['FAILED', 'failed'],
    CANCELLED: ['CANCELLED', 'cancelled'],
    CANCELLED_HELD: ['CANCELLED', 'cancelled'],
    CANCELLED_ALONE: ['CANCELLED', 'cancelled'],
    CANCELLED_ALONE_HELD: ['CANCELLED', 'cancelled'],
    RELEASED: ['UPDATED', 'ready'],
    LOST: ['UPDATED', 'ready'],
    REPLAYED: ['UPDATED', 'ready'],
    BLOCKED: ['UPDATED', 'blocked'],
  },
  makeDue: {
    READY: ['UPDATED', 'ready'],
    SCHEDULED: ['UPDATED', 'ready'],
    RETRYING: ['UPDATED', 'ready'],
    RUNNING: ['RUNNING', 'running'],
    EXPIRED: ['RUNNING', 'running'],
    SUCCEEDED: ['SUCCEEDED', 'succeeded'],
    FAILED: ['FAILED', 'failed'],
    CANCELLED: ['CANCELLED', 'cancelled'],
    CANCELLED_HELD: ['CANCELLED', 'cancelled'],
    CANCELLED_ALONE: ['CANCELLED', 'cancelled'],
    CANCELLED_ALONE_HELD: ['CANCELLED', 'cancelled'],
    RELEASED: ['UPDATED', 'ready'],
    LOST: ['UPDATED', 'ready'],
    REPLAYED: ['UPDATED', 'ready'],
    BLOCKED: ['UPDATED', 'blocked'],
  },
  sweep: {
    READY: [undefined, 'ready'],
    SCHEDULED: [undefined, 'scheduled'],
    RETRYING: [undefined, 'retrying'],
    RUNNING: [undefined, 'running'],
    EXPIRED: [undefined, 'retrying'],
    SUCCEEDED: [undefined, 'succeeded'],
    FAILED: [undefined, 'failed'],
    CANCELLED: [undefined, 'cancelled'],
    CANCELLED_HELD: [undefined, 'cancelled'],
    CANCELLED_ALONE: [undefined, 'cancelled'],
    CANCELLED_ALONE_HELD: [undefined, 'cancelled'],
    RELEASED: [undefined, 'ready'],
    LOST: [undefined, 'ready'],
    REPLAYED: [undefined, 'ready'],
    BLOCKED: [undefined, 'blocked'],
  },
  cancel: {
    READY: [undefined, 'cancelled'],
    SCHEDULED: [undefined, 'cancelled'],
    RETRYING: [undefined, 'cancelled'],
    RUNNING: [undefined, 'cancelled'],
    EXPIRED: [undefined, 'cancelled'],
    SUCCEEDED: [undefined, 'succeeded'],
    FAILED: [undefined, 'failed'],
    CANCELLED: [undefined, 'cancelled'],
    CANCELLED_HELD: [undefined, 'cancelled'],
    CANCELLED_ALONE: [undefined, 'cancelled'],
    CANCELLED_ALONE_HELD: [undefined, 'cancelled'],
    RELEASED: [undefined, 'cancelled'],
    LOST: [undefined, 'cancelled'],
    REPLAYED: [undefined, 'cancelled'],
    BLOCKED: [undefined, 'cancelled'],
  },
  delete: Object.fromEntries(states.map((state) => [state, [true, 'gone']])) as Record<
    State,
    [unknown, string]
  >,
};

describe.each(Object.keys(operations))('%s', (name) => {
  describe.each(Object.keys(places) as (keyof typeof places)[])('on an item %s that is', (place) => {
    it.each(states)('%s', async (state) => {
      const subject = await itemIn(state, places[place]);
      const isSubject = ({ position }: Row) => position === subject.item.position;
      const before = await rowsOf(subject.jobId);
      const answer = await operations[name]?.(subject);
      const after = await rowsOf(subject.jobId);

      const [expectedAnswer, stateAfter] = (expected[name] as Record<State, [unknown, string]>)[state];
      expect([answer, after.find(isSubject)?.state ?? 'gone']).toEqual([expectedAnswer, stateAfter]);
      const [was, is] = [before.find(isSubject), after.find(isSubject)];
      if (stateAfter === was?.state) {
        const isKept = name === 'heartbeat' && stateAfter === 'running';
        expect(is).toEqual({ ...was, ...(isKept && { deadline_at: expect.any(Date) }) });
        // Three intervals from now: also where it was over.
        if (isKept) expect(Number(is?.deadline_at)).toBeGreaterThan(Date.now() + 170_000);
      }
      const others = after.filter((row) => !isSubject(row));
      if (toWholeJob.has(name)) {
        const state2 = expected[name]?.[neighbours[state]]?.[1] as string;
        expect(others.map((row) => row.state)).toEqual(state2 === 'gone' ? [] : others.map(() => state2));
        expect(others).toHaveLength(state2 === 'gone' ? 0 : places[place] - 1);
      } else {
        expect(others).toEqual(before.filter((row) => !isSubject(row)));
      }
      if (name !== 'delete') await countersEqualRows(subject, after);
    });
  });
});

/** Whatever happened, the fold's counters are what the rows say. */
async function countersEqualRows({ type, jobId }: Subject, rows: readonly Row[]): Promise<void> {
  const progress = (await t.fold(jobId))[type];
  const count = (state: string) => rows.filter((row) => row.state === state).length;
  expect(progress).toMatchObject({
    itemCount: rows.length,
    succeeded: count('succeeded'),
    failed: count('failed'),
    cancelled: count('cancelled'),
  });
}

beforeAll(() => {
  expect(Object.keys(expected)).toEqual(Object.keys(operations));
});
