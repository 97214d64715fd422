/** Trees: creation, feeding, sealing that cascades, completion, results, deletion. */

import { describe, expect, it } from 'vitest';
import { revokeWatchTokens } from '../../../src/domain/access/watch-tokens.ts';
import { claimItem } from '../../../src/domain/claims/claim-item.ts';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { releaseAssignments } from '../../../src/domain/claims/release-assignments.ts';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { noteItems } from '../../../src/domain/items/item-notes.ts';
import { readFailures, readItems } from '../../../src/domain/items/read-items.ts';
import { cancelJob } from '../../../src/domain/jobs/cancel-job.ts';
import { createJob, type NewJob } from '../../../src/domain/jobs/create-job.ts';
import { holdTree } from '../../../src/domain/jobs/export-results.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import { startOperation } from '../../../src/domain/operations/operations.ts';
import { foldProgress } from '../../../src/domain/progress/fold-progress.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob, readDeletions } from '../../../src/domain/retention/delete-job.ts';
import type { ItemKey } from '../../../src/domain/values/ids.ts';
import { InvalidInputError, JobFedByParentError, NotFoundError } from '../../../src/errors.ts';
import { addEndpoint } from '../../support/endpoints.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

/** Claims everything of the type, reports a result for each payload, and gives the payloads. */
async function work(type: string, result: (payload: never) => unknown): Promise<unknown[]> {
  const held = await claimItems(t.engine, 'w', [{ type, limit: 1000 }]);
  if (held.length === 0) return [];
  const answers = await reportOutcomes(
    t.engine,
    held.map(({ id, payload }) => ({ assignmentId: id, result: result(payload.value as never) })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['ACCEPTED']));
  return held.map(({ payload }) => payload.value);
}

