/**
 * Clients that come, subscribe and go, over and over (LEAK_CYCLES, 200 by default): afterwards the server holds what it held
 * before. Half of them leave politely, half are cut off.
 */
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import { beforeAll, expect, inject, it } from 'vitest';
import { WebSocket } from 'ws';
import { createJob } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';

const cycles = Number(process.env.LEAK_CYCLES ?? 120);
const atOnce = 20;

const redisUrl = inject('redisUrl');
const prefix = 'jobtree-leaks';

const { db, app } = useServer(
  redisUrl === undefined ? {} : { REDIS_URL: redisUrl, JOBTREE_REDIS_PREFIX: prefix },
);
beforeAll(async () => {
  if (redisUrl !== undefined) {
    await eventually(async () => expect(await readiness()).toContain('redis'));
  }
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function connectSubscribeLeave(query: string, politely: boolean): Promise<void> {
  const socket = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws');
  await once(socket, 'open');
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message');
  socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query } }));
  const [event] = await once(socket, 'message');
  expect(JSON.parse(String(event))).toMatchObject({ type: 'next', payload: { data: expect.anything() } });
  if (politely) socket.send('{"type":"complete","id":"1"}');
  else socket.terminate();
  socket.close();
  await once(socket, 'close');
}

/** What is left of a batch of clients: sockets, timers and the like of this process, and connections to Postgres. */
async function holdings(): Promise<{ sockets: number; timeouts: number; connections: number }> {
  const counts: Record<string, number> = {};
  for (const resource of process.getActiveResourcesInfo()) counts[resource] = (counts[resource] ?? 0) + 1;
  const [row] = await db.query<{ connections: number }>(
    `select count(*)::int as connections from pg_stat_activity where datname = current_database() and application_name like 'jobtree%'`,
  );
  return {
    sockets: counts.TCPSocketWrap ?? 0,
    timeouts: counts.Timeout ?? 0,
    connections: row?.connections ?? 0,
  };
}

const readiness = async () => (await fetch(new URL('/readyz', app.url))).text();

/** The trees that the server listens for. */
async function treeChannels(): Promise<number> {
  if (redisUrl === undefined) return 0;
  const redis = new Redis(redisUrl);
  try {
    return ((await redis.call('PUBSUB', 'CHANNELS', `${prefix}:tree:*`)) as string[]).length;
  } finally {
    redis.disconnect();
  }
}

it(`${cycles} clients that connect and leave leave nothing behind`, async () => {
  const id = await createJob(app.url, { type: 'leaks', items: [{}] });
  const queries = [
    `subscription { jobProgress(jobId: "${id}") { revision } }`,
    `subscription { jobTreeProgress(rootId: "${id}") { revision } }`,
    `subscription { jobItems(jobId: "${id}") { goneIds } }`,
    'subscription { jobs { goneIds } }',
    'subscription { queues { ready } }',
    'subscription { workAvailable(types: ["leaks"]) { types } }',
  ];
  const run = async (count: number) => {
    for (let i = 0; i < count; i += atOnce) {
      const batch = Array.from({ length: Math.min(atOnce, count - i) }, (_, j) => i + j);
      await Promise.all(
        batch.map((n) => connectSubscribeLeave(queries[n % queries.length] as string, n % 4 < 2)),
      );
    }
  };
  await run(60);
  if (redisUrl !== undefined) expect(await treeChannels()).toBe(1);
  const before = await holdings();
  collectGarbage();
  const heapBefore = process.memoryUsage().heapUsed;
  await run(cycles);
  await eventually(async () => {
    const after = await holdings();
    expect(after.sockets).toBeLessThanOrEqual(before.sockets);
    expect(after.timeouts).toBeLessThanOrEqual(before.timeouts + 2);
    expect(after.connections).toBeLessThanOrEqual(before.connections + 5);
  });
  // Trees that nobody watches are kept for a while, for those who come back.
  await eventually(async () => expect(await treeChannels()).toBe(0));
  collectGarbage();
  const grownKiB = (process.memoryUsage().heapUsed - heapBefore) / 1024;
  if (process.env.LEAK_CYCLES !== undefined)
    console.log({ before, after: await holdings(), channels: await treeChannels(), grownKiB });
  // One kilobyte for each client would be a leak; what is compiled and cached meanwhile is not.
  expect(grownKiB).toBeLessThan(4_000 + cycles);
}, 600_000);
