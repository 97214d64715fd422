/** The stored functions as SQL callers use them: what the API would refuse, they refuse as well, and store nothing of it. */
import { describe, expect, it } from 'vitest';
import { claimItems } from '../../src/domain/claims/claim-items.ts';
import { heartbeat } from '../../src/domain/claims/heartbeat.ts';
import type { NewJob } from '../../src/domain/jobs/create-job.ts';
import { type Report, reportOutcomes } from '../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../src/domain/retention/delete-job.ts';
import { assignmentIdOf, splitAssignmentId } from '../../src/domain/values/ids.ts';
import { newClaimId, newType, useEngine } from '../support/engine.ts';

const t = useEngine();

const call = (name: string, ...values: unknown[]) =>
  t.db.query(`select * from jobtree.${name}(${values.map((_, i) => `$${i + 1}`).join(', ')})`, values);
const failure = { code: 'E', message: 'no' };
const outOfBounds = /^(JT002|22003|22007|22008|22P02|23514)$/;

describe('create_job refuses', () => {
  it.each<[string, unknown, string]>([
    ['a tree that is no object', [1], ''],
    ['a job without a type', {}, 'type'],
    ['a type that is no text', { type: 5 }, 'type'],
    ['an unknown key', { type: 'x', runat: null, sealled: true }, 'sealled'],
    ['an endless instant', { type: 'x', runAt: 'infinity' }, 'runAt'],
    ['an instant beyond the year 9999', { type: 'x', runAt: '10000-01-01T00:00:00Z' }, 'runAt'],
    ['what is no instant', { type: 'x', runAt: 'soon' }, 'runAt'],
    ['an instant that is a number', { type: 'x', runAt: 5 }, 'runAt'],
    ['a backoff of null', { type: 'x', backoffMs: [null] }, 'backoffMs[0]'],
    ['a negative backoff', { type: 'x', backoffMs: [1, -1] }, 'backoffMs[1]'],
    ['lists in a backoff', { type: 'x', backoffMs: [[1], [2]] }, 'backoffMs[0]'],
    ['a backoff that is a text', { type: 'x', backoffMs: '{1,2}' }, 'backoffMs'],
    ['a priority beyond its range', { type: 'x', priority: -32_769 }, 'priority'],
    ['a priority that is a text', { type: 'x', priority: '5' }, 'priority'],
    ['a fraction of a failure', { type: 'x', maxFailuresPerItem: 1.5 }, 'maxFailuresPerItem'],
    ['a heartbeat interval below a second', { type: 'x', heartbeatIntervalMs: 10 }, 'heartbeatIntervalMs'],
    ['a jitter above 1', { type: 'x', backoffJitter: 1.5 }, 'backoffJitter'],
    ['a flag that is a text', { type: 'x', sealed: 'yes' }, 'sealed'],
    ['an empty dedupe key', { type: 'x', dedupeKey: '' }, 'dedupeKey'],
    ['items that are no list', { type: 'x', items: { payload: 1 } }, 'items'],
    ['an item that is no object', { type: 'x', items: [{}, 5] }, 'items[1]'],
    ['children that are no list', { type: 'x', children: {} }, 'children'],
    ['a child that is no object', { type: 'x', children: [{ type: 'y' }, 'z'] }, 'children[1]'],
    ['a feed at the root', { type: 'x', feed: {} }, 'feed'],
    [
      'a sealed fed job',
      { type: 'x', children: [{ type: 'y', sealed: true, feed: {} }] },
      'children[0].sealed',
    ],
    [
      'a bad item far below',
      { type: 'x', children: [{ type: 'y' }, { type: 'z', children: [{ type: 'a', items: [{ id: 1 }] }] }] },
      'children[1].children[0].items[0].id',
    ],
    ...[
      'result',
      { source: 'ALL' },
      { forEach: 'element' },
      { forEach: 1 },
      { forEach: 'result', each: 1 },
      { payload: 'element' },
      { payload: { a: 'result', b: null } },
      { payload: ['result'] },
      { source: 'REPORTS', payload: 'result' },
      { payload: { [`k${'x'.repeat(10_000)}`]: 'result' } },
    ].map((feed): [string, unknown, string] => [
      `the feed ${JSON.stringify(feed).slice(0, 40)}`,
      { type: 'x', children: [{ type: 'y', feed }] },
      'children[0].feed',
    ]),
  ])('%s, and names the field', async (_, tree, column) => {
    const before = await t.db.query('select count(*) from jobtree.job');
    await expect(call('create_job', JSON.stringify(tree))).rejects.toMatchObject({ code: 'JT002', column });
    expect(await t.db.query('select count(*) from jobtree.job')).toEqual(before);
  });

  it.each<[string, unknown, string]>([
    ['a number', { priority: 40_000 }, 'priority is 40000; it must be a whole number from -32768 to 32767.'],
    [
      'a fraction',
      { maxFailuresPerItem: 0.5 },
      'maxFailuresPerItem is 0.5; it must be a whole number from 0 to 1000.',
    ],
    ['a share', { backoffJitter: 1.1 }, 'backoffJitter is 1.1; it must be a number from 0 to 1.'],
    ['a step', { backoffMs: [1, -1] }, 'backoffMs[1] is -1; it must be a whole number from 0 to 2147483647.'],
    ['too many steps', { backoffMs: Array(101).fill(1) }, 'backoffMs has 101 entries; the limit is 100.'],
    ['a text', { sealed: 'yes' }, 'sealed is "yes"; it must be true or false.'],
    ['what is no text', { dedupeKey: 5 }, 'dedupeKey is 5; it must be a text of 1 to 500 characters.'],
    ['no text', { type: 'acme//' }, 'type is empty.'],
    ['a long text', { type: `acme//${'x'.repeat(201)}` }, 'type has 201 characters; the limit is 200.'],
    ['a name', { after: ['a', ''] }, 'after[1] is empty.'],
    ['a long value', { items: 'x'.repeat(100) }, `items is "${'x'.repeat(79)}…; it must be a list.`],
    [
      'for ever',
      { retentionSeconds: -1 },
      'retentionSeconds is -1; it must be a whole number from 0 to 315576000, or null for never.',
    ],
    [
      'of a child',
      { children: [{ type: 'y', priority: '5' }] },
      'children[0].priority is "5"; it must be a whole number from -32768 to 32767.',
    ],
  ])('%s, and says what the value is and must be', async (_, job, message) => {
    const refused = call('create_job', JSON.stringify({ type: 'x', ...(job as object) }));
    await expect(refused).rejects.toMatchObject({ code: 'JT002', message });
  });

  it('no jitter too small to store, which counts as none', async () => {
    const type = newType();
    await call('create_job', JSON.stringify({ type, backoffJitter: 1e-60 }));
    await call('set_queue', type, JSON.stringify({ backoffJitter: 1e-60 }));
    expect(
      await t.db.query(
        `select j.backoff_jitter as job, q.backoff_jitter as queue from jobtree.job j join jobtree.queue q using (type) where type = $1`,
        [type],
      ),
    ).toEqual([{ job: 0, queue: 0 }]);
  });

  it('nothing that the API accepts: null counts as missing', async () => {
    const [type, child, other] = [newType(), newType('child'), newType('other')];
    const nothing = Object.fromEntries(
      ['dedupeKey', 'priority', 'runAt', 'backoffMs', 'sealed', 'feed', 'items', 'children'].map((key) => [
        key,
        null,
      ]),
    );
    const feed = { source: null, forEach: 'result.a', payload: { x: 'element.b', y: 'payload' } };
    const items = [
      {},
      { payload: null, dedupeKey: null, priority: -32_768, runAt: '9999-12-31T23:59:59.999Z' },
    ];
    await call(
      'create_job',
      JSON.stringify({
        ...nothing,
        type,
        items,
        children: [
          { ...nothing, type: child },
          { type: other, feed },
        ],
      }),
    );
    expect(
      await t.db.query('select feed, final_stage from jobtree.job where type = any ($1) order by 1', [
        [child, other],
      ]),
    ).toEqual([
      {
        feed: { source: 'SUCCESSES', forEach: 'result.a', payload: { x: 'element.b', y: 'payload' } },
        final_stage: true,
      },
      { feed: null, final_stage: true },
    ]);
  });
});