describe('feeding', () => {
  it('creates one item per success, by a mapping of paths into payload and result', async () => {
    const [payroll, check] = [newType('payroll'), newType('check')];
    const jobs = await t.create({
      type: payroll,
      sealed: true,
      items: [{ payload: { employee: 'Ada' } }, { payload: { employee: 'Grace' } }],
      children: [
        {
          type: check,
          feed: {
            payload: { to: 'payload.employee', amount: 'result.lines.0.net', gone: 'result.no.such?' },
          },
        },
      ],
    });
    await work(payroll, () => ({ lines: [{ net: 100 }] }));
    expect(await work(check, () => null)).toEqual([
      { to: 'Ada', amount: 100, gone: null },
      { to: 'Grace', amount: 100, gone: null },
    ]);
    const progress = await t.fold(jobs[payroll] ?? '');
    expect(progress[check]).toMatchObject({
      itemCount: 2,
      succeeded: 2,
      sealed: true,
      completedAt: expect.any(Number),
    });
  });

  it('creates an item per element of a list, the element itself by default', async () => {
    const [pages, rows] = [newType('pages'), newType('rows')];
    await t.create({
      type: pages,
      items: [{}],
      children: [{ type: rows, feed: { forEach: 'result.rows' } }],
    });
    await work(pages, () => ({ rows: ['a', { b: 1 }, null] }));
    expect(await work(rows, () => null)).toEqual(['a', { b: 1 }, null]);
  });

  it('answers INVALID to a report whose list is not a list, and keeps the assignment', async () => {
    const [pages, rows] = [newType('pages'), newType('rows')];
    const jobs = await t.create({
      type: pages,
      items: [{}],
      children: [{ type: rows, feed: { forEach: 'result.rows' } }],
    });
    const { id } = await t.claimOne(pages);
    const [answer] = await reportOutcomes(t.engine, [{ assignmentId: id, result: { rows: 'none' } }]);
    expect(answer).toMatchObject({
      status: 'INVALID',
      error: { field: 'result', message: expect.stringContaining('result.rows') },
    });
    expect((await t.fold(jobs[pages] ?? ''))[pages]).toMatchObject({ succeeded: 0, failed: 0 });
    const [again] = await reportOutcomes(t.engine, [{ assignmentId: id, result: { rows: [] } }]);
    expect(again?.status).toBe('ACCEPTED');
  });

  it('answers INVALID to a report that would create too many or too large items, and accepts the others', async () => {
    const [parent, many, large] = [newType('parent'), newType('many'), newType('large')];
    const jobs = await t.create({
      type: parent,
      items: [{ payload: 'x'.repeat(100_000) }, {}, {}, {}, {}, {}],
      children: [
        { type: many, feed: { forEach: 'result.list' } },
        { type: large, feed: { forEach: 'result.large', payload: { text: 'payload', n: 'element' } } },
        { type: `${many} named`, feed: { source: 'REPORTS' } },
      ],
    });
    const list = (length: number) => Array.from({ length }, (_, i) => i);
    const held = await claimItems(t.engine, 'w', [{ type: parent, limit: 6 }]);
    const named = list(2).map((payload) => ({ type: `${many} named`, payload }));
    const result = [
      { list: [], large: list(300) },
      { list: list(1_001), large: [] },
      { list: list(500), large: list(501) },
      { list: list(999), large: [] },
      { list: list(1_000), large: [] },
      { list: [], large: list(1_000) },
    ];
    const reports = held.map(({ id }, i) => ({
      assignmentId: id,
      result: result[i],
      newItems: i === 3 ? named : [],
    }));
    const answers = await reportOutcomes(t.engine, reports);
    expect(answers.map(({ status, error }) => [status, error?.field, error?.message])).toEqual([
      ['INVALID', 'result', expect.stringMatching(/about 31 MB of new items; the limit is 20 MB/)],
      ['INVALID', 'result', expect.stringMatching(/1001 new items; the limit is 1000/)],
      ['INVALID', 'result', expect.stringMatching(/1001 new items; the limit is 1000/)],
      ['INVALID', 'result', expect.stringMatching(/1001 new items; the limit is 1000/)],
      ['ACCEPTED', undefined, undefined],
      ['ACCEPTED', undefined, undefined],
    ]);
    const progress = await t.fold(jobs[parent] ?? '');
    expect([progress[parent]?.succeeded, progress[many]?.itemCount, progress[large]?.itemCount]).toEqual([
      2, 1000, 1000,
    ]);
    const [corrected] = await reportOutcomes(t.engine, [
      { assignmentId: held[0]?.id ?? '', result: { list: [], large: [1] } },
    ]);
    expect(corrected?.status).toBe('ACCEPTED');
  });

  it.each([
    ['by each element of a list', { forEach: 'result', payload: { doc: 'payload' } }, 19_000, 500, 3],
    ['by the item itself', { payload: 'payload' }, 900_000, 0, 24],
  ])('feeds about 20 MB in one call, and then the rest: %s', async (_, feed, bytes, elements, count) => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: Array(count).fill({ payload: 'x'.repeat(bytes) }),
      children: [{ type: child, feed }],
    });
    const held = await claimItems(t.engine, 'w', [{ type: parent, limit: count }]);
    const reports = held.map(({ id }) => ({ assignmentId: id, result: Array(elements).fill(0) }));
    const [row] = await t.db.query<{ answers: unknown[] }>(
      'select answers from jobtree.report_outcomes($1)',
      [JSON.stringify(reports)],
    );
    const first = count === 3 ? 2 : 22;
    expect(row?.answers).toMatchObject(
      reports.slice(first).map((_, i) => ({ index: first + i, status: 'BUSY' })),
    );
    // Reported again, what counts is answered as ever; and the engine goes on until all does.
    const again = await reportOutcomes(t.engine, reports);
    expect(again.map(({ status }) => status)).toEqual(
      reports.map((_, i) => (i < first ? 'DUPLICATE' : 'ACCEPTED')),
    );
    expect((await t.fold(jobs[parent] ?? ''))[child]?.itemCount).toBe(count * Math.max(1, elements));
  });

  it('accepts all reports of a call whose mappings create much, some at a time', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: Array(6).fill({ payload: 'x'.repeat(19_000) }),
      children: [{ type: child, feed: { forEach: 'result', payload: { doc: 'payload' } } }],
    });
    const held = await claimItems(t.engine, 'w', [{ type: parent, limit: 6 }]);
    const result = Array(500).fill(0);
    const answers = await reportOutcomes(
      t.engine,
      held.map(({ id }) => ({ assignmentId: id, result })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill('ACCEPTED'));
    expect((await t.fold(jobs[parent] ?? ''))[child]?.itemCount).toBe(3_000);
  });

  it('creates the new items of a report once, however often it is sent', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: [{}],
      children: [{ type: child, feed: { source: 'REPORTS' } }],
    });
    const { id } = await t.claimOne(parent);
    const report = {
      assignmentId: id,
      result: 'r',
      newItems: [
        { type: child, payload: 1 },
        { type: child, payload: 2, priority: 5 },
      ],
    };
    expect((await reportOutcomes(t.engine, [report]))[0]?.status).toBe('ACCEPTED');
    expect((await reportOutcomes(t.engine, [report]))[0]?.status).toBe('DUPLICATE');
    expect((await t.fold(jobs[parent] ?? ''))[child]?.itemCount).toBe(2);
    expect(await work(child, () => null)).toEqual([2, 1]);
  });

  it('creates the new items of one report only if a batch has several for one assignment', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: [{}],
      children: [{ type: child, feed: { source: 'REPORTS' } }],
    });
    const { id } = await t.claimOne(parent);
    const report = (payload: string, type = child) => ({
      assignmentId: id,
      result: 1,
      newItems: [{ type, payload }],
    });
    const answers = await reportOutcomes(t.engine, [
      report('first'),
      report('first'),
      report('bad', 'nothing'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['ACCEPTED', 'DUPLICATE', 'DUPLICATE']);
    expect((await t.fold(jobs[parent] ?? ''))[child]?.itemCount).toBe(1);
    expect(await work(child, () => null)).toEqual(['first']);
  });

  it('feeds a long list in time proportional to its length', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: [{}],
      children: [{ type: child, feed: { forEach: 'result' } }],
    });
    const { id } = await t.claimOne(parent);
    await reportOutcomes(t.engine, [
      { assignmentId: id, result: Array.from({ length: 1_000 }, (_, i) => ({ i, text: 'x'.repeat(900) })) },
    ]);
    expect((await t.fold(jobs[parent] ?? ''))[child]?.itemCount).toBe(1_000);
  });

  it('refuses new items for a type that is not a fed child, and accepts the other reports', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const twice = { type: `${child} twice`, feed: {} };
    await t.create({ type: parent, items: [{}, {}, {}], children: [{ type: child }, twice, twice] });
    const [a, b, c] = await claimItems(t.engine, 'w', [{ type: parent, limit: 3 }]);
    const answers = await reportOutcomes(t.engine, [
      { assignmentId: a?.id ?? '', result: 1, newItems: [{ type: child, payload: 1 }] },
      { assignmentId: b?.id ?? '', result: 1, newItems: [{ type: twice.type, payload: 1 }] },
      { assignmentId: c?.id ?? '', result: 1 },
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['INVALID', 'INVALID', 'ACCEPTED']);
    for (const { error } of answers.slice(0, 2)) expect(error?.field).toBe('newItems');
  });

  it('accepts results that the mapping of a cancelled child can not use', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const results = ['no list', Array(1_001).fill('key'), ['x'.repeat(256)]];
    const jobs = await t.create({
      type: parent,
      items: results.map((payload) => ({ payload })),
      children: [
        { type: child, feed: { forEach: 'result', payload: { e: 'element' }, serializeKey: 'element' } },
      ],
    });
    const report = async () =>
      (
        await reportOutcomes(
          t.engine,
          held.map(({ id, payload }) => ({ assignmentId: id, result: payload.value })),
        )
      ).map(({ status, error }) => [status, error?.field]);
    const held = await claimItems(t.engine, 'w', [{ type: parent, limit: 3 }]);
    expect(await report()).toEqual(Array(3).fill(['INVALID', 'result']));
    await cancelJob(t.engine, jobs[child] ?? '');
    expect(await report()).toEqual(Array(3).fill(['ACCEPTED', undefined]));
    expect((await t.fold(jobs[parent] ?? ''))[child]?.itemCount).toBe(0);
  });

  it('continues down the tree: seals and completions cascade, through empty levels too', async () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => newType(name)) as [
      string,
      string,
      string,
      string,
    ];
    const jobs = await t.create({
      type: a,
      items: [{ payload: 1 }],
      children: [
        {
          type: b,
          feed: {},
          children: [{ type: c, feed: { forEach: 'result' }, children: [{ type: d, feed: {} }] }],
        },
      ],
    });
    const root = jobs[a] ?? '';
    await work(a, () => 'x');
    await sealJob(t.engine, root);
    let progress = await t.fold(root);
    expect([progress[a]?.completedAt, progress[b]?.sealed, progress[b]?.completedAt]).toEqual([
      expect.any(Number),
      true,
      null,
    ]);
    await work(b, () => []);
    progress = await t.fold(root);
    for (const type of [b, c, d])
      expect(progress[type]).toMatchObject({ sealed: true, completedAt: expect.any(Number) });
    const [row] = await t.db.query('select open_jobs from jobtree.job_progress where job_id = $1', [root]);
    expect(row).toEqual({ open_jobs: 0 });
  });

  it('leaves the seal of a fed job to its parent', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({ type: parent, children: [{ type: child, feed: {} }] });
    await expect(sealJob(t.engine, jobs[child] ?? '')).rejects.toThrow(JobFedByParentError);
    await expect(addItems(t.engine, jobs[child] ?? '', [{}], { seal: true })).rejects.toThrow(
      JobFedByParentError,
    );
    expect((await t.fold(jobs[parent] ?? ''))[child]?.itemCount).toBe(0);
  });
});

