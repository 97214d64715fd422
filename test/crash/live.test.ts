/**
 * Three servers with one Redis and one Postgres, watched and worked, while one after the other fails: servers, the relay,
 * Redis, Postgres, the network. No subscriber ever sees progress go back, each is up to date again soon after the fault
 * has ended, and gets the exact final state. LIVE_SUBSCRIBERS, LIVE_TREES, LIVE_ROUNDS (of all
 * faults) and LIVE_FAULT_EVERY_MS make it larger.
 *
 * With LIVE_PACKET_FILTER=1 a packet filter cuts connections, too. It wants root, nft and ss, and a network of its own:
 * `unshare --net sh -c 'ip link set lo up && LIVE_PACKET_FILTER=1 npx vitest run test/crash/live.test.ts'`
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, JobtreeError, Worker } from '../../src/client/index.ts';
import { startEmbeddedPostgres } from '../../src/embedded/start.ts';
import { serverPid, sharedFolder } from '../embedded/support.ts';
import { stepsIn } from '../support/api.ts';
import { freePort } from '../support/ports.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';

const subscriberCount = Number(process.env.LIVE_SUBSCRIBERS ?? 60);
const treeCount = Number(process.env.LIVE_TREES ?? 12);
const rounds = Number(process.env.LIVE_ROUNDS ?? 1);
/** Subscribers of one client share its socket. */
const subscribersPerSocket = 10;
const faultEveryMs = Number(process.env.LIVE_FAULT_EVERY_MS ?? 500);
/** From the end of a fault until every subscriber knows what was so at its end. */
const catchUpWithinMs = Number(process.env.LIVE_CATCH_UP_MS ?? 15_000);
/** To each tree: some hundred items a second in all. */
const addEveryMs = Math.max(100, treeCount * 5);
const bridging = 'passing notifications on to Redis';

const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '200' };
const folder = sharedFolder();
let postgres: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let redis: RedisServer;

/** A server, with a network of its own to Postgres and Redis. */
interface Node {
  readonly port: string;
  readonly url: string;
  readonly toPostgres: TcpProxy;
  readonly toRedis: TcpProxy;
  process: ServerProcess;
}
const nodes: Node[] = [];
const allProxies = () => nodes.flatMap(({ toPostgres, toRedis }) => [toPostgres, toRedis]);

async function startNode(node: Omit<Node, 'process'>): Promise<ServerProcess> {
  return startServerProcess(node.toPostgres.url, {
    REDIS_URL: node.toRedis.url,
    JOBTREE_PORT: node.port,
    JOBTREE_LOG_LEVEL: 'info',
    JOBTREE_SHUTDOWN_TIMEOUT_MS: '1000',
  });
}

async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** What is known of a tree: the sum over its jobs, as the server counts them. */
async function revisions(): Promise<Map<string, number>> {
  const rows = await query<{ root_id: string; revision: number }>(
    `select j.root_id, sum(p.item_count + p.succeeded + p.failed + p.cancelled + (j.sealed_at is not null)::int
       + (p.started_at is not null)::int + (p.completed_at is not null)::int)::int as revision
     from jobtree.job_progress p join jobtree.job j on j.id = p.job_id group by j.root_id`,
  );
  return new Map(rows.map((row) => [`Job:${row.root_id}`, row.revision]));
}

