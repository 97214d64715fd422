/** Callbacks: what a fold makes of them, who may send a delivery, and what comes of attempts. Races are forced, and time is set. */

import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { textOf } from '../../../src/db/database.ts';
import type { NewCallback } from '../../../src/domain/callbacks/add-callbacks.ts';
import { addCallbacks, callWhenComplete } from '../../../src/domain/callbacks/add-callbacks.ts';
import {
  type DeliveryAnswer,
  type LeasedDelivery,
  leaseDeliveries,
  listDeliveries,
  pruneDeliveries,
  raiseAlerts,
  readCallbacks,
  readDeliveries,
  recordDelivery,
  retryDelivery,
} from '../../../src/domain/callbacks/deliveries.ts';
import {
  deleteEndpoint,
  listEndpoints,
  putEndpoint,
  rotateSecret,
  sealSecret,
} from '../../../src/domain/callbacks/endpoints.ts';
import { createJob } from '../../../src/domain/jobs/create-job.ts';
import { sealJob } from '../../../src/domain/jobs/seal-job.ts';
import { startOperation } from '../../../src/domain/operations/operations.ts';
import { foldProgress } from '../../../src/domain/progress/fold-progress.ts';
import { readQueue, setQueue } from '../../../src/domain/queues/queues.ts';
import { reportOutcomes } from '../../../src/domain/reports/report-outcomes.ts';
import { deleteJob } from '../../../src/domain/retention/delete-job.ts';
import { putSchedule } from '../../../src/domain/schedules/put-schedule.ts';
import { runSchedule } from '../../../src/domain/schedules/run-schedule.ts';
import { newType, useEngine } from '../../support/engine.ts';
import { lockWaiters } from '../../support/locks.ts';

const t = useEngine();
const page = { take: 1_000, backwards: false };

/** An endpoint of a host of its own. */
async function endpoint(host = newType('host')): Promise<string> {
  const name = newType('endpoint');
  await putEndpoint(t.engine, { name, url: `https://${host}.invalid/hook` });
  return name;
}
const sent = (endpoint: string) => listDeliveries(t.engine.database, { endpoint }, page);
/** Those of one kind that belong to the same fold have no order. */
const messages = async (endpoint: string) =>
  (await sent(endpoint))
    .map(({ messageId, body }) => ({ messageId, ...JSON.parse(body) }))
    .sort((a, b) => (`${a.data.completions}${a.messageId}` < `${b.data.completions}${b.messageId}` ? -1 : 1));
const lease = (busyHosts: string[] = [], limit = 64) =>
  leaseDeliveries(t.engine, { limit, hostLimit: 4, timeoutMs: 1_000, busyHosts });
/** Of one endpoint; the others stay leased. */
async function leaseOf(endpoint: string): Promise<LeasedDelivery> {
  const found = (await lease()).find((delivery) => delivery.endpoint === endpoint);
  if (found === undefined) throw new Error('It is not due.');
  return found;
}
const note = (delivery: LeasedDelivery, answer: DeliveryAnswer) =>
  recordDelivery(t.engine, delivery, { tookMs: 5, ...answer });
const due = (endpoint: string) =>
  t.db.query(
    'update jobtree.callback_delivery set due_at = now() where endpoint = $1 and due_at is not null',
    [endpoint],
  );
const delivery = async (endpoint: string) => {
  const [found, ...others] = await sent(endpoint);
  if (found === undefined || others.length > 0) throw new Error(`There are ${others.length} others.`);
  return found;
};

/** A tree that is complete and has said so. */
async function completed(callbacks: NewCallback[]): Promise<string> {
  const { jobId } = await createJob(t.engine, { type: newType(), sealed: true, callbacks });
  await t.fold(jobId);
  return jobId;
}