describe('completion', () => {
  it('completes a job at once when it is sealed while empty', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, sealed: true });
    expect((await t.fold(job))[type]).toMatchObject({
      itemCount: 0,
      startedAt: null,
      completedAt: expect.any(Number),
    });
  });

  it('completes a job whose items failed for good, with its outcome', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, sealed: true, maxFailuresPerItem: 0, items: [{}] });
    const { id } = await t.claimOne(type);
    const [answer] = await reportOutcomes(t.engine, [
      { assignmentId: id, failure: { code: 'E', message: 'no' } },
    ]);
    expect(answer).toEqual({ status: 'ACCEPTED', retryAt: undefined, error: undefined });
    expect((await t.fold(job))[type]).toMatchObject({ failed: 1, completedAt: expect.any(Number) });
  });

  it('dates the start of a job to its first claim', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}] });
    expect((await t.fold(job))[type]?.startedAt).toBeNull();
    await t.claimOne(type);
    expect((await t.fold(job))[type]?.startedAt).toEqual(expect.any(Number));
  });
});

describe('retries', () => {
  it('each have an assignment that says how they ended, whatever came of the others', async () => {
    const type = newType();
    const { [type]: jobId = '' } = await t.create({
      type,
      backoffMs: [0],
      maxFailuresPerItem: 5,
      items: [{}],
    });
    await releaseAssignments(t.engine, [(await t.claimOne(type)).id]);
    const failure = { code: 'E', message: 'no' };
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, failure }]);
    await t.expire((await t.claimOne(type)).id);
    await t.sweep();
    await reportOutcomes(t.engine, [{ assignmentId: (await t.claimOne(type)).id, result: 1 }]);
    expect(
      await t.db.query(
        'select attempt, state from jobtree.assignment where job_id = $1 order by claimed_at, id',
        [jobId],
      ),
    ).toEqual([
      { attempt: 1, state: 'RELEASED' },
      { attempt: 1, state: 'FAILED' },
      { attempt: 2, state: 'LOST' },
      { attempt: 3, state: 'SUCCEEDED' },
    ]);
  });

  it('are announced only once they are due', async () => {
    const type = newType();
    await t.create({ type, backoffMs: [0, 3_600_000], items: [{}] });
    const announced = async () => {
      t.announced.length = 0;
      const { id } = await t.claimOne(type);
      await reportOutcomes(t.engine, [{ assignmentId: id, failure: { code: 'E', message: 'no' } }]);
      return [...t.announced];
    };
    expect([await announced(), await announced()]).toEqual([[[type, 1]], []]);
  });

  it('keeps every failure with attempt, code, message, worker and time, and fails after maxFailuresPerItem of them', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, maxFailuresPerItem: 2, backoffMs: [0], items: [{}] });
    for (const attempt of [1, 2, 3]) {
      const held = await t.claimOne(type, `worker ${attempt}`);
      expect(held.attempt).toBe(attempt);
      await reportOutcomes(t.engine, [
        { assignmentId: held.id, failure: { code: `E${attempt}`, message: 'no' } },
      ]);
    }
    const [item] = await t.items(job);
    const [row] = await t.db.query('select failed, finished_at from jobtree.outcome where job_id = $1', [
      job,
    ]);
    expect(row).toEqual({ failed: true, finished_at: expect.any(Date) });
    expect(await readFailures(t.engine.database, [item as ItemKey])).toEqual([
      [1, 2, 3].map((attempt) => ({
        attempt,
        code: `E${attempt}`,
        message: 'no',
        worker: `worker ${attempt}`,
        at: expect.any(Date),
      })),
    ]);
    expect(
      await t.db.query('select retry_at, lost from jobtree.failure where job_id = $1 order by attempt', [
        job,
      ]),
    ).toEqual([
      { retry_at: expect.any(Date), lost: false },
      { retry_at: expect.any(Date), lost: false },
      { retry_at: null, lost: false },
    ]);
  });

  it('keeps the first and the last twenty failures of an item, and their number', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({
      type,
      maxFailuresPerItem: 1_000,
      backoffMs: [0],
      items: [{ payload: 'fails' }, { payload: 'fails later' }],
    });
    const [item, neighbour] = await t.items(job);
    const other = await claimItem(t.engine, neighbour as ItemKey, 'w');
    for (let attempt = 1; attempt <= 50; attempt++) {
      const { id } = await t.claimOne(type);
      const answers = await reportOutcomes(t.engine, [
        { assignmentId: id, failure: { code: `E${attempt}`, message: 'no' } },
      ]);
      expect(answers[0]?.status).toBe('ACCEPTED');
    }
    await reportOutcomes(t.engine, [{ assignmentId: other.id, failure: { code: 'E', message: 'no' } }]);
    const [failures, others] = await readFailures(t.engine.database, [item as ItemKey, neighbour as ItemKey]);
    const kept = [
      ...Array.from({ length: 20 }, (_, i) => i + 1),
      ...Array.from({ length: 20 }, (_, i) => i + 31),
    ];
    expect(failures?.map(({ attempt, code }) => [attempt, code])).toEqual(kept.map((n) => [n, `E${n}`]));
    expect(others?.map(({ attempt }) => attempt)).toEqual([1]);
    const read = await readItems(t.engine.database, [item as ItemKey, neighbour as ItemKey]);
    expect(read.map((item) => item?.failureCount)).toEqual([50, 1]);
    expect((await t.fold(job))[type]).toMatchObject({ failed: 0 });
  });

  it('loses no failure of an item to a report that does not count', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({
      type,
      maxFailuresPerItem: 1_000,
      backoffMs: [0],
      items: [{}, {}],
    });
    const failure = { code: 'E', message: 'no' };
    for (let attempt = 1; attempt <= 50; attempt++) {
      const held = await claimItems(t.engine, 'w', [{ type, limit: 2 }]);
      await reportOutcomes(
        t.engine,
        held.map(({ id }) => ({ assignmentId: id, failure })),
      );
    }
    const { id } = await t.claimOne(type);
    const [first, second] = await t.items(job);
    const { itemId } = await t.claimOne(type);
    expect(itemId).toContain(String(second?.position));
    // The second of a lease that has two is the other item; that of a lease of one is nobody's.
    const [answer, stale] = await reportOutcomes(t.engine, [
      { assignmentId: id, failure },
      { assignmentId: `${id.slice(0, 34)}02`, failure },
    ]);
    expect([answer?.status, stale?.status]).toEqual(['ACCEPTED', 'STALE']);
    const [ofFirst, ofSecond] = await readFailures(t.engine.database, [first as ItemKey, second as ItemKey]);
    expect(ofFirst?.map(({ attempt }) => attempt).slice(20, 22)).toEqual([32, 33]);
    expect(ofSecond?.map(({ attempt }) => attempt).slice(20, 22)).toEqual([31, 32]);
  });

  it('waits for the backoff of the attempt, plus up to the jitter', async () => {
    const type = newType();
    await t.create({
      type,
      backoffMs: [30_000, 300_000],
      backoffJitter: 0.5,
      maxFailuresPerItem: 9,
      items: [{}],
    });
    for (const expected of [30_000, 300_000, 300_000]) {
      const { id } = await t.claimOne(type);
      const before = Date.now();
      const [answer] = await reportOutcomes(t.engine, [
        { assignmentId: id, failure: { code: 'E', message: 'no' } },
      ]);
      const wait = (answer?.retryAt?.getTime() ?? 0) - before;
      expect(wait).toBeGreaterThan(expected - 1_000);
      expect(wait).toBeLessThan(expected * 1.5 + 2_000);
      await t.db.query('update jobtree.queue_entry set run_at = null where type = $1', [type]);
    }
  });

  it('defaults to 30 s, 5 min, 30 min and three failures', async () => {
    const type = newType();
    await t.create({ type });
    const [job] = await t.db.query(
      'select backoff_ms, max_failures_per_item, heartbeat_interval_ms from jobtree.job where type = $1',
      [type],
    );
    expect(job).toEqual({
      backoff_ms: [30_000, 300_000, 1_800_000],
      max_failures_per_item: 3,
      heartbeat_interval_ms: 60_000,
    });
  });

  it('does not retry a permanent failure', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}] });
    const { id } = await t.claimOne(type);
    await reportOutcomes(t.engine, [
      { assignmentId: id, failure: { code: 'E', message: 'no', permanent: true } },
    ]);
    expect((await t.fold(job))[type]).toMatchObject({ failed: 1 });
  });
});

