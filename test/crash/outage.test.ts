/**
 * Postgres is away, or all servers are, for longer than a lease lives, while workers hold items and go on with their
 * heartbeats: nobody could hear them, so nothing is taken back. OUTAGE_ITEMS and OUTAGE_MS make it larger and longer.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { type Client, createClient, JobtreeError } from '../../src/client/index.ts';
import { expectGone, serverPid, start, temporaryFolder } from '../embedded/support.ts';
import { freePort } from '../support/ports.ts';
import { startProxy } from '../support/proxy.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';

const itemCount = Number(process.env.OUTAGE_ITEMS ?? 1_000);
/** More than three heartbeat intervals. */
const outageMs = Number(process.env.OUTAGE_MS ?? 3_500);
const heartbeatIntervalMs = 1_000;
const clientCount = 4;
/** Of a worker that does not come back. */
const silentCount = 50;

const settings = { JOBTREE_LOG_LEVEL: 'warn', JOBTREE_SWEEP_INTERVAL_MS: '100' };

/** A worker of somebody's own: heartbeats at its interval, whatever becomes of them, by whichever server answers. */
function keepBeating(clients: readonly Client[], ids: readonly string[]) {
  let turn = 0;
  const over = new AbortController();
  const statuses = new Set<string>();
  const errors = new Set<string>();
  let answered = () => {};
  const loop = (async () => {
    while (!over.signal.aborted) {
      for (let from = 0; from < ids.length; from += 1_000) {
        try {
          const client = clients[turn % clients.length] as Client;
          for (const { status } of await client.heartbeat(ids.slice(from, from + 1_000)))
            statuses.add(status);
          answered();
        } catch (error) {
          if (!(error instanceof JobtreeError)) throw error;
          errors.add(error.code);
          turn++;
          if (turn % clients.length > 0) from -= 1_000;
        }
      }
      await delay(heartbeatIntervalMs * 0.8, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  return {
    ids,
    statuses,
    errors,
    nextAnswer: () =>
      new Promise<void>((resolve) => {
        answered = resolve;
      }),
    stop: async () => {
      over.abort();
      await loop;
    },
  };
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Items held by workers that go on beating, and by one that will not; gives what to do after the outage. */
async function holdItems(urls: readonly string[]) {
  // A call that fails is not tried again: the next heartbeat comes soon.
  const clients = Array.from({ length: clientCount }, (_, i) =>
    createClient({ url: urls[i % urls.length], retryMs: 0 }),
  );
  onTestFinished(async () => {
    await Promise.all(clients.map((client) => client.close()));
  });
  const [first] = clients as [Client];
  const { id } = await first.createJob({
    type: 'outage',
    heartbeatIntervalMs,
    backoffMs: [3_600_000],
  });
  const items = Array.from({ length: itemCount + silentCount }, (_, i) => ({ payload: i }));
  await first.addItems(id, items, { seal: true });
  const claim = async (client: Client, count: number) => {
    const ids: string[] = [];
    while (ids.length < count) {
      const limit = Math.min(1_000, count - ids.length);
      ids.push(...(await client.claimItems('w', [{ type: 'outage', limit }])).map((held) => held.id));
    }
    return ids;
  };
  const workers: ReturnType<typeof keepBeating>[] = [];
  for (const [i, client] of clients.entries()) {
    const share = Math.floor(((i + 1) * itemCount) / clientCount) - Math.floor((i * itemCount) / clientCount);
    workers.push(keepBeating([client, ...clients], await claim(client, share)));
  }
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
  });
  await claim(first, silentCount);

  /** To be called once everything is back. */
  const conclude = async (url: string) => {
    await Promise.all(workers.map((worker) => worker.nextAnswer()));
    // After the grace, and not before, the silent one is lost: so somebody has looked at all leases.
    await expect
      .poll(async () => (await query(url, 'select from jobtree.failure where lost')).length, {
        timeout: 30_000,
      })
      .toBe(silentCount);
    const [books] = await query<{ late: boolean }>(
      url,
      `select bool_and(f.at >= w.resumed_at + 3 * interval '${heartbeatIntervalMs} milliseconds') as late
       from jobtree.failure f, jobtree.watch w`,
    );
    expect(books).toEqual({ late: true });

    await Promise.all(workers.map((worker) => worker.nextAnswer()));
    const answers: string[] = [];
    for (const [i, worker] of workers.entries()) {
      await worker.stop();
      const reports = worker.ids.map((assignmentId) => ({ assignmentId, result: i }));
      for (let from = 0; from < reports.length; from += 1_000) {
        const answered = await (clients[i] as Client).reportOutcomes(reports.slice(from, from + 1_000));
        answers.push(...answered.map(({ status }) => status));
      }
    }
    expect(answers).toEqual(Array(itemCount).fill('ACCEPTED'));
    for (const { statuses, errors } of workers) {
      expect([...statuses]).toEqual(['HELD']);
      // They did go on while nobody heard them.
      expect(errors.size).toBeGreaterThan(0);
    }
    expect(await query(url, 'select distinct attempt from jobtree.lease')).toEqual([{ attempt: 1 }]);
    expect((await first.job(id)).progress).toMatchObject({ succeeded: itemCount, failed: 0 });
  };
  return { conclude };
}

it('an outage of Postgres longer than a lease loses nothing of workers that keep sending heartbeats', {
  timeout: 120_000,
}, async () => {
  const folder = temporaryFolder();
  const postgres = await start(folder);
  // The address stays, though the embedded Postgres takes a new port.
  const proxy = await startProxy(postgres.url);
  onTestFinished(() => proxy.close());
  const server = await startServerProcess(proxy.url, settings);
  onTestFinished(() => void server.end('SIGKILL'));
  const { conclude } = await holdItems([server.url]);

  const postmaster = serverPid(folder);
  process.kill(postmaster, 'SIGKILL');
  proxy.cut();
  await expectGone(postmaster);
  await delay(outageMs);
  const again = await start(folder);
  proxy.mend(again.url);
  await conclude(again.url);
});

it('an outage of all servers longer than a lease loses nothing of workers that keep sending heartbeats', {
  timeout: 120_000,
}, async () => {
  const postgres = await start(temporaryFolder());
  const ports = [String(await freePort()), String(await freePort())];
  const servers: ServerProcess[] = [];
  const startAll = async () => {
    const started = ports.map(async (port) => {
      servers.push(await startServerProcess(postgres.url, { ...settings, JOBTREE_PORT: port }));
    });
    await Promise.all(started);
  };
  onTestFinished(() => Promise.all(servers.map((server) => server.end('SIGKILL'))).then(() => {}));
  await startAll();
  const { conclude } = await holdItems(servers.map(({ url }) => url));

  await Promise.all(servers.splice(0).map((server) => server.end('SIGKILL')));
  await delay(outageMs);
  await startAll();
  await conclude(postgres.url);
});