describe('value_problem', () => {
  const problemOf = async (key: string, value: unknown): Promise<unknown> => {
    const [row] = await t.db.query('select jobtree.value_problem($1, $2) as problem', [
      key,
      JSON.stringify(value),
    ]);
    return row?.problem;
  };

  it.each([
    ['priority', -32_768, 32_767],
    ['maxFailuresPerItem', 0, 1_000],
    ['backoffMs[]', 0, 2_147_483_647],
    ['heartbeatIntervalMs', 1_000, 86_400_000],
    ['toleratedFailureCount', 0, 2_147_483_647],
    ['retentionSeconds', 0, 315_576_000],
    ['idleExpirySeconds', 1, 315_576_000],
    ['concurrency', 1, 1_000_000],
    ['limit', 1, 1_000_000],
    ['count', 1, 10_000],
    ['intervalMs', 1, 86_400_000],
    ['alert.intervalMs', 1_000, 86_400_000],
    ['lifetimeMs', 1, 2_147_483_647],
    ['retryAfterMs', 0, 2_147_483_647],
    ['snoozeMs', 1_000, 2_147_483_647],
  ])('accepts for %s only whole numbers from %i to %i', async (key, lowest, highest) => {
    for (const good of [lowest, highest]) expect(await problemOf(key, good)).toBeNull();
    for (const bad of [lowest - 1, highest + 1, lowest + 0.5, String(lowest), true, [lowest]])
      expect(await problemOf(key, bad)).toContain(`; it must be a whole number from ${lowest} to ${highest}`);
  });

  it.each([
    ['backoffJitter', 1],
    ['toleratedFailurePercentage', 100],
  ])('accepts for %s only numbers from 0 to %i', async (key, highest) => {
    for (const good of [0, 0.5, highest]) expect(await problemOf(key, good)).toBeNull();
    for (const bad of [-0.1, highest + 0.1, '0'])
      expect(await problemOf(key, bad)).toContain(`; it must be a number from 0 to ${highest}`);
  });

  it.each([
    ['type', 1, 200],
    ['name', 1, 200],
    ['endpoint', 1, 200],
    ['code', 1, 200],
    ['after[]', 1, 200],
    ['dedupeKey', 1, 500],
    ['serializeKey', 1, 255],
    ['message', 0, 10_000],
    ['stack', 0, 4_096],
  ])('accepts for %s only texts of %i to %i characters', async (key, shortest, longest) => {
    expect(await problemOf(key, 'ж'.repeat(longest))).toBeNull();
    expect(await problemOf(key, '')).toBe(shortest === 0 ? null : 'is empty');
    const long = `has ${longest + 1} characters; the limit is ${longest}`;
    expect(await problemOf(key, 'ж'.repeat(longest + 1))).toBe(long);
    expect(await problemOf(key, 5)).toMatch(/^is 5; it must be a text of /);
  });

  it.each<[string, unknown[], unknown[]]>([
    ['sealed', [true, false], ['true', 0]],
    ['serializeOnFailure', ['CONTINUE', 'BLOCK'], ['block', 'STOP', true]],
    [
      'file',
      [{ source: { uploadId: 'x' }, format: 'CSV' }],
      [{ source: {}, format: 'CSV' }, { source: { uploadId: 'x' } }, 'x'],
    ],
    ['after', [[], ['a'], Array(100).fill('a')], [Array(101).fill('a'), 'a']],
    ['backoffMs', [[], Array(100).fill(1)], [Array(101).fill(1), 1]],
  ])('accepts for %s %j, and refuses %j', async (key, good, bad) => {
    for (const value of good) expect(await problemOf(key, value)).toBeNull();
    for (const value of bad) expect(await problemOf(key, value)).toMatch(/^(is|has) /);
  });
});