it('the ids of a tree increase in the order of its document, parents first', async () => {
  const names = Array.from({ length: 40 }, () => newType());
  const ids = await t.create({
    type: newType('root'),
    children: names.map((type) => ({ type, children: [{ type: `${type} below` }] })),
  });
  const inOrder = [ids[Object.keys(ids).find((type) => type.startsWith('root')) as string]];
  for (const name of names) inOrder.push(ids[name], ids[`${name} below`]);
  expect(inOrder).toHaveLength(81);
  expect(inOrder).toEqual(inOrder.toSorted());
});

describe('order of claims', () => {
  it('is priority, then when the item became due, then insertion', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, priority: 1 });
    const far = new Date(Date.now() + 3_600_000);
    await addItems(
      t.engine,
      job,
      [
        { payload: 'due later', runAt: far },
        { payload: 'first' },
        { payload: 'low', priority: 0 },
        { payload: 'second' },
        { payload: 'high', priority: 2 },
      ],
      { seal: false },
    );
    // The hour is over.
    await t.db.query(
      'update jobtree.queue_entry set run_at = clock_timestamp() where job_id = $1 and run_at = $2',
      [job, far],
    );
    await t.sweep();
    const held = await claimItems(t.engine, 'w', [{ type, limit: 10 }]);
    expect(held.map(({ payload }) => payload.value)).toEqual(['high', 'first', 'second', 'due later', 'low']);
  });

  it('gives each worker of a merged claim its own share', async () => {
    const type = newType();
    await t.create({ type, items: Array.from({ length: 5 }, (_, i) => ({ payload: i })) });
    const [a, b] = await t.engine.batchers.claims.submit(
      [
        { worker: 'a', type, limit: 2, claimId: undefined },
        { worker: 'b', type, limit: 9, claimId: undefined },
      ],
      {},
    );
    expect(a?.assignments.map(({ worker, payload }) => [worker, payload.value])).toEqual([
      ['a', 0],
      ['a', 1],
    ]);
    expect(b?.assignments.map(({ worker, payload }) => [worker, payload.value])).toEqual([
      ['b', 2],
      ['b', 3],
      ['b', 4],
    ]);
  });
});

