/** Serialize keys: items with one key run one at a time, in the order in which they were added, whatever becomes of each. Races are forced. */
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claim, claimItems } from '../../../src/domain/claims/claim-items.ts';
import { exchange } from '../../../src/domain/claims/exchange.ts';
import { findMissedEntries } from '../../../src/domain/claims/missed-entries.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { promoteBlocked, promoteDue } from '../../../src/domain/claims/sweep.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { readItemKeys } from '../../../src/domain/items/item-pages.ts';
import { pendingStatuses } from '../../../src/domain/items/item-state.ts';
import type { NewItem } from '../../../src/domain/items/new-items.ts';
import { readItems } from '../../../src/domain/items/read-items.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { startOperation } from '../../../src/domain/operations/operations.ts';
import { runSome } from '../../../src/domain/operations/run-operation.ts';
import { readQueue, setQueue, tendQueues } from '../../../src/domain/queues/queues.ts';
import { type Report, reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import type { ItemKey } from '../../../src/domain/values/ids.ts';
import { ItemNotClaimableError } from '../../../src/errors.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';
import { plansOf } from '../../support/plans.ts';

const t = useEngine();
let other: pg.Client;

beforeEach(async () => {
  other = await t.db.connect();
  await other.query('begin');
});
afterEach(async () => {
  await other.query('rollback');
  await other.end();
  // Whatever a test did, no key is left behind by nobody.
  expect(await t.db.query('select * from jobtree.serialize_key where job_id is null')).toEqual([]);
});

let lastKey = 0;
const newKey = (name = 'key') => `${name}-${++lastKey}`;
const keyed = (serializeKey: string, ...payloads: unknown[]): NewItem[] =>
  payloads.map((payload) => ({ payload, serializeKey }));
const payloadsOf = (assignments: readonly Assignment[]) => assignments.map(({ payload }) => payload.value);
const take = (type: string, limit = 100, engine = t.engine) => claimItems(engine, 'w', [{ type, limit }]);
const taken = async (type: string, limit = 100, engine = t.engine) =>
  payloadsOf(await take(type, limit, engine));
const success = ({ id }: Assignment, result: unknown = 1): Report => ({ assignmentId: id, result });
const failure = ({ id }: Assignment, permanent = true): Report => ({
  assignmentId: id,
  failure: { code: 'E', message: 'no', permanent },
});
const report = (...reports: Report[]) => reportOutcomes(t.engine, reports);
/** As a transaction of SQL does it that stays open. */
const otherAdds = (jobId: string, items: readonly NewItem[]) =>
  other.query('select * from jobtree.add_items($1, $2)', [jobId, JSON.stringify(items)]);

/** A job of a type of its own with these items. */
async function job(items: NewItem[], more: Record<string, unknown> = {}) {
  const type = newType('keyed');
  const { [type]: jobId = '' } = await t.create({ type, items, backoffMs: [], ...more });
  return { type, jobId };
}

async function stateOf({ jobId, position }: ItemKey) {
  const [row] = await t.db.query<{ status: string }>(
    'select status from jobtree.item_status where job_id = $1 and position = $2',
    [jobId, position],
  );
  return row?.status;
}
const statesOf = async (jobId: string) => Promise.all((await t.items(jobId)).map(stateOf));
/** Does all that waits for the sweep. */
const promote = async () => {
  await promoteBlocked(t.engine);
};
const settle = async (kind: 'REPLAY' | 'DISCARD', jobId: string) => {
  await startOperation(t.engine, kind, { jobId });
  await t.finish();
};

describe('a key', () => {
  it('runs its items one at a time, in the order in which they were added', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0, 1));
    await addItems(t.engine, jobId, [...keyed(key, 2), { payload: 'free' }, ...keyed(key, 3)], {
      seal: false,
    });
    const order: unknown[] = [];
    expect(await statesOf(jobId)).toEqual(['READY', 'BLOCKED', 'BLOCKED', 'READY', 'BLOCKED']);
    for (;;) {
      const claimed = await take(type);
      if (claimed.length === 0) break;
      order.push(payloadsOf(claimed));
      await report(...claimed.map((each) => success(each)));
    }
    expect(order).toEqual([[0, 'free'], [1], [2], [3]]);
    expect(await t.db.query('select * from jobtree.serialize_key where key = $1', [key])).toEqual([]);
  });

  it('applies across jobs, trees, types and servers, whatever the priority', async () => {
    const key = newKey();
    const first = await job(keyed(key, 'a'), { priority: -5 });
    const second = await job(keyed(key, 'b'), { priority: 5 });
    const third = await job(keyed(key, 'c'));
    for (const [{ type }, payload, engine] of [
      [first, 'a', t.engine],
      [second, 'b', t.otherEngine],
      [third, 'c', t.engine],
    ] as const) {
      for (const each of [first, second, third])
        if (each.type !== type) expect(await taken(each.type)).toEqual([]);
      const [held] = await take(type, 1, engine);
      expect(held?.payload.value).toBe(payload);
      await reportOutcomes(engine, [success(held as Assignment)]);
    }
  });

  it('does not block items with other keys, which are claimed together', async () => {
    const keys = Array.from({ length: 300 }, () => newKey());
    const { type } = await job(
      [...keys, ...keys].map((serializeKey, payload) => ({ payload, serializeKey })),
    );
    const claimed = await take(type, 1_000);
    expect(payloadsOf(claimed)).toEqual(Array.from({ length: 300 }, (_, i) => i));
    await report(...claimed.map((each) => success(each)));
    expect(await taken(type, 1_000)).toEqual(Array.from({ length: 300 }, (_, i) => 300 + i));
  });

  it('shows that an item is blocked, and by which one', async () => {
    const key = newKey();
    const a = await job(keyed(key, 0));
    const b = await job(keyed(key, 1));
    const [[head], [blocked]] = [await t.items(a.jobId), await t.items(b.jobId)];
    const [first, second] = await readItems(t.engine.database, [head as ItemKey, blocked as ItemKey]);
    expect([first, second]).toMatchObject([
      { serializeKey: key, blockedBy: null, status: 'READY' },
      { serializeKey: key, blockedBy: head, status: 'BLOCKED' },
    ]);
    await expect(claimItem(t.engine, blocked as ItemKey, 'w')).rejects.toMatchObject({
      reason: 'BLOCKED',
      constructor: ItemNotClaimableError,
    });
    expect(await readQueue(t.engine, b.type)).toMatchObject({ ready: 0, blocked: 1 });
    await report(success(await t.claimOne(a.type)));
    const [free] = await readItems(t.engine.database, [blocked as ItemKey]);
    expect(free).toMatchObject({ blockedBy: null });
    expect((await claimItem(t.engine, blocked as ItemKey, 'w')).payload.value).toBe(1);
  });

  it('has its blocked items among the pending ones of their job', async () => {
    const { jobId } = await job([...keyed(newKey(), 0, 1, 2), { payload: 3 }, ...keyed(newKey(), 4, 5)]);
    const all = await t.items(jobId);
    for (const backwards of [false, true]) {
      const range = { after: undefined, before: undefined, take: 5, backwards };
      const [keys] = await readItemKeys(t.engine.database, pendingStatuses, backwards, [{ jobId, range }]);
      expect(keys).toEqual(backwards ? all.toReversed().slice(0, 5) : all.slice(0, 5));
    }
  });

  it('gives an exchange the next item of its line', async () => {
    const { type } = await job(keyed(newKey(), 0, 1));
    const held = await t.claimOne(type);
    const { assignments } = await exchange(t.engine, [success(held)], {
      worker: 'w',
      requests: [{ type, limit: 5 }],
    });
    expect(payloadsOf(assignments)).toEqual([1]);
  });

  it('announces that the next item is ready', async () => {
    const key = newKey();
    const { type } = await job(keyed(key, 0));
    const next = await job(keyed(key, 1, 2));
    const held = await t.claimOne(type);
    t.ready.length = 0;
    await report(success(held));
    expect(t.ready).toEqual([next.type]);
    await report(failure(await t.claimOne(next.type)));
    expect(t.ready).toEqual([next.type, next.type]);
  });

  it('is not taken by a second item with the same dedupe key', async () => {
    const key = newKey();
    const { type, jobId } = await job([{ payload: 0, dedupeKey: 'd' }]);
    await addItems(t.engine, jobId, [{ payload: 1, dedupeKey: 'd', serializeKey: key }], { seal: false });
    await addItems(
      t.engine,
      jobId,
      [
        { payload: 2, dedupeKey: 'e', serializeKey: key },
        { payload: 3, dedupeKey: 'e', serializeKey: key },
      ],
      { seal: false },
    );
    expect(await taken(type)).toEqual([0, 2]);
    expect(await t.db.query('select * from jobtree.blocked_item where job_id = $1', [jobId])).toEqual([]);
  });

  it('blocks items behind a scheduled one', async () => {
    const key = newKey();
    const { type, jobId } = await job([
      { payload: 0, serializeKey: key, runAt: new Date(Date.now() + 60_000) },
      { payload: 1, serializeKey: key },
      { payload: 2 },
    ]);
    expect(await statesOf(jobId)).toEqual(['SCHEDULED', 'BLOCKED', 'READY']);
    expect(await taken(type)).toEqual([2]);
    await t.db.query(
      `update jobtree.queue_entry set run_at = now() where job_id = $1 and run_at is not null`,
      [jobId],
    );
    await promoteDue(t.engine);
    expect(await taken(type)).toEqual([0]);
  });

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(256)],
    ['with a NUL', 'a\0b'],
  ])('is refused if it is %s, and nothing changes', async (_, serializeKey) => {
    const type = newType('refused');
    const { jobId } = await job([]);
    const items = [
      { payload: 0, serializeKey: newKey() },
      { payload: 1, serializeKey },
    ];
    const refusal = { code: 'INVALID_INPUT', field: 'items[1].serializeKey' };
    await expect(t.create({ type, items })).rejects.toMatchObject(refusal);
    // Of a batch each item is judged alone.
    expect(await addItems(t.engine, jobId, items.slice(1), { seal: false })).toMatchObject([
      { error: { field: 'items[0].serializeKey' } },
    ]);
    for (const [name, values] of [
      ['create_job', [JSON.stringify({ type, items })]],
      ['add_items', [jobId, JSON.stringify(items)]],
    ] as const) {
      const args = values.map((_, i) => `$${i + 1}`).join(', ');
      await expect(t.db.query(`select * from jobtree.${name}(${args})`, [...values])).rejects.toMatchObject({
        code: expect.stringMatching(serializeKey.includes('\0') ? /^22/ : /^JT002$/),
      });
    }
    expect(await t.items(jobId)).toEqual([]);
  });

  it('costs an adder nothing for existing items of its job', async () => {
    const key = newKey();
    const { jobId } = await job([]);
    const items = JSON.stringify(
      Array.from({ length: 200 }, (_, i) => ({ serializeKey: `${key} ${i % 100}` })),
    );
    const plans = await plansOf(t.db, async (client) => {
      for (let i = 0; i < 3; i++)
        await client.query('select * from jobtree.add_items($1, $2)', [jobId, items]);
    });
    const reads = plans
      .flatMap(({ nodes }) => nodes)
      .filter((node) => node['Relation Name'] === 'job_item')
      .map((node) => (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1));
    expect(Math.max(...reads)).toBe(200);
  });

  it('wakes workers for its first item only', async () => {
    const key = newKey();
    t.announced.length = 0;
    const { type, jobId } = await job(keyed(key, 0, 1));
    await addItems(t.engine, jobId, [...keyed(key, 2, 3), { payload: 4 }], { seal: false });
    await addItems(t.engine, jobId, keyed(key, 5), { seal: false });
    expect(t.announced).toEqual([
      [type, 1],
      [type, 1],
    ]);
  });

  it('makes a worker ask again with its report, and wakes no other, when a claim returned everything', async () => {
    const key = newKey();
    const { type } = await job(keyed(key, 0, 1));
    const requests = [{ type, limit: 2 }];
    const first = await claim(t.engine, 'w', requests);
    expect([payloadsOf(first.assignments), first.limitedTypes]).toEqual([[0], [type]]);
    t.ready.length = 0;
    const next = await exchange(
      t.engine,
      first.assignments.map((each) => success(each)),
      { worker: 'w', requests },
    );
    expect([payloadsOf(next.assignments), next.limitedTypes, t.ready]).toEqual([[1], [type], []]);
    const last = await exchange(
      t.engine,
      next.assignments.map((each) => success(each)),
      { worker: 'w', requests },
    );
    expect(last).toMatchObject({ assignments: [], limitedTypes: [] });
  });

  it('wakes others for what a report promotes if its claim left anything', async () => {
    const [a, b] = [newKey(), newKey()];
    const { type } = await job([...keyed(a, 0, 1), ...keyed(b, 2, 3)]);
    const held = await take(type);
    t.announced.length = 0;
    await exchange(
      t.engine,
      held.map((each) => success(each)),
      { worker: 'w', requests: [{ type, limit: 1 }] },
    );
    expect(t.announced).toEqual([[type, 2]]);
  });

  it('may have 255 characters', async () => {
    const { type } = await job(keyed('ß'.repeat(255), 0, 1));
    expect(await taken(type)).toEqual([0]);
  });
});