describe('add_items refuses', () => {
  it.each<[string, unknown, string | undefined]>([
    ['what is no list', { payload: 1 }, 'items'],
    ['nothing', null, 'items'],
    ['an entry that is no object', [{}, null], 'items[1]'],
    ['a list as an entry', [[]], 'items[0]'],
    ['an unknown key', [{ payload: 1, dedupe: 'k' }], 'items[0].dedupe'],
    ['a dedupe key that is no text', [{ dedupeKey: { a: 1 } }], 'items[0].dedupeKey'],
    ['a priority that is a word', [{ priority: 'high' }], undefined],
    ['a due time that is a number', [{ runAt: 1e12 }], undefined],
    ['a dedupe key too long', [{ dedupeKey: 'x'.repeat(501) }], undefined],
    ['a priority beyond its range', [{ priority: -40_000 }], undefined],
    ['half a priority', [{ priority: 0.5 }], undefined],
    ['an endless due time', [{ runAt: 'infinity' }], undefined],
    ['an endless past', [{ runAt: '-infinity' }], undefined],
    ['a due time beyond the year 9999', [{ runAt: '10000-01-01T00:00:00Z' }], undefined],
    ['a due time that never was', [{ runAt: '2026-02-31' }], undefined],
  ])('%s', async (_, items, column) => {
    const type = newType();
    const { [type]: job } = await t.create({ type });
    const text = items === null ? null : JSON.stringify(items);
    await expect(call('add_items', job, text)).rejects.toMatchObject(
      column === undefined ? { code: expect.stringMatching(outOfBounds) } : { code: 'JT002', column },
    );
    expect(await t.db.query('select from jobtree.job_item where job_id = $1', [job])).toEqual([]);
  });
});

