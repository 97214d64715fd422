/** Steady work for some time: items are added as fast as they are done, while a bystander uses another table of the database. */
import { setTimeout as delay } from 'node:timers/promises';
import { startChild, startService } from './child.ts';
import type { BystanderMethods } from './children/bystander.ts';
import { payloads } from './payload.ts';
import type { Database } from './postgres.ts';
import type { BystanderTask, WorkerTask } from './task.ts';

const backlog = 40_000;
const feedBatch = 1_000;
const warmUpSeconds = 3;

export interface Contender {
  readonly child: string;
  readonly database: Database;
  readonly task: WorkerTask;
  readonly fill: (payloads: readonly unknown[]) => Promise<void>;
}

export interface Course {
  /** Items per second in each window. */
  readonly windows: readonly number[];
  /** Items per second. */
  readonly lastThird: number;
  readonly bystander: { readonly updates: number; readonly meanMs: number };
}

interface Sample {
  /** Seconds since the end of the warm-up. */
  readonly at: number;
  readonly done: number;
}

/** With `held`, another session holds a snapshot from before the first item is done until the end. */
export async function runSteadily(
  { child, database, task, fill }: Contender,
  { seconds, windowSeconds, held }: { seconds: number; windowSeconds: number; held: boolean },
): Promise<Course> {
  let added = 0;
  const add = async () => {
    const first = added;
    added += feedBatch;
    await fill(payloads(feedBatch, first));
  };
  while (added < backlog) await Promise.all([add(), add()]);
  const bystander = await startService<BystanderMethods>('bystander', {
    databaseUrl: database.url,
  } satisfies BystanderTask);
  await database.settle();
  const snapshot = held ? await holdSnapshot(database) : undefined;

  let start = 0;
  const samples: Sample[] = [];
  const worker = startChild(child, task, {
    onDone: (done) => {
      if (start === 0 && done > 0) start = performance.now();
      if (start > 0) samples.push({ at: (performance.now() - start) / 1000 - warmUpSeconds, done });
    },
  });
  await bystander.ask.start();
  const isOver = () => (samples.at(-1)?.at ?? 0) >= seconds;
  const feed = async () => {
    while (!isOver()) {
      if (added - (samples.at(-1)?.done ?? 0) < backlog) await add();
      else await delay(10);
    }
  };
  try {
    await Promise.race([Promise.all([feed(), feed()]), worker.outcome]);
  } finally {
    await snapshot?.release();
  }
  const latency = await bystander.ask.finish();
  await Promise.all([worker.stop(), bystander.stop()]);

  const windows = Array.from({ length: Math.floor(seconds / windowSeconds) }, (_, i) =>
    rate(samples, i * windowSeconds, (i + 1) * windowSeconds),
  );
  return { windows, lastThird: rate(samples, (seconds * 2) / 3, seconds), bystander: latency };
}

/** Items per second between two times, in seconds. */
function rate(samples: readonly Sample[], from: number, to: number): number {
  const doneBy = (second: number) => samples.findLast(({ at }) => at <= second) ?? { at: 0, done: 0 };
  const [before, after] = [doneBy(from), doneBy(to)];
  return (after.done - before.done) / (after.at - before.at);
}

/** A transaction that has read something, and then idles. */
async function holdSnapshot({ pool }: Database): Promise<{ release(): Promise<void> }> {
  const session = await pool.connect();
  await session.query('begin isolation level repeatable read');
  await session.query('select count(*) from pg_class');
  return {
    release: async () => {
      await session.query('rollback');
      session.release();
    },
  };
}
