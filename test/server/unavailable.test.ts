/** A database that can't be reached, or is locked, is told by a code that says so: no fault, and nothing that a client can't act on. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { App } from '../../src/server/create-app.ts';
import { createJob, request } from '../support/api.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let proxy: TcpProxy;
let app: App;
beforeAll(async () => {
  proxy = await startProxy(db.url);
  app = await startServer(proxy.url, { JOBTREE_SWEEP_INTERVAL_MS: '60000' });
});
afterAll(async () => {
  await app.close();
  await proxy.close();
});

const add =
  'mutation ($id: ID!) { addItems(input: { jobId: $id, items: [{ payload: 1 }] }) { ... on AddItemsPayload { added job { type } } } }';
const read = 'query ($id: ID!) { job(id: $id) { type items(first: 1) { nodes { id } } } }';
const code = async (query: string, id: string) =>
  (await request(app.url, query, { id })).errors?.[0]?.extensions;

it('answers BUSY if the rows are locked', async () => {
  const id = await createJob(app.url, { type: 'locked' });
  const locker = await db.connect();
  await locker.query('begin');
  await locker.query('lock table jobtree.job');
  expect(await code(read, id)).toEqual({ code: 'BUSY' });
  expect(await code(add, id)).toMatchObject({ code: 'BUSY' });
  await locker.query('rollback');
  await locker.end();
});

it('says that an operation may have been carried out if the connection broke at its answer', async () => {
  const id = await createJob(app.url, { type: 'broken' });
  const wasCut = proxy.cutAt('positions');
  const answer = code(add, id);
  await Promise.race([wasCut, answer]);
  expect(await answer).toEqual({ code: 'OUTCOME_UNKNOWN' });
  expect(await code(add, id)).toMatchObject({ code: 'UNAVAILABLE' });
  expect(await code(read, id)).toMatchObject({ code: 'UNAVAILABLE' });
  proxy.mend();
});