describe('report_outcomes', () => {
  it.each<[string, object, string]>([
    ['neither a result nor a failure', {}, 'failure'],
    ['a misspelled key', { results: 1 }, 'results'],
    ['a misspelled key beside a result', { result: 1, newItem: [] }, 'newItem'],
    ['a result and a failure', { result: 1, failure }, 'failure'],
    ['a failure that is no object', { failure: 'no' }, 'failure'],
    ['a failure without a code', { failure: { message: 'no' } }, 'failure'],
    ['a failure without a message', { failure: { code: 'E', message: null } }, 'failure'],
    ['a code that is no text', { failure: { ...failure, code: 5 } }, 'failure.code'],
    ['a flag that is a text', { failure: { ...failure, permanent: 'yes' } }, 'failure.permanent'],
    [
      'a message that is too long',
      { failure: { ...failure, message: 'x'.repeat(10_001) } },
      'failure.message',
    ],
    ['a stack that is no text', { failure: { ...failure, stack: ['at f'] } }, 'failure.stack'],
    ['a stack that is too long', { failure: { ...failure, stack: 'x'.repeat(4_097) } }, 'failure.stack'],
    ['an unknown key in a failure', { failure: { ...failure, final: true } }, 'failure.final'],
    ['a next try in the past', { failure: { ...failure, retryAfterMs: -1 } }, 'failure.retryAfterMs'],
    [
      'a next try of what is not tried again',
      { failure: { ...failure, permanent: true, retryAfterMs: 1 } },
      'failure.retryAfterMs',
    ],
    ['a snooze of half a second', { snoozeMs: 500 }, 'snoozeMs'],
    ['a snooze that is a text', { snoozeMs: '5000' }, 'snoozeMs'],
    ['a snooze with a result', { snoozeMs: 5_000, result: null }, 'failure'],
    ['a snooze with a failure', { snoozeMs: 5_000, failure }, 'failure'],
    ['new items of a snooze', { snoozeMs: 5_000, newItems: [] }, 'failure'],
    ['new items that are no list', { result: 1, newItems: {} }, 'newItems'],
    ['new items of a failure', { failure, newItems: [] }, 'failure'],
    ['a new item that is no object', { result: 1, newItems: [1] }, 'newItems[0]'],
    [
      'a new item with a priority beyond its range',
      { result: 1, newItems: [{ type: 'c', priority: 1e6 }] },
      'newItems[0].priority',
    ],
    [
      'a new item for never',
      { result: 1, newItems: [{ type: 'c', runAt: 'infinity' }] },
      'newItems[0].runAt',
    ],
  ])('treats %s as INVALID, alone, and keeps the assignment', async (_, report, field) => {
    const type = newType();
    const { [type]: job = '' } = await t.create({
      type,
      items: [{}, {}, {}],
      children: [{ type: 'c', feed: { source: 'REPORTS' } }],
    });
    const [bad, good, failed] = [await t.claimOne(type), await t.claimOne(type), await t.claimOne(type)];
    const [row] = await call(
      'report_outcomes',
      JSON.stringify([
        { assignmentId: bad.id, ...report },
        { assignmentId: good.id, result: 1, failure: null },
        { assignmentId: failed.id, failure: { ...failure, permanent: true }, newItems: null },
      ]),
    );
    expect(row?.answers).toEqual([
      { index: 0, status: 'INVALID', retryAt: null, field, message: expect.any(String) },
    ]);
    expect((await t.fold(job))[type]).toMatchObject({ succeeded: 1, failed: 1 });
    const [again] = await call('report_outcomes', JSON.stringify([{ assignmentId: bad.id, result: 1 }]));
    expect(again?.answers).toBeNull();
  });

  it.each([[{}], [[1]], [[{ result: 1 }]], [null]])('refuses %j', async (reports) => {
    await expect(call('report_outcomes', reports && JSON.stringify(reports))).rejects.toMatchObject({
      code: 'JT002',
      column: 'reports',
    });
  });
});