describe('a tree with callbacks', () => {
  it('reports its completion once, and again after a replay, with ids derived from it', async () => {
    const name = await endpoint();
    const [root, child] = [newType('root'), newType('child')];
    const ids = await t.create({
      type: root,
      dedupeKey: `key of ${root}`,
      sealed: true,
      maxFailuresPerItem: 0,
      items: [{}, {}],
      callbacks: [{ endpoint: name }, { endpoint: name, on: 'JOB' }],
      children: [{ type: child, feed: {} }],
    });
    const rootId = ids[root] as string;
    const work = async (type: string, outcome: object) => {
      const { id: assignmentId } = await t.claimOne(type);
      await reportOutcomes(t.engine, [{ assignmentId, ...outcome } as never]);
    };
    await work(root, { result: 1 });
    await work(root, { failure: { code: 'E', message: 'no' } });
    await t.fold(rootId);
    expect((await messages(name)).map(({ type }) => type)).toEqual(['job.completed']);
    await work(child, { result: 1 });
    await t.fold(rootId);
    const first = await messages(name);
    expect(first.map(({ messageId }) => messageId)).toEqual([
      `job_${rootId}_1`,
      `job_${ids[child]}_1`,
      `tree_${rootId}_1`,
    ]);
    expect(first[0]).toEqual({
      messageId: `job_${rootId}_1`,
      type: 'job.completed',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: {
        ...{ jobId: `Job:${rootId}`, rootId: `Job:${rootId}`, type: root, dedupeKey: `key of ${root}` },
        ...{
          outcome: 'PARTIAL',
          cancelReason: null,
          itemCount: 2,
          succeeded: 1,
          failed: 1,
          cancelled: 0,
          completions: 1,
        },
      },
    });
    expect(first[2].data).toEqual({
      ...{
        rootId: `Job:${rootId}`,
        type: root,
        dedupeKey: `key of ${root}`,
        outcome: 'PARTIAL',
        cancelReason: null,
        jobs: 2,
      },
      ...{ itemCount: 3, succeeded: 2, failed: 1, cancelled: 0, completions: 1 },
    });

    await startOperation(t.engine, 'REPLAY', { jobId: rootId });
    await work(root, { result: 1 });
    await t.fold(rootId);
    await work(child, { result: 1 });
    await t.fold(rootId);
    const second = await messages(name);
    expect(second.slice(3).map(({ messageId }) => messageId)).toEqual([
      `job_${rootId}_2`,
      `job_${ids[child]}_2`,
      `tree_${rootId}_2`,
    ]);
    expect(second[5].data).toMatchObject({ itemCount: 4, succeeded: 4, failed: 0, completions: 2 });
  });

  it('reports a second completion of the tree if only its child completes again', async () => {
    const name = await endpoint();
    const [root, child] = [newType('root'), newType('child')];
    const ids = await t.create({
      type: root,
      sealed: true,
      callbacks: [{ endpoint: name }],
      children: [{ type: child, sealed: true, maxFailuresPerItem: 0, items: [{}] }],
    });
    for (const outcome of [{ failure: { code: 'E', message: 'no' } }, { result: 1 }]) {
      const { id: assignmentId } = await t.claimOne(child);
      await reportOutcomes(t.engine, [{ assignmentId, ...outcome } as never]);
      await t.fold(ids[root] as string);
      await startOperation(t.engine, 'REPLAY', { jobId: ids[root] as string });
    }
    expect((await messages(name)).map(({ messageId }) => messageId)).toEqual([
      `tree_${ids[root]}_1`,
      `tree_${ids[root]}_2`,
    ]);
  });

  it('creates one message even if a crash undoes the fold and it is repeated', async () => {
    const name = await endpoint();
    const callbacks = [{ endpoint: name }];
    const { jobId } = await createJob(t.engine, { type: newType(), sealed: true, callbacks });
    const crashed = await t.db.connect();
    await crashed.query('begin');
    await crashed.query('select * from jobtree.fold_trees(array[$1::uuid], array[0])', [jobId]);
    await crashed.query('rollback');
    await crashed.end();
    expect(await sent(name)).toEqual([]);
    await t.fold(jobId);
    await t.fold(jobId);
    expect((await messages(name)).map(({ messageId }) => messageId)).toEqual([`tree_${jobId}_1`]);
  });

  it('is reported when its deletion cancels it', async () => {
    const name = await endpoint();
    const callbacks = [{ endpoint: name }];
    const { jobId } = await createJob(t.engine, { type: newType(), items: [{}], callbacks });
    await deleteJob(t.engine, jobId);
    await t.fold(jobId);
    await t.finish();
    expect(await t.db.query('select from jobtree.job where id = $1', [jobId])).toEqual([]);
    expect((await readCallbacks(t.engine.database, [jobId])).size).toBe(0);
    expect((await messages(name))[0].data).toMatchObject({ outcome: 'CANCELLED', cancelled: 1 });
    expect(await leaseOf(name)).toMatchObject({ messageId: `tree_${jobId}_1`, attempt: 1 });
  });

  it('gets more of them until it is complete: for the tree, and for jobs that end from then on', async () => {
    const [name, other] = [await endpoint(), await endpoint()];
    const { jobId } = await createJob(t.engine, { type: newType(), callbacks: [{ endpoint: name }] });
    await addCallbacks(t.engine, jobId, [{ endpoint: name }, { endpoint: other, on: 'JOB' }]);
    await sealJob(t.engine, jobId);
    await t.fold(jobId);
    expect((await sent(name)).map(({ event }) => event)).toEqual(['TREE']);
    expect((await sent(other)).map(({ event }) => event)).toEqual(['JOB']);
    await expect(addCallbacks(t.engine, jobId, [{ endpoint: other }])).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field: 'jobId',
    });
  });

  it('has no more than ten, and refuses what it can not add without adding anything', async () => {
    const names = await Promise.all(Array.from({ length: 11 }, () => endpoint()));
    const all = names.map((endpoint): NewCallback => ({ endpoint }));
    const child = newType();
    const { jobId } = await createJob(t.engine, { type: newType(), children: [{ type: child }] });
    const [below] = await t.db.query<{ id: string }>('select id from jobtree.job where type = $1', [child]);
    await addCallbacks(t.engine, jobId, all.slice(0, 9));
    for (const [id, callbacks, problem] of [
      [jobId, all.slice(9), { code: 'INVALID_INPUT', field: 'callbacks' }],
      [jobId, [{ endpoint: 'nobody' }], { code: 'INVALID_INPUT', field: 'callbacks[0].endpoint' }],
      [below?.id as string, all.slice(9), { code: 'INVALID_INPUT', field: 'jobId' }],
      [randomUUID(), all.slice(9), { code: 'NOT_FOUND', field: 'jobId' }],
    ] as const)
      await expect(addCallbacks(t.engine, id, callbacks)).rejects.toMatchObject(problem);
    expect((await readCallbacks(t.engine.database, [jobId])).get(jobId)).toHaveLength(9);
  });

  it('sends a callback that is added while the fold begins that completes it', async () => {
    const name = await endpoint();
    const { jobId } = await createJob(t.engine, { type: newType(), sealed: true });
    const adding = await t.db.connect();
    await adding.query('begin');
    await adding.query(textOf(callWhenComplete), [jobId, JSON.stringify([{ endpoint: name }])]);
    expect(await foldProgress(t.engine, jobId, 0)).toBeUndefined();
    await adding.query('commit');
    await adding.end();
    await t.fold(jobId);
    expect(await sent(name)).toHaveLength(1);
  });

  it('refuses a callback that is added while the fold ends that completes it', async () => {
    const name = await endpoint();
    const { jobId } = await createJob(t.engine, { type: newType(), sealed: true });
    const fold = await t.db.connect();
    await fold.query('begin');
    await fold.query('select * from jobtree.fold_trees($1, $2)', [[jobId], [0]]);
    const late = addCallbacks(t.engine, jobId, [{ endpoint: name }]);
    late.catch(() => undefined);
    await lockWaiters(t.db, 1);
    await fold.query('commit');
    await fold.end();
    await expect(late).rejects.toMatchObject({ code: 'INVALID_INPUT', field: 'jobId' });
    expect(await sent(name)).toEqual([]);
  });

  it('from a schedule has the callbacks of the template, which are validated with it', async () => {
    const name = await endpoint();
    const schedule = newType('schedule');
    const template = { type: newType(), sealed: true, callbacks: [{ endpoint: name }] };
    await putSchedule(t.engine, { name: schedule, everyMs: 86_400_000, template });
    const jobId = await runSchedule(t.engine, schedule);
    await t.fold(jobId);
    expect(await messages(name)).toHaveLength(1);
    const wrong = { ...template, callbacks: [{ endpoint: 'nobody' }] };
    await expect(
      putSchedule(t.engine, { name: schedule, everyMs: 86_400_000, template: wrong }),
    ).rejects.toMatchObject({ code: 'INVALID_INPUT', field: 'template.callbacks[0].endpoint' });
  });

  it.each<[string, (name: string) => unknown, string]>([
    ['an endpoint that there is not', () => [{ endpoint: 'nobody' }], 'callbacks[0].endpoint'],
    ['an endpoint without a name', (endpoint) => [{ endpoint }, { endpoint: '' }], 'callbacks[1].endpoint'],
    ['more than ten', (endpoint) => Array(11).fill({ endpoint }), 'callbacks'],
  ])('is refused with %s, and nothing is created', async (_, callbacks, field) => {
    const type = newType();
    const job = { type, callbacks: callbacks(await endpoint()) as NewCallback[] };
    await expect(createJob(t.engine, job)).rejects.toMatchObject({ code: 'INVALID_INPUT', field });
    const inSql = t.db.query('select * from jobtree.create_job($1)', [JSON.stringify(job)]);
    await expect(inSql).rejects.toMatchObject({ code: 'JT002', column: field });
    expect(await t.db.query('select from jobtree.job where type = $1', [type])).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['callbacks that are no list', { callbacks: 'x' }, 'callbacks'],
    ['a callback that is no object', { callbacks: [1] }, 'callbacks[0]'],
    ['a callback without an endpoint', { callbacks: [{}] }, 'callbacks[0].endpoint'],
    ['an unknown key', { callbacks: [{ endpoint: 'x', url: 'y' }] }, 'callbacks[0].url'],
    ['another event', { callbacks: [{ endpoint: 'x', on: 'ITEM' }] }, 'callbacks[0].on'],
    ['callbacks below the root', { children: [{ type: 'y', callbacks: [] }] }, 'children[0].callbacks'],
  ])('is refused in SQL with %s', async (_, more, column) => {
    const tree = JSON.stringify({ type: newType(), ...(more as object) });
    await expect(t.db.query('select * from jobtree.create_job($1)', [tree])).rejects.toMatchObject({
      code: 'JT002',
      column,
    });
  });
});