describe('creation', () => {
  it('creates all or nothing', async () => {
    const [root, taken] = [newType('root'), newType('taken')];
    await t.create({ type: taken, dedupeKey: 'k' });
    const tree: NewJob = { type: root, items: [{}], children: [{ type: taken, dedupeKey: 'k' }] };
    await expect(createJob(t.engine, tree)).rejects.toThrow(InvalidInputError);
    expect(await t.db.query('select from jobtree.job where type = $1', [root])).toEqual([]);
  });

  it('returns the existing tree for a dedupe key in use', async () => {
    const type = newType();
    const first = await createJob(t.engine, { type, dedupeKey: 'k', items: [{}] });
    const second = await createJob(t.engine, { type, dedupeKey: 'k', items: [{}, {}] });
    expect(second).toEqual({ jobId: first.jobId, created: false });
    expect((await t.fold(first.jobId))[type]?.itemCount).toBe(1);
  });

  const nested = (depth: number): NewJob =>
    depth === 0 ? { type: 'leaf' } : { type: 'node', children: [nested(depth - 1)] };
  it.each<[string, NewJob, string]>([
    ['a feed at the root', { type: 'x', feed: {} }, 'feed'],
    ['an empty type', { type: '' }, 'type'],
    ['a negative number of failures', { type: 'x', maxFailuresPerItem: -1 }, 'maxFailuresPerItem'],
    ['a negative backoff', { type: 'x', backoffMs: [1, -1] }, 'backoffMs[1]'],
    ['a jitter above 1', { type: 'x', backoffJitter: 1.5 }, 'backoffJitter'],
    ['a heartbeat interval below a second', { type: 'x', heartbeatIntervalMs: 10 }, 'heartbeatIntervalMs'],
    ['a priority beyond its range', { type: 'x', priority: 40_000 }, 'priority'],
    ['an instant beyond the year 9999', { type: 'x', runAt: new Date(8.64e15) }, 'runAt'],
    ['an invalid instant', { type: 'x', items: [{ runAt: new Date(Number.NaN) }] }, 'items[0].runAt'],
    [
      'a bad item in a child',
      { type: 'x', children: [{ type: 'y', items: [{ payload: 'a\0b' }] }] },
      'children[0].items[0].payload',
    ],
    [
      'half a surrogate pair',
      { type: 'x', items: [{ payload: { k: ['\ud800'] } }] },
      'items[0].payload.k[0]',
    ],
    [
      'a path from nowhere',
      { type: 'x', children: [{ type: 'y', feed: { payload: 'item.a' } }] },
      'children[0].feed.payload',
    ],
    [
      'an element without a list',
      { type: 'x', children: [{ type: 'y', feed: { payload: { a: 'element' } } }] },
      'children[0].feed.payload.a',
    ],
    [
      'a sealed fed job',
      { type: 'x', children: [{ type: 'y', sealed: true, feed: {} }] },
      'children[0].sealed',
    ],
    ['a tree too deep', nested(33), `${'children[0].'.repeat(33)}children`],
    [
      'a tree too large',
      { type: 'x', children: Array.from({ length: 1_000 }, () => ({ type: 'y' })) },
      'children',
    ],
  ])('refuses %s, and names the field', async (_, job, field) => {
    const before = await t.db.query('select count(*) from jobtree.job');
    await expect(createJob(t.engine, job)).rejects.toMatchObject({ name: 'InvalidInputError', field });
    expect(await t.db.query('select count(*) from jobtree.job')).toEqual(before);
  });

  it('accepts a tree of the greatest depth, and text that resembles an invalid escape', async () => {
    const job = await createJob(t.engine, { ...nested(32), items: [{ payload: 'C:\\u0000 \\ud800' }] });
    const [item] = await t.db.query('select payload from jobtree.job_item where job_id = $1', [job.jobId]);
    expect(item).toEqual({ payload: 'C:\\u0000 \\ud800' });
  });
});

