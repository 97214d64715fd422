/** Dead letters: what failed for good, replayed or discarded. */
import { describe, expect, it } from 'vitest';
import { newClaimId } from '../../../src/client/claim-id.ts';
import type { Assignment } from '../../../src/domain/claims/assignment.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { readAssignments } from '../../../src/domain/claims/read-assignments.ts';
import { readDeadItems, readDigest, readLargestGroups } from '../../../src/domain/operations/dead-letters.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

const failure = { code: 'E', message: 'no' };

/** A job of which some items have failed for good, folded. */
async function failedJob(items: number, failed: number, more: object = {}) {
  const type = newType();
  const jobs = await t.create({
    type,
    sealed: true,
    maxFailuresPerItem: 0,
    items: Array(items).fill({}),
    ...more,
  });
  const claimed = await claimItems(t.engine, 'w', [{ type, limit: items }]);
  await reportOutcomes(
    t.engine,
    claimed.map(({ id }, i) =>
      i < failed ? { assignmentId: id, failure } : { assignmentId: id, result: i },
    ),
  );
  const id = jobs[type] ?? '';
  return { type, jobs, id, progress: await t.fold(id) };
}

const deadLetters = (jobId: string) =>
  t.db.query('select * from jobtree.dead_letter where job_id = $1 order by position', [jobId]);

async function replay(jobId: string, rootId = jobId, payload: unknown = null) {
  const items = await deadLetters(jobId);
  const [row] = await t.db.query<{ positions: string[]; ready: unknown }>(
    'select positions, ready from jobtree.replay_items($1, $2, $3, $4)',
    [
      rootId,
      items.map(() => jobId),
      items.map(({ position }) => position),
      payload === null ? null : JSON.stringify(payload),
    ],
  );
  return row;
}

describe('message_pattern', () => {
  it.each([
    ['User 4711 not found', 'User … not found'],
    ['User 4712 not found', 'User … not found'],
    ["no \"a b\" in `x` of 'y', but can't", "no … in … of …, but can't"],
    ['019a1b2c-0000-7000-8000-00000000abcd is gone', '… is gone'],
    ['at 2026-11-21T10:00:00.123Z from 10.0.0.1:5432', 'at … from …'],
    ['', ''],
    ['x'.repeat(300), 'x'.repeat(200)],
  ])('of %j', async (message, pattern) => {
    expect(await t.db.query('select jobtree.message_pattern($1) as pattern', [message])).toEqual([
      { pattern },
    ]);
  });
});

describe('fingerprint', () => {
  const ofMessage = async (message: string) =>
    (
      await t.db.query<{ id: string }>(
        `select jobtree.fingerprint('t', 'E', jobtree.message_pattern($1)) as id`,
        [message],
      )
    )[0]?.id;

  it.each([
    ['row 1 has 1 cell', 'row 2 has 3 cells', true],
    ['1 error in 1 file', '20 errors in 3 files', true],
    ['3 cells are empty', '1 row is empty', false],
    ['cell is empty', 'cells is empty', false],
  ])('of %j and %j: equal is %j', async (one, other, equal) => {
    expect((await ofMessage(one)) === (await ofMessage(other))).toBe(equal);
  });
});

describe('dead letters', () => {
  it('are items that failed for good, by type, code and pattern of the message', async () => {
    const { type, id, progress } = await failedJob(3, 2);
    expect(progress[type]).toMatchObject({ failed: 2, succeeded: 1, completedAt: expect.any(Number) });
    const dead = await deadLetters(id);
    expect(dead).toMatchObject([{ type, code: 'E', pattern: 'no' }, { type }]);
    expect(dead[0]?.fingerprint).toBe(dead[1]?.fingerprint);
  });

  it('are grouped by type, counted from an instant on, and shown with the newest first', async () => {
    const { type, id: jobId } = await failedJob(3, 3);
    const { type: other } = await failedJob(1, 1);
    const at = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 0, minutes));
    const items = await t.items(jobId);
    for (const [i, minutes] of [2, 3, 1].entries())
      await t.db.query('update jobtree.dead_letter set died_at = $3 where job_id = $1 and position = $2', [
        jobId,
        items[i]?.position,
        at(minutes),
      ]);
    const { database } = t.engine;
    const groups = await readLargestGroups(database, {
      types: [type, other],
      codes: null,
      after: null,
      first: 9,
    });
    expect(groups).toMatchObject([
      { type, code: 'E', pattern: 'no', count: 3, firstAt: at(1), lastAt: at(3), example: items[1] },
      { type: other, count: 1 },
    ]);
    const groupId = groups[0]?.id ?? '';
    expect(await readDeadItems(database, { groupId, first: 2 })).toEqual([items[1], items[0]]);
    expect(await readDigest(database, { since: at(2), types: [type], first: 9 })).toEqual([
      { id: groupId, count: 2 },
    ]);
  });
});

