/**
 * Three Postgres of which one is the primary, under Patroni: it dies, loses its host or its network, or hands over, while two servers are worked and
 * watched. Each time another one follows, with everything that was acknowledged, and nobody has to do anything. FAILOVERS has each fault happen
 * more often, FAILOVER_HOSTS=1 gives the servers all hosts in place of a proxy, FAILOVER_REDIS=0 gives them no Redis, and with
 * FAILOVER_ASYNCHRONOUS=1 Postgres acknowledges what no standby has yet, some of which may then be lost.
 */
import { execFile } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, createClient, Worker } from '../../src/client/index.ts';
import { kinds, Watchers } from '../crash/live-watchers.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { cli, type ServerProcess, startServerProcess } from '../support/server.ts';
import { untilDone } from '../support/until-done.ts';
import { PatroniCluster } from './patroni.ts';

const times = Number(process.env.FAILOVERS ?? 1);
const synchronous = process.env.FAILOVER_ASYNCHRONOUS !== '1';
const hasRedis = process.env.FAILOVER_REDIS !== '0';
const knowsHosts = process.env.FAILOVER_HOSTS === '1';
/** FAILOVER_ONLY picks those whose names have this in them. */
const only = process.env.FAILOVER_ONLY ?? '';
const treeCount = 8;
const batchSize = 10;
const watcherCount = 20;
const recoversWithinMs = 90_000;
/** After Postgres has noticed. */
const fullForMs = 10_000;

/** The longest time without one, since it was asked for. */
class Gaps {
  #last = performance.now();
  #longestMs = 0;
  count = 0;

  note(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#last);
    this.#last = now;
    this.count++;
  }

  take(): number {
    this.note();
    this.count--;
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return Math.round(longestMs);
  }
}

let cluster: PatroniCluster;
let redis: RedisServer;
const servers: ServerProcess[] = [];