const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

/** Reports over SQL, and gives the answer to each, ACCEPTED without more for those that are not told. */
async function report(...reports: object[]): Promise<Record<string, unknown>[]> {
  const [row] = await call('report_outcomes', JSON.stringify(reports));
  const told = (row?.answers ?? []) as ({ index: number } & Record<string, unknown>)[];
  return reports.map((_, i) => {
    const { index, ...answer } = told.find((one) => one.index === i) ?? { index: i, status: 'ACCEPTED' };
    return answer;
  });
}
const statuses = async (...reports: object[]) => (await report(...reports)).map(({ status }) => status);
const column = async (name: string, ids: readonly string[], of = 'status') =>
  (await call(name, ids)).map((row) => row[of]);

/** A lease of so many items of a new job. */
async function lease(count: number, job: Partial<NewJob> = {}) {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({ type, items: items(count), ...job });
  const held = await claimItems(t.engine, 'w', [{ type, limit: count }]);
  const { leaseId } = splitAssignmentId(held[0]?.id ?? '');
  return { type, jobId, leaseId, ids: held.map(({ id }) => id) };
}

describe('an unknown assignment', () => {
  it.each([
    ['the lease itself', 0],
    ['a number beyond the lease', 4],
    ['the greatest number that there is', 128],
    ['a number beyond every lease', 129],
    ['the greatest byte', 255],
  ])('%s is LOST by heartbeat, STALE by release and report, and changes no lease', async (_, number) => {
    const { leaseId, ids, jobId } = await lease(3);
    const id = assignmentIdOf(leaseId, number);
    const rows = () => t.db.query('select * from jobtree.lease where job_id = $1', [jobId]);
    const before = await rows();
    expect(await column('heartbeat', [id])).toEqual(['LOST']);
    expect(await column('release_assignments', [id])).toEqual(['STALE']);
    expect(
      await statuses(
        { assignmentId: id, result: 1 },
        { assignmentId: id, failure },
        { assignmentId: id, result: 1, newItems: [] },
      ),
    ).toEqual(['STALE', 'STALE', 'STALE']);
    expect(await reportOutcomes(t.engine, [{ assignmentId: id, result: 1 }])).toMatchObject([
      { status: 'STALE' },
    ]);
    expect(await heartbeat(t.engine, [id])).toEqual(['LOST']);
    expect(await rows()).toEqual(before);

    // Beside good ones it keeps none of them from counting.
    const [first, second, third] = ids as [string, string, string];
    expect(await column('heartbeat', [id, first])).toEqual(['LOST', 'HELD']);
    expect(await column('release_assignments', [id, first])).toEqual(['STALE', 'RELEASED']);
    expect(await statuses({ assignmentId: id, result: 1 }, { assignmentId: second, result: 1 })).toEqual([
      'STALE',
      'ACCEPTED',
    ]);
    const answers = await reportOutcomes(t.engine, [
      { assignmentId: id, result: 1 },
      { assignmentId: third, result: 1 },
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['STALE', 'ACCEPTED']);
  });

  it.each([['a'], [''], ['00000000-0000-7000-8000']])('an invalid id, %j, is refused', async (id) => {
    await expect(call('heartbeat', [id])).rejects.toMatchObject({ code: '22P02' });
    await expect(call('release_assignments', [id])).rejects.toMatchObject({ code: '22P02' });
    await expect(report({ assignmentId: id, result: 1 })).rejects.toMatchObject({ code: '22P02' });
  });
});

describe('claim_item refuses', () => {
  it('an unknown position: before, between and behind those of the job, and in no job', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: items(3) });
    const { [`${type} b`]: other } = await t.create({ type: `${type} b`, items: items(1) });
    const [first] = await t.items(job);
    const position = first?.position ?? 0;
    for (const [id, at] of [
      [job, position - 1],
      [job, position + 3],
      [job, 0],
      [job, -1],
      [job, Number.MAX_SAFE_INTEGER],
      [other, position],
      ['00000000-0000-7000-8000-000000000000', position],
    ]) {
      await expect(call('claim_item', id, at, 'w')).rejects.toMatchObject({
        code: 'JT001',
        column: 'itemId',
      });
    }
    expect(await t.db.query('select from jobtree.lease where job_id = $1', [job])).toEqual([]);
  });

  it('a worker without a name', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: items(1) });
    await expect(call('claim_item', job, (await t.items(job))[0]?.position, '')).rejects.toMatchObject({
      code: '23514',
    });
  });
});

