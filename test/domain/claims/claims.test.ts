/** What a claim may weigh, and what a claim gets that is sent again because its answer was lost. */
import { describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { type ClaimRequest, claimForRequests, claimItems } from '../../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../../src/domain/claims/heartbeat.ts';
import { readAssignments } from '../../../src/domain/claims/read-assignments.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import type { ItemKey } from '../../../src/domain/values/ids.ts';
import { InvalidInputError } from '../../../src/errors.ts';
import { newClaimId, newType, useEngine } from '../../support/engine.ts';
import { checkInvariants } from '../../support/model/invariants.ts';

const t = useEngine();

const payloads = (assignments: readonly Assignment[]) => assignments.map(({ payload }) => payload.value);
const ids = (assignments: readonly Assignment[]) => assignments.map(({ id }) => id);

describe('a hold lasts for three heartbeat intervals', () => {
  const intervalMs = 7_000;
  const lengthOf = ({ heartbeatAt, deadlineAt }: Assignment) => deadlineAt.getTime() - heartbeatAt.getTime();

  it('after a claim of a type, a claim of one item, and a heartbeat', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({ type, items: [{}, {}], heartbeatIntervalMs: intervalMs });
    const [, second] = await t.items(jobId);
    const [claimed] = await claimItems(t.engine, 'w', [{ type, limit: 1 }]);
    const named = await claimItem(t.engine, second as ItemKey, 'w');
    for (const one of [claimed as Assignment, named]) {
      expect(lengthOf(one)).toBe(3 * intervalMs);
      expect(one.heartbeatAt).toEqual(one.claimedAt);
    }
    const { id } = claimed as Assignment;
    await heartbeat(t.engine, [id]);
    const [row] = await t.db.query<{ ms: number; beat: boolean }>(
      `select 1000 * extract(epoch from deadline_at - heartbeat_at)::float8 as ms, heartbeat_at > claimed_at as beat
       from jobtree.assignment where id = $1`,
      [id],
    );
    expect(row).toEqual({ ms: 3 * intervalMs, beat: true });
  });
});