describe('replay', () => {
  it('reopens the job in a new generation, which completes a second time', async () => {
    const { type, id, progress } = await failedJob(3, 2);
    expect(progress[type]).toMatchObject({ generation: 0, completedAt: expect.any(Number) });
    expect(await replay(id)).toMatchObject({
      positions: expect.objectContaining({ length: 2 }),
      ready: { [type]: 2 },
    });
    expect(await deadLetters(id)).toEqual([]);
    expect((await t.fold(id))[type]).toMatchObject({
      generation: 1,
      failed: 0,
      succeeded: 1,
      itemCount: 3,
      completedAt: null,
      sealed: true,
    });
    const again = await claimItems(t.engine, 'w', [{ type, limit: 9 }]);
    expect(again.map(({ attempt }) => attempt)).toEqual([2, 2]);
    await reportOutcomes(
      t.engine,
      again.map(({ id }) => ({ assignmentId: id, result: 'now' })),
    );
    expect((await t.fold(id))[type]).toMatchObject({
      generation: 1,
      completions: 2,
      failed: 0,
      succeeded: 3,
      completedAt: expect.any(Number),
    });
  });

  it('lets an item fail as often as a new one', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      sealed: true,
      maxFailuresPerItem: 1,
      backoffMs: [0],
      items: [{}],
    });
    const fail = async () => {
      const { id } = await t.claimOne(type);
      const [{ status } = { status: '' }] = await reportOutcomes(t.engine, [{ assignmentId: id, failure }]);
      expect(status).toBe('ACCEPTED');
      return (await deadLetters(jobId)).length;
    };
    expect([await fail(), await fail()]).toEqual([0, 1]);
    await replay(jobId);
    expect([await fail(), await fail()]).toEqual([0, 1]);
    expect((await t.fold(jobId))[type]).toMatchObject({
      failed: 1,
      generation: 1,
      completedAt: expect.any(Number),
    });
  });

  it('starts with the first backoff again', async () => {
    const type = newType();
    const backoffMs = [0, 3_600_000];
    const items = [{}];
    const { [type]: jobId = '' } = await t.create({ type, maxFailuresPerItem: 1, backoffMs, items });
    const fail = async () =>
      (await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, failure }]))[0]?.retryAt;
    const waits = async () => Number(await fail()) - Date.now();
    expect(await waits()).toBeLessThan(60_000);
    expect(await fail()).toBeUndefined();
    await replay(jobId);
    expect(await fail()).toBeInstanceOf(Date);
    expect(await t.claimOne(type)).toMatchObject({ attempt: 4 });
  });

  it('can correct the payload of an item, whose size counts', async () => {
    const { type, id } = await failedJob(1, 1, { items: [{ payload: 1, priority: 5 }] });
    await replay(id, id, { much: 'x'.repeat(1_000) });
    await t.fold(id);
    expect(
      await t.db.query(
        `select q.bytes::int as waiting, q.priority, p.bytes::int as stored
         from jobtree.queue_entry q join jobtree.job_progress p on p.job_id = q.job_id where q.job_id = $1`,
        [id],
      ),
    ).toEqual([{ waiting: 1_011, priority: 5, stored: 1_011 }]);
    expect(String((await t.claimOne(type)).payload.text)).toContain('xxx');
  });

  it('unseals only the jobs that it feeds, which get new successes and nothing twice', async () => {
    const [parent, child, unfed] = [newType('parent'), newType('child'), newType('unfed')];
    const jobs = await t.create({
      type: parent,
      sealed: true,
      maxFailuresPerItem: 0,
      items: [{}, {}],
      children: [
        { type: child, feed: {} },
        { type: unfed, sealed: true },
      ],
    });
    const root = jobs[parent] ?? '';
    const [a, b] = await claimItems(t.engine, 'w', [{ type: parent, limit: 2 }]);
    await reportOutcomes(t.engine, [
      { assignmentId: a?.id ?? '', result: 'first' },
      { assignmentId: b?.id ?? '', failure },
    ]);
    const fed = await t.claimOne(child);
    await reportOutcomes(t.engine, [{ assignmentId: fed.id, result: 1 }]);
    expect((await t.fold(root))[child]).toMatchObject({ sealed: true, completedAt: expect.any(Number) });
    await replay(root);
    const reopened = await t.fold(root);
    expect(reopened[parent]).toMatchObject({ completedAt: null, generation: 1 });
    expect(reopened[child]).toMatchObject({ completedAt: null, generation: 1, sealed: false, itemCount: 1 });
    expect(reopened[unfed]).toMatchObject({ completedAt: expect.any(Number), generation: 0, sealed: true });
    const again = await t.claimOne(parent);
    await reportOutcomes(t.engine, [{ assignmentId: again.id, result: 'second' }]);
    const second = await t.claimOne(child);
    expect(String(second.payload?.text ?? second.payload)).toContain('second');
    await reportOutcomes(t.engine, [{ assignmentId: second.id, result: 2 }]);
    const done = await t.fold(root);
    expect(done[parent]).toMatchObject({ completedAt: expect.any(Number), failed: 0 });
    expect(done[child]).toMatchObject({ itemCount: 2, succeeded: 2, completedAt: expect.any(Number) });
  });
});