describe('deletion', () => {
  it('removes every row of a running tree, and nothing else', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      backoffMs: [0],
      items: [{}, {}, {}],
      children: [{ type: child, feed: {} }],
    });
    const [a, b] = await claimItems(t.engine, 'w', [{ type: parent, limit: 2 }]);
    await reportOutcomes(t.engine, [
      { assignmentId: a?.id ?? '', result: 1 },
      { assignmentId: b?.id ?? '', failure: { code: 'E', message: 'no' } },
    ]);
    await t.claimOne(parent);
    const others = await counts();
    await deleteJob(t.engine, jobs[parent] ?? '');
    const left = await counts();
    for (const table of tables) {
      const column = table === 'tree' || table === 'progress_delta' ? 'root_id' : 'job_id';
      const [row] = await t.db.query(
        `select count(*)::int as rows from jobtree.${table} where ${table === 'job' ? 'id' : column} = any ($1)`,
        [Object.values(jobs)],
      );
      expect([table, row]).toEqual([table, { rows: 0 }]);
    }
    expect(left.job).toBe((others.job ?? 0) - 2);
    await expect(deleteJob(t.engine, jobs[parent] ?? '')).rejects.toThrow(NotFoundError);
    // Nobody has the tree, and nobody need try again.
    expect(await foldProgress(t.engine, jobs[parent] ?? '', 0)).toEqual({
      lastDelta: 0,
      retry: false,
      heldUp: false,
      unfinished: false,
    });
  });

  it('by several callers at once ends for all of them', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}, {}] });
    const ended = await Promise.allSettled(Array.from({ length: 4 }, () => deleteJob(t.engine, job)));
    expect(ended.some(({ status }) => status === 'fulfilled')).toBe(true);
    for (const one of ended) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(NotFoundError);
    expect(await t.db.query('select from jobtree.progress_delta where root_id = $1', [job])).toEqual([]);
  });

  it('continues in batches if the tree is large, and says how far it is', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({
      type: parent,
      items: items(300),
      children: [{ type: child, items: items(100) }],
    });
    const root = jobs[parent] ?? '';
    await work(parent, () => 1);
    await t.fold(root);
    await t.db.query('select jobtree.delete_job($1)', [root]);
    await t.fold(root);
    const steps: unknown[] = [];
    for (let gone: unknown = false; gone === false; ) {
      gone = (await t.db.query('select jobtree.delete_trees(array[$1::uuid], 120) as gone', [root]))[0]?.gone;
      steps.push((await readDeletions(t.engine.database, [root]))[0]?.deletedItems ?? gone);
    }
    // The rest of a job goes before the next one begins.
    expect(steps).toEqual([120, 240, 300, true]);
    expect(
      await t.db.query('select from jobtree.job_item where job_id = any ($1)', [Object.values(jobs)]),
    ).toEqual([]);
  });

  it('leaves no row that names a job of the tree, except for deliveries of callbacks', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const endpoint = newType('endpoint');
    await addEndpoint(t.db, endpoint);
    const jobs = await t.create({
      type: parent,
      maxFailuresPerItem: 0,
      callbacks: [{ endpoint }],
      children: [{ type: child, feed: {} }],
      traceContext: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
      items: [{ payload: 'good' }, { payload: 'bad' }, {}],
    });
    const root = jobs[parent] ?? '';
    const claimed = await claimItems(t.engine, 'w', [{ type: parent, limit: 2 }]);
    const [good = '', bad = ''] = claimed.map(({ id }) => id);
    const failure = { code: 'E', message: 'no' };
    await noteItems(t.engine, [{ assignmentId: good, note: 'half of it' }]);
    await reportOutcomes(t.engine, [
      { assignmentId: good, result: 1 },
      { assignmentId: bad, failure },
    ]);
    await startOperation(t.engine, 'REPLAY', { jobId: root });
    await t.finish();
    const held = await claimItems(t.engine, 'w', [{ type: parent, limit: 2 }]);
    const again = held.find(({ payload }) => payload.value === 'bad');
    await reportOutcomes(t.engine, [{ assignmentId: again?.id ?? '', failure }]);
    await holdTree(t.engine.database, root);
    await revokeWatchTokens(t.engine.database, root);
    await t.fold(root);
    const tables = await t.db.query<{ table: string; column: string }>(
      `select table_name as table, column_name as column
       from information_schema.columns join information_schema.tables using (table_schema, table_name)
       where table_schema = 'jobtree' and table_type = 'BASE TABLE' and column_name in ('job_id', 'root_id')
         and table_name not in ('callback_delivery', 'operation')`,
    );
    const found = async () => {
      const rows = new Set<string>();
      for (const { table, column } of tables) {
        const [row] = await t.db.query<{ rows: number }>(
          `select count(*)::int as rows from jobtree.${table} where ${column} = any ($1)`,
          [Object.values(jobs)],
        );
        if (row?.rows !== 0) rows.add(table);
      }
      return rows;
    };
    const all =
      'job job_item job_progress queue_entry lease outcome failure replay dead_letter item_note trace_context callback tree';
    expect([...(await found())]).toEqual(expect.arrayContaining(all.split(' ')));
    await deleteJob(t.engine, root);
    await t.finish();
    expect(await found()).toEqual(new Set());
  });

  it('frees the dedupe key of the tree at once', async () => {
    const type = newType();
    const first = await createJob(t.engine, { type, dedupeKey: 'k', items: [{}] });
    await t.claimOne(type);
    await t.db.query('select jobtree.delete_job($1)', [first.jobId]);
    expect(await createJob(t.engine, { type, dedupeKey: 'k' })).toEqual({
      jobId: expect.not.stringMatching(first.jobId),
      created: true,
    });
  });

  it('of a job below a root is refused', async () => {
    const [parent, child] = [newType('parent'), newType('child')];
    const jobs = await t.create({ type: parent, children: [{ type: child }] });
    await expect(deleteJob(t.engine, jobs[child] ?? '')).rejects.toThrow(InvalidInputError);
  });

  it('leaves a late delta to the fold that meets it, which deletes it', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}] });
    await deleteJob(t.engine, job);
    await t.db.query('insert into jobtree.progress_delta (root_id, job_id, items) values ($1, $1, 1)', [job]);
    expect(await foldProgress(t.engine, job, 0)).toEqual({
      lastDelta: 0,
      retry: false,
      heldUp: false,
      unfinished: false,
    });
    expect(await t.db.query('select from jobtree.progress_delta where root_id = $1', [job])).toEqual([]);
  });

  it('hides no other tree from the search for unfolded deltas, however few it reads', async () => {
    const [gone, living] = [newType('gone'), newType('living')];
    const [{ [gone]: dead = '' }, { [living]: job = '' }] = [
      await t.create({ type: gone, items: [{}] }),
      await t.create({ type: living }),
    ];
    await deleteJob(t.engine, dead);
    await t.db.query('delete from jobtree.progress_delta');
    await t.db.query('insert into jobtree.progress_delta (root_id, job_id, items) values ($1, $1, 1)', [
      dead,
    ]);
    await addItems(t.engine, job, [{}], { seal: false });
    const search = async () =>
      (
        await t.db.query<{ root_ids: string[] }>('select root_ids from jobtree.unfolded_trees(0, null, 1)')
      )[0];
    expect(await search()).toEqual({ root_ids: [dead] });
    await foldProgress(t.engine, dead, 0);
    expect(await t.db.query('select root_ids, ready from jobtree.unfolded_trees(0, null, 1)')).toEqual([
      { root_ids: [job], ready: { [living]: 1 } },
    ]);
  });

  it('takes as many calls as the history of its items needs, each of which deletes a part', async () => {
    const type = newType();
    const { [type]: job = '' } = await t.create({ type, items: [{}, {}] });
    await t.db.query(
      `insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, attempt, count, priority, open, worker)
       select jobtree.new_lease_id(jobtree.new_id()), i.job_id, i.position, now(), now(), 1, 1, 0, 0::bit(128), 'snoozes'
       from jobtree.job_item i cross join generate_series(1, 50) where i.job_id = $1`,
      [job],
    );
    await t.db.query('select jobtree.delete_job($1)', [job]);
    let left = 100;
    for (let gone = false; !gone; ) {
      const [row] = await t.db.query<{ gone: boolean | null }>(
        'select jobtree.delete_trees(array[$1::uuid], 10) as gone',
        [job],
      );
      if (row?.gone === null) await foldProgress(t.engine, job, 0);
      gone = row?.gone === true;
      const [{ count = 0 } = {}] = await t.db.query<{ count: number }>(
        'select count(*)::int from jobtree.lease where job_id = $1',
        [job],
      );
      expect(left - count).toBeLessThanOrEqual(20);
      left = count;
    }
    expect(left).toBe(0);
  });

  const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));
  const tables = [
    'job',
    'job_progress',
    'progress_delta',
    'job_item',
    'queue_entry',
    'lease',
    'outcome',
    'failure',
    'tree',
  ];
  const counts = async () =>
    Object.fromEntries(
      await Promise.all(
        tables.map(
          async (table) => [table, (await t.db.query(`select from jobtree.${table}`)).length] as const,
        ),
      ),
    ) as Record<string, number>;
});