describe('the size of a claim', () => {
  /** A job whose items have payloads of so many bytes each; the text begins with the item's number. */
  async function createLarge(bytes: readonly number[]): Promise<string> {
    const type = newType('large');
    const { [type]: job } = await t.create({ type });
    await t.db.query(
      `select jobtree.add_items($1, (
         select json_agg(json_build_object('payload', rpad(n || ' ', b - 2, 'x')) order by n)
         from unnest($2::integer[]) with ordinality u(b, n)
       ))`,
      [job, bytes],
    );
    return type;
  }
  const numbers = (assignments: readonly Assignment[]) =>
    assignments.map(({ payload }) => Number.parseInt(payload.value as string, 10));
  const count = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

  it('is 32 MB of payloads; the rest is claimed next, and workers get a hint', async () => {
    const type = await createLarge(Array.from({ length: 40 }, () => 1_000_000));
    t.ready.length = 0;
    const first = await claimItems(t.engine, 'w', [{ type, limit: 100 }]);
    expect(numbers(first)).toEqual(count(1, 32));
    expect(t.ready).toEqual([type]);
    t.ready.length = 0;
    expect(numbers(await claimItems(t.engine, 'w', [{ type, limit: 100 }]))).toEqual(count(33, 40));
    expect(t.ready).toEqual([]);
  });

  it('covers all claims that are sent to the database together', async () => {
    const types = [
      await createLarge([20_000_000, 10]),
      await createLarge([20_000_000]),
      await createLarge([10]),
    ];
    t.ready.length = 0;
    const requests = types.map(
      (type, i): ClaimRequest => ({ worker: `w${i}`, type, limit: 2, claimId: undefined }),
    );
    const answers = await claimForRequests(t.engine, requests);
    expect(answers.map(({ assignments }) => numbers(assignments))).toEqual([[1, 2], [], []]);
    expect(answers[0]?.assignments[0]?.worker).toBe('w0');
    expect(t.ready).toEqual(types.slice(1));
    // A second look: behind what was taken, from the start for the others.
    const rest = await claimForRequests(t.engine, requests);
    expect(rest.map(({ assignments }) => numbers(assignments))).toEqual([[], [1], [1]]);
  });

  it('leaves no claim empty-handed that was sent together with others, while there are items', async () => {
    const type = await createLarge(new Array<number>(80).fill(900_000));
    const claims = Array.from({ length: 16 }, (_, i) => claimItems(t.engine, `w${i}`, [{ type, limit: 5 }]));
    const sizes = (await Promise.all(claims)).map(({ length }) => length);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
  });

  it('is one item at least, of any size', async () => {
    const type = await createLarge([33_000_000, 10, 33_000_000]);
    for (const number of [1, 2, 3]) {
      expect(numbers(await claimItems(t.engine, 'w', [{ type, limit: 3 }]))).toEqual([number]);
    }
  });

  it('includes items that come back', async () => {
    const type = newType();
    await t.create({ type, backoffMs: [0], items: [{ payload: 'released' }, { payload: 'failed' }] });
    const [released, failed] = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
    await releaseAssignments(t.engine, [released?.id ?? '']);
    const failure = { code: 'E', message: 'no' };
    await reportOutcomes(t.engine, [{ assignmentId: failed?.id ?? '', failure }]);
    const entries = await t.db.query(
      `select i.payload, q.bytes::int from jobtree.queue_entry q join jobtree.job_item i using (job_id, position)
       where q.type = $1 order by q.attempt`,
      [type],
    );
    expect(entries).toEqual([
      { payload: 'released', bytes: '"released"'.length },
      { payload: 'failed', bytes: '"failed"'.length },
    ]);
  });

  it('holds for items that come back together', async () => {
    const type = await createLarge(Array.from({ length: 40 }, () => 1_000_000));
    const claim = () => claimItems(t.engine, 'w', [{ type, limit: 40 }]);
    const held = [...(await claim()), ...(await claim())];
    const [failed, ...released] = held.map(({ id }) => id);
    const failure = { code: 'E', message: 'no', retryAfterMs: 0 };
    await reportOutcomes(t.engine, [{ assignmentId: failed ?? '', failure }]);
    await releaseAssignments(t.engine, released);
    await checkInvariants(t.db);
    expect(await claim()).toHaveLength(32);
  });
});