describe('operations', () => {
  const start = async (kind: string, filter: object, payload?: unknown) => {
    const [row] = await t.db.query<{ operation_id: string; total: string }>(
      'select * from jobtree.start_operation($1, $2, $3)',
      [kind, JSON.stringify(filter), payload === undefined ? null : JSON.stringify(payload)],
    );
    return { id: row?.operation_id ?? '', total: Number(row?.total) };
  };
  const run = async (id: string, window: number) => {
    const steps = [];
    for (;;) {
      const [step] = await t.db.query<{ finished: boolean }>('select * from jobtree.run_operation($1, $2)', [
        id,
        window,
      ]);
      steps.push(step);
      if (step?.finished !== false) return steps;
    }
  };
  const read = async (id: string) =>
    (await t.db.query('select * from jobtree.operation where id = $1', [id]))[0];

  it('replay what a filter names, in batches, over several trees', async () => {
    const one = await failedJob(7, 5);
    const two = await failedJob(3, 3);
    const { id, total } = await start('REPLAY', { types: [one.type, two.type] });
    expect(total).toBe(8);
    expect((await run(id, 2)).length).toBeGreaterThan(4);
    expect(await read(id)).toMatchObject({ done: '8', finished_at: expect.any(Date) });
    expect((await t.fold(one.id))[one.type]).toMatchObject({ failed: 0, completedAt: null });
    expect((await t.fold(two.id))[two.type]).toMatchObject({ failed: 0, completedAt: null });
  });

  it('replay with a patch no item that took the place of a checked one, until it is checked', async () => {
    const { id: job } = await failedJob(3, 3);
    const [first, second, third] = (await deadLetters(job)).map(({ position }) => Number(position));
    const [{ operation_id: id } = {}] = await t.db.query<{ operation_id: string }>(
      `select * from jobtree.start_operation('REPLAY', $1, null, null, '{"a": 1}')`,
      [JSON.stringify({ jobId: job })],
    );
    const step = async (after: object, positions: unknown[]) =>
      t.db.query('select * from jobtree.run_operation($1, $2, $3)', [
        id,
        Math.max(1, positions.length),
        JSON.stringify({
          ...after,
          toJobId: positions.length > 0 ? job : undefined,
          toPosition: positions.at(-1),
          valid: { [job]: positions },
        }),
      ]);
    const beginning = { afterJobId: '00000000-0000-0000-0000-000000000000', afterPosition: -1 };
    await t.db.query('select jobtree.discard_items(array[$1::uuid], array[$2::bigint])', [job, first]);
    expect(await step(beginning, [first, second])).toMatchObject([{ finished: false, more: true }]);
    expect(await step({ afterJobId: job, afterPosition: second }, [third])).toMatchObject([{ more: true }]);
    expect(await step({ afterJobId: job, afterPosition: third }, [])).toMatchObject([{ finished: true }]);
    expect(await read(id ?? '')).toMatchObject({ done: '2', skipped: '0' });
  });

  it('discard dead letters, whose items stay failed', async () => {
    const { id: job, type } = await failedJob(4, 3);
    const { id, total } = await start('DISCARD', { jobId: job });
    expect(total).toBe(3);
    await run(id, 100);
    expect(await deadLetters(job)).toEqual([]);
    expect((await t.fold(job))[type]).toMatchObject({ failed: 3, completedAt: expect.any(Number) });
  });

  it.each([
    [null, 'JT002', 'filter'],
    [{}, 'JT002', 'filter'],
    [{ jobId: null, types: null }, 'JT002', 'filter'],
    [{ tpyes: ['a'] }, 'JT002', 'filter.tpyes'],
    [{ items: [] }, 'JT002', 'filter.items'],
    [{ codes: ['E'], types: [] }, 'JT002', 'filter.types'],
    [{ jobId: '00000000-0000-0000-0000-000000000000' }, 'JT001', 'filter.jobId'],
  ])('refuse %j', async (filter, code, column) => {
    await expect(
      t.db.query('select jobtree.start_operation($1, $2)', ['DISCARD', JSON.stringify(filter)]),
    ).rejects.toMatchObject({ code, column });
    expect(await t.db.query('select from jobtree.operation where total = 0 and types is null')).toEqual([]);
  });

  it.each([
    ['DISCARD', 1],
    ['REPLAY', 2],
  ])('refuse a payload to %s %i items', async (kind, count) => {
    const { id } = await failedJob(count, count);
    await expect(start(kind, { items: await t.items(id) }, 1)).rejects.toMatchObject({
      code: 'JT002',
      column: 'payload',
    });
  });

  it.each([
    [{ codes: ['E'] }, 2],
    [{ codes: ['F'] }, 0],
    [{ diedUntil: '2020-01-01T00:00:00Z' }, 0],
    [{ diedFrom: '2020-01-01T00:00:00Z' }, 2],
    [{ groupIds: ['00000000-0000-0000-0000-000000000000'] }, 0],
    [{ dedupeKeys: ['none'] }, 0],
  ])('find by %j', async (filter, total) => {
    const { type } = await failedJob(2, 2);
    expect(await start('DISCARD', { types: [type], ...filter })).toMatchObject({ total });
  });

  it('find by times, the first inclusive and the second exclusive', async () => {
    const { type, id } = await failedJob(1, 1);
    const [{ died_at: at } = {}] = (await deadLetters(id)) as { died_at?: Date }[];
    for (const [filter, total] of [
      [{ diedFrom: at }, 1],
      [{ diedUntil: at }, 0],
    ] as const)
      expect(await start('DISCARD', { types: [type], ...filter })).toMatchObject({ total });
  });

  it('leave what fails later, and keys that other items have kept', async () => {
    const keys = [newType('key'), newType('key')];
    const items = keys.map((serializeKey) => ({ serializeKey }));
    const { type, id: job } = await failedJob(2, 2, { items, serializeOnFailure: 'BLOCK' });
    const [first] = await t.items(job);
    const { id } = await start('DISCARD', { items: [first] });
    await run(id, 100);
    expect(
      await t.db.query('select held from jobtree.ended_head where job_id = $1 order by position', [job]),
    ).toEqual([{ held: false }, { held: true }]);
    const { id: all } = await start('DISCARD', { types: [type] });
    const { [type]: later = '' } = await t.create({ type, maxFailuresPerItem: 0, items: [{}] });
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, failure }]);
    await run(all, 100);
    expect([await deadLetters(job), (await deadLetters(later)).length]).toEqual([[], 1]);
  });
});