describe('an endpoint', () => {
  const put = (url: string) => putEndpoint(t.engine, { name: newType('endpoint'), url });

  const refused: [string, string][] = [
    ['', 'url is empty'],
    ['example.com', 'url is not a URL'],
    ['ftp://example.com/', 'url begins with ftp:'],
    ['file:///etc/passwd', 'url begins with file:'],
    ['https://user@example.com/', 'url has a user'],
    ['https://:word@example.com/', 'url has a user or a password'],
    [`https://example.com/${'x'.repeat(2_000)}`, 'url has 2020 characters'],
    [`https://example.com/${'ä'.repeat(1_000)}`, 'url has 6020 characters'],
    ['http://localhost/', 'localhost leads to'],
    ...[
      '127.0.0.1',
      '127.1',
      '0177.0.0.1',
      '0x7f.1',
      '2130706433',
      '0',
      '10.1.2.3',
      '172.16.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '169.254.169.254',
      '192.0.2.1',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::7f00:1]',
      '[::ffff:0:7f00:1]',
      '[64:ff9b::7f00:1]',
      '[64:ff9b:1::7f00:1]',
      '[2002:7f00:1::]',
      '[2001::1]',
      '[fe80::1]',
      '[fec0::1]',
      '[fd00::1]',
      '[ff02::1]',
      '[2001:db8::1]',
      '[4000::1]',
    ].map((host): [string, string] => [`http://${host}/`, 'is not a public address']),
  ];
  it.each(refused.map(([url, message]) => [url.slice(0, 60), message, url] as const))(
    'at %s is refused: %s',
    async (_, message, url) => {
      await expect(put(url)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        field: 'url',
        message: expect.stringContaining(message),
      });
    },
  );

  it.each(['https://8.8.8.8/', 'http://[2606:4700::1111]:8080/a?b=c', 'https://no-such-name.invalid/'])(
    'at %s is accepted',
    async (url) => {
      expect((await put(url)).secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    },
  );

  it('keeps its secret when it is put again, and two secrets sign after a rotation', async () => {
    const name = await endpoint('moved');
    expect(await putEndpoint(t.engine, { name, url: 'https://moved-on.invalid/' })).toEqual({ secret: null });
    const { secret } = await rotateSecret(t.engine, name);
    await completed([{ endpoint: name }]);
    const { secrets, url } = await leaseOf(name);
    expect([secrets[0], secrets.length, url]).toEqual([secret, 2, 'https://moved-on.invalid/']);
    const last = await rotateSecret(t.engine, name, 0);
    await due(name);
    expect((await leaseOf(name)).secrets).toEqual([last.secret]);
    const endpoints = await listEndpoints(t.engine.database, { after: null, take: 1_000 });
    expect(JSON.stringify(endpoints)).not.toContain('whsec_');
  });

  it('has its secrets replaced one by one by what they are sealed as', async () => {
    const name = await endpoint();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((letter) => `whsec_${letter.repeat(32)}`);
    await t.db.query(
      `update jobtree.callback_endpoint set secret = $2, previous_secret = $3, previous_secret_until = now() + interval '1 day' where name = $1`,
      [name, b, a],
    );
    for (const [from, to, after] of [
      [a, c, [b, c]],
      [b, d, [d, c]],
      [a, b, [d, c]],
    ] as const) {
      await t.db.query(textOf(sealSecret), [name, from, to]);
      const [row] = await t.db.query<{ secret: string; previous_secret: string }>(
        'select secret, previous_secret from jobtree.callback_endpoint where name = $1',
        [name],
      );
      expect([row?.secret, row?.previous_secret]).toEqual(after);
    }
  });

  it.each([
    ['rotated', () => rotateSecret(t.engine, 'nobody'), 'name'],
    ['deleted', () => deleteEndpoint(t.engine, 'nobody'), 'name'],
    ['called again', () => retryDelivery(t.engine, randomUUID()), 'deliveryId'],
  ])('is not %s if there is none', async (_, change, field) => {
    await expect(change()).rejects.toMatchObject({ code: 'NOT_FOUND', field });
  });
});

