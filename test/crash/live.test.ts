/**
 * Three servers with one Redis and one Postgres, watched and worked, while one after the other fails: servers, the relay,
 * Redis, Postgres, the network. No subscriber ever sees progress go back, each is up to date again soon after the fault
 * has ended, and gets the exact final state. Half of them change their server every second. LIVE_SUBSCRIBERS, LIVE_TREES,
 * LIVE_ROUNDS (of all faults) and LIVE_FAULT_EVERY_MS make it larger. The long form has servers of several processes, and more faults:
 *
 *     LIVE_PROCESSES=2 npx vitest run test/crash/live.test.ts
 *
 * With LIVE_PACKET_FILTER=1 a packet filter cuts connections, too. It wants root, nft and ss, and a network of its own:
 * `unshare --net sh -c 'ip link set lo up && LIVE_PACKET_FILTER=1 npx vitest run test/crash/live.test.ts'`
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { type Client, createClient, Worker } from '../../src/client/index.ts';
import { sharedFolder } from '../embedded/support.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { untilDone } from '../support/until-done.ts';
import { Fleet } from './live-fleet.ts';
import { kinds, type Watcher, Watchers } from './live-watchers.ts';

const processes = Number(process.env.LIVE_PROCESSES ?? 1);
const subscriberCount = Number(process.env.LIVE_SUBSCRIBERS ?? 36);
const treeCount = Number(process.env.LIVE_TREES ?? 12);
const rounds = Number(process.env.LIVE_ROUNDS ?? 1);
const faultEveryMs = Number(process.env.LIVE_FAULT_EVERY_MS ?? 500);
/** From the end of a fault until every subscriber knows what was so at its end, and has heard something since. */
const catchUpWithinMs = Number(process.env.LIVE_CATCH_UP_MS ?? 30_000);
/** To each tree: some hundred items a second in all. */
const addEveryMs = Math.max(100, treeCount * 5);
const roamEveryMs = 1_000;
const roamWithinMs = 5_000;

const fleet = new Fleet({ folder: sharedFolder(), processes });
/** Before the servers: each leads to another one every second. */
const roaming: TcpProxy[] = [];

interface Known {
  id: string;
  root_id: string;
  steps: number;
  item_count: number;
  succeeded: number;
}

/** What the server counts of each job, parents first. */
const readJobs = () =>
  fleet.query<Known>(
    `select 'Job:' || j.id as id, 'Job:' || j.root_id as root_id, p.item_count::int, p.succeeded::int,
       (p.item_count + p.succeeded + p.failed + p.cancelled + (j.sealed_at is not null)::int
         + (p.started_at is not null)::int + (p.completed_at is not null)::int)::int as steps
     from jobtree.job_progress p join jobtree.job j on j.id = p.job_id
     where p.version = (select max(version) from jobtree.job_progress where job_id = j.id) order by j.depth`,
  );

/** Whether the watcher knows less than that. */
function isBehind({ kind, jobId, known }: Watcher, jobs: readonly Known[]): boolean {
  const watched = jobs.filter(({ id, root_id }) => (kind === 'tree' ? root_id : id) === jobId);
  return known < watched.reduce((sum, { steps }) => sum + steps, 0);
}