describe('claim_items', () => {
  it.each([-25, 25])('refuses a claim id whose time is %i hours away', async (hours) => {
    const type = newType();
    await t.create({ type, items: items(1) });
    const id = newClaimId(new Date(Date.now() + hours * 3_600_000));
    await expect(call('claim_items', ['w'], [type], [1], [id])).rejects.toMatchObject({
      code: 'JT002',
      column: 'claimId',
    });
    expect(await t.db.query('select from jobtree.lease where claim_id = $1', [id])).toEqual([]);
  });

  it('refuses arrays of different lengths', async () => {
    const type = newType();
    await t.create({ type, items: items(2) });
    for (const [workers, types, limits, claimIds] of [
      [['w', 'v'], [type], [1], []],
      [['w'], [type, type], [1], []],
      [['w'], [type], [1, 1], []],
      [['w', 'w'], [type, type], [1, 1], [newClaimId()]],
    ])
      await expect(call('claim_items', workers, types, limits, claimIds)).rejects.toMatchObject({
        code: 'JT002',
        column: 'types',
      });
  });

  it('refuses to repeat a claim together with others, and the claim of another worker', async () => {
    const type = newType();
    await t.create({ type, items: items(3) });
    const id = newClaimId();
    await call('claim_items', ['w'], [type], [1], [id]);
    await expect(call('claim_items', ['w', 'v'], [type, type], [1, 1], [id, null])).rejects.toMatchObject({
      code: 'JT006',
    });
    await expect(call('claim_items', ['v'], [type], [1], [id])).rejects.toMatchObject({
      code: 'JT002',
      column: 'claimId',
    });
  });
});

describe('a heartbeat that names half of a lease', () => {
  it('keeps that half, and the deadline of the other', async () => {
    const { jobId, ids } = await lease(4);
    const deadlines = async () =>
      (
        await t.db.query<{ deadline_at: Date }>(
          'select deadline_at from jobtree.assignment where job_id = $1 order by position',
          [jobId],
        )
      ).map((row) => row.deadline_at.getTime());
    await t.db.query(
      `update jobtree.lease set heartbeat_at = heartbeat_at - interval '1 minute', check_at = check_at - interval '1 minute' where job_id = $1`,
      [jobId],
    );
    const before = await deadlines();
    expect(await column('heartbeat', [ids[1], ids[3], ids[1]] as string[])).toEqual(['HELD', 'HELD', 'HELD']);
    const after = await deadlines();
    expect([after[0], after[2]]).toEqual([before[0], before[2]]);
    expect(after[1]).toBeGreaterThan((before[1] ?? 0) + 50_000);
    expect(after[3]).toBe(after[1]);
    // The one that ends first is the lease's: that is where the sweep looks.
    expect(
      await t.db.query(
        'select extract(epoch from check_at)::float8 * 1000 as at from jobtree.lease where job_id = $1',
        [jobId],
      ),
    ).toEqual([{ at: before[0] }]);
    await column('heartbeat', ids);
    expect(new Set(await deadlines()).size).toBe(1);
    expect(await t.db.query('select deadlines from jobtree.lease where job_id = $1', [jobId])).toEqual([
      { deadlines: null },
    ]);
  });
});