describe('a claim that is repeated', () => {
  it('returns the same assignments in the same order, and nothing new', async () => {
    const [a, b] = [newType('a'), newType('b')];
    await t.create({ type: a, items: count10(), children: [{ type: b, items: count10() }] });
    const id = newClaimId();
    const requests = [
      { type: b, limit: 2 },
      { type: a, limit: 3 },
      { type: b, limit: 4 },
    ];
    const first = await claimItems(t.engine, 'w', requests, id);
    expect(first.map(({ type, payload }) => [type, payload.value])).toEqual(
      [b, b, a, a, a, b, b, b, b].map((type, i) => [type, [0, 1, 0, 1, 2, 2, 3, 4, 5][i]]),
    );
    const again = await claimItems(t.engine, 'w', [{ type: a, limit: 1 }], id);
    expect(again).toEqual(
      first
        .toSorted((one, other) => (one.id < other.id ? -1 : 1))
        .map((assignment) => ({
          ...assignment,
          heartbeatAt: expect.any(Date),
          deadlineAt: expect.any(Date),
        })),
    );
    expect(payloads(await claimItems(t.engine, 'w', [{ type: a, limit: 1 }], newClaimId()))).toEqual([3]);
  });

  it('claims if the first one never arrived or found nothing', async () => {
    const type = newType();
    const id = newClaimId();
    expect(await claimItems(t.engine, 'w', [{ type, limit: 1 }], id)).toEqual([]);
    await t.create({ type, items: count10() });
    expect(payloads(await claimItems(t.engine, 'w', [{ type, limit: 1 }], id))).toEqual([0]);
  });

  it('counts as a heartbeat', async () => {
    const type = newType();
    await t.create({ type, items: [{}] });
    const id = newClaimId();
    const [held] = await claimItems(t.engine, 'w', [{ type, limit: 1 }], id);
    await t.db.query(
      `update jobtree.lease set check_at = now(), heartbeat_at = now() - interval '1 day' where claim_id = $1`,
      [id],
    );
    const [again] = await claimItems(t.engine, 'w', [{ type, limit: 1 }], id);
    const [row] = await t.db.query('select heartbeat_at, deadline_at from jobtree.assignment where id = $1', [
      held?.id,
    ]);
    expect(row).toEqual({ heartbeat_at: again?.heartbeatAt, deadline_at: again?.deadlineAt });
    expect(again?.deadlineAt.getTime()).toBeGreaterThan(Date.now());
    await t.sweep();
    expect(await heartbeat(t.engine, [held?.id ?? ''])).toEqual(['HELD']);
  });

  it('returns only unfinished assignments: none that is reported, lost, released or cancelled', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: count10(), backoffMs: [0] });
    const id = newClaimId();
    const requests = [{ type, limit: 5 }];
    const held = ids(await claimItems(t.engine, 'w', requests, id));
    await reportOutcomes(t.engine, [{ assignmentId: held[0] ?? '', result: 1 }]);
    await releaseAssignments(t.engine, [held[1] ?? '']);
    await t.expire(held[2] ?? '');
    await t.sweep();
    expect(ids(await claimItems(t.engine, 'w', requests, id))).toEqual(held.slice(3));
    await cancelJob(t.engine, job);
    expect(await claimItems(t.engine, 'w', requests, id)).toEqual([]);
  });

  it('is refused to another worker, which learns nothing and changes nothing', async () => {
    const type = newType();
    await t.create({ type, items: count10() });
    const id = newClaimId();
    const held = ids(await claimItems(t.engine, 'w', [{ type, limit: 2 }], id));
    const stolen = claimItems(t.engine, 'thief', [{ type, limit: 2 }], id);
    await expect(stolen).rejects.toMatchObject({ code: 'INVALID_INPUT', field: 'claimId' });
    expect(ids(await claimItems(t.engine, 'w', [{ type, limit: 2 }], id))).toEqual(held);
    expect(payloads(await claimItems(t.engine, 'thief', [{ type, limit: 1 }]))).toEqual([2]);
  });

  it('is not confused with one of the same millisecond', async () => {
    const type = newType();
    await t.create({ type, items: count10() });
    const [one, other] = [newClaimId(), newClaimId()];
    const held = ids(await claimItems(t.engine, 'w', [{ type, limit: 2 }], one));
    expect(payloads(await claimItems(t.engine, 'v', [{ type, limit: 2 }], other))).toEqual([2, 3]);
    expect(ids(await claimItems(t.engine, 'w', [{ type, limit: 2 }], one))).toEqual(held);
  });

  it('is not merged with the claims that arrive with it', async () => {
    const type = newType();
    // An entry each, so that no claim waits for another.
    for (const item of count10()) await t.create({ type, items: [item] });
    const [known, fresh, foreign] = [newClaimId(), newClaimId(), newClaimId()];
    const claim = (worker: string, id?: string) => claimItems(t.engine, worker, [{ type, limit: 1 }], id);
    const held = [await claim('a', known), await claim('b', foreign)];
    // The first two go at once, the others together.
    const answers = await Promise.allSettled([
      claim('x'),
      claim('x'),
      claim('c', fresh),
      claim('a', known),
      claim('d'),
      claim('thief', foreign),
    ]);
    const got = answers.map((answer) => (answer.status === 'fulfilled' ? payloads(answer.value) : 'refused'));
    expect([got[3], got[5]]).toEqual([[0], 'refused']);
    expect([got[0], got[1], got[2], got[4]].flat().toSorted()).toEqual([2, 3, 4, 5]);
    expect(answers[3]).toMatchObject({ value: [{ id: held[0]?.[0]?.id, worker: 'a' }] });
  });

  it('waits for the first one if that is under way in this server', async () => {
    const type = newType();
    await t.create({ type, items: count10() });
    const id = newClaimId();
    const claim = () => claimItems(t.engine, 'w', [{ type, limit: 4 }], id);
    const [first, second, third] = await Promise.all([claim(), claim(), claim()]);
    expect([payloads(first), ids(second), ids(third)]).toEqual([[0, 1, 2, 3], ids(first), ids(first)]);
    expect(t.engine.claimsUnderWay.size).toBe(0);
  });

  it('is refused if its time differs from that of the database by more than a day', async () => {
    const type = newType();
    await t.create({ type, items: count10() });
    for (const hours of [-25, 25]) {
      const id = newClaimId(new Date(Date.now() + hours * 3_600_000));
      await expect(claimItems(t.engine, 'w', [{ type, limit: 1 }], id)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        field: 'claimId',
      });
    }
    for (const hours of [-23, 23]) {
      const id = newClaimId(new Date(Date.now() + hours * 3_600_000));
      expect(await claimItems(t.engine, 'w', [{ type, limit: 1 }], id)).toHaveLength(1);
    }
  });

  it.each(['', 'claim', '5f0c2ad2-7a4c-4f0e-9b64-2a3f5f0b1a11', '019a0000-0000-7000-c000-000000000000'])(
    'requires a UUID of version 7: %j is refused',
    async (id) => {
      const claimed = claimItems(t.engine, 'w', [{ type: 'none', limit: 1 }], id);
      await expect(claimed).rejects.toThrow(InvalidInputError);
      await expect(claimed).rejects.toMatchObject({ field: 'claimId' });
    },
  );

  it('may have an id in capitals', async () => {
    const type = newType();
    await t.create({ type, items: count10() });
    const id = newClaimId().replace('-8000-', '-8ddd-').toUpperCase();
    const held = ids(await claimItems(t.engine, 'w', [{ type, limit: 1 }], id));
    expect(ids(await claimItems(t.engine, 'w', [{ type, limit: 1 }], id.toLowerCase()))).toEqual(held);
  });
});

