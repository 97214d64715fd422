/** A server that is killed between a verdict and what follows from it: another one cancels and releases the rest, and the tree ends. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { collect, createJob, data, subscribe, work } from '../support/api.ts';
import { anyRow } from '../support/locks.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let server: ServerProcess;

beforeAll(async () => {
  server = await startServerProcess(db.url, { JOBTREE_LOG_LEVEL: 'warn' });
});
afterAll(async () => {
  await server?.end();
});

it('the next server cancels the items of a failed job and releases a job whose wait is over', async () => {
  const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));
  const root = await createJob(server.url, {
    type: 'verdicts',
    sealed: true,
    children: [
      { type: 'before', sealed: true, items: items(1) },
      { type: 'behind', sealed: true, after: ['before'], items: items(1_000) },
      { type: 'failing', sealed: true, toleratedFailureCount: 0, items: items(500) },
    ],
  });
  const claim =
    'mutation { claimItems(input: { worker: "w", requests: [{ type: "failing", limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } } }';
  const [held] = (await data(server.url, claim)).claimItems.assignments;

  // Whoever cancels or releases passes by what is locked.
  const other = await db.connect();
  await other.query('begin');
  await other.query('select from jobtree.queue_entry where type = any ($1) for update', [
    ['behind', 'failing'],
  ]);
  const report =
    'mutation ($id: ID!) { reportOutcomes(input: { reports: [{ assignmentId: $id, outcome: { failure: { code: "E", message: "no", permanent: true } } }] }) { __typename } }';
  await data(server.url, report, { id: held.id });
  expect(await work(server.url, 'before', 1)).toBe(1);
  await anyRow(db, `select from jobtree.job where type = 'behind' and releasing`, []);
  await anyRow(
    db,
    `select from jobtree.job where type = 'failing' and cancelling and failed_at is not null`,
    [],
  );
  await server.end('SIGKILL');
  await other.query('rollback');
  await other.end();

  server = await startServerProcess(db.url, { JOBTREE_LOG_LEVEL: 'warn' });
  await anyRow(db, `select where not exists (select from jobtree.job where releasing or cancelling)`, []);
  expect(await work(server.url, 'behind', 1_000)).toBe(1_000);
  const query =
    'subscription ($id: ID!) { jobTreeProgress(rootId: $id) { outcome jobs { outcome succeeded failed cancelled } } }';
  const events = await collect(subscribe(server.url, query, { id: root }));
  expect(events.at(-1).data.jobTreeProgress.outcome).toBe('FAILED');
  const progress =
    '{ jobs(filter: { types: "failing", rootsOnly: false }) { nodes { progress { outcome succeeded failed cancelled } } } }';
  expect((await data(server.url, progress)).jobs.nodes).toEqual([
    { progress: { outcome: 'FAILED', succeeded: 0, failed: 1, cancelled: 499 } },
  ]);
});
