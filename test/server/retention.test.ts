/** What those who watch a tree, or ask for it, see of its end: two servers of one database, which reap at once what says nothing else. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { collect, createJob, data, request, subscribe, work } from '../support/api.ts';
import { anyRow } from '../support/locks.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let servers: readonly App[];
beforeAll(async () => {
  const settings = { JOBTREE_RETENTION_SECONDS: '0', JOBTREE_IDLE_SECONDS: '1' };
  servers = [await startServer(db.url, settings), await startServer(db.url, settings)];
});
afterAll(async () => {
  for (const server of servers) await server.close();
});

const url = (n: 0 | 1 = 0) => servers[n]?.url ?? '';
const gone = (id: string) =>
  anyRow(db, 'select 1 where not exists (select from jobtree.job where id = $1)', [id.slice(4)]);
const seal = (id: string) =>
  data(url(), 'mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }', { id });

it('a watcher gets the final state and the end of its stream, whichever server reaps the tree', async () => {
  const id = await createJob(url(), { type: 'ended', items: [{}, {}] });
  const watched = ([0, 1] as const).flatMap((n) => [
    collect(subscribe(url(n), `subscription { jobProgress(jobId: "${id}") { status itemProgress } }`)),
    collect(subscribe(url(n), `subscription { jobTreeProgress(rootId: "${id}") { complete } }`)),
    collect(subscribe(url(n), `subscription { jobItems(jobId: "${id}") { items { status } } }`)),
  ]);
  expect(await work(url(), 'ended', 2)).toBe(2);
  await seal(id);
  await gone(id);
  const events = await Promise.all(watched);
  for (const n of [0, 3]) {
    expect(events[n]?.at(-1).data.jobProgress).toEqual({ status: 'COMPLETED', itemProgress: 2 });
    expect(events[n + 1]?.at(-1).data.jobTreeProgress).toEqual({ complete: true });
  }
});

it('a reaped tree is not found, like a deleted one, and leaves watched lists', async () => {
  const [reaped, deleted] = [
    await createJob(url(), { type: 'gone', retentionSeconds: null }),
    await createJob(url(), { type: 'gone', retentionSeconds: null }),
  ];
  const watch = subscribe(
    url(1),
    'subscription { jobs(filter: { types: "gone" }, intervalMs: 100) { goneIds jobs { id } } }',
  );
  const events = watch[Symbol.asyncIterator]();
  expect((await events.next()).value.data.jobs.jobs).toHaveLength(2);
  await seal(reaped);
  const change =
    'mutation ($id: ID!) { setRetention(input: { jobId: $id, retentionSeconds: 0 }) { ... on SetRetentionPayload { job { retentionSeconds } } ... on UserError { code field } } }';
  expect(await data(url(), change, { id: reaped })).toEqual({
    setRetention: { job: { retentionSeconds: 0 } },
  });
  await gone(reaped);
  await data(url(), 'mutation ($id: ID!) { deleteJob(input: { jobId: $id }) { __typename } }', {
    id: deleted,
  });
  const left = new Set<string>();
  while (left.size < 2) for (const id of (await events.next()).value.data.jobs.goneIds) left.add(id);
  await watch.close();

  for (const query of [
    'query ($id: ID!) { job(id: $id) { id } }',
    'subscription ($id: ID!) { jobProgress(jobId: $id) { status } }',
    'subscription ($id: ID!) { jobItems(jobId: $id) { items { id } } }',
  ]) {
    const ask = async (id: string) => {
      const [answer] = query.startsWith('query')
        ? [await request(url(1), query, { id })]
        : await collect(subscribe(url(1), query, { id })).catch((errors) => [{ errors }]);
      const { errors } = answer;
      return JSON.parse(JSON.stringify(errors).replaceAll(id, 'ID').replaceAll(id.slice(4), 'ID'));
    };
    const errors = await ask(reaped);
    expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
    expect(errors).toEqual(await ask(deleted));
  }
  expect(await data(url(), change, { id: reaped })).toEqual({
    setRetention: { code: 'NOT_FOUND', field: 'jobId' },
  });
});

it('an invalid retention is refused by its field', async () => {
  for (const [input, field] of [
    [{ retentionSeconds: -1 }, 'retentionSeconds'],
    [{ retentionSeconds: 2_147_483_647 }, 'retentionSeconds'],
    [{ idleExpirySeconds: 0 }, 'idleExpirySeconds'],
    [{ children: [{ type: 'x', retentionSeconds: null }] }, 'children[0].retentionSeconds'],
  ] as const) {
    const create =
      'mutation ($input: JobInput!) { createJob(input: $input) { ... on UserError { code field } } }';
    expect(await data(url(), create, { input: { type: 'x', ...input } })).toEqual({
      createJob: { code: 'INVALID_INPUT', field },
    });
  }
});

it('a tree that expires tells its watchers why, and is reaped', async () => {
  const id = await createJob(url(), { type: 'idle', idleExpirySeconds: 1, retentionSeconds: 60 });
  const events = await collect(
    subscribe(url(1), `subscription { jobProgress(jobId: "${id}") { status outcome cancelReason message } }`),
  );
  expect(events.at(-1).data.jobProgress).toEqual({
    status: 'CANCELLED',
    outcome: 'CANCELLED',
    cancelReason: 'IDLE',
    message: 'Job cancelled: it was idle for too long',
  });
  const { job } = await data(url(), 'query ($id: ID!) { job(id: $id) { cancelReason reapAt idleSince } }', {
    id,
  });
  expect(job).toEqual({ cancelReason: 'IDLE', reapAt: expect.any(String), idleSince: null });
});

it('many trees are reaped by both servers, each once', async () => {
  await db.query(
    `select count(*) from generate_series(1, 300) n, lateral jobtree.create_job('{"type": "many", "sealed": true, "items": []}')`,
  );
  await anyRow(db, `select 1 where not exists (select from jobtree.job where type = 'many')`, []);
  expect(await db.query('select from jobtree.tree where deletion is not null')).toEqual([]);
  expect(await db.query('select from jobtree.progress_delta')).toEqual([]);
});