/** What may become of a head, and whether the next one goes. */
describe('the head of a line', () => {
  const keeps: Record<string, (held: Assignment) => Promise<unknown>> = {
    'a release': ({ id }) => releaseAssignments(t.engine, [id]),
    'a failure without backoff': (held) => report(failure(held, false)),
    'a lost heartbeat': async ({ id }) => {
      await t.expire(id);
      await t.sweep();
    },
  };
  it.each(Object.entries(keeps))('keeps its place after %s', async (_, end) => {
    const { type } = await job(keyed(newKey(), 0, 1));
    await end(await t.claimOne(type));
    await promote();
    expect(await taken(type)).toEqual([0]);
  });

  it('keeps its place while it waits out a backoff', async () => {
    const { type, jobId } = await job(keyed(newKey(), 0, 1), { backoffMs: [60_000] });
    await report(failure(await t.claimOne(type), false));
    expect(await statesOf(jobId)).toEqual(['RETRYING', 'BLOCKED']);
    expect(await taken(type)).toEqual([]);
  });

  const frees: Record<string, (held: Assignment) => Promise<unknown>> = {
    'a result': (held) => report(success(held)),
    'a result of many leases': async (held) => {
      const more = await job([{ payload: 'other' }]);
      await report(success(held), success(await t.claimOne(more.type)));
    },
    'a failure for good': (held) => report(failure(held)),
    'a failure for good that an SQL user reports': (held) =>
      t.db.query('select * from jobtree.report_outcomes($1)', [JSON.stringify([failure(held)])]),
    'its last heartbeat': async (held) => {
      await t.db.query('update jobtree.job set max_failures_per_item = 0 where id = $1', [held.jobId]);
      await t.expire(held.id);
      await t.sweep();
    },
    'a cancellation': ({ jobId }) => cancelJob(t.engine, jobId),
    'a deletion': async ({ jobId }) => {
      await deleteJob(t.engine, jobId);
      await t.fold(jobId);
      await t.finish();
    },
    'a failure that its job does not tolerate': async (held) => {
      await t.db.query('update jobtree.job set tolerated_failure_count = 0 where id = $1', [held.jobId]);
      const [spare] = await take(held.type, 1);
      await report(failure(spare as Assignment));
      await t.fold(held.jobId);
      await t.finish();
    },
  };
  it.each(Object.entries(frees))('lets the next one go after %s', async (_, end) => {
    const key = newKey();
    const { type } = await job([...keyed(key, 0), { payload: 'spare' }, { payload: 'spare' }]);
    const next = await job(keyed(key, 1));
    const held = await t.claimOne(type);
    expect(held.payload.value).toBe(0);
    await end(held);
    await promote();
    expect(await taken(next.type)).toEqual([1]);
    expect(await t.db.query('select * from jobtree.ended_head')).toEqual([]);
  });

  it('lets the next one go when its job is cancelled before any claim, and when a claim meets it first', async () => {
    const key = newKey();
    const first = await job(keyed(key, 0));
    const second = await job(keyed(key, 1));
    const third = await job(keyed(key, 2));
    await cancelJob(t.engine, first.jobId);
    await promote();
    // As a claim finds it that comes between the mark and the removal.
    await t.db.query('update jobtree.job set cancelled_at = now() where id = $1', [second.jobId]);
    expect(await taken(second.type)).toEqual([]);
    await promote();
    expect(await taken(third.type)).toEqual([2]);
  });

  it('lets the next ones go when a claim meets many of a cancelled job', async () => {
    const keys = [newKey(), newKey()];
    const first = await job([
      ...keyed(keys[0] as string, 0),
      { payload: 'x', priority: 3 },
      ...keyed(keys[1] as string, 1),
    ]);
    const next = await job(keys.flatMap((key) => keyed(key, key)));
    await t.db.query('update jobtree.job set cancelled_at = now() where id = $1', [first.jobId]);
    expect(await taken(first.type)).toEqual([]);
    await promote();
    expect(await taken(next.type)).toEqual(keys);
  });

  it('counts as a range of its own when its job is cancelled, so that no step is much larger than asked for', async () => {
    const items = Array.from({ length: 600 }, (_, payload) => ({ payload, serializeKey: newKey() }));
    const { type, jobId } = await job(items);
    await take(type, 200);
    await t.db.query('select * from jobtree.cancel_job($1, 0)', [jobId]);
    const steps: number[] = [];
    let from = 0;
    do {
      const [step] = await t.db.query<{ cancelled: string; ranges: number; next_from: string }>(
        'select * from jobtree.cancel_items($1, $2, 50)',
        [jobId, from],
      );
      steps.push(Number(step?.cancelled));
      expect(step?.ranges).toBe(Number(step?.cancelled));
      from = Number(step?.next_from);
    } while (from > 0);
    // What is held and what waits each fill a step, at most up to the end of a range.
    expect(Math.max(...steps)).toBeLessThan(2 * (50 + 128));
    expect(steps.reduce((sum, each) => sum + each, 0)).toBe(600);
    await promote();
    expect(await t.db.query('select from jobtree.serialize_key where job_id = $1', [jobId])).toEqual([]);
  });

  it('can be cancelled alone by an operation that names states', async () => {
    const key = newKey();
    const [first, next] = [await job(keyed(key, 0)), await job(keyed(key, 1))];
    await startOperation(t.engine, 'CANCEL', { types: [first.type, next.type], statuses: ['READY'] });
    await t.finish();
    expect([await statesOf(first.jobId), await statesOf(next.jobId)]).toEqual([['CANCELLED'], ['BLOCKED']]);
    await promote();
    expect(await statesOf(next.jobId)).toEqual(['READY']);
  });

  it('expires together with those behind it, without a sweep for each', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, ...Array(50).keys()));
    const after = await job(keyed(key, 'after'));
    await setQueue(t.engine, type, { lifetimeMs: 60_000 });
    expect(await tendQueues(t.engine)).toBe(false);
    await t.db.query(
      `update jobtree.job_item set created_at = created_at - interval '1 hour' where job_id = $1`,
      [jobId],
    );
    await t.db.query(
      `update jobtree.blocked_item set waits_since = waits_since - interval '1 hour' where job_id = $1`,
      [jobId],
    );
    t.ready.length = 0;
    await tendQueues(t.engine);
    await promote();
    expect(new Set(await statesOf(jobId))).toEqual(new Set(['FAILED']));
    expect(t.ready).toEqual([after.type]);
    expect(await taken(after.type)).toEqual(['after']);
  });

  it('expires without those behind it that a worker has started', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0));
    await report(failure(await t.claimOne(type)));
    await addItems(t.engine, jobId, keyed(key, 1), { seal: true });
    await t.claimOne(type);
    await settle('REPLAY', jobId);
    await setQueue(t.engine, type, { lifetimeMs: 1 });
    await tendQueues(t.engine);
    expect(await statesOf(jobId)).toEqual(['BLOCKED', 'RUNNING']);
  });
});

