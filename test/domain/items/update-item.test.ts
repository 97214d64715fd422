/** An item that waits is changed: when it is due, its priority, its payload. */
import { describe, expect, it } from 'vitest';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { readItems } from '../../../src/domain/items/read-items.ts';
import { updateItem } from '../../../src/domain/items/update-item.ts';
import { readItemPage } from '../../../src/domain/jobs/watched-pages.ts';
import { setQueue } from '../../../src/domain/queues/queues.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import type { ItemKey } from '../../../src/domain/values/ids.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';
import { checkInvariants } from '../../support/model/invariants.ts';

const t = useEngine();

const hour = 3_600_000;
const inAnHour = () => new Date(Date.now() + hour);
const many = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i }));

async function jobOf(count: number, more: object = {}) {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({ type, items: many(count), ...more });
  const items = await t.items(jobId);
  return { type, jobId, items, at: (n: number) => items[n] as ItemKey };
}

const claimedPayloads = async (type: string, limit: number) =>
  (await claimItems(t.engine, 'w', [{ type, limit }])).map(({ payload }) => JSON.parse(payload.text));

describe('updateItem', () => {
  it('takes a ready item out of its entry until it is due, and keeps the others in place', async () => {
    const { type, jobId, at } = await jobOf(5);
    await updateItem(t.engine, at(2), { runAt: inAnHour() });
    expect(await claimedPayloads(type, 9)).toEqual([0, 1, 3, 4]);
    await expect(claimItem(t.engine, at(2), 'w')).rejects.toMatchObject({ reason: 'SCHEDULED' });
    const [item] = await readItems(t.engine.database, [at(2)]);
    expect(item).toMatchObject({ runAt: item?.retryAt, status: 'SCHEDULED' });
    expect(Number(item?.retryAt) - Date.now()).toBeGreaterThan(hour / 2);
    t.ready.length = 0;
    await updateItem(t.engine, at(2), { runAt: null });
    expect(t.ready).toEqual([type]);
    expect(await claimedPayloads(type, 9)).toEqual([2]);
    expect(await readItems(t.engine.database, [at(2)])).toMatchObject([{ retryAt: null }]);
    await checkInvariants(t.db);
    expect(jobId).toBe(at(2).jobId);
  });

  it('puts an item that is due now behind ready ones', async () => {
    const { type, at } = await jobOf(4);
    await updateItem(t.engine, at(0), { runAt: null });
    expect(await claimedPayloads(type, 9)).toEqual([1, 2, 3, 0]);
  });

  it('changes the priority: the item keeps its age among its new peers, whatever a server has cached', async () => {
    const { type, at } = await jobOf(6);
    expect(await claimedPayloads(type, 3)).toEqual([0, 1, 2]);
    await updateItem(t.engine, at(5), { priority: 7 });
    await updateItem(t.engine, at(4), { priority: 7 });
    expect(await claimedPayloads(type, 9)).toEqual([4, 5, 3]);
    const later = await jobOf(2, { priority: 3 });
    await updateItem(t.engine, later.at(1), { priority: 9 });
    expect(await readItems(t.engine.database, [later.at(1)])).toMatchObject([{ priority: 9 }]);
    await updateItem(t.engine, later.at(1), { priority: null });
    expect(await readItems(t.engine.database, [later.at(1)])).toMatchObject([{ priority: 3 }]);
    expect(await claimedPayloads(later.type, 9)).toEqual([0, 1]);
    await checkInvariants(t.db);
  });

  it('replaces the payload, whose size counts', async () => {
    const { type, jobId, at } = await jobOf(3);
    await updateItem(t.engine, at(1), { payload: { name: 'Ada', much: 'x'.repeat(200_000) } });
    const entries = await t.db.query<{ count: number; bytes: string }>(
      'select count, bytes from jobtree.queue_entry where job_id = $1 order by position',
      [jobId],
    );
    expect(entries.map(({ count }) => count)).toEqual([1, 1, 1]);
    expect(Number(entries[1]?.bytes)).toBe(200_024);
    await updateItem(t.engine, at(1), { payload: null });
    expect(await claimedPayloads(type, 9)).toEqual([0, null, 2]);
    await checkInvariants(t.db);
  });

  it('keeps the attempts and failures of an item in backoff', async () => {
    const { type, at } = await jobOf(1, { backoffMs: [hour] });
    const { id } = await t.claimOne(type);
    await reportOutcomes(t.engine, [{ assignmentId: id, failure: { code: 'E', message: 'no' } }]);
    await updateItem(t.engine, at(0), { runAt: null, payload: 'mended' });
    expect(await t.claimOne(type)).toMatchObject({ attempt: 2, payload: { text: '"mended"' } });
    expect(await readItems(t.engine.database, [at(0)])).toMatchObject([{ failureCount: 1 }]);
  });

  it('sets when an item of a waiting job is due once the wait is over', async () => {
    const [first, then] = [newType(), newType()];
    const jobs = await t.create({
      type: `${first}-root`,
      sealed: true,
      children: [
        { type: first, sealed: true, items: [{}] },
        { type: then, sealed: true, after: [first], items: many(3) },
      ],
    });
    const [a, b] = await t.items(jobs[then] ?? '');
    await updateItem(t.engine, a as ItemKey, { runAt: inAnHour() });
    await updateItem(t.engine, b as ItemKey, { runAt: null, priority: 2 });
    await expect(claimItem(t.engine, b as ItemKey, 'w')).rejects.toMatchObject({ reason: 'WAITING' });
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(first)).id, result: 1 }]);
    await t.fold(jobs[`${first}-root`] ?? '');
    await t.finish();
    expect(await claimedPayloads(then, 9)).toEqual([1, 2]);
    await expect(claimItem(t.engine, a as ItemKey, 'w')).rejects.toMatchObject({ reason: 'SCHEDULED' });
    await checkInvariants(t.db);
  });

  it('restarts the lifetime of a type at the new time', async () => {
    const { type, jobId, at } = await jobOf(1, { items: [{ runAt: inAnHour() }] });
    await t.db.query(`update jobtree.job_item set created_at = now() - interval '1 day' where job_id = $1`, [
      jobId,
    ]);
    await setQueue(t.engine, type, { lifetimeMs: hour });
    await updateItem(t.engine, at(0), { runAt: null });
    expect(await t.db.query('select expired from jobtree.expire_items()')).toEqual([{ expired: 0 }]);
  });

  it('keeps the place of a blocked item in its line, and applies at its turn', async () => {
    const key = newType('key');
    const { type, jobId, at } = await jobOf(3, {
      items: Array.from({ length: 3 }, (_, payload) => ({ payload, serializeKey: key })),
    });
    const finish = async () => {
      const { id, payload } = await t.claimOne(type);
      await reportOutcomes(t.engine, [{ assignmentId: id, result: 1 }]);
      return JSON.parse(payload.text);
    };
    await updateItem(t.engine, at(2), { priority: 9, payload: 'last' });
    await updateItem(t.engine, at(1), { runAt: inAnHour() });
    expect(await finish()).toBe(0);
    await expect(claimItem(t.engine, at(1), 'w')).rejects.toMatchObject({ reason: 'SCHEDULED' });
    await expect(claimItem(t.engine, at(2), 'w')).rejects.toMatchObject({ reason: 'BLOCKED' });
    await updateItem(t.engine, at(1), { runAt: null });
    expect([await finish(), await finish()]).toEqual([1, 'last']);
    expect((await t.fold(jobId))[type]).toMatchObject({ succeeded: 3 });
    await checkInvariants(t.db);
  });

  it('reaches watchers of the page of items', async () => {
    const { jobId, at } = await jobOf(2);
    const marks = async () =>
      (await readItemPage(t.engine.database, { jobId, first: 9, failedOnly: false })).rows;
    const before = await marks();
    await updateItem(t.engine, at(1), { payload: 2 });
    const after = await marks();
    expect(after.map(({ mark }, i) => mark === before[i]?.mark)).toEqual([true, false]);
  });

  it('waits for a claim of the item that is under way, and is refused then', async () => {
    const { type, at } = await jobOf(3);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query(`select * from jobtree.claim_items('{w}', $1, '{2}')`, [[type]]);
    const changed = [at(0), at(2)].map((item) =>
      updateItem(t.engine, item, { payload: 'x' }).then(
        () => 'changed',
        (error: { reason?: string }) => error.reason,
      ),
    );
    await lockWaiters(t.db, 2);
    await other.query('commit');
    await other.end();
    expect(await Promise.all(changed)).toEqual(['RUNNING', 'changed']);
    expect(await claimedPayloads(type, 9)).toEqual(['x']);
    await checkInvariants(t.db);
  });

  it('that is uncommitted keeps a claim from the item, which is then found changed', async () => {
    const { type, at } = await jobOf(1);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select * from jobtree.update_item($1, $2, $3)', [
      at(0).jobId,
      at(0).position,
      '{"payload":"x"}',
    ]);
    const claim = claimItem(t.engine, at(0), 'w');
    await lockWaiters(t.db, 1);
    await other.query('commit');
    await other.end();
    expect((await claim).payload.text).toBe('"x"');
    expect(await claimedPayloads(type, 9)).toEqual([]);
  });

  const deep = JSON.parse('['.repeat(300) + ']'.repeat(300)) as unknown;
  it.each<[string, object, object]>([
    ['nothing', {}, { code: 'INVALID_INPUT' }],
    ['a payload that is too large', { payload: 'x'.repeat(1_000_001) }, { field: 'payload' }],
    ['a payload that is too deep', { payload: deep }, { field: 'payload' }],
    ['a payload that JSON can not hold', { payload: Number.NaN }, { field: 'payload' }],
    ['a payload that Postgres can not hold', { payload: 'a\u0000b' }, { field: 'payload' }],
    ['a priority out of its bounds', { priority: 40_000, payload: 1 }, { field: 'priority' }],
    ['a time before 1970', { runAt: new Date(-5), payload: 1 }, { field: 'runAt' }],
  ])('refuses %s and changes nothing', async (_, changes, error) => {
    const { type, at } = await jobOf(1);
    await expect(updateItem(t.engine, at(0), changes)).rejects.toMatchObject(error);
    expect(await claimedPayloads(type, 1)).toEqual([0]);
  });

  it.each([
    ['{}', 'JT002', undefined],
    ['[]', 'JT002', undefined],
    ['{"runAt": "soon"}', 'JT002', 'runAt'],
    ['{"dedupeKey": "k"}', 'JT002', 'dedupeKey'],
    ['{"priority": 1.5}', 'JT002', 'priority'],
    [`{"payload": ${'['.repeat(300)}${']'.repeat(300)}}`, 'JT002', 'payload'],
    ['{"payload": "\\u0000"}', '22P05', undefined],
  ])('refuses %j in SQL', async (changes, code, column) => {
    const { type, at } = await jobOf(1);
    await expect(
      t.db.query('select * from jobtree.update_item($1, $2, $3)', [at(0).jobId, at(0).position, changes]),
    ).rejects.toMatchObject({ code, ...(column === undefined ? {} : { column }) });
    expect(await claimedPayloads(type, 1)).toEqual([0]);
  });

  it('refuses an item that does not exist', async () => {
    const { jobId } = await jobOf(1);
    await expect(updateItem(t.engine, { jobId, position: 1 }, { payload: 1 })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      field: 'itemId',
    });
  });
});