describe('a delivery', () => {
  it('is leased by one server at a time, and by another one after a silence', async () => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    const first = await leaseOf(name);
    expect((await lease()).filter(({ endpoint }) => endpoint === name)).toEqual([]);
    const ahead = (await delivery(name)).dueAt as Date;
    expect(ahead.getTime() - first.sentAt.getTime()).toBe(16_000);
    await due(name);
    const second = await leaseOf(name);
    expect(second).toMatchObject({ id: first.id, messageId: first.messageId, body: first.body, attempt: 2 });
    // What the first one hears by now counts if it is good.
    await note(first, { error: 'too late' });
    expect(await delivery(name)).toMatchObject({ attemptCount: 2, attempts: [] });
    await note(first, { statusCode: 200 });
    await note(second, { error: 'later still' });
    expect(await delivery(name)).toMatchObject({ dueAt: null, deliveredAt: expect.any(Date) });
    // Again on request, though it was delivered.
    await retryDelivery(t.engine, first.id);
    expect(await delivery(name)).toMatchObject({ dueAt: expect.any(Date), deliveredAt: null });
    await note(await leaseOf(name), { statusCode: 200 });
  });

  it('that another server is leasing is skipped', async () => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query(`select * from jobtree.lease_deliveries(1000, 64, 4, '{}')`);
    expect(await lease()).toEqual([]);
    await other.query('rollback');
    await other.end();
    expect((await leaseOf(name)).attempt).toBe(1);
  });

  it('waits longer after each failure, fails after about a day, and starts anew after a manual retry', async () => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 10; attempt++) {
      await note(await leaseOf(name), { statusCode: 500, error: `no ${attempt}` });
      const [row] = await t.db.query<{ s: number | null }>(
        'select extract(epoch from due_at - clock_timestamp())::float8 as s from jobtree.callback_delivery where endpoint = $1',
        [name],
      );
      if (row?.s != null) waits.push(row.s);
      await due(name);
    }
    const steps = [5, 60, 300, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800];
    expect(waits).toHaveLength(9);
    for (const [i, wait] of waits.entries()) {
      expect(wait).toBeGreaterThan((steps[i] as number) - 2);
      expect(wait).toBeLessThanOrEqual((steps[i] as number) * 1.2);
    }
    const failed = await delivery(name);
    expect(failed).toMatchObject({ attemptCount: 10, dueAt: null, failedAt: expect.any(Date) });
    expect(failed.attempts.at(-1)).toMatchObject({ statusCode: 500, error: 'no 10', tookMs: 5 });

    await retryDelivery(t.engine, failed.id);
    await note(await leaseOf(name), { statusCode: 500, error: 'x'.repeat(1_000) });
    const retried = await delivery(name);
    expect(retried).toMatchObject({ attemptCount: 11, failedAt: null, dueAt: expect.any(Date) });
    expect(retried.attempts.at(-1)?.error).toHaveLength(500);
    await t.db.query(
      `update jobtree.callback_delivery set history = (select jsonb_agg(n) from generate_series(1, 20) n) where endpoint = $1`,
      [name],
    );
    await due(name);
    await note(await leaseOf(name), { statusCode: 500, error: 'no' });
    const { attempts } = await delivery(name);
    expect([attempts.length, attempts[0]]).toEqual([20, 2]);
  });

  it('that is retried manually while it is being sent is settled by that attempt', async () => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    const underWay = await leaseOf(name);
    await retryDelivery(t.engine, underWay.id);
    await note(underWay, { statusCode: 500, error: 'no' });
    expect(await delivery(name)).toMatchObject({ failedAt: null, dueAt: expect.any(Date) });
  });

  it.each<[string, DeliveryAnswer & { inMs?: number }, number]>([
    ['seconds', { statusCode: 429, error: 'slow', retryAfterMs: 3_600_000 }, 3_600],
    ['a date', { statusCode: 503, error: 'slow', inMs: 7_200_000 }, 7_200],
    ['more than a day', { statusCode: 429, error: 'slow', retryAfterMs: 864_000_000 }, 86_400],
    ['less than the backoff', { statusCode: 429, error: 'slow', retryAfterMs: 1 }, 5.5],
    ['a time that is over', { statusCode: 429, error: 'slow', retryAt: new Date(0) }, 5.5],
  ])('waits as its receiver asks: %s', async (_, { inMs, ...answer }, seconds) => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    const before = Date.now();
    const retryAt = inMs === undefined ? answer.retryAt : new Date(before + inMs);
    await note(await leaseOf(name), { ...answer, ...(retryAt && { retryAt }) });
    const waited = ((await delivery(name)).dueAt?.getTime() ?? 0) - before;
    expect(Math.abs(waited / 1_000 - seconds)).toBeLessThan(2);
  });

  it('to an endpoint that is gone fails at once, with all others there, until the endpoint is put again', async () => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    await note(await leaseOf(name), { statusCode: 410, error: 'Gone' });
    const gone = await delivery(name);
    expect(gone).toMatchObject({ dueAt: null, failedAt: expect.any(Date) });
    // More than are sent to one host at a time.
    for (let i = 0; i < 6; i++) await completed([{ endpoint: name }]);
    expect((await lease()).filter(({ endpoint }) => endpoint === name)).toEqual([]);
    for (const one of (await sent(name)).filter(({ id }) => id !== gone.id))
      expect(one).toMatchObject({
        failedAt: expect.any(Date),
        attemptCount: 0,
        attempts: [{ error: 'The endpoint answered 410 before.' }],
      });
    await retryDelivery(t.engine, gone.id);
    const again = await leaseOf(name);
    expect(again.id).toBe(gone.id);
    await note(again, { statusCode: 410, error: 'Gone' });
    await putEndpoint(t.engine, { name, url: 'https://back.invalid/' });
    await completed([{ endpoint: name }]);
    expect((await leaseOf(name)).attempt).toBe(1);
  });

  it('that gets a 410 from where its endpoint was before is sent to where it is now', async () => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    const old = await leaseOf(name);
    await putEndpoint(t.engine, { name, url: 'https://moved.invalid/hook' });
    await note(old, { statusCode: 410, error: 'Gone' });
    expect(await delivery(name)).toMatchObject({ failedAt: null, attempts: [{ statusCode: 410 }] });
    await due(name);
    expect((await leaseOf(name)).url).toBe('https://moved.invalid/hook');
  });

  it('to a deleted endpoint fails with the reason', async () => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    await deleteEndpoint(t.engine, name);
    await lease();
    expect(await delivery(name)).toMatchObject({
      failedAt: expect.any(Date),
      attempts: [{ error: 'There is no such endpoint any more.' }],
    });
  });

  it('gets its share of the slots, however much is due at other hosts', async () => {
    const [slow, alias, quick] = [await endpoint('slow'), await endpoint('slow'), await endpoint('quick')];
    for (let i = 0; i < 6; i++) await completed([{ endpoint: slow }, { endpoint: alias }]);
    await completed([{ endpoint: quick }]);
    const hosts = (await lease(['slow.invalid'])).map(({ host }) => host);
    expect(hosts.sort()).toEqual(['quick.invalid', ...Array(3).fill('slow.invalid')]);
    expect(await lease(Array(4).fill('slow.invalid'))).toEqual([]);
    const [first, second] = await lease([], 2);
    expect(new Set([first?.endpoint, second?.endpoint])).toEqual(new Set([slow, alias]));
    for (const name of [slow, alias]) await deleteEndpoint(t.engine, name);
    await lease();
  });

  it('takes no slot from others at its host if its endpoint is gone', async () => {
    const names = await Promise.all(Array.from({ length: 5 }, () => endpoint('shared')));
    const open = names.pop() as string;
    for (const name of names) {
      await completed([{ endpoint: name }]);
      await note(await leaseOf(name), { statusCode: 410, error: 'Gone' });
    }
    for (const name of names) await completed([{ endpoint: name }]);
    for (let i = 0; i < 4; i++) await completed([{ endpoint: open }]);
    expect((await lease()).map(({ endpoint }) => endpoint)).toEqual(Array(4).fill(open));
  });

  it('is removed a month after it was settled', async () => {
    const name = await endpoint();
    await completed([{ endpoint: name }]);
    await completed([{ endpoint: name }]);
    await note(await leaseOf(name), { statusCode: 204 });
    const old = '00000000-0000-7000-8000-';
    await t.db.query(
      `update jobtree.callback_delivery set id = ($2 || lpad(row_number::text, 12, '0'))::uuid
       from (select id as of, row_number() over () from jobtree.callback_delivery where endpoint = $1) n where id = n.of`,
      [name, old],
    );
    await pruneDeliveries(t.engine);
    const [left, ...others] = await sent(name);
    expect([left?.deliveredAt, others]).toEqual([null, []]);
  });

  it('is listed by endpoint, tree and status, in both directions', async () => {
    const [one, two] = [await endpoint(), await endpoint()];
    const roots = [
      await completed([{ endpoint: one }, { endpoint: two }]),
      await completed([{ endpoint: one }]),
    ];
    await note(await leaseOf(one), { statusCode: 200 });
    const list = async (filter: object, range: object = page) =>
      (await listDeliveries(t.engine.database, filter, range as typeof page)).map(({ id }) => id);
    const all = await list({ endpoint: one });
    expect(all).toHaveLength(2);
    expect(await list({ endpoint: one }, { ...page, backwards: true })).toEqual(all.toReversed());
    expect(await list({ endpoint: one }, { ...page, after: all[0] })).toEqual([all[1]]);
    expect(await list({ rootId: roots[0] })).toHaveLength(2);
    expect(await list({ rootId: roots[1], endpoint: two })).toEqual([]);
    const [delivered] = await list({ endpoint: one, status: 'DELIVERED' });
    expect(await list({ endpoint: one, status: 'PENDING' })).toEqual(all.filter((id) => id !== delivered));
    expect(await list({ endpoint: one, status: 'FAILED' })).toEqual([]);
    expect(await readDeliveries(t.engine.database, all, null)).toHaveLength(2);
  });
});