describe.skipIf(inject('redisUrl') === undefined)('while everything fails in turn', () => {
  beforeAll(async () => {
    await fleet.start();
    for (const { url } of fleet.nodes) roaming.push(await startProxy(url));
  });
  afterAll(async () => {
    await Promise.all(roaming.map((proxy) => proxy.close()));
    await fleet.stop();
  });

  /** LIVE_ONLY picks those whose names have this in them. */
  const only = process.env.LIVE_ONLY ?? '';
  const faults = fleet
    .faults({ long: processes > 1, packetFilter: process.env.LIVE_PACKET_FILTER === '1' })
    .filter(([name]) => name.includes(only));

  it(
    `${subscriberCount} subscribers of ${treeCount} trees see every final state`,
    async () => {
      const clients = fleet.nodes.map(({ url }) => createClient({ url, retryMs: 500, timeoutMs: 2_000 }));
      const watchers = new Watchers();
      const { problems } = watchers;
      let calls = 0;
      /** By one server or another: each of these calls may be repeated. */
      const insist = <T>(call: (client: Client) => Promise<T>) =>
        untilDone(() => call(clients[calls++ % clients.length] as Client), problems);
      const roots: string[] = [];
      const settings = { heartbeatIntervalMs: 2_000, backoffMs: [0], maxFailuresPerItem: 100 };
      const children = [{ type: 'stage-2', feed: {}, ...settings }];
      for (let i = 0; i < treeCount; i++)
        roots.push(
          (
            await insist((client) =>
              client.createJob({ type: 'stage-1', dedupeKey: String(i), children, ...settings }),
            )
          ).id,
        );

      const workers = fleet.nodes.map(({ url }) => {
        const handler = async () => null;
        return new Worker({
          url,
          types: { 'stage-1': { concurrency: 20, handler }, 'stage-2': { concurrency: 20, handler } },
        });
      });
      await Promise.all(workers.map((worker) => worker.start()));

      const jobs = await readJobs();
      for (let i = 0; i < subscriberCount; i++) {
        const kind = kinds[i % kinds.length] as (typeof kinds)[number];
        const turn = Math.floor(i / kinds.length);
        const roams = turn % 2 === 1;
        const { url } = (roams ? roaming : fleet.nodes)[turn % 3] as { url: string };
        const root = roots[i % treeCount] as string;
        const child = jobs.findLast(({ root_id }) => root_id === root) as Known;
        watchers.watch({ kind, roams, url, jobId: kind === 'tree' || turn % 4 < 2 ? root : child.id });
      }
      const roams = roaming.map((proxy, i) => ({ proxy, node: i, since: performance.now() }));
      const roam = setInterval(() => {
        for (const each of roams) {
          const { url } = each.proxy;
          const told = watchers.all.every((watcher) => watcher.url !== url || watcher.shownAt > each.since);
          // On a busy machine a second is not enough for a new connection: then nobody would hear anything.
          if (!told && performance.now() - each.since < roamWithinMs && fleet.isUp(each.node)) continue;
          do each.node = (each.node + 1) % 3;
          while (!fleet.isUp(each.node));
          each.since = performance.now();
          each.proxy.cut();
          each.proxy.mend(fleet.nodes[each.node]?.url);
        }
      }, roamEveryMs);
      onTestFinished(() => clearInterval(roam));

      const over = new AbortController();
      setMaxListeners(treeCount, over.signal);
      const added = roots.map(() => 0);
      const producing = roots.map(async (root, i) => {
        while (!over.signal.aborted) {
          const dedupeKey = String(added[i]);
          await insist((client) => client.addItems(root, [{ payload: added[i], dedupeKey }]));
          added[i] = (added[i] ?? 0) + 1;
          await delay(addEveryMs * (0.5 + Math.random()), undefined, { signal: over.signal }).catch(
            () => undefined,
          );
        }
        await insist((client) => client.sealJob(root));
      });

      const figures = new Map<string, Figures>();
      for (let round = 0; round < rounds; round++) {
        for (const [name, happen] of faults) {
          await delay(faultEveryMs);
          const beganAt = performance.now();
          for (const watcher of watchers.all) Object.assign(watcher, { silentMs: 0, shownAt: beganAt });
          await happen();
          const endedAt = performance.now();
          const should = await readJobs();
          const isLate = (watcher: Watcher) => watcher.shownAt < endedAt || isBehind(watcher, should);
          while (watchers.all.some(isLate) && performance.now() - endedAt < catchUpWithinMs) await delay(10);
          const late = watchers.all
            .filter(isLate)
            .map(({ kind, roams }) => `${kind}${roams ? ', roaming' : ''}`);
          const figure = {
            faultMs: Math.round(endedAt - beganAt),
            upToDateMs: Math.round(performance.now() - endedAt),
            staying: longestSilence(watchers.all.filter(({ roams }) => !roams)),
            roaming: longestSilence(watchers.all.filter(({ roams }) => roams)),
          };
          if (late.length > 0)
            problems.push(`late ${figure.upToDateMs} ms after: ${name} (${late.join('; ')})`);
          figures.set(name, worst(figures.get(name), figure));
        }
      }
      over.abort();
      await Promise.all(producing);
      const ends = await Promise.all(watchers.all.map(({ ended }) => ended));
      console.log(
        'after each fault, in ms (how long it took, until all were up to date, and the longest silence):',
      );
      console.table(Object.fromEntries(figures));

      const items = new Map(roots.map((root, i) => [root, added[i] ?? 0]));
      const counts = await readJobs();
      for (const { root_id, item_count, succeeded } of counts)
        expect([item_count, succeeded]).toEqual([items.get(root_id), items.get(root_id)]);
      const rootOf = new Map(counts.map(({ id, root_id }) => [id, root_id]));
      for (const [i, end] of ends.entries()) {
        const { kind, jobId } = watchers.all[i] as Watcher;
        const count = items.get(rootOf.get(jobId) ?? '');
        const final = { status: 'COMPLETED', itemCount: count, succeeded: count };
        if (kind === 'tree') expect(end).toMatchObject({ complete: true, openJobs: 0, jobs: [final, final] });
        else if (kind === 'job' || kind === 'plain') expect(end).toMatchObject(final);
        else expect(end).toEqual(['Job complete', 100]);
      }
      expect(problems).toEqual([]);
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all([...clients, watchers].map((each) => each.close()));
    },
    (rounds * faults.length * 40 + 120) * 1_000,
  );
});

interface Figures {
  faultMs: number;
  upToDateMs: number;
  /** The longest silence of a watcher who stays with its server, and of one who changes it. */
  staying: number;
  roaming: number;
}

const longestSilence = (watchers: readonly Watcher[]) =>
  Math.round(Math.max(0, ...watchers.map(({ silentMs }) => silentMs)));

function worst(before: Figures | undefined, now: Figures): Figures {
  if (before === undefined) return now;
  const of = (name: keyof Figures) => Math.max(before[name], now[name]);
  return {
    faultMs: of('faultMs'),
    upToDateMs: of('upToDateMs'),
    staying: of('staying'),
    roaming: of('roaming'),
  };
}
