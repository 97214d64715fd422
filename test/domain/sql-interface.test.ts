/** The stored functions as SQL callers use them: what the API would refuse, they refuse as well, and store nothing of it. */
import { describe, expect, it } from 'vitest';
import { newType, useEngine } from '../support/engine.ts';

const t = useEngine();

const call = (name: string, ...values: unknown[]) =>
  t.db.query(`select * from jobtree.${name}(${values.map((_, i) => `$${i + 1}`).join(', ')})`, values);
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
    ['a backoff of null', { type: 'x', backoffMs: [null] }, 'backoffMs'],
    ['a negative backoff', { type: 'x', backoffMs: [1, -1] }, 'backoffMs'],
    ['lists in a backoff', { type: 'x', backoffMs: [[1], [2]] }, 'backoffMs'],
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

  it('nothing that the API takes: null is as good as nothing', async () => {
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
      await t.db.query('select feed from jobtree.job where type = any ($1) order by 1', [[child, other]]),
    ).toEqual([
      { feed: { source: 'SUCCESSES', forEach: 'result.a', payload: { x: 'element.b', y: 'payload' } } },
      { feed: null },
    ]);
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
  const failure = { code: 'E', message: 'no' };
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
    ['an unknown key in a failure', { failure: { ...failure, final: true } }, 'failure.final'],
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
  ])('takes %s as INVALID, alone, and keeps the hold', async (_, report, field) => {
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
