/**
 * Those who have nothing to do with an attack, in a process of their own: `bystanders.ts URL WATCHERS`, with the key in JOBTREE_TOKEN. Ten workers of which each
 * always has an item that takes seconds, and others that take a moment; watchers of the job of those; and somebody who asks small
 * questions, one after the other. The parent asks what they saw.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, Worker } from '../../../src/client/index.ts';
import { request } from '../api.ts';
import { bearer } from '../keys.ts';

/** What was seen since the parent last asked. */
export interface Sight {
  /** How long each of the small questions took. */
  readonly answerMs: readonly number[];
  /** How many of those were told to come again. */
  readonly refused: number;
  /** What anybody's client complained of. */
  readonly problems: readonly string[];
}

export type Question = 'what was seen' | 'does everybody go on' | 'stop';

const workerCount = 10;
// The short form runs beside other tests, maybe on a machine that has no core to spare for seconds, and leaves them most of it.
const isLong = process.env.HOSTILE === 'long';
const heartbeatIntervalMs = isLong ? 2_000 : 5_000;
const shortMs = isLong ? 20 : 100;
const askAgainMs = isLong ? 5 : 25;
const longMs = 8_000;
const waitingItems = 200;

const [url = '', watcherCount = ''] = process.argv.slice(2);
const token = process.env.JOBTREE_TOKEN ?? '';
const stopping = new AbortController();
const { signal } = stopping;
// Each watcher and each handler listens.
setMaxListeners(0, signal);
let answerMs: number[] = [];
let refused = 0;
let problems: string[] = [];
/** Who has got on since this was cleared: each watcher by an event, each worker by an item. */
const gotOn = new Set<unknown>();
let onProgress = () => {};

const problem = (error: unknown) => {
  if (!signal.aborted) problems.push(error instanceof Error ? error.message : String(error));
};
const progress = (who: unknown) => {
  gotOn.add(who);
  onProgress();
};

const producer = createClient({ url });
const ids = new Map<string, string>();
for (const type of ['short', 'long']) {
  ids.set(type, (await producer.createJob({ type, heartbeatIntervalMs })).id);
}

let done = 0;
const workers = Array.from({ length: workerCount }, () => {
  const handler = (ms: number) => async () => {
    await sleep(ms, undefined, { signal }).catch(() => {});
    return null;
  };
  const worker = new Worker({
    url,
    types: {
      short: { concurrency: 1, handler: handler(shortMs) },
      long: { concurrency: 1, handler: handler(longMs) },
    },
  });
  worker.on('error', problem);
  worker.on('disconnected', problem);
  worker.on('stale', () => problem(new Error('An assignment was lost.')));
  worker.on('succeeded', ({ type }) => {
    if (type !== 'short') return;
    done++;
    progress(worker);
  });
  return worker;
});

/** Keeps the queues full. */
async function produce(): Promise<void> {
  const full = Array.from({ length: waitingItems }, () => ({ payload: null }));
  let added = 0;
  while (!signal.aborted) {
    try {
      if (added - done < waitingItems / 2) {
        await producer.addItems(ids.get('short') as string, full);
        await producer.addItems(ids.get('long') as string, full.slice(0, workerCount));
        added += waitingItems;
      }
    } catch (error) {
      problem(error);
    }
    await sleep(50);
  }
}

async function watch(): Promise<void> {
  const client = createClient({ url });
  try {
    for await (const _ of client.watchJob(ids.get('short') as string, { signal })) progress(client);
  } catch (error) {
    if (!signal.aborted) problem(error);
  } finally {
    await client.close();
  }
}

async function ask(): Promise<void> {
  while (!signal.aborted) {
    const startedAt = performance.now();
    try {
      const { errors } = await request(url, '{ jobs(first: 1) { nodes { id } } }', {}, bearer(token));
      if (errors !== undefined) refused++;
    } catch (error) {
      problem(error);
    }
    answerMs.push(performance.now() - startedAt);
    await sleep(askAgainMs);
  }
}

const watchers = Array.from({ length: Number(watcherCount) }, watch);
const others = [produce(), ask()];
await Promise.all(workers.map((worker) => worker.start()));

/** Resolves once everybody has got on since now. */
async function everybodyGoesOn(): Promise<void> {
  gotOn.clear();
  while (gotOn.size < watchers.length + workers.length) {
    await new Promise<void>((resolve) => {
      onProgress = resolve;
    });
  }
}

const answers: Record<Question, () => unknown> = {
  'what was seen': (): Sight => {
    const sight = { answerMs, refused, problems };
    answerMs = [];
    refused = 0;
    problems = [];
    return sight;
  },
  'does everybody go on': everybodyGoesOn,
  stop: async () => {
    stopping.abort();
    await Promise.all([...workers.map((worker) => worker.stop()), ...watchers, ...others]);
    await producer.close();
    process.disconnect();
  },
};
process.on('message', async (question: Question) => {
  const answer = await answers[question]();
  if (process.connected) process.send?.({ answer });
});
await everybodyGoesOn();
process.send?.({ answer: 'ready' });