describe.skipIf(inject('redisUrl') === undefined)('with everything failing in turn', () => {
  beforeAll(async () => {
    postgres = await startEmbeddedPostgres({ dataDirectory: folder, settings });
    redis = await startRedis();
    for (let i = 0; i < 3; i++) {
      const port = String(await freePort());
      const parts = {
        port,
        url: `http://127.0.0.1:${port}/graphql`,
        toPostgres: await startProxy(postgres.url),
        toRedis: await startProxy(redis.url),
      };
      nodes.push({ ...parts, process: await startNode(parts) });
    }
  }, 60_000);
  afterAll(async () => {
    await Promise.all(nodes.map(({ process }) => process.end('SIGKILL')));
    await Promise.all(allProxies().map((proxy) => proxy.close()));
    await redis.stop();
    await postgres.stop();
  });

  const restart = async (node: Node, signal: NodeJS.Signals) => {
    await node.process.end(signal);
    await delay(500);
    node.process = await startNode(node);
  };
  const someNode = () => nodes[Math.floor(Math.random() * nodes.length)] as Node;
  /** One that has the role of the relay, as far as its log tells. */
  const relay = () => nodes.find(({ process }) => process.output().includes(bridging)) ?? someNode();

  /** LIVE_ONLY picks those whose names have this in them. */
  const only = process.env.LIVE_ONLY ?? '';
  const allFaults: [string, () => Promise<void>][] = [
    ['a server killed', () => restart(someNode(), 'SIGKILL')],
    ['a server shut down and started again', () => restart(someNode(), 'SIGTERM')],
    ['the relay killed', () => restart(relay(), 'SIGKILL')],
    [
      'the relay stopped for 4 s',
      async () => {
        const { process } = relay().process;
        process.kill('SIGSTOP');
        await delay(4_000);
        process.kill('SIGCONT');
      },
    ],
    [
      'Redis paused for 3 s',
      async () => {
        await redis.command('CLIENT', 'PAUSE', 3_000, 'ALL');
        await delay(3_000);
      },
    ],
    ['Redis flushed', async () => void (await redis.command('FLUSHALL'))],
    [
      'Redis killed and started again',
      async () => {
        await redis.kill();
        await delay(1_000);
        await redis.restart();
      },
    ],
    [
      'Postgres restarted without a shutdown',
      async () => {
        const before = serverPid(folder);
        process.kill(before, 'SIGQUIT');
        for (const { toPostgres } of nodes) toPostgres.cut();
        while (isRunning(before)) await delay(20);
        postgres = await startEmbeddedPostgres({ dataDirectory: folder, settings });
        for (const { toPostgres } of nodes) toPostgres.mend(postgres.url);
      },
    ],
    [
      'a server cut off from Postgres and Redis, without a reset, for 4 s',
      async () => {
        const { toPostgres, toRedis } = someNode();
        toPostgres.freeze();
        toRedis.freeze();
        await delay(4_000);
        toPostgres.mend();
        toRedis.mend();
      },
    ],
  ];
  if (process.env.LIVE_PACKET_FILTER === '1') {
    allFaults.push([
      'the connections of a server to Postgres and Redis cut by a packet filter',
      async () => {
        const { toPostgres, toRedis } = someNode();
        dropPackets([toPostgres.url, toRedis.url].map((url) => new URL(url).port));
      },
    ]);
  }
  const faults = allFaults.filter(([name]) => name.includes(only));

  it(
    `${subscriberCount} subscribers of ${treeCount} trees see all of it`,
    async () => {
      const clients = nodes.map(({ url }) => createClient({ url }));
      const clientOf = (i: number) => clients[i % clients.length] as (typeof clients)[number];
      const roots: string[] = [];
      for (let i = 0; i < treeCount; i++) {
        const { id } = await insist(() =>
          clientOf(i).createJob({
            type: 'stage-1',
            heartbeatIntervalMs: 1_000,
            backoffMs: [0],
            maxFailuresPerItem: 100,
            children: [
              {
                type: 'stage-2',
                feed: {},
                heartbeatIntervalMs: 1_000,
                backoffMs: [0],
                maxFailuresPerItem: 100,
              },
            ],
          }),
        );
        roots.push(id);
      }

      const workers = nodes.map(({ url }) => {
        const handler = async () => null;
        return new Worker({
          url,
          types: { 'stage-1': { concurrency: 20, handler }, 'stage-2': { concurrency: 20, handler } },
        });
      });
      await Promise.all(workers.map((worker) => worker.start()));

      const known = Array.from({ length: subscriberCount }, () => 0);
      const problems: string[] = [];
      const watchers: ReturnType<typeof createClient>[] = [];
      const watching = known.map(async (_, i) => {
        if (i % subscribersPerSocket === 0)
          watchers.push(createClient({ url: (nodes[watchers.length % 3] as Node).url }));
        const client = watchers.at(-1) as (typeof watchers)[number];
        let last: any;
        for await (const tree of client.watchTree(roots[i % treeCount] as string)) {
          const sum = tree.jobs.reduce((total, job) => total + stepsIn(job.revision), 0);
          if (sum < (known[i] ?? 0)) problems.push(`subscriber ${i} went back from ${known[i]} to ${sum}`);
          for (const job of tree.jobs) {
            const before = last?.jobs.find(({ jobId }: { jobId: string }) => jobId === job.jobId);
            if (before !== undefined && before.revision > job.revision)
              problems.push(`subscriber ${i}: a job went back`);
          }
          known[i] = sum;
          last = tree;
        }
        return last;
      });

      const over = new AbortController();
      const added = roots.map(() => 0);
      const producing = roots.map(async (root, i) => {
        while (!over.signal.aborted) {
          const dedupeKey = String(added[i]);
          await insist(() => clientOf(i).addItems(root, [{ payload: added[i], dedupeKey }]));
          added[i] = (added[i] ?? 0) + 1;
          await delay(addEveryMs * (0.5 + Math.random()), undefined, { signal: over.signal }).catch(
            () => undefined,
          );
        }
        await insist(() => clientOf(i).sealJob(root));
      });

      const longest = new Map<string, number>();
      for (let round = 0; round < rounds; round++) {
        for (const [name, happen] of faults) {
          await delay(faultEveryMs);
          await happen();
          const endedAt = performance.now();
          const should = await revisions();
          const isBehind = (value: number, i: number) =>
            value < (should.get(roots[i % treeCount] as string) ?? 0);
          while (known.some(isBehind) && performance.now() - endedAt < catchUpWithinMs) await delay(10);
          const tookMs = Math.round(performance.now() - endedAt);
          const behind = known.filter(isBehind).length;
          if (behind > 0) problems.push(`${behind} subscribers behind ${tookMs} ms after: ${name}`);
          longest.set(name, Math.max(longest.get(name) ?? 0, tookMs));
        }
      }
      over.abort();
      await Promise.all(producing);
      const ends = await Promise.all(watching);
      console.log('up to date again after, ms:', Object.fromEntries(longest));

      const counts = await query<{ root_id: string; item_count: number; succeeded: number }>(
        `select j.root_id, sum(p.item_count)::int as item_count, sum(p.succeeded)::int as succeeded
         from jobtree.job_progress p join jobtree.job j on j.id = p.job_id group by j.root_id`,
      );
      for (const [i, root] of roots.entries()) {
        const items = 2 * (added[i] ?? 0);
        expect(counts).toContainEqual({
          root_id: root.replace('Job:', ''),
          item_count: items,
          succeeded: items,
        });
      }
      for (const [i, end] of ends.entries()) {
        const items = added[i % treeCount];
        expect(end.complete).toBe(true);
        expect(end.jobs.map(({ status, succeeded }: any) => [status, succeeded])).toEqual([
          ['COMPLETED', items],
          ['COMPLETED', items],
        ]);
      }
      expect(problems).toEqual([]);
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all([...clients, ...watchers].map((client) => client.close()));
    },
    (rounds * faults.length * 20 + 120) * 1_000,
  );
});

/** Until it is done: each of these calls may be repeated. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (
        !(error instanceof JobtreeError) ||
        !['UNREACHABLE', 'BAD_RESPONSE', 'INTERNAL', 'BUSY'].includes(error.code)
      )
        throw error;
      await delay(100);
    }
  }
}

/** Of every connection that leads to one of these ports now. New ones are not concerned. */
function dropPackets(ports: readonly string[]): void {
  const rules = [
    'add table inet jobtree',
    'add chain inet jobtree cut { type filter hook output priority 0; }',
  ];
  for (const line of execFileSync('ss', ['-tnH', 'state', 'established'], { encoding: 'utf8' }).split('\n')) {
    const [, , from = '', to = ''] = line.trim().split(/\s+/);
    const [sport, dport] = [from, to].map((address) => address.split(':').at(-1) ?? '');
    if (!ports.includes(sport ?? '') && !ports.includes(dport ?? '')) continue;
    rules.push(`add rule inet jobtree cut tcp sport ${sport} tcp dport ${dport} drop`);
  }
  execFileSync('nft', ['-f', '-'], { input: `${rules.join('\n')}\n` });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
