/** What inactive subscribers cost: those that have nothing to be told, and those that do not read what they are told. */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../../../dist/client/index.js';
import { type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { whole } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { createJobs, fillJobs, type Jobs } from '../jobtree.ts';
import { startReporter } from '../reporter.ts';
import type { Server } from '../server.ts';
import { cpuMs, memory, socketBuffers } from '../usage.ts';

const sizes = [1_000, 10_000];
const jobCount = 1_000;
const warmUp = 200;
/** In kB, for the largest number of subscribers: with fewer, the one-time needs of the server weigh more. */
const limit = 15;
/** A server that collects its garbage on request, so that what remains is in use. */
const collecting = ['--expose-gc', '--import', "data:text/javascript,process.on('SIGUSR2',()=>gc())"];
const collectionMs = 1_000;

const deaf = 1_000;
const treeJobs = 900;
const treeSeconds = 30;
const treePerSecond = 4_000;
const treeBatch = 200;
const windowSeconds = 5;
/** By this time all buffers are full, and memory may grow by no more than `flat`. */
const fullAfterSeconds = 15;
const flat = 1.1;

interface Idle {
  readonly subscribers: number;
  /** The server's memory for each subscriber, in kB. */
  readonly asIs: number;
  readonly collected: number;
  /** The server's CPU time for each subscriber, in microseconds. */
  readonly connectCpu: number;
  readonly subscribeCpu: number;
  /** How long it takes until all subscribers, which subscribe at once, have their first event. */
  readonly subscribeMs: number;
}

interface Deaf {
  readonly subscribers: number;
  /** The server's memory over time, in MB. */
  readonly course: readonly { readonly second: number; readonly mb: number; readonly unreadMb: number }[];
  readonly growth: number;
}

export async function measureIdle(bench: Bench): Promise<Report> {
  const idle = await withJobtree(bench, (jobtree) => holdIdle(bench, jobtree), {
    nodeArgs: collecting,
  });
  const deaf = await withJobtree(bench, (jobtree) => holdDeaf(bench, jobtree));
  return {
    tables: [
      {
        title: `idle: a server's memory for each subscriber, in kB, and its CPU, in microseconds (${whole(jobCount)} jobs)`,
        columns: ['subscribers', 'resident', 'held', 'to connect', 'to subscribe', 'all at once'],
        rows: idle.map((one) => [
          whole(one.subscribers),
          one.asIs.toFixed(1),
          one.collected.toFixed(1),
          whole(one.connectCpu),
          whole(one.subscribeCpu),
          `${whole(one.subscribeMs)} ms`,
        ]),
        note: 'resident: as it is. held: after the garbage was collected. all at once: until each has its first event.',
      },
      {
        title: `idle: a server's memory with ${whole(deaf.subscribers)} subscribers that do not read, in MB`,
        columns: ['second', 'resident', 'socket buffers'],
        rows: deaf.course.map(({ second, mb, unreadMb }) => [
          String(second),
          mb.toFixed(0),
          unreadMb.toFixed(0),
        ]),
        note: 'socket buffers: what the system holds for all connections of the machine, and no process.',
      },
    ],
    verdicts: [
      ...idle.slice(-1).map(({ subscribers, collected, asIs }) => ({
        target: `${whole(subscribers)} idle subscribers: at most ${limit} kB each`,
        found: `${collected.toFixed(1)} kB held, ${asIs.toFixed(1)} kB resident`,
        met: collected <= limit,
      })),
      {
        target: `${whole(deaf.subscribers)} subscribers that do not read: flat memory`,
        found: `${((deaf.growth - 1) * 100).toFixed(0)} % more after ${treeSeconds} s than at most in the first ${fullAfterSeconds} s`,
        met: deaf.growth <= flat,
      },
    ],
    figures: { idle, deaf },
  };
}

async function holdIdle({ options }: Bench, { server }: Jobtree): Promise<Idle[]> {
  const { ids } = await createJobs(server.url, jobCount);
  const fleet = new Fleet(server.url);
  const figures: Idle[] = [];
  // The first subscribers include what a server needs only once.
  await fleet.grow(Math.min(warmUp, options.subscribers));
  await fleet.watch({ jobIds: ids, intervalMs: 100 });
  await fleet.stop();
  const start = await residentMb(server);
  for (const size of new Set(sizes.map((size) => Math.min(size, options.subscribers)))) {
    const more = size - fleet.size;
    await fleet.watch({ jobIds: [], intervalMs: 100 });
    const connectCpu = await cpuOf(server, () => fleet.grow(size));
    const startedAt = performance.now();
    const subscribeCpu = await cpuOf(server, () => fleet.watch({ jobIds: ids, intervalMs: 100 }));
    const subscribeMs = performance.now() - startedAt;
    const end = await residentMb(server);
    figures.push({
      subscribers: size,
      asIs: ((end.asIs - start.collected) * 1024) / size,
      collected: ((end.collected - start.collected) * 1024) / size,
      connectCpu: connectCpu / more,
      subscribeCpu: subscribeCpu / size,
      subscribeMs,
    });
  }
  await fleet.stop();
  return figures;
}

async function residentMb({ pid }: Server): Promise<{ asIs: number; collected: number }> {
  await delay(collectionMs);
  const asIs = memory(pid)?.now ?? Number.NaN;
  for (let i = 0; i < 2; i++) {
    process.kill(pid, 'SIGUSR2');
    await delay(collectionMs);
  }
  return { asIs, collected: memory(pid)?.now ?? Number.NaN };
}

async function cpuOf({ pid }: Server, work: () => Promise<void>): Promise<number> {
  const before = cpuMs(pid) ?? Number.NaN;
  await work();
  return ((cpuMs(pid) ?? Number.NaN) - before) * 1000;
}

async function holdDeaf({ options }: Bench, { database, server }: Jobtree): Promise<Deaf> {
  const jobs = await createTree(server.url);
  await fillJobs(database.pool, jobs.ids.slice(1), treePerSecond * (treeSeconds + 2));
  await database.settle();
  const fleet = new Fleet(server.url);
  await fleet.grow(Math.min(deaf, options.subscribers));
  await fleet.watch({ jobIds: jobs.ids.slice(0, 1), intervalMs: 20, wholeTree: true });
  await fleet.pause();
  const reporter = await startReporter({
    url: server.url,
    target: jobs.type,
    batch: treeBatch,
    perSecond: treePerSecond,
  });
  const course = [];
  for (let second = 0; second <= treeSeconds; second += windowSeconds) {
    if (second > 0) await delay(windowSeconds * 1000);
    course.push({ second, mb: memory(server.pid)?.now ?? Number.NaN, unreadMb: socketBuffers() });
  }
  await reporter.stop();
  const full = Math.max(...course.filter(({ second }) => second <= fullAfterSeconds).map(({ mb }) => mb));
  const figures = { subscribers: fleet.size, course, growth: (course.at(-1)?.mb ?? Number.NaN) / full };
  await fleet.stop();
  return figures;
}

/** Creates a root with child jobs of a type that gets items. */
async function createTree(url: string): Promise<Jobs> {
  const type = 'bench-tree';
  const client = createClient({ url });
  try {
    const children = Array.from({ length: treeJobs }, () => ({ type }));
    const root = await client.createJob({ type: 'bench-root', children });
    const { children: made } = await client.job(root.id);
    return { ids: [root.id, ...made.map(({ id }) => id)], type };
  } finally {
    await client.close();
  }
}
