/** What it costs Postgres to keep many items held. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../../dist/client/index.js';
import { type Bench, type Report, startMeter, withJobtree } from '../bench.ts';
import { whole } from '../figures.ts';
import { createJob, fillJob, withClient } from '../jobtree.ts';
import { atMost } from '../verdicts.ts';

const items = 10_000;
const claimSize = 100;
const mutationSize = 1_000;
const everyMs = 1_000;
const seconds = 15;
const limit = 2;

export async function measureHeartbeats(bench: Bench): Promise<Report> {
  const { idle, beating } = await withJobtree(bench, async ({ database, server }) => {
    const { id, type } = await createJob(server.url);
    await fillJob(database.pool, id, items);
    return withClient(server.url, async (client) => {
      const ids: string[] = [];
      for (let claimed = 0; claimed < items; claimed += claimSize) {
        const assignments = await client.claimItems('bench', [{ type, limit: claimSize }]);
        ids.push(...assignments.map(({ id }) => id));
      }
      if (ids.length !== items) throw new Error(`${ids.length} items were claimed instead of ${items}.`);
      await database.settle();
      const idle = await percentOfCore(bench, () => delay(seconds * 1000));
      const beating = await percentOfCore(bench, () => beatAll(client, ids));
      return { idle, beating };
    });
  });
  const extra = beating - idle;
  const percent = (value: number) => value.toFixed(2);
  return {
    tables: [
      {
        title: `heartbeats: CPU of Postgres with ${whole(items)} held items, in percent of a core, over ${seconds} s`,
        columns: ['', 'CPU'],
        rows: [
          ['no heartbeats', percent(idle)],
          ['each item every second', percent(beating)],
          ['difference', percent(extra)],
        ],
        note: `${claimSize} items a claim; ${whole(mutationSize)} in each mutation, over HTTP.`,
      },
    ],
    verdicts: [
      atMost({
        name: `heartbeats of ${whole(items)} items every second, CPU of Postgres`,
        limit,
        found: extra,
        unit: ' % of a core',
      }),
    ],
    figures: { items, claimSize, mutationSize, seconds, idle, beating, extra },
  };
}

/** Sends heartbeat mutations, spread evenly over each second. */
async function beatAll(client: Client, ids: readonly string[]): Promise<void> {
  const parts = Array.from({ length: ids.length / mutationSize }, (_, i) =>
    ids.slice(i * mutationSize, (i + 1) * mutationSize),
  );
  const start = performance.now();
  for (let beat = 0; beat < seconds * parts.length; beat++) {
    const due = start + (beat * everyMs) / parts.length;
    await delay(Math.max(0, due - performance.now()));
    const entries = await client.heartbeat(parts[beat % parts.length] ?? []);
    const ended = entries.filter(({ status }) => status !== 'HELD');
    if (ended.length > 0) throw new Error(`${ended.length} items are not held: ${ended[0]?.status}.`);
  }
  await delay(Math.max(0, start + seconds * 1000 - performance.now()));
}

async function percentOfCore({ postgres }: Bench, during: () => Promise<unknown>): Promise<number> {
  const used = await startMeter(postgres);
  const start = performance.now();
  await during();
  const ms = performance.now() - start;
  return (((await used()).postgresMs ?? Number.NaN) / ms) * 100;
}
