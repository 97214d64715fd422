/** Every operation against an item in every state: what it answers, and the state that it leaves. */
import { beforeAll, describe, expect, it } from 'vitest';
import { addItems } from '../../src/domain/add-items.ts';
import type { Assignment } from '../../src/domain/assignment.ts';
import { cancelJob } from '../../src/domain/cancel-job.ts';
import { claimItem } from '../../src/domain/claim-item.ts';
import { claimItems } from '../../src/domain/claim-items.ts';
import { heartbeat } from '../../src/domain/heartbeat.ts';
import { releaseAssignments } from '../../src/domain/release-assignments.ts';
import { reportOutcomes } from '../../src/domain/report-outcomes.ts';
import { sweep } from '../../src/domain/sweep.ts';
import { ItemNotClaimableError } from '../../src/errors.ts';
import { newType, useEngine } from '../support/engine.ts';

const t = useEngine();

const states = [
  'READY',
  'SCHEDULED',
  'RETRYING',
  'HELD',
  'EXPIRED',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'RELEASED',
  'LOST',
] as const;
type State = (typeof states)[number];

interface Subject {
  type: string;
  jobId: string;
  itemId: string;
  /** The last hold on it, also if it is over; a made-up one if there never was any. */
  assignmentId: string;
}

const nobody = '00000000-0000-7000-8000-000000000000';

async function itemIn(state: State): Promise<Subject> {
  const type = newType(state);
  const runAt = state === 'SCHEDULED' ? new Date(Date.now() + 3_600_000) : null;
  const backoffMs = state === 'LOST' ? [0] : [3_600_000];
  const { [type]: jobId = '' } = await t.create({
    type,
    backoffMs,
    items: [{ payload: 1, dedupeKey: 'k', runAt }],
  });
  const [item] = await t.db.query<{ id: string }>('select id from jobtree.job_item where job_id = $1', [
    jobId,
  ]);
  const subject = { type, jobId, itemId: item?.id ?? '', assignmentId: nobody };
  if (state === 'READY' || state === 'SCHEDULED') return subject;
  const held = await t.claimOne(type);
  subject.assignmentId = held.id;
  await bring(state, held, jobId);
  return subject;
}

async function bring(state: State, { id }: Assignment, jobId: string): Promise<void> {
  const failure = { code: 'E', message: 'no' };
  switch (state) {
    case 'RETRYING':
      await reportOutcomes(t.engine, [{ assignmentId: id, failure }]);
      break;
    case 'EXPIRED':
      await expire(id);
      break;
    case 'SUCCEEDED':
      await reportOutcomes(t.engine, [{ assignmentId: id, result: 'done' }]);
      break;
    case 'FAILED':
      await reportOutcomes(t.engine, [{ assignmentId: id, failure: { ...failure, permanent: true } }]);
      break;
    case 'CANCELLED':
      await cancelJob(t.engine, jobId);
      break;
    case 'RELEASED':
      await releaseAssignments(t.engine, [id]);
      break;
    case 'LOST':
      await expire(id);
      await sweep(t.engine);
  }
}

const expire = (id: string) =>
  t.db.query(`update jobtree.assignment set deadline_at = now() - interval '1 second' where id = $1`, [id]);

/** How the item stands, from its rows alone. */
async function stateOf({ itemId }: Subject): Promise<string> {
  const [row] = await t.db.query<{ state: string }>(
    `select case
       when i.failed_at is not null then 'failed'
       when i.cancelled_at is not null then 'cancelled'
       when a.finished_at is not null then 'succeeded'
       when a.id is not null then 'held'
       when q.run_at is not null then 'waiting'
       when q.item_id is not null then 'ready'
     end as state
     from jobtree.job_item i
     left join jobtree.assignment a on a.held_item_id = i.id
     left join jobtree.queue_entry q on q.item_id = i.id
     where i.id = $1`,
    [itemId],
  );
  return row?.state ?? 'gone';
}

const operations: Record<string, (subject: Subject) => Promise<unknown>> = {
  claimItems: async ({ type }) => (await claimItems(t.engine, 'w', [{ type, limit: 1 }])).length,
  claimItem: ({ itemId }) =>
    claimItem(t.engine, itemId, 'w').then(
      () => 'claimed',
      (error: unknown) => (error instanceof ItemNotClaimableError ? error.reason : Promise.reject(error)),
    ),
  reportSuccess: async ({ assignmentId }) =>
    (await reportOutcomes(t.engine, [{ assignmentId, result: 'done' }]))[0]?.status,
  reportFailure: async ({ assignmentId }) =>
    (await reportOutcomes(t.engine, [{ assignmentId, failure: { code: 'E', message: 'no' } }]))[0]?.status,
  heartbeat: async ({ assignmentId }) => (await heartbeat(t.engine, [assignmentId]))[0],
  release: async ({ assignmentId }) => (await releaseAssignments(t.engine, [assignmentId]))[0],
  addAgain: ({ jobId, itemId }) =>
    addItems(t.engine, jobId, [{ payload: 2, dedupeKey: 'k' }], { seal: false }).then(
      ([entry]) => (entry?.status === 'DUPLICATE' && entry.itemId === itemId ? 'DUPLICATE' : entry),
      (error: Error) => error.name,
    ),
  sweep: async () => {
    await sweep(t.engine);
  },
  cancel: async ({ jobId }) => (await cancelJob(t.engine, jobId)).cancelledItems,
};