describe('an item that failed for good', () => {
  it('goes to the end of its line when replayed', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0, 1, 2), { sealed: true });
    await report(failure(await t.claimOne(type)));
    await settle('REPLAY', jobId);
    const order: unknown[] = [];
    for (let held = await take(type); held.length > 0; held = await take(type)) {
      order.push(...payloadsOf(held));
      await report(...held.map((each) => success(each)));
    }
    expect(order).toEqual([1, 2, 0]);
    expect((await t.fold(jobId))[type]).toMatchObject({
      completedAt: expect.anything(),
      succeeded: 3,
      failed: 0,
    });
  });

  describe('of a job that blocks on failure', () => {
    const blocking = { serializeOnFailure: 'BLOCK', sealed: true };
    it('keeps its key, and is the head again when replayed', async () => {
      const key = newKey();
      const { type, jobId } = await job(keyed(key, 0, 1), blocking);
      await report(failure(await t.claimOne(type)));
      await promote();
      expect(await statesOf(jobId)).toEqual(['FAILED', 'BLOCKED']);
      expect(await taken(type)).toEqual([]);
      const [head, blocked] = await t.items(jobId);
      expect((await readItems(t.engine.database, [blocked as ItemKey]))[0]?.blockedBy).toEqual(head);
      await settle('REPLAY', jobId);
      await promote();
      expect(await taken(type)).toEqual([0]);
    });

    const settled: Record<string, (jobId: string) => Promise<unknown>> = {
      discarded: (jobId) => settle('DISCARD', jobId),
      cancelled: (jobId) => cancelJob(t.engine, jobId),
      deleted: async (jobId) => {
        await deleteJob(t.engine, jobId);
        await t.fold(jobId);
        await t.finish();
      },
    };
    it.each(Object.entries(settled))('lets the next one go when it is %s', async (how, end) => {
      const key = newKey();
      const more = how === 'cancelled' ? [{ payload: 'pending' }] : [];
      const { type, jobId } = await job([...keyed(key, 0), ...more], blocking);
      const next = await job(keyed(key, 1));
      await report(failure(await t.claimOne(type)));
      await promote();
      expect(await taken(next.type)).toEqual([]);
      await t.fold(jobId);
      await end(jobId);
      await promote();
      expect(await taken(next.type)).toEqual([1]);
      expect(await t.db.query('select * from jobtree.ended_head')).toEqual([]);
    });

    it('keeps no key if it expired behind the head', async () => {
      const key = newKey();
      const { type, jobId } = await job(keyed(key, 0, 1), blocking);
      const next = await job(keyed(key, 2));
      const head = await t.claimOne(type);
      await setQueue(t.engine, type, { lifetimeMs: 60_000 });
      await t.db.query(
        `update jobtree.blocked_item set waits_since = waits_since - interval '1 hour' where job_id = $1`,
        [jobId],
      );
      await tendQueues(t.engine);
      expect(await statesOf(jobId)).toEqual(['RUNNING', 'FAILED']);
      await report(success(head));
      await promote();
      expect(await taken(next.type)).toEqual([2]);
    });
  });
});