describe('a call that reports one assignment twice', () => {
  it.each<[string, object, object, string]>([
    ['the same result', { result: { a: 1, b: 2 } }, { result: { b: 2, a: 1 } }, 'DUPLICATE'],
    ['another result', { result: 1 }, { result: 2 }, 'STALE'],
    ['a result, then a failure', { result: 1 }, { failure }, 'STALE'],
    ['a failure, then a result', { failure }, { result: 1 }, 'STALE'],
    ['the same failure', { failure }, { failure: { ...failure, message: 'again' } }, 'DUPLICATE'],
    ['a failure with another code', { failure }, { failure: { ...failure, code: 'F' } }, 'STALE'],
    [
      'something that can not be taken',
      { result: 1 },
      { result: 1, newItems: [{ type: 'none' }] },
      'DUPLICATE',
    ],
  ])('counts the first: %s', async (_, first, second, status) => {
    for (const send of [
      (...reports: Report[]) => statuses(...reports),
      async (...reports: Report[]) =>
        (await reportOutcomes(t.engine, reports)).map((answer) => answer.status),
    ]) {
      const { type, jobId, ids } = await lease(3);
      const [assignmentId, beside] = ids as [string, string];
      expect(
        await send(
          { assignmentId, ...first },
          { assignmentId: beside, result: 'beside' },
          { assignmentId, ...second },
        ),
      ).toEqual(['ACCEPTED', 'ACCEPTED', status]);
      expect((await t.fold(jobId))[type]?.succeeded).toBe('result' in first ? 2 : 1);
      const stored = await t.db.query(
        `select result from jobtree.outcome where job_id = $1 and result::text <> '"beside"'`,
        [jobId],
      );
      expect(stored).toEqual('result' in first ? [{ result: first.result }] : []);
      // In a call of its own as well.
      expect(await send({ assignmentId, ...second })).toEqual([status]);
    }
  });
});

describe('a second failure of the same attempt', () => {
  it('is a DUPLICATE with the same code and gets the same retryAt; with another code it is STALE', async () => {
    const { ids } = await lease(2, { backoffJitter: 1 });
    const [assignmentId, other] = ids as [string, string];
    const [first] = await report({ assignmentId, failure });
    expect(first).toMatchObject({ status: 'ACCEPTED', retryAt: expect.any(String) });
    expect(await report({ assignmentId, failure: { ...failure, message: 'again' } })).toMatchObject([
      { status: 'DUPLICATE', retryAt: first?.retryAt },
    ]);
    expect(await report({ assignmentId, failure: { ...failure, code: 'F' } })).toMatchObject([
      { status: 'STALE', retryAt: null },
    ]);
    const permanent = { ...failure, permanent: true };
    expect(await report({ assignmentId: other, failure: permanent })).toEqual([{ status: 'ACCEPTED' }]);
    expect(await report({ assignmentId: other, failure: permanent })).toMatchObject([
      { status: 'DUPLICATE', retryAt: null },
    ]);
  });

  it('is STALE after the item was lost, although the loss is a failure too', async () => {
    const { ids } = await lease(1);
    await t.expire(ids[0] as string);
    await t.sweep();
    expect(
      await statuses({ assignmentId: ids[0], failure: { code: 'HEARTBEAT_LOST', message: 'I am late.' } }),
    ).toEqual(['STALE']);
  });
});

describe('the ids of a deleted tree', () => {
  it('name nothing', async () => {
    const { jobId, ids } = await lease(3);
    const [{ position } = { position: 0 }] = await t.items(jobId);
    await reportOutcomes(t.engine, [{ assignmentId: ids[0] as string, result: 1 }]);
    await deleteJob(t.engine, jobId);
    expect(await column('heartbeat', ids)).toEqual(['LOST', 'LOST', 'LOST']);
    expect(await column('release_assignments', ids)).toEqual(['STALE', 'STALE', 'STALE']);
    expect(await statuses(...ids.map((assignmentId) => ({ assignmentId, result: 1 })))).toEqual([
      'STALE',
      'STALE',
      'STALE',
    ]);
    for (const [name, ...values] of [
      ['add_items', jobId, '[]'],
      ['add_items', jobId, '[{"payload":1}]'],
      ['seal_job', jobId],
      ['cancel_job', jobId],
      ['delete_job', jobId],
      ['claim_item', jobId, position, 'w'],
    ] as [string, ...unknown[]][]) {
      await expect(call(name, ...values)).rejects.toMatchObject({ code: 'JT001' });
    }
    expect(await call('delete_trees', [jobId])).toEqual([{ delete_trees: true }]);
    expect(await call('cancel_items', jobId)).toMatchObject([{ cancelled: '0', done: true }]);
    expect(await t.db.query('select from jobtree.progress_delta where root_id = $1', [jobId])).toEqual([]);
  });
});