/** operation → state before → [answer, state after] */
const expected: Record<string, Record<State, [unknown, string]>> = {
  claimItems: {
    READY: [1, 'held'],
    SCHEDULED: [0, 'waiting'],
    RETRYING: [0, 'waiting'],
    HELD: [0, 'held'],
    EXPIRED: [0, 'held'],
    SUCCEEDED: [0, 'succeeded'],
    FAILED: [0, 'failed'],
    CANCELLED: [0, 'cancelled'],
    RELEASED: [1, 'held'],
    LOST: [1, 'held'],
  },
  claimItem: {
    READY: ['claimed', 'held'],
    SCHEDULED: ['SCHEDULED', 'waiting'],
    RETRYING: ['SCHEDULED', 'waiting'],
    HELD: ['HELD', 'held'],
    EXPIRED: ['HELD', 'held'],
    SUCCEEDED: ['SUCCEEDED', 'succeeded'],
    FAILED: ['FAILED', 'failed'],
    CANCELLED: ['CANCELLED', 'cancelled'],
    RELEASED: ['claimed', 'held'],
    LOST: ['claimed', 'held'],
  },
  reportSuccess: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'waiting'],
    RETRYING: ['STALE', 'waiting'],
    HELD: ['ACCEPTED', 'succeeded'],
    EXPIRED: ['ACCEPTED', 'succeeded'],
    SUCCEEDED: ['DUPLICATE', 'succeeded'],
    FAILED: ['STALE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
  },
  reportFailure: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'waiting'],
    RETRYING: ['DUPLICATE', 'waiting'],
    HELD: ['ACCEPTED', 'waiting'],
    EXPIRED: ['ACCEPTED', 'waiting'],
    SUCCEEDED: ['STALE', 'succeeded'],
    FAILED: ['DUPLICATE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
  },
  heartbeat: {
    READY: ['LOST', 'ready'],
    SCHEDULED: ['LOST', 'waiting'],
    RETRYING: ['FINISHED', 'waiting'],
    HELD: ['HELD', 'held'],
    EXPIRED: ['HELD', 'held'],
    SUCCEEDED: ['FINISHED', 'succeeded'],
    FAILED: ['FINISHED', 'failed'],
    CANCELLED: ['CANCELLED', 'cancelled'],
    RELEASED: ['LOST', 'ready'],
    LOST: ['LOST', 'ready'],
  },
  release: {
    READY: ['STALE', 'ready'],
    SCHEDULED: ['STALE', 'waiting'],
    RETRYING: ['STALE', 'waiting'],
    HELD: ['RELEASED', 'ready'],
    EXPIRED: ['RELEASED', 'ready'],
    SUCCEEDED: ['STALE', 'succeeded'],
    FAILED: ['STALE', 'failed'],
    CANCELLED: ['STALE', 'cancelled'],
    RELEASED: ['STALE', 'ready'],
    LOST: ['STALE', 'ready'],
  },
  addAgain: {
    READY: ['DUPLICATE', 'ready'],
    SCHEDULED: ['DUPLICATE', 'waiting'],
    RETRYING: ['DUPLICATE', 'waiting'],
    HELD: ['DUPLICATE', 'held'],
    EXPIRED: ['DUPLICATE', 'held'],
    SUCCEEDED: ['DUPLICATE', 'succeeded'],
    FAILED: ['DUPLICATE', 'failed'],
    CANCELLED: ['JobSealedError', 'cancelled'],
    RELEASED: ['DUPLICATE', 'ready'],
    LOST: ['DUPLICATE', 'ready'],
  },
  sweep: {
    READY: [undefined, 'ready'],
    SCHEDULED: [undefined, 'waiting'],
    RETRYING: [undefined, 'waiting'],
    HELD: [undefined, 'held'],
    EXPIRED: [undefined, 'waiting'],
    SUCCEEDED: [undefined, 'succeeded'],
    FAILED: [undefined, 'failed'],
    CANCELLED: [undefined, 'cancelled'],
    RELEASED: [undefined, 'ready'],
    LOST: [undefined, 'ready'],
  },
  cancel: {
    READY: [1, 'cancelled'],
    SCHEDULED: [1, 'cancelled'],
    RETRYING: [1, 'cancelled'],
    HELD: [1, 'cancelled'],
    EXPIRED: [1, 'cancelled'],
    SUCCEEDED: [0, 'succeeded'],
    FAILED: [0, 'failed'],
    CANCELLED: [0, 'cancelled'],
    RELEASED: [1, 'cancelled'],
    LOST: [1, 'cancelled'],
  },
};

describe.each(Object.keys(operations))('%s', (name) => {
  it.each(states)('on an item that is %s', async (state) => {
    const subject = await itemIn(state);
    const answer = await operations[name]?.(subject);
    expect([answer, await stateOf(subject)]).toEqual(expected[name]?.[state]);
    await countersEqualRows(subject);
  });
});

/** Whatever happened, the fold's counters are what the rows say. */
async function countersEqualRows({ type, jobId }: Subject): Promise<void> {
  const progress = (await t.fold(jobId))[type];
  const [rows] = await t.db.query<{ items: number; succeeded: number; failed: number; cancelled: number }>(
    `select count(*)::int as items,
       count(*) filter (where a.outcome = 'succeeded')::int as succeeded,
       count(*) filter (where i.failed_at is not null)::int as failed,
       count(*) filter (where i.cancelled_at is not null)::int as cancelled
     from jobtree.job_item i left join jobtree.assignment a on a.held_item_id = i.id
     where i.job_id = $1`,
    [jobId],
  );
  expect({
    items: progress?.itemCount,
    succeeded: progress?.succeeded,
    failed: progress?.failed,
    cancelled: progress?.cancelled,
  }).toEqual(rows);
}

beforeAll(() => {
  expect(Object.keys(expected)).toEqual(Object.keys(operations));
});
