/**
 * Watchers that read slowly or not at all, beside healthy ones: watchers that do not read must cost nobody else anything, and the
 * server no memory. The tree has many jobs, so that events are large.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { createClient } from '../../../dist/client/index.js';
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { startChild } from '../child.ts';
import { atEnd } from '../closers.ts';
import { median, whole } from '../figures.ts';
import { fillItems } from '../jobtree.ts';
import { payloads } from '../payload.ts';
import type { WorkerTask } from '../task.ts';
import { memory } from '../usage.ts';

const healthyCount = 100;
const jobCount = 200;
const jobsPerTick = 40;
const slowBytesPerSecond = 8_000;
const fillEveryMs = 50;
const type = 'bench-slow';
const query =
  'subscription ($id: ID!) { jobTreeProgress(rootId: $id, intervalMs: 100) { revision jobs { jobId status message percent succeeded failed cancelled itemCount itemProgress } } }';

interface Watched {
  events: number;
  bytes: number;
  /** When each revision was read. The newer of two revisions is the greater one as text. */
  readonly readAt: Map<string, number>;
  endedAfter: number | undefined;
}

export async function measureSlow(bench: Bench): Promise<Report> {
  const seconds = Math.min(bench.options.seconds, 60);
  return withJobtree(bench, async ({ database, server }) => {
    const client = createClient({ url: server.url });
    const children = Array.from({ length: jobCount - 1 }, () => ({ type }));
    const { id } = await client.createJob({ type, children });
    await client.close();
    const { rows } = await database.pool.query('select id from jobtree.job order by id');
    const jobs = rows.map((row: { id: string }) => row.id);
    const task: WorkerTask = { url: server.url, target: type, batch: 100 };
    const worker = startChild('jobtree-worker', task);

    const startedAt = performance.now();
    const before = memory(server.pid);
    const throttle = await startThrottle(server.url, slowBytesPerSecond);
    const healthy = await Promise.all(Array.from({ length: healthyCount }, () => watch(server.url, id)));
    const slow = await watch(throttle.url, id);
    const stopped = await watch(server.url, id, true);

    let tick = 0;
    while (performance.now() - startedAt < seconds * 1_000) {
      const some = Array.from({ length: jobsPerTick }, () => jobs[tick++ % jobs.length] as string);
      await Promise.all(some.map((job) => fillItems(database.pool, `Job:${job}`, payloads(1, tick))));
      await delay(fillEveryMs);
    }
    const after = memory(server.pid);
    const now = performance.now();
    const ages = {
      slow: ageOf(slow.seen, healthy, now),
      healthy: median(healthy.map(({ seen }) => ageOf(seen, healthy, now))),
    };
    const stopsEndedAfter = stopped.seen.endedAfter;
    const slowEndedAfter = slow.seen.endedAfter;
    const peak = after?.peak;
    for (const one of [...healthy, slow, stopped]) one.close();
    throttle.close();
    await worker.stop();

    const row = (name: string, { events, bytes, endedAfter }: Watched, age: number | undefined) => [
      name,
      whole(events),
      whole(bytes / 1_000),
      age === undefined ? '–' : whole(age),
      endedAfter === undefined ? 'no' : `after ${whole(endedAfter / 1_000)} s`,
    ];
    const of = (read: (one: Watched) => number) => median(healthy.map(({ seen }) => read(seen)));
    const typical = {
      events: of(({ events }) => events),
      bytes: of(({ bytes }) => bytes),
      readAt: new Map(),
      endedAfter: undefined,
    };
    const grown = (after?.now ?? Number.NaN) - (before?.now ?? Number.NaN);
    return {
      tables: [
        {
          title: `slow readers: ${healthyCount} healthy watchers of a tree of ${jobCount} jobs, one with ${(slowBytesPerSecond * 8) / 1_000} kbit/s, one that does not read, for ${seconds} seconds`,
          columns: ['', 'events', 'kB', 'age of what it knows, ms', 'ended by the server'],
          rows: [
            row('healthy (median)', typical, ages.healthy),
            row('slow', { ...slow.seen, endedAfter: slowEndedAfter }, ages.slow),
            row('does not read', { ...stopped.seen, endedAfter: stopsEndedAfter }, undefined),
          ],
          note: `Memory of the server: ${before?.now.toFixed(0)} MB before, ${after?.now.toFixed(0)} MB after, ${peak?.toFixed(0)} MB at its highest.`,
        },
      ],
      verdicts: [],
      figures: {
        seconds,
        healthy: { ...typical, ageMs: ages.healthy },
        slow: { events: slow.seen.events, bytes: slow.seen.bytes, ageMs: ages.slow },
        stopped: { events: stopped.seen.events, endedAfter: stopsEndedAfter },
        memory: { before, after, grown },
      },
    };
  });
}

/** The age of the newest state that a watcher has read: the time since others had a newer one. */
function ageOf({ readAt }: Watched, others: readonly { seen: Watched }[], now: number): number {
  const newest = [...readAt.keys()].reduce((one, other) => (other > one ? other : one), '');
  const newer = others.flatMap(({ seen }) => [...seen.readAt].filter(([revision]) => revision > newest));
  return newer.length === 0 ? 0 : now - Math.min(...newer.map(([, at]) => at));
}

/** A watcher on a WebSocket that can stop reading. */
async function watch(url: string, id: string, stops = false) {
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws');
  await once(socket, 'open');
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message');
  socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query, variables: { id } } }));
  const seen: Watched = { events: 0, bytes: 0, readAt: new Map(), endedAfter: undefined };
  const startedAt = performance.now();
  socket.on('error', () => {});
  socket.on('message', (data) => {
    const text = String(data);
    seen.bytes += text.length;
    seen.events++;
    const revision = /"revision":"([^"]+)"/.exec(text)?.[1];
    if (revision !== undefined && !seen.readAt.has(revision)) seen.readAt.set(revision, performance.now());
    if (stops) socket.pause();
  });
  socket.on('close', () => {
    seen.endedAfter ??= performance.now() - startedAt;
  });
  return { seen, close: () => socket.terminate() };
}

/** A proxy that passes this many bytes a second to the client, and reads no faster. */
async function startThrottle(url: string, bytesPerSecond: number) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.pipe(upstream);
    upstream.on('readable', () => undefined);
    const timer = setInterval(() => {
      const chunk = upstream.read(Math.min(bytesPerSecond / 20, upstream.readableLength) || 1);
      if (chunk !== null) client.write(chunk);
    }, 50);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        clearInterval(timer);
        client.destroy();
        upstream.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  own.port = String((server.address() as AddressInfo).port);
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  atEnd(close);
  return { url: own.href, close };
}