it('a named item that has just come due is claimed before a sweep promotes it', async () => {
  const type = newType();
  const { [type]: job } = await t.create({ type, items: [{ runAt: new Date(Date.now() + 3_600_000) }] });
  await t.db.query('update jobtree.queue_entry set run_at = now() where job_id = $1', [job]);
  expect(await claimItem(t.engine, (await t.items(job ?? ''))[0] as ItemKey, 'w')).toMatchObject({
    attempt: 1,
    worker: 'w',
  });
});

function count10(): { payload: number }[] {
  return Array.from({ length: 10 }, (_, payload) => ({ payload }));
}

describe('an item that is lost in its last attempt', () => {
  it('is a suspect three times, and then fails for good', async () => {
    const type = newType();
    await t.create({ type, items: [{}, {}], maxFailuresPerItem: 1, backoffMs: [0] });
    const seen: unknown[] = [];
    for (;;) {
      const held = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
      if (held.length === 0) break;
      const [one] = held as [Assignment];
      expect(await readAssignments(t.engine.database, null, [one.id])).toMatchObject([
        { lastAttempt: one.lastAttempt, suspect: one.suspect },
      ]);
      seen.push([one.attempt, one.lastAttempt, one.suspect]);
      await t.expire(...ids(held));
      await t.sweep();
    }
    expect(seen).toEqual([
      [1, false, false],
      [2, true, false],
      [3, true, true],
      [4, true, true],
      [5, true, true],
    ]);
    const [dead] = await t.db.query('select count(*)::int from jobtree.dead_letter where type = $1', [type]);
    expect(dead).toEqual({ count: 2 });
  });

  it('fails at once if its worker reports a failure', async () => {
    const type = newType();
    await t.create({ type, items: [{}], maxFailuresPerItem: 1, backoffMs: [0] });
    for (let n = 0; n < 2; n++) {
      await t.expire((await t.claimOne(type)).id);
      await t.sweep();
    }
    const failure = { code: 'E', message: 'no' };
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, failure }]);
    expect(await claimItems(t.engine, 'w', [{ type, limit: 1 }])).toEqual([]);
  });
});