const query = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> => {
  const client = new pg.Client({ connectionString: cluster.url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
};

const faults: [name: string, happen: () => Promise<void>][] = [
  [
    'Postgres of the primary killed',
    async () => {
      const primary = await cluster.leader();
      primary.killPostgres();
      await cluster.leader(primary);
    },
  ],
  [
    'a switchover',
    async () => {
      const primary = await cluster.leader();
      await cluster.switchOver();
      await cluster.leader(primary);
    },
  ],
  [
    'all processes of its host killed',
    async () => {
      const primary = await cluster.leader();
      await primary.kill();
      await cluster.leader(primary);
      primary.start();
    },
  ],
  [
    'its host cut off',
    async () => {
      const primary = await cluster.leader();
      primary.connect(false);
      await cluster.leader(primary);
      primary.connect(true);
    },
  ],
  [
    'the disk of a standby full',
    async () => {
      const standby = await cluster.standby();
      const said = standby.log().length;
      standby.fillDisk();
      while (!standby.log().slice(said).includes('No space left')) await delay(50);
      await delay(fullForMs);
      standby.freeDisk();
    },
  ],
];

describe('a primary that moves', () => {
  beforeAll(async () => {
    cluster = await PatroniCluster.start({ synchronous });
    const primary = await cluster.leader();
    const admin = new pg.Client({
      connectionString: `postgres://postgres:secret@${primary.address}:5432/postgres`,
    });
    await admin.connect();
    await admin.query('create database jobtree');
    await admin.end();
    redis = await startRedis();
    const url = knowsHosts ? cluster.urlOfAll : cluster.url;
    for (let i = 0; i < 2; i++)
      servers.push(await startServerProcess(url, hasRedis ? { REDIS_URL: redis.url } : {}));
  }, 120_000);
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.end('SIGKILL')));
    await redis?.stop();
    await cluster?.stop();
  });

  it('the doctor says whether a failover may lose anything', async () => {
    const env = { ...process.env, DATABASE_URL: cluster.url };
    const answer = await promisify(execFile)(process.execPath, [cli, 'doctor'], { env }).catch(
      (error) => error,
    );
    expect(answer.stdout).toContain(
      synchronous ? 'a failover loses nothing' : 'a failover may lose what was acknowledged',
    );
  });

  it(
    'nothing that was acknowledged is lost or counted twice, and everybody goes on',
    async () => {
      const clients = servers.map(({ url }) => createClient({ url, retryMs: 500, timeoutMs: 5_000 }));
      const watchers = new Watchers();
      const added = new Gaps();
      const claimed = new Gaps();
      let calls = 0;
      const insist = <T>(call: (client: Client) => Promise<T>) =>
        untilDone(() => call(clients[calls++ % clients.length] as Client), watchers.problems);
      const settings = { heartbeatIntervalMs: 5_000, backoffMs: [0], maxFailuresPerItem: 100 };
      const roots: string[] = [];
      for (let i = 0; i < treeCount; i++)
        roots.push(
          (await insist((client) => client.createJob({ type: 'work', dedupeKey: `${i}`, ...settings }))).id,
        );
      const workers = servers.map(
        ({ url }) =>
          new Worker({
            url,
            types: {
              work: {
                concurrency: 20,
                handler: async () => {
                  claimed.note();
                  await delay(20);
                  return null;
                },
              },
            },
          }),
      );
      await Promise.all(workers.map((worker) => worker.start()));
      for (let i = 0; i < watcherCount; i++)
        watchers.watch({
          kind: kinds[i % kinds.length] as (typeof kinds)[number],
          roams: false,
          url: (servers[i % 2] as ServerProcess).url,
          jobId: roots[i % treeCount] as string,
        });

      const over = new AbortController();
      setMaxListeners(treeCount, over.signal);
      const acknowledged = roots.map(() => 0);
      let lately: string[] = [];
      const producing = roots.map(async (root, i) => {
        while (!over.signal.aborted) {
          const keys = Array.from({ length: batchSize }, (_, j) => `${i}-${(acknowledged[i] ?? 0) + j}`);
          await insist((client) =>
            client.addItems(
              root,
              keys.map((dedupeKey) => ({ payload: dedupeKey, dedupeKey })),
            ),
          );
          added.note();
          acknowledged[i] = (acknowledged[i] ?? 0) + batchSize;
          lately.push(...keys);
          await delay(100 * (0.5 + Math.random()), undefined, { signal: over.signal }).catch(() => undefined);
        }
        await insist((client) => client.sealJob(root));
      });

      const figures: Record<string, Record<string, number>> = {};
      let lost = 0;
      for (const [name, happen] of faults.filter(([name]) => name.includes(only)))
        for (let i = 0; i < times; i++) {
          await delay(1_000);
          added.take();
          claimed.take();
          for (const watcher of watchers.all) watcher.silentMs = 0;
          await happen();
          await cluster.untilWhole();
          const since = performance.now();
          const [adds, claims] = [added.count, claimed.count];
          const isMoving = () =>
            added.count > adds + treeCount &&
            claimed.count > claims &&
            watchers.all.every(({ shownAt }) => shownAt > since);
          while (!isMoving() && performance.now() - since < recoversWithinMs) await delay(20);
          if (!isMoving()) watchers.problems.push(`no progress after: ${name}`);
          const keys = lately;
          lately = [];
          const [{ found } = { found: 0 }] = await query<{ found: number }>(
            `select count(*)::int as found from jobtree.job_item where dedupe_key = any($1)`,
            [keys],
          );
          const figure = {
            times: 1,
            addMs: added.take(),
            claimMs: claimed.take(),
            watchMs: Math.round(Math.max(...watchers.all.map(({ silentMs }) => silentMs))),
            lost: keys.length - found,
          };
          lost += figure.lost;
          figures[name] = worse(figures[name], figure);
          console.log(name, JSON.stringify(figure));
        }
      over.abort();
      await Promise.all(producing);
      const ends = await Promise.all(watchers.all.map(({ ended }) => ended));
      console.log('of each fault the longest pauses in ms, and all acknowledged items that were lost:');
      console.table(figures);

      const counts = await query<{ items: number; different: number; succeeded: number; outcomes: number }>(
        `select p.item_count::int as items, p.succeeded::int,
           (select count(distinct dedupe_key)::int from jobtree.job_item i where i.job_id = j.id) as different,
           (select count(*)::int from jobtree.outcome o where o.job_id = j.id and not o.failed) as outcomes
         from jobtree.job j join jobtree.job_progress p on p.job_id = j.id
         where p.version = (select max(version) from jobtree.job_progress where job_id = j.id)`,
      );
      for (const { items, different, succeeded, outcomes } of counts)
        expect([different, succeeded, outcomes]).toEqual([items, items, items]);
      expect(counts.reduce((sum, { items }) => sum + items, 0)).toBe(
        acknowledged.reduce((sum, count) => sum + count, 0) - lost,
      );
      expect(ends).toHaveLength(watcherCount);
      if (synchronous) expect([lost, watchers.problems]).toEqual([0, []]);
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all([...clients, watchers].map((each) => each.close()));
    },
    (times * faults.length * 120 + 120) * 1_000,
  );
});

function worse(before: Record<string, number> = {}, now: Record<string, number>): Record<string, number> {
  const sums = ['times', 'lost'];
  return Object.fromEntries(
    Object.entries(now).map(([name, value]) => {
      const other = before[name] ?? 0;
      return [name, sums.includes(name) ? other + value : Math.max(other, value)];
    }),
  );
}