describe('an alert', () => {
  /** So many items that fail for good. */
  async function dead(type: string, count: number, message = 'Row 1 is bad'): Promise<void> {
    await t.create({ type, sealed: true, maxFailuresPerItem: 0, items: Array(count).fill({}) });
    for (let i = 0; i < count; i++) {
      const { id: assignmentId } = await t.claimOne(type);
      await reportOutcomes(t.engine, [{ assignmentId, failure: { code: 'E', message } }]);
    }
  }
  const pass = (type: string, ms: number) =>
    Promise.all([
      t.db.query(`update jobtree.dead_letter set died_at = died_at - $2 * interval '1 ms' where type = $1`, [
        type,
        ms,
      ]),
      t.db.query(
        `update jobtree.queue set alert_seen_at = alert_seen_at - $2 * interval '1 ms' where type = $1`,
        [type, ms],
      ),
    ]);

  it('is raised once per spell, and again after a quiet interval', async () => {
    const [type, name] = [newType(), await endpoint()];
    await setQueue(t.engine, type, { deadLetterAlert: { endpoint: name, count: 3, intervalMs: 60_000 } });
    await dead(type, 2);
    await raiseAlerts(t.engine);
    expect(await sent(name)).toEqual([]);
    await dead(type, 2, 'Column "a" is missing');
    await raiseAlerts(t.engine);
    await raiseAlerts(t.engine);
    const [alert, ...others] = await messages(name);
    expect(others).toEqual([]);
    expect(alert).toMatchObject({
      messageId: expect.stringMatching(/^alert_/),
      type: 'dead_letters.alert',
      data: { type, threshold: 3, intervalMs: 60_000, count: 4 },
    });
    const groups = await t.db.query<{ id: string }>(
      `select distinct 'DeadLetterGroup:' || fingerprint as id from jobtree.dead_letter where type = $1`,
      [type],
    );
    expect(alert.data.groups.map(({ id }: { id: string }) => id).sort()).toEqual(
      groups.map(({ id }) => id).sort(),
    );
    expect(alert.data.groups).toContainEqual(
      expect.objectContaining({ code: 'E', pattern: 'Column … is missing', count: 2 }),
    );
    expect((await readQueue(t.engine, type)).alertedAt).toEqual(expect.any(Date));

    // More of the same within an interval: the spell goes on.
    await pass(type, 40_000);
    await raiseAlerts(t.engine);
    await pass(type, 40_000);
    await dead(type, 3);
    await raiseAlerts(t.engine);
    expect(await sent(name)).toHaveLength(1);
    // Quiet for an interval, then a spell of its own.
    await pass(type, 61_000);
    await raiseAlerts(t.engine);
    expect((await readQueue(t.engine, type)).alertedAt).toBe(null);
    await dead(type, 3);
    await raiseAlerts(t.engine);
    expect(await sent(name)).toHaveLength(2);
  });

  it('of one type does not wait for another, whose row a stranger has locked', async () => {
    const [locked, type] = [newType('a'), newType('b')];
    const name = await endpoint();
    for (const each of [locked, type]) {
      await setQueue(t.engine, each, { deadLetterAlert: { endpoint: name, count: 1, intervalMs: 60_000 } });
      await dead(each, 1);
    }
    const stranger = await t.db.connect();
    onTestFinished(() => stranger.end());
    await stranger.query('begin');
    await stranger.query('select from jobtree.queue where type = $1 for update', [locked]);
    await raiseAlerts(t.engine);
    expect((await messages(name)).map(({ data }) => data.type)).toEqual([type]);
    await stranger.query('rollback');
    await raiseAlerts(t.engine);
    expect(await sent(name)).toHaveLength(2);
  });

  it('is raised once if two servers see the same spell', async () => {
    const [type, name] = [newType(), await endpoint()];
    await setQueue(t.engine, type, { deadLetterAlert: { endpoint: name, count: 1, intervalMs: 60_000 } });
    await dead(type, 1);
    const other = await t.db.connect();
    await other.query('begin');
    await other.query('select jobtree.raise_alerts()');
    await raiseAlerts(t.engine);
    await other.query('commit');
    await other.end();
    await raiseAlerts(t.engine);
    expect(await sent(name)).toHaveLength(1);
  });

  it('is a setting of its queue, and is read and changed like the others', async () => {
    const [type, name] = [newType(), await endpoint()];
    const deadLetterAlert = { endpoint: name, count: 100, intervalMs: 300_000 };
    await setQueue(t.engine, type, { deadLetterAlert });
    expect(await readQueue(t.engine, type)).toMatchObject({ type, paused: false, deadLetterAlert });
    await setQueue(t.engine, type, { paused: true });
    expect(await readQueue(t.engine, type)).toMatchObject({ paused: true, deadLetterAlert });
    await setQueue(t.engine, type, { deadLetterAlert: null });
    expect(await readQueue(t.engine, type)).toMatchObject({ paused: true, deadLetterAlert: null });
  });

  it.each([
    [{ endpoint: 'nobody', count: 1, intervalMs: 1_000 }, 'deadLetterAlert.endpoint'],
    [{ endpoint: '', count: 1, intervalMs: 1_000 }, 'deadLetterAlert.endpoint'],
    [{ endpoint: 'x', count: 0, intervalMs: 1_000 }, 'deadLetterAlert.count'],
    [{ endpoint: 'x', count: 10_001, intervalMs: 1_000 }, 'deadLetterAlert.count'],
    [{ endpoint: 'x', count: 1, intervalMs: 999 }, 'deadLetterAlert.intervalMs'],
    [{ endpoint: 'x', count: 1, intervalMs: 86_400_001 }, 'deadLetterAlert.intervalMs'],
  ])('of %j is refused', async (deadLetterAlert, field) => {
    const type = newType();
    await expect(setQueue(t.engine, type, { deadLetterAlert, paused: true })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      field,
    });
    const inSql = t.db.query('select jobtree.set_queue($1, $2)', [type, JSON.stringify({ deadLetterAlert })]);
    await expect(inSql).rejects.toMatchObject({ code: 'JT002', column: field });
    expect((await readQueue(t.engine, type)).paused).toBe(false);
  });
});