describe('when a worker falls silent', () => {
  /** Claims four items, of which the worker starts one at once, as far as it says. */
  const claimFour = (type: string, starts: number | null = 1) =>
    claimItems(t.engine, 'w', [{ type, limit: 4, starts }]);
  const createFour = async (type: string) =>
    t.create({
      type,
      items: [0, 1, 2, 3].map((payload) => ({ payload })),
      maxFailuresPerItem: 1,
      backoffMs: [0],
    });
  async function lose(held: readonly Assignment[]): Promise<void> {
    await t.expire(...ids(held));
    await t.sweep();
  }
  const attempts = (held: readonly Assignment[]) =>
    held
      .map(({ payload, attempt, lostBefore }) => [payload.value, attempt, lostBefore])
      .sort(([a], [b]) => Number(a) - Number(b));

  it('only what it started costs an attempt', async () => {
    const type = newType();
    await createFour(type);
    const held = await claimFour(type);
    // The third one began meanwhile.
    await heartbeat(t.engine, ids(held), new Set([held[1]?.id ?? '', held[3]?.id ?? '']));
    await lose(held);
    expect(t.ready.filter((one) => one === type).length).toBeGreaterThan(0);
    expect(attempts(await claimFour(type))).toEqual([
      [0, 2, true],
      [1, 1, true],
      [2, 2, true],
      [3, 1, true],
    ]);
  });

  it('what was lost before costs an attempt if the worker told that it started it, and only then', async () => {
    const type = newType();
    await createFour(type);
    await lose(await claimFour(type));
    const held = await claimFour(type, 4);
    const waiting = held.filter(({ payload }) => payload.value !== 3).map(({ id }) => id);
    await heartbeat(t.engine, ids(held), new Set(waiting));
    await lose(held);
    const again = await claimFour(type, 4);
    expect(attempts(again)).toEqual([
      [0, 2, true],
      [1, 1, true],
      [2, 1, true],
      [3, 2, true],
    ]);
    // That it was lost is not forgotten when it is given back.
    await releaseAssignments(t.engine, ids(again));
    expect((await claimFour(type)).every(({ lostBefore }) => lostBefore)).toBe(true);
  });

  it('one that does not say what it starts has started all', async () => {
    const type = newType();
    await createFour(type);
    for (const attempt of [1, 2]) {
      const held = await claimFour(type, null);
      expect(held.map((one) => one.attempt)).toEqual([attempt, attempt, attempt, attempt]);
      await lose(held);
    }
  });

  it('a claim of several entries starts the first items of each request', async () => {
    const types = [newType(), newType()] as const;
    for (const type of [...types, ...types])
      await t.create({ type, items: [0, 1].map((payload) => ({ payload })), backoffMs: [0] });
    const requests = types.map((type, i) => ({ type, limit: 4, starts: 3 - i * 2 }));
    await lose(await claimItems(t.engine, 'w', requests));
    const again = await claimItems(t.engine, 'w', requests);
    const failedOf = (type: string) => again.filter((one) => one.type === type && one.attempt === 2).length;
    expect(types.map(failedOf)).toEqual([3, 1]);
  });
});