describe('the last attempt', () => {
  it('counts from the last replay of each item, also in a repeated claim', async () => {
    const type = newType();
    const items = [{ payload: 'a' }, { payload: 'b' }];
    const { [type]: jobId = '' } = await t.create({ type, items, maxFailuresPerItem: 2, backoffMs: [0] });
    const claim = (claimId?: string) => claimItems(t.engine, 'w', [{ type, limit: 2 }], claimId);
    const facts = (all: readonly Pick<Assignment, 'payload' | 'attempt' | 'lastAttempt'>[]) =>
      all.map(({ payload, attempt, lastAttempt }) => [payload.text, attempt, lastAttempt]).sort();
    const read = async (all: readonly Assignment[]) =>
      facts(
        await readAssignments(
          t.engine.database,
          null,
          all.map(({ id }) => id),
        ),
      );
    const seen: unknown[] = [];
    for (const permanent of [false, true]) {
      const claimed = await claim();
      seen.push(claimed.map(({ attempt, lastAttempt }) => [attempt, lastAttempt]));
      expect(await read(claimed)).toEqual(facts(claimed));
      await reportOutcomes(
        t.engine,
        claimed.map(({ id, payload }) => ({
          assignmentId: id,
          failure: { ...failure, permanent: permanent && payload.text === '"a"' },
        })),
      );
    }
    await t.fold(jobId);
    await replay(jobId);
    const claimId = newClaimId();
    const last = await claim(claimId);
    expect(seen).toEqual([
      [
        [1, false],
        [1, false],
      ],
      [
        [2, false],
        [2, false],
      ],
    ]);
    const expected = [
      ['"a"', 3, false],
      ['"b"', 3, true],
    ];
    expect(facts(last)).toEqual(expected);
    expect(facts(await claim(claimId))).toEqual(expected);
    expect(await read(last)).toEqual(expected);
    // Of an assignment that has ended it is what it was.
    await reportOutcomes(
      t.engine,
      last.map(({ id: assignmentId }) => ({ assignmentId, failure })),
    );
    await replay(jobId);
    expect(await read(last)).toEqual(expected);
    expect(facts(await claim())).toEqual([
      ['"a"', 4, false],
      ['"b"', 4, false],
    ]);
  });
});