describe('a fed job', () => {
  /** A parent whose results feed a child by a mapping. */
  async function fed(feed: Record<string, unknown>, items: NewItem[], more: Record<string, unknown> = {}) {
    const [parent, child] = [newType('parent'), newType('child')];
    const ids = await t.create({
      type: parent,
      items,
      backoffMs: [],
      children: [{ type: child, feed, ...more }],
    });
    return { parent, child, jobId: ids[parent] ?? '', childId: ids[child] ?? '' };
  }

  it('gives its items keys by the mapping: a text or a number', async () => {
    const key = newKey();
    const { parent, child, childId } = await fed(
      { forEach: 'result', payload: 'element.n', serializeKey: 'element.key?' },
      [{ payload: 0 }],
    );
    const elements = [{ n: 0, key }, { n: 1, key }, { n: 2, key: 77_123 }, { n: 3, key: null }, { n: 4 }];
    await report(success(await t.claimOne(parent), elements));
    expect(await statesOf(childId)).toEqual(['READY', 'BLOCKED', 'READY', 'READY', 'READY']);
    expect((await taken(child)).sort()).toEqual([0, 2, 3, 4]);
    const items = await readItems(t.engine.database, await t.items(childId));
    expect(items.map((item) => item?.serializeKey)).toEqual([key, key, '77123', null, null]);
  });

  it('can take the key from the payload, with the result passed on whole', async () => {
    const key = newKey();
    const { parent, child } = await fed({ serializeKey: 'payload.customer' }, [
      { payload: { customer: key } },
      { payload: { customer: key } },
    ]);
    const held = await take(parent);
    await report(...held.map((each, i) => success(each, { i })));
    expect(await taken(child)).toEqual([{ i: 0 }]);
  });

  it('can take it from the new items of a report', async () => {
    const key = newKey();
    const { parent, child } = await fed({ source: 'REPORTS' }, [{ payload: 0 }]);
    const newItems = [1, 2].map((payload) => ({ type: child, payload, serializeKey: key }));
    await report({ ...success(await t.claimOne(parent)), newItems });
    expect(await taken(child)).toEqual([1]);
  });

  it.each([[{}], [[]], [true], [''], ['x'.repeat(256)]])('refuses a report with the key %j', async (key) => {
    const { parent, childId } = await fed({ serializeKey: 'result.key' }, [{ payload: 0 }]);
    const held = await t.claimOne(parent);
    expect(await report(success(held, { key }))).toMatchObject([
      { status: 'INVALID', error: { message: expect.stringContaining('result.key is neither a text') } },
    ]);
    expect(await t.items(childId)).toEqual([]);
    expect(await report(success(held, { key: 'good' }))).toMatchObject([{ status: 'ACCEPTED' }]);
  });

  it.each([
    ['an element without forEach', { serializeKey: 'element.key' }],
    ['no path', { serializeKey: 'key' }],
    ['a path where reports name the items', { source: 'REPORTS', serializeKey: 'result' }],
  ])('refuses a mapping with %s', async (_, feed) => {
    const tree = { type: newType(), children: [{ type: newType(), feed }] };
    await expect(t.create(tree as Parameters<typeof t.create>[0])).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    await expect(
      t.db.query('select * from jobtree.create_job($1)', [JSON.stringify(tree)]),
    ).rejects.toMatchObject({ code: 'JT002' });
  });

  it('can have the key of the item that feeds it', async () => {
    const key = newKey();
    const { parent, child } = await fed({ serializeKey: 'result' }, keyed(key, 0, 1));
    await report(success(await t.claimOne(parent), key));
    expect([await taken(child), await taken(parent)]).toEqual([[], [1]]);
  });
});

