/** Postgres restarts, or ends a session, under calls of the client: they go on within their patience, or say exactly what is known. */
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Client, createClient, type JobtreeError, Worker, watchJob } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { lastOf, request } from '../support/api.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

/** With OUTAGE_MS=60000, whatever gives up after a while does so. */
const outageMs = Number(process.env.OUTAGE_MS ?? 1_000);

const database = useDatabase();
/** Between the server and its Postgres. */
let postgres: TcpProxy;
let server: App;
let client: Client;
beforeAll(async () => {
  postgres = await startProxy(database.url);
  server = await startServer(postgres.url);
  client = createClient({ url: server.url, retryMs: 30_000 + outageMs });
});
afterEach(() => postgres.mend());
afterAll(async () => {
  await client?.close();
  await server?.close();
  await postgres?.close();
});

const codeOfAnswer = async () => {
  const { errors } = await request(
    server.url,
    'mutation { sealJob(input: { jobId: "Job:01890000-0000-7000-8000-000000000000" }) { __typename } }',
  );
  return errors?.[0]?.extensions?.code;
};

/** Postgres goes away; once the server has said so, and then for a while, what is done meanwhile is under way. */
async function whileAway<T>(run: () => Promise<T>): Promise<T> {
  postgres.cut();
  await expect.poll(codeOfAnswer).toBe('UNAVAILABLE');
  const running = run();
  running.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, outageMs));
  expect(await codeOfAnswer()).toBe('UNAVAILABLE');
  postgres.mend();
  return running;
}

/** Runs a call that waits for the lock of the job or of its row, does this to it, and lets the job go. */
async function whileLocked<T>(jobId: string, run: () => Promise<T>, disturb: () => unknown): Promise<T> {
  const session = await database.connect();
  onTestFinished(() => session.end());
  await session.query('begin');
  await session.query(`select from jobtree.job where id = $1 for update`, [jobId.slice('Job:'.length)]);
  await session.query(`select jobtree.exclude_adders(array[$1::uuid])`, [jobId.slice('Job:'.length)]);
  const running = run();
  running.catch(() => {});
  await expect.poll(() => database.query(`select from pg_stat_activity where ${waits}`)).toHaveLength(1);
  await disturb();
  await session.query('rollback');
  return running;
}
const waits = `datname = current_database() and wait_event_type = 'Lock' and application_name = 'jobtree'`;
const endSession = () =>
  database.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${waits}`);

const keyed = [{ dedupeKey: 'a' }, { dedupeKey: 'b' }];

it('calls that are safe to repeat survive an outage of Postgres', {
  timeout: 120_000 + 2 * outageMs,
}, async () => {
  const { id } = await client.createJob({ type: 'outage' });
  const [added, sealed, created, read] = await whileAway(() =>
    Promise.all([
      client.addItems(id, keyed),
      client.createJob({ type: 'outage', dedupeKey: 'sealed' }).then((job) => client.sealJob(job.id)),
      // Without a key: Postgres has not been asked, so it can be repeated.
      client.createJob({ type: 'outage' }),
      client.jobs({ first: 1 }),
    ]),
  );
  expect(added).toMatchObject({ added: 2, duplicates: 0 });
  expect(sealed).toMatchObject({ sealed: true });
  expect(created).toMatchObject({ created: true });
  expect(read.nodes).toHaveLength(1);
});

it('a call whose session Postgres ends is repeated, since nothing was done', async () => {
  const { id } = await client.createJob({ type: 'ended' });
  expect(await whileLocked(id, () => client.addItems(id, [{}, {}]), endSession)).toMatchObject({ added: 2 });
  expect(await whileLocked(id, () => client.sealJob(id), endSession)).toMatchObject({
    sealed: true,
    itemCount: 2,
  });
});

it('if the connection to Postgres is lost with the answer, safe calls are repeated and others say that the outcome is unknown', async () => {
  const { id } = await client.createJob({ type: 'lost' });
  const lose = () => {
    postgres.cut();
    postgres.mend();
  };
  expect(await whileLocked(id, () => client.addItems(id, keyed), lose)).toMatchObject({ invalid: 0 });
  const error: JobtreeError = await whileLocked(id, () => client.addItems(id, [{}, {}, {}]), lose).catch(
    (error) => error,
  );
  expect(error).toMatchObject({ code: 'UNREACHABLE', outcome: 'UNKNOWN' });
  expect(error.message).toMatch(
    /may have been carried out.* Whether items\[0\] to items\[2\] were added is not known\.$/s,
  );
  expect(await whileLocked(id, () => client.sealJob(id), lose)).toMatchObject({ sealed: true });
});

it('watches continue while Postgres is away, and new ones begin', {
  timeout: 120_000 + 2 * outageMs,
}, async () => {
  const { id } = await client.createJob({ type: 'watched', items: [{}], sealed: true });
  const old = client.watchJob(id);
  await old.next();
  const first = await whileAway(() =>
    Promise.all(
      [client.watchJob(id), watchJob(id, { url: server.url }), client.watchTree(id)].map(async (watch) => {
        const { value } = await watch.next();
        await watch.return();
        return value;
      }),
    ),
  );
  expect(first).toMatchObject([{ status: 'WAITING' }, { status: 'WAITING' }, { openJobs: 1 }]);
  await client.cancelJob(id);
  let last: unknown;
  for await (const progress of old) last = progress;
  expect(last).toMatchObject({ status: 'CANCELLED', cancelled: 1 });
});

it('a worker reports an outage of Postgres once', { timeout: 120_000 + 2 * outageMs }, async () => {
  const told: string[] = [];
  const worker = new Worker({
    url: server.url,
    types: { told: { concurrency: 4, handler: () => null } },
    pollIntervalMs: 100,
  });
  worker.on('disconnected', () => told.push('disconnected'));
  worker.on('error', (error) => told.push(`error: ${error}`));
  const connected = once(worker, 'connected');
  await worker.start();
  await connected;
  const { id } = await client.createJob({ type: 'told' });
  const { added } = await whileAway(() => client.addItems(id, keyed, { seal: true }));
  expect(added).toBe(2);
  expect(await lastOf(client.watchJob(id))).toMatchObject({ status: 'COMPLETED', succeeded: 2 });
  await worker.stop();
  expect(told).toEqual(['disconnected']);
});
