/** Why it is not running, over the API: each reason with what causes it, and without. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type JobSpec, Worker } from '../../src/client/index.ts';
import type { standstillReasons } from '../../src/domain/queues/standstill.ts';
import type { App } from '../../src/server/create-app.ts';
import { data, request } from '../support/api.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app, client } = useServer();

const fields = `reason message type itemCount hasMore until since limit code serializeKey cancelReason
  job { id } item { id } head { id status } waitsFor { id type }`;

const ofItem = async (id: string) =>
  (await data(app.url, `{ item(id: "${id}") { standstills { ${fields} } } }`)).item.standstills;
const ofJob = async (id: string) =>
  (await data(app.url, `{ job(id: "${id}") { standstills { ${fields} } } }`)).job.standstills;
const ofTree = async (id: string) =>
  (await data(app.url, `{ job(id: "${id}") { treeStandstills { ${fields} } } }`)).job.treeStandstills;
const ofType = async (type: string) =>
  (await data(app.url, `{ queue(type: "${type}") { standstills { ${fields} } } }`)).queue.standstills;
const reasonsOf = (standstills: { reason: string }[]) => standstills.map(({ reason }) => reason);

/** A worker that is there, and gets nothing while its first item waits; until the test is over. */
async function connect(type: string, concurrency = 1) {
  const worker = new Worker({
    url: app.url,
    types: {
      [type]: {
        concurrency,
        handler: (_, { signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
    },
  });
  const connected = new Promise<void>((resolve) => worker.once('connected', resolve));
  await worker.start();
  onTestFinished(() => worker.stop({ atOnce: true }));
  await connected;
  return worker;
}

const soon = new Date(Date.now() + 3_600_000).toISOString();
const claim = (type: string, limit = 1) => client.claimItems('by-hand', [{ type, limit }]);
const create = async (job: JobSpec) => (await client.createJob(job)).id;
const itemsOf = async (id: string) => (await client.items(id)).nodes.map(({ id }) => id);
const fail = (assignmentId: string, failure: object = {}) =>
  client.reportOutcomes([{ assignmentId, failure: { code: 'TIMEOUT', message: 'No answer', ...failure } }]);
const succeed = (assignmentId: string) => client.reportOutcomes([{ assignmentId, result: null }]);

interface Situation {
  readonly expected: object;
  /** The job that stands still, or one of whose items does. */
  readonly jobId: string;
  /** If it is about an item, also of the type. */
  readonly itemId?: string | undefined;
  readonly remove?: (() => Promise<unknown>) | undefined;
}

/** Makes each situation, and says how it is ended. */
const situations: Record<(typeof standstillReasons)[number], (type: string) => Promise<Situation>> = {
  PAUSED: async (type) => {
    await client.queues.pause(type);
    const jobId = await create({ type, items: [{}] });
    const [itemId] = await itemsOf(jobId);
    return {
      jobId,
      itemId,
      expected: { message: `The type ${type} is paused.` },
      remove: () => client.queues.resume(type),
    };
  },
  NO_WORKER: async (type) => {
    const jobId = await create({ type, items: [{}, {}] });
    const [, itemId] = await itemsOf(jobId);
    return { jobId, itemId, expected: { since: null }, remove: () => claim(type) };
  },
  KEY_HELD: async (type) => {
    const items = [{ serializeKey: `${type} a` }, { serializeKey: `${type} a` }];
    const jobId = await create({ type, serializeOnFailure: 'BLOCK', items });
    const [headId, itemId] = await itemsOf(jobId);
    const [held] = await claim(type);
    await fail(held?.id ?? '', { permanent: true });
    return {
      ...{ jobId, itemId },
      expected: {
        serializeKey: `${type} a`,
        head: { id: headId, status: 'FAILED' },
        message: expect.stringContaining('replay or discard'),
      },
      remove: async () => {
        await client.discardDeadLetters({ itemIds: [headId ?? ''] });
        await expect.poll(() => ofJob(jobId).then(reasonsOf)).not.toContain('KEY_HELD');
      },
    };
  },
  RATE_LIMIT: async (type) => {
    await client.queues.set(type, { rate: { limit: 1, intervalMs: 60_000 } });
    const jobId = await create({ type, items: [{}, {}] });
    const [, itemId] = await itemsOf(jobId);
    await claim(type);
    return {
      jobId,
      itemId,
      expected: { until: expect.any(String) },
      remove: () => client.queues.set(type, { rate: null }),
    };
  },
  CONCURRENCY_LIMIT: async (type) => {
    await client.queues.set(type, { concurrency: 1 });
    const jobId = await create({ type, items: [{}, {}] });
    const [, itemId] = await itemsOf(jobId);
    const [held] = await claim(type);
    return { jobId, itemId, expected: { limit: 1 }, remove: () => succeed(held?.id ?? '') };
  },
  WORKERS_BUSY: async (type) => {
    const worker = await connect(type);
    const jobId = await create({ type, items: [{}, {}, {}, {}] });
    await expect
      .poll(async () => (await client.items(jobId, { statuses: ['RUNNING'] })).nodes)
      .not.toEqual([]);
    const itemId = (await itemsOf(jobId)).at(-1);
    return { jobId, itemId, expected: {}, remove: () => worker.stop({ atOnce: true }) };
  },
  QUEUED: async (type) => {
    const jobId = await create({ type, items: [{}, {}] });
    const [, itemId] = await itemsOf(jobId);
    // It claims in HTTP, so nobody knows how many it runs at once.
    const held = await claim(type);
    await client.queues.set(type, { concurrency: 5 });
    return { jobId, itemId, expected: {}, remove: () => succeed(held[0]?.id ?? '') };
  },
  BLOCKED: async (type) => {
    const items = [{ serializeKey: `${type} a` }, { serializeKey: `${type} a` }];
    const jobId = await create({ type, items });
    const [headId, itemId] = await itemsOf(jobId);
    const [held] = await claim(type);
    return {
      ...{ jobId, itemId },
      expected: { serializeKey: `${type} a`, head: { id: headId, status: 'RUNNING' }, item: { id: itemId } },
      remove: () => succeed(held?.id ?? ''),
    };
  },
  RETRYING: async (type) => {
    const jobId = await create({ type, backoffMs: [3_600_000], maxFailuresPerItem: 3, items: [{}] });
    const [itemId] = await itemsOf(jobId);
    const [held] = await claim(type);
    await fail(held?.id ?? '');
    return {
      ...{ jobId, itemId },
      expected: { code: 'TIMEOUT', until: expect.any(String) },
      remove: () => client.updateItem(itemId ?? '', { runAt: null }),
    };
  },
  SCHEDULED: async (type) => {
    const jobId = await create({ type, items: [{ runAt: soon }] });
    const [itemId] = await itemsOf(jobId);
    return {
      jobId,
      itemId,
      expected: { until: soon },
      remove: () => client.updateItem(itemId ?? '', { runAt: null }),
    };
  },
  IMPORTING: async (type) => {
    const jobId = await create({ type });
    // An upload whose store is away: as postponeImport leaves it, and no server takes it up.
    await db.query(
      `insert into jobtree.file_import (job_id, type, upload_id, options, size, created_at, store_away_at, leased_until)
       values ($1, $2, gen_random_uuid(), '{}', 1, now(), now(), 'infinity')`,
      [jobId.slice(4), type],
    );
    return {
      jobId,
      expected: { since: expect.any(String), itemCount: 0, item: null },
      remove: () =>
        db.query('update jobtree.file_import set finished_at = now() where job_id = $1', [jobId.slice(4)]),
    };
  },
  NOT_SEALED: async (type) => {
    const jobId = await create({ type });
    return { jobId, expected: { itemCount: 0, job: { id: jobId } }, remove: () => client.sealJob(jobId) };
  },
  WAITS_FOR_JOBS: async (type) => {
    const root = await create({
      type: `${type} root`,
      sealed: true,
      children: [
        { name: 'first', type: `${type} first` },
        { type, after: ['first'], items: [{}] },
      ],
    });
    const { tree } = (await data(app.url, `{ job(id: "${root}") { tree { id type } } }`)).job;
    const idOf = (of: string) => tree.find((job: { type: string }) => job.type === of).id;
    const jobId = idOf(type);
    const [itemId] = await itemsOf(jobId);
    const first = { id: idOf(`${type} first`), type: `${type} first` };
    return {
      ...{ jobId, itemId },
      expected: { waitsFor: [first], message: `It waits for ${type} first.` },
      remove: async () => {
        await client.sealJob(first.id);
        await expect.poll(() => ofJob(jobId).then(reasonsOf)).toEqual(['NO_WORKER']);
      },
    };
  },
  WAITS_FOR_PARENT: async (type) => {
    const root = await create({ type: `${type} root`, children: [{ type, feed: { payload: 'result' } }] });
    const { children } = (await data(app.url, `{ job(id: "${root}") { children { id } } }`)).job;
    const jobId = children[0].id;
    return {
      jobId,
      expected: { waitsFor: [{ id: root, type: `${type} root` }] },
      remove: async () => {
        await client.sealJob(root);
        await expect.poll(() => ofJob(jobId).then(reasonsOf)).toEqual(['COMPLETE']);
      },
    };
  },
  FAILED: async (type) => {
    const jobId = await create({ type, sealed: true, items: [{}] });
    const [itemId] = await itemsOf(jobId);
    const [held] = await claim(type);
    await fail(held?.id ?? '', { permanent: true });
    await expect.poll(() => ofJob(jobId).then(reasonsOf)).toEqual(['FAILED']);
    expect(await ofItem(itemId ?? '')).toMatchObject([
      { code: 'TIMEOUT', message: 'It failed for good after TIMEOUT.' },
    ]);
    return {
      ...{ jobId, itemId },
      expected: {},
      remove: async () => {
        await client.replayDeadLetters({ itemIds: [itemId ?? ''] });
        await expect.poll(() => ofJob(jobId).then(reasonsOf)).toEqual(['NO_WORKER']);
      },
    };
  },
  CANCELLED: async (type) => {
    const jobId = await create({ type, items: [{}] });
    const [itemId] = await itemsOf(jobId);
    await client.cancelJob(jobId);
    return { jobId, itemId, expected: { cancelReason: 'REQUESTED' } };
  },
  COMPLETE: async (type) => {
    const jobId = await create({ type, sealed: true, items: [{}] });
    const [itemId] = await itemsOf(jobId);
    const [held] = await claim(type);
    await succeed(held?.id ?? '');
    await expect.poll(() => ofJob(jobId).then(reasonsOf)).toEqual(['COMPLETE']);
    return { jobId, itemId, expected: { message: 'It is complete.' } };
  },
};

const over = ['FAILED', 'CANCELLED', 'COMPLETE'];

describe.each(Object.entries(situations))('%s', (reason, make) => {
  it('is told of the item, the job, the tree and the type, until its cause is removed', async () => {
    const type = `type ${reason.toLowerCase()}`;
    const { jobId, itemId, expected, remove } = await make(type);
    const isOver = over.includes(reason);
    const one = { reason, type, ...(isOver ? {} : expected) };
    const find = (all: { reason: string; type: string }[]) =>
      all.find((standstill) => standstill.reason === reason && standstill.type === type);
    expect(find(await ofJob(jobId))).toMatchObject({ ...one, job: { id: jobId } });
    expect(find((await ofTree(jobId)) ?? [])).toMatchObject(one);
    if (itemId !== undefined) {
      expect(find(await ofItem(itemId))).toMatchObject({
        ...one,
        ...expected,
        itemCount: 1,
        item: { id: itemId },
      });
      // The type has no example.
      if (!isOver)
        expect(reasonsOf(await ofType(type))).toContain(reason === 'KEY_HELD' ? 'BLOCKED' : reason);
    }
    if (remove === undefined) return;
    await remove();
    expect(reasonsOf(await ofJob(jobId))).not.toContain(reason);
    expect(reasonsOf((await ofTree(jobId)) ?? [])).not.toContain(reason);
    if (itemId !== undefined) expect(reasonsOf(await ofItem(itemId))).not.toContain(reason);
    expect(reasonsOf(await ofType(type))).not.toContain(reason);
  });
});

it('what runs does not stand still', async () => {
  const jobId = await create({ type: 'running', items: [{}] });
  await claim('running');
  const [itemId] = await itemsOf(jobId);
  expect(await Promise.all([ofItem(itemId ?? ''), ofJob(jobId), ofTree(jobId), ofType('running')])).toEqual([
    [],
    [],
    [],
    [],
  ]);
});

it('a tree says first what needs somebody, with the sum of its jobs', async () => {
  await client.queues.pause('tree paused');
  const child = (type: string, count: number) => ({ type, sealed: true, items: Array(count).fill({}) });
  const root = await create({
    type: 'tree root',
    children: [
      child('tree free', 7),
      child('tree paused', 2),
      child('tree paused', 3),
      { type: 'tree late', items: [{ runAt: soon }] },
    ],
  });
  expect(await ofTree(root)).toMatchObject([
    { reason: 'PAUSED', type: 'tree paused', itemCount: 5, hasMore: false },
    { reason: 'NO_WORKER', type: 'tree free', itemCount: 7 },
    { reason: 'NO_WORKER', type: 'tree paused', itemCount: 5 },
    { reason: 'SCHEDULED', type: 'tree late', itemCount: 1, until: soon },
    { reason: 'NOT_SEALED', type: 'tree root', itemCount: 0 },
  ]);
});

it('when something was last done of a type is said to the minute, as it is known', async () => {
  await db.query(
    `insert into jobtree.figure values ('dusty', '2026-01-02T03:04:00Z', gen_random_uuid(), 1, 1, 0, 0, 0, '{}', '{}', '{}', '{}')`,
  );
  const jobId = await create({ type: 'dusty', items: [{}] });
  expect(await ofJob(jobId)).toMatchObject([
    {
      since: '2026-01-02T03:04:00.000Z',
      message:
        'No worker of the type dusty is connected: something was last done of it at 2026-01-02T03:04Z.',
    },
  ]);
});

it('a paused type that no worker handles has both reasons', async () => {
  await client.queues.pause('both');
  const jobId = await create({ type: 'both', items: [{}] });
  expect(reasonsOf(await ofJob(jobId))).toEqual(['PAUSED', 'NO_WORKER']);
});

describe('with keys', () => {
  let guarded: App;
  beforeAll(async () => {
    guarded = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  });
  afterAll(() => guarded.close());

  /** As the holder of a key sees the tree. */
  async function seen(id: string, options: Parameters<typeof makeKey>[2]) {
    const { key } = await makeKey(db, ['producer'], options);
    const query = `{ job(id: "${id}") { standstills { ${fields} } treeStandstills { ${fields} } } }`;
    const { data, errors } = await request(guarded.url, query, {}, bearer(key));
    expect(errors).toBeUndefined();
    return data.job;
  }

  it('the item that has the key, and jobs that are waited for, are told only within the scope', async () => {
    const other = await create({ type: 'theirs', items: [{ serializeKey: 'shared' }] });
    const [headId] = await itemsOf(other);
    const blocked = await create({ type: 'ours', items: [{ serializeKey: 'shared' }] });
    expect(await seen(blocked, { types: ['ours'] })).toMatchObject({
      standstills: [
        {
          reason: 'BLOCKED',
          head: null,
          message: 'It waits for the serialize key "shared", which another item has.',
        },
      ],
    });
    expect(await seen(blocked, { types: ['ours', 'theirs'] })).toMatchObject({
      standstills: [{ head: { id: headId } }],
    });

    const children = [
      { name: 'a', type: 'theirs' },
      { type: 'ours', after: ['a'], items: [{}] },
    ];
    const root = await create({ type: 'ours', sealed: true, children });
    const { tree } = (await data(app.url, `{ job(id: "${root}") { tree { id waitsForJobs } } }`)).job;
    const { id } = tree.find(({ waitsForJobs }: { waitsForJobs: boolean }) => waitsForJobs);
    expect(await seen(id, { types: ['ours'] })).toMatchObject({
      standstills: [
        { reason: 'WAITS_FOR_JOBS', waitsFor: [], message: 'It waits for other jobs of its tree.' },
      ],
      treeStandstills: null,
    });
  });

  it('who may not list types is not told of their settings and workers', async () => {
    await client.queues.pause('secretive');
    const id = await create({ type: 'secretive', items: [{}] });
    expect(reasonsOf((await seen(id, { rootIds: [id.slice(4)] })).standstills)).toEqual(['QUEUED']);
    expect(reasonsOf((await seen(id, { types: ['secretive'] })).standstills)).toEqual([
      'PAUSED',
      'NO_WORKER',
    ]);
  });

  it('a tenant reads its own names', async () => {
    const id = await create({
      type: 'acme//mail',
      items: [{ serializeKey: 'acme//k' }, { serializeKey: 'acme//k' }],
    });
    expect((await seen(id, { tenant: 'acme' })).standstills).toMatchObject([
      { reason: 'NO_WORKER', type: 'mail', message: 'No worker of the type mail is connected.' },
      { reason: 'BLOCKED', serializeKey: 'k', message: expect.stringContaining('the serialize key "k"') },
    ]);
  });
});