describe('a job that waits for others', () => {
  async function chain(key: string, more: NewItem[] = []) {
    const [root, first, second] = [newType('root'), newType('first'), newType('second')];
    const ids = await t.create({
      type: root,
      sealed: true,
      children: [
        { type: first, sealed: true, items: keyed(key, 'first') },
        {
          type: second,
          after: [first],
          items: [...keyed(key, 'second', 'second too'), { payload: 'free' }, ...more],
        },
      ],
    });
    const finish = async () => {
      await report(success(await t.claimOne(first)));
      await t.fold(ids[root] ?? '');
    };
    return { root: ids[root] ?? '', first, second, secondId: ids[second] ?? '', finish };
  }

  it('takes its places in the lines at its release, not before', async () => {
    const key = newKey();
    const { second, secondId, finish } = await chain(key);
    const stranger = await job(keyed(key, 'stranger'));
    expect(await statesOf(secondId)).toEqual(['WAITING', 'WAITING', 'WAITING', 'WAITING'].slice(0, 3));
    await finish();
    await t.finish();
    expect(await statesOf(secondId)).toEqual(['BLOCKED', 'BLOCKED', 'READY']);
    await report(success(await t.claimOne(stranger.type)));
    expect(await taken(second)).toEqual(['free', 'second']);
  });

  it('puts items added during its release behind existing ones', async () => {
    const key = newKey();
    const { second, secondId, finish } = await chain(key);
    await finish();
    await addItems(t.engine, secondId, keyed(key, 'third'), { seal: true });
    expect(await statesOf(secondId)).toEqual(['WAITING', 'WAITING', 'WAITING', 'WAITING']);
    await t.finish();
    const order: unknown[] = [];
    for (let held = await take(second); held.length > 0; held = await take(second)) {
      order.push(...payloadsOf(held));
      await report(...held.map((each) => success(each)));
    }
    expect(order).toEqual(['free', 'second', 'second too', 'third']);
  });

  it('is released except for keys that an open transaction has locked, which follow in order', async () => {
    const [key, lockedKey] = [newKey(), newKey()];
    const { second, secondId, finish } = await chain(key, keyed(lockedKey, 'locked', 'locked too'));
    const stranger = await job([]);
    await otherAdds(stranger.jobId, keyed(lockedKey, 'stranger'));
    await finish();
    await t.finish();
    expect(await statesOf(secondId)).toEqual(['READY', 'BLOCKED', 'READY', 'WAITING', 'WAITING']);
    await other.query('commit');
    await t.finish();
    expect(await statesOf(secondId)).toEqual(['READY', 'BLOCKED', 'READY', 'BLOCKED', 'BLOCKED']);
    await report(success(await t.claimOne(stranger.type)));
    expect(await taken(second)).toEqual(['free', 'second', 'locked']);
  });

  it('is released in order while an open transaction has locked one of its items', async () => {
    const key = newKey();
    const { second, secondId, finish } = await chain(key);
    const [locked] = await t.items(secondId);
    await other.query('select jobtree.update_item($1, $2, $3)', [
      locked?.jobId,
      locked?.position,
      '{"priority": 1}',
    ]);
    await finish();
    await t.finish();
    expect(await statesOf(secondId)).toEqual(['WAITING', 'WAITING', 'READY']);
    await other.query('commit');
    await t.finish();
    expect(await statesOf(secondId)).toEqual(['READY', 'BLOCKED', 'READY']);
    expect(await taken(second)).toEqual(['second', 'free']);
  });

  it('holds no key when it is cancelled during the wait', async () => {
    const key = newKey();
    const { root, secondId } = await chain(key);
    const stranger = await job(keyed(key, 'stranger'));
    await cancelJob(t.engine, secondId);
    // Nothing of it is left for those who pass on keys.
    expect(await t.db.query('select from jobtree.ended_head where job_id = $1', [secondId])).toEqual([]);
    await cancelJob(t.engine, root);
    await t.finish();
    await promote();
    expect(await taken(stranger.type)).toEqual(['stranger']);
  });
});