describe("text that Postgres can't store", () => {
  const unstorable = /^(22P02|22P05)$/;
  it.each([
    ['\\u0000', '"a\\u0000b"'],
    ['the first half of a surrogate pair', '{"a": ["\\ud83d"]}'],
    ['the second half of a surrogate pair', '{"a": "\\ude00"}'],
    ['\\u0000 in a key', '{"\\u0000": 1}'],
  ])('is refused, and nothing is stored: %s', async (_, text) => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: items(2) });
    const refuse = (promise: Promise<unknown>) =>
      expect(promise).rejects.toMatchObject({ code: expect.stringMatching(unstorable) });
    await refuse(call('add_items', job, `[{"payload":1},{"payload":${text}}]`));
    await refuse(call('add_items', job, `[{"payload":${text},"priority":1}]`));
    await refuse(call('create_job', `{"type": "refused", "items": [{"payload":${text}}]}`));
    await refuse(
      call('create_job', `{"type": "refused", "children": [{"type": "x", "items": [{"payload":${text}}]}]}`),
    );
    expect(await t.items(job)).toHaveLength(2);
    expect(await t.db.query(`select from jobtree.job where type = 'refused'`)).toEqual([]);

    const held = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
    const [a, b] = held.map(({ id }) => id);
    await refuse(
      call(
        'report_outcomes',
        `[{"assignmentId":"${a}","result":1},{"assignmentId":"${b}","result":${text}}]`,
      ),
    );
    expect(await column('heartbeat', [a, b] as string[])).toEqual(['HELD', 'HELD']);
  });

  it('does not include similar text, or whole surrogate pairs', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type });
    const text = '{"a": "\\\\u0000", "b": "\\ud83d\\ude00", "c": "\\u00e4"}';
    await call('add_items', job, `[{"payload":${text}}]`);
    const { id, payload } = await t.claimOne(type);
    expect(payload.value).toEqual({ a: '\\u0000', b: '😀', c: 'ä' });
    await call('report_outcomes', `[{"assignmentId":"${id}","result":${text}}]`);
    expect(await t.db.query('select result from jobtree.outcome where job_id = $1', [job])).toEqual([
      { result: payload.value },
    ]);
  });
});

describe('payloads and results', () => {
  const text = '{"b": 1.10, "a": [1e2, 12345678901234567890.123456789],  "10": null, "1": "x"}';

  it('are stored unchanged: the order of keys, digits and spaces', async () => {
    const type = newType();
    const [{ job_id: job } = {}] = await call(
      'create_job',
      `{"type": "${type}", "items": [{"payload":${text}}, {"priority": -1, "payload":${text}}]}`,
    );
    await call('add_items', job, `[{"payload":${text}}]`);
    await call('add_items', job, `[{"payload": ${text}, "dedupeKey": "k"}]`);
    const stored = await t.db.query('select distinct payload::text from jobtree.job_item where job_id = $1', [
      job,
    ]);
    expect(stored).toEqual([{ payload: text }]);

    const [row] = await t.db.query<{ payloads: string; lease_id: string }>(
      'select lease_id, payloads from jobtree.claim_items($1, $2, $3)',
      [['w'], [type], [1]],
    );
    expect(row?.payloads).toBe(text);
    const [plain, failed] = [await t.claimOne(type), await t.claimOne(type)];
    // The slow way, over report_outcomes, and the fast one.
    await call(
      'report_outcomes',
      `[{"assignmentId":"${assignmentIdOf(row?.lease_id ?? '', 1)}","result":${text}}]`,
    );
    const { leaseId, number } = splitAssignmentId(plain.id);
    await call('report_results', [leaseId], [number], `[${text}]`);
    await call('report_outcomes', JSON.stringify([{ assignmentId: failed.id, failure }]));
    expect(await t.db.query('select result::text from jobtree.outcome where job_id = $1', [job])).toEqual([
      { result: text },
      { result: text },
    ]);
  });

  it('are fed to children unchanged', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: [{}],
      children: [
        { type: child, feed: {} },
        { type: `${child} b`, feed: { payload: { x: 'result.a.1' } } },
      ],
    });
    const { id } = await t.claimOne(parent);
    await call('report_outcomes', `[{"assignmentId":"${id}","result":${text}}]`);
    expect(
      await t.db.query('select payload::text from jobtree.job_item where job_id = $1', [jobs[child]]),
    ).toEqual([{ payload: text }]);
    const [row] = await t.db.query<{ payload: string }>(
      'select payload::text from jobtree.job_item where job_id = $1',
      [jobs[`${child} b`]],
    );
    expect(row?.payload).toContain('12345678901234567890.123456789');
  });
});