describe('races', () => {
  it('a head ends while an open transaction adds behind it; the report does not wait, and the item follows later', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0));
    const next = await job([]);
    const held = await t.claimOne(type);
    await otherAdds(next.jobId, keyed(key, 1));
    expect(await report(success(held))).toMatchObject([{ status: 'ACCEPTED' }]);
    await promote();
    expect(await t.db.query('select held from jobtree.ended_head where job_id = $1', [jobId])).toEqual([
      { held: false },
    ]);
    await other.query('commit');
    await promote();
    expect(await taken(next.type)).toEqual([1]);
  });

  it('a failed item is replayed behind itself while another key is stuck, and is not promoted twice', async () => {
    const [a, b] = [newKey('a'), newKey('b')];
    const { type, jobId } = await job(keyed(a, 0), { sealed: true });
    const next = await job(keyed(b, 1, 2));
    const failing = await t.claimOne(type);
    const ending = await t.claimOne(next.type);
    await other.query('select from jobtree.serialize_key where key = any ($1) for update', [[a, b]]);
    await report(failure(failing), success(ending));
    await other.query('commit');
    await settle('REPLAY', jobId);
    expect(await statesOf(jobId)).toEqual(['BLOCKED']);
    await other.query('begin');
    await other.query('select from jobtree.blocked_item where key = $1 for update', [b]);
    await promoteBlocked(t.engine);
    expect(await statesOf(jobId)).toEqual(['READY']);
    expect(await t.db.query('select key from jobtree.ended_head where key = any ($1)', [[a, b]])).toEqual([
      { key: b },
    ]);
    const behind = await job(keyed(a, 3));
    await promoteBlocked(t.engine);
    expect(await taken(behind.type)).toEqual([]);
    await other.query('commit');
    await promote();
    expect([await taken(next.type), await taken(type)]).toEqual([[2], [0]]);
  });

  it('a head ends while a transaction that adds behind it is rolled back, and the key is free', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0));
    const held = await t.claimOne(type);
    await otherAdds(jobId, keyed(key, 1));
    await report(success(held));
    await other.query('rollback');
    await promote();
    await addItems(t.engine, jobId, keyed(key, 2), { seal: false });
    expect(await taken(type)).toEqual([2]);
  });

  it('an item is added while the transaction that ends the head is open, and is promoted at once', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0));
    const held = await t.claimOne(type);
    await other.query('select * from jobtree.report_outcomes($1)', [JSON.stringify([success(held)])]);
    const adding = addItems(t.engine, jobId, keyed(key, 1), { seal: false });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await adding;
    expect(await taken(type)).toEqual([1]);
  });

  it('an item is added while the transaction that ends the head is rolled back, and waits', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0));
    const held = await t.claimOne(type);
    await other.query('select * from jobtree.report_outcomes($1)', [JSON.stringify([success(held)])]);
    const adding = addItems(t.engine, jobId, keyed(key, 1), { seal: false });
    await lockWaiters(t.db, 1);
    await other.query('rollback');
    await adding;
    expect(await statesOf(jobId)).toEqual(['RUNNING', 'BLOCKED']);
    await report(success(held));
    expect(await taken(type)).toEqual([1]);
  });

  it('two transactions add to a new key, and the order is that of their locks', async () => {
    const key = newKey();
    const [a, b] = [await job([]), await job([])];
    await otherAdds(a.jobId, keyed(key, 'a', 'a too'));
    const adding = addItems(t.engine, b.jobId, keyed(key, 'b'), { seal: false });
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await adding;
    expect([await statesOf(a.jobId), await statesOf(b.jobId)]).toEqual([['READY', 'BLOCKED'], ['BLOCKED']]);
    await report(success(await t.claimOne(a.type)));
    expect(await taken(b.type)).toEqual([]);
    await report(success(await t.claimOne(a.type)));
    expect(await taken(b.type)).toEqual(['b']);
  });

  it('two transactions add to the same keys in opposite orders without a deadlock', async () => {
    const keys = [newKey(), newKey(), newKey()];
    const [a, b] = [await job([]), await job([])];
    await otherAdds(
      a.jobId,
      keys.flatMap((key) => keyed(key, 'a')),
    );
    const adding = addItems(
      t.engine,
      b.jobId,
      [...keys].reverse().flatMap((key) => keyed(key, 'b')),
      { seal: false },
    );
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await adding;
    expect((await taken(a.type)).length).toBe(3);
    expect(await taken(b.type)).toEqual([]);
  });

  it('trees with the same keys in opposite orders are created at once without a deadlock', async () => {
    const keys = [newKey(), newKey()];
    const tree = (order: readonly string[]) => {
      const [root, ...children] = order.map((key) => ({ type: newType('tree'), items: keyed(key, 0) }));
      return { ...(root as { type: string; items: NewItem[] }), children };
    };
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        [tree(keys), tree([...keys].reverse()), tree(keys), tree([...keys].reverse())].map((each) =>
          t.create(each),
        ),
      );
    }
    expect(
      await t.db.query('select key from jobtree.serialize_key where key = any ($1)', [keys]),
    ).toHaveLength(2);
  });

  it('the next item is promoted while its job is being cancelled, and the key passes on', async () => {
    const key = newKey();
    const first = await job(keyed(key, 0));
    const second = await job(keyed(key, 1));
    const third = await job(keyed(key, 2));
    const held = await t.claimOne(first.type);
    await other.query('select * from jobtree.cancel_job($1)', [second.jobId]);
    expect(await report(success(held))).toMatchObject([{ status: 'ACCEPTED' }]);
    await promote();
    // It may still be rolled back, and then it is that item's turn.
    expect([await taken(second.type), await taken(third.type)]).toEqual([[], []]);
    await other.query('commit');
    await promote();
    expect([await taken(second.type), await taken(third.type)]).toEqual([[], [2]]);
  });

  it('the cancellation of the next item is rolled back, and it keeps its place', async () => {
    const key = newKey();
    const first = await job(keyed(key, 0));
    const second = await job(keyed(key, 1));
    const third = await job(keyed(key, 2));
    const held = await t.claimOne(first.type);
    await other.query('select * from jobtree.cancel_job($1)', [second.jobId]);
    await report(success(held));
    await other.query('rollback');
    await promote();
    expect([await taken(third.type), await taken(second.type)]).toEqual([[], [1]]);
  });

  it('a job is cancelled while one of its items is promoted, and nothing of it remains', async () => {
    const key = newKey();
    const first = await job(keyed(key, 0));
    const second = await job(keyed(key, 1, 2));
    const third = await job(keyed(key, 3));
    const held = await t.claimOne(first.type);
    await other.query('select * from jobtree.report_outcomes($1)', [JSON.stringify([success(held)])]);
    await cancelJob(t.engine, second.jobId);
    await other.query('commit');
    await t.finish();
    await promote();
    expect((await t.fold(second.jobId))[second.type]).toMatchObject({ cancelled: 2 });
    expect(await taken(third.type)).toEqual([3]);
  });

  it('the sweep loses a head that is being reported: exactly one counts, and one item is promoted', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0, 1, 2), { maxFailuresPerItem: 0 });
    const held = await t.claimOne(type);
    await t.expire(held.id);
    await other.query('select * from jobtree.report_outcomes($1)', [JSON.stringify([success(held)])]);
    await t.sweep();
    await other.query('commit');
    await t.sweep();
    expect(await statesOf(jobId)).toEqual(['SUCCEEDED', 'READY', 'BLOCKED']);

    const again = await t.claimOne(type);
    await t.expire(again.id);
    await t.sweep();
    expect(await report(success(again))).toMatchObject([{ status: 'STALE' }]);
    expect(await statesOf(jobId)).toEqual(['SUCCEEDED', 'FAILED', 'READY']);
  });

  it('heads of A and B end and feed B and A at once without a deadlock or a loss', async () => {
    const keys = [newKey(), newKey()] as const;
    const tree = async (own: string, fed: string) => {
      const [parent, child] = [newType('parent'), newType('child')];
      await t.create({
        type: parent,
        items: keyed(own, 0),
        children: [{ type: child, feed: { serializeKey: 'result' } }],
      });
      return { parent, child, fed };
    };
    const trees = [await tree(keys[0], keys[1]), await tree(keys[1], keys[0])];
    const [a, b] = [
      await t.claimOne(trees[0]?.parent as string),
      await t.claimOne(trees[1]?.parent as string),
    ];
    await other.query('select * from jobtree.report_outcomes($1)', [JSON.stringify([success(a, keys[1])])]);
    const reporting = report(success(b, keys[0]));
    await lockWaiters(t.db, 1);
    await other.query('commit');
    expect(await reporting).toMatchObject([{ status: 'ACCEPTED' }]);
    await promote();
    for (const { child, fed } of trees) expect(await taken(child)).toEqual([fed]);
  });

  it('reports feed keys that an open transaction has locked; only these are BUSY', async () => {
    const [locked, fresh, free] = [newKey(), newKey(), newKey()];
    const stranger = await job(keyed(locked, 0));
    await otherAdds(stranger.jobId, [...keyed(locked, 1), ...keyed(fresh, 1)]);
    const [parent, child] = [newType('parent'), newType('child')];
    await t.create({
      type: parent,
      items: [{}, {}, {}],
      children: [{ type: child, feed: { serializeKey: 'result' } }],
    });
    const held = [await t.claimOne(parent), await t.claimOne(parent), await t.claimOne(parent)];
    const { rows } = await t.engine.database.pool.query<{ answers: unknown }>(
      'select answers from jobtree.report_results($1, $2, $3, p_wait => false)',
      [
        held.map(({ id }) => `${id.slice(0, 34)}00`),
        held.map(({ id }) => Number.parseInt(id.slice(34), 16)),
        JSON.stringify([locked, fresh, free]),
      ],
    );
    expect(rows[0]?.answers).toMatchObject([
      { index: 0, status: 'BUSY' },
      { index: 1, status: 'BUSY' },
    ]);
    expect(await taken(child)).toEqual([free]);
    await other.query('commit');
    expect(
      await report(...held.slice(0, 2).map((each, i) => success(each, [locked, fresh][i]))),
    ).toMatchObject([{ status: 'ACCEPTED' }, { status: 'ACCEPTED' }]);
  });

  it('a failed item is replayed while an open transaction has locked its key, and the operation returns to it', async () => {
    const key = newKey();
    const { type, jobId } = await job(keyed(key, 0), { sealed: true });
    await report(failure(await t.claimOne(type)));
    const stranger = await job([]);
    await otherAdds(stranger.jobId, keyed(key, 1));
    const operation = await startOperation(t.engine, 'REPLAY', { jobId });
    expect(await statesOf(jobId)).toEqual(['FAILED']);
    await other.query('commit');
    // A pass over the rest, then one from the beginning: which of them has been made already depends on how long the first batch took.
    while ((await runSome(t.engine, operation)) !== 'FINISHED');
    expect(await statesOf(jobId)).toEqual(['BLOCKED']);
  });

  it('many workers finish and add to few keys from two servers; each key keeps its order and never overlaps', async () => {
    const keys = [newKey(), newKey(), newKey()];
    const { type, jobId } = await job([]);
    const running = new Set<string>();
    const order = new Map(keys.map((key) => [key, [] as number[]]));
    const total = 150;
    const add = async () => {
      for (let n = 0; n < total; n++) {
        await addItems(
          n % 2 ? t.engine : t.otherEngine,
          jobId,
          [{ payload: { n, key: keys[n % 3] }, serializeKey: keys[n % 3] }],
          { seal: false },
        );
      }
    };
    const work = async (engine: typeof t.engine) => {
      let done = 0;
      while ([...order.values()].flat().length < total) {
        const held = await take(type, 2, engine);
        if (held.length === 0) {
          // As the sweep does: the other server's promotions may commit late, and then stand before the place from which this one claims.
          await promoteBlocked(engine);
          await findMissedEntries(engine);
        }
        for (const each of held) {
          const { key, n } = each.payload.value as { key: string; n: number };
          expect(running.has(key)).toBe(false);
          running.add(key);
          const fails = ++done % 5 === 0 && each.attempt === 1;
          await new Promise((resolve) => setImmediate(resolve));
          if (!fails) order.get(key)?.push(n);
          running.delete(key);
          await reportOutcomes(engine, [fails ? failure(each, false) : success(each)]);
        }
      }
    };
    await Promise.all([add(), work(t.engine), work(t.otherEngine), work(t.engine), work(t.otherEngine)]);
    for (const [i, key] of keys.entries()) {
      expect(order.get(key)).toEqual(Array.from({ length: total / 3 }, (_, k) => k * 3 + i));
    }
  });
});

it('a call in its own snapshot promotes nothing, since it could miss items; the sweep does', async () => {
  const key = newKey();
  const { type, jobId } = await job(keyed(key, 0));
  const held = await t.claimOne(type);
  await other.query('rollback');
  await other.query('begin isolation level repeatable read');
  await other.query('select 1 from jobtree.job limit 1');
  await addItems(t.engine, jobId, keyed(key, 1), { seal: false });
  await other.query('select * from jobtree.report_outcomes($1)', [JSON.stringify([success(held)])]);
  await other.query('commit');
  expect(await statesOf(jobId)).toEqual(['SUCCEEDED', 'BLOCKED']);
  await promote();
  expect(await taken(type)).toEqual([1]);
});
