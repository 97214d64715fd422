/**
 * The same work while another session holds a snapshot open, as a backup or a forgotten transaction does. Postgres may
 * then remove no dead row, and queues that walk over theirs get slower with every item. Items are added as they are done.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { startChild } from '../child.ts';
import { whole } from '../figures.ts';
import { clearJobs, fillJobs } from '../graphile.ts';
import { createJob, fillItems } from '../jobtree.ts';
import { payloads } from '../payload.ts';
import type { Database } from '../postgres.ts';
import type { WorkerTask } from '../task.ts';

const batch = 100;
const backlog = 40_000;
const feedBatch = 1_000;
const windowSeconds = 5;
const edgeSeconds = 15;
const warmUpSeconds = 3;

interface Contender {
  readonly child: string;
  readonly database: Database;
  readonly task: WorkerTask;
  readonly fill: (payloads: readonly unknown[]) => Promise<void>;
}

interface Course {
  /** Items per second in each window. */
  readonly windows: readonly number[];
  /** The last seconds against the first. */
  readonly kept: number;
}

export async function measureSnapshot(bench: Bench): Promise<Report> {
  const { options, graphile } = bench;
  const ours = (held: boolean) =>
    withJobtree(bench, async ({ database, server }) => {
      const job = await createJob(server.url);
      const task = { url: server.url, target: job.type, batch };
      const fill = (some: readonly unknown[]) => fillItems(database.pool, job.id, some);
      return run({ child: 'jobtree-worker', database, task, fill }, options.seconds, held);
    });
  const theirs = async (held: boolean) => {
    await clearJobs(graphile.pool);
    const task = { url: graphile.url, target: 'bench', batch };
    const fill = (some: readonly unknown[]) => fillJobs(graphile.pool, 'bench', some);
    const seconds = Math.min(options.seconds, 45);
    return run({ child: 'graphile-worker', database: graphile, task, fill }, seconds, held);
  };
  const courses = {
    jobtree: await ours(false),
    'jobtree, snapshot held': await ours(true),
    'graphile-worker': await theirs(false),
    'graphile-worker, snapshot held': await theirs(true),
  };
  const windows = Math.max(...Object.values(courses).map((course) => course.windows.length));
  const held = courses['jobtree, snapshot held'].kept;
  return {
    tables: [
      {
        title: `snapshot: items per second, in windows of ${windowSeconds} seconds (batches of ${batch}, items added meanwhile)`,
        columns: ['from second', ...Object.keys(courses)],
        rows: [
          ...Array.from({ length: windows }, (_, i) => [
            String(i * windowSeconds),
            ...Object.values(courses).map((course) =>
              course.windows[i] === undefined ? '' : whole(course.windows[i]),
            ),
          ]),
          ['kept', ...Object.values(courses).map(({ kept }) => percent(kept))],
        ],
        note: `kept: the last ${edgeSeconds} seconds against the first.`,
      },
    ],
    verdicts: [{ target: 'snapshot held: keeps at least 80 %', found: percent(held), met: held >= 0.8 }],
    figures: courses,
  };
}

async function run(contender: Contender, seconds: number, held: boolean): Promise<Course> {
  const { child, database, task, fill } = contender;
  let added = 0;
  const add = async () => {
    const first = added;
    added += feedBatch;
    await fill(payloads(feedBatch, first));
  };
  while (added < backlog) await Promise.all([add(), add()]);
  await database.settle();
  const snapshot = held ? await holdSnapshot(database) : undefined;

  let start = 0;
  const samples: { readonly at: number; readonly done: number }[] = [];
  const worker = startChild(child, task, {
    onDone: (done) => {
      if (start === 0 && done > 0) start = performance.now();
      if (start > 0) samples.push({ at: (performance.now() - start) / 1000 - warmUpSeconds, done });
    },
  });
  const isOver = () => (samples.at(-1)?.at ?? 0) >= seconds;
  const feed = async () => {
    while (!isOver()) {
      if (added - (samples.at(-1)?.done ?? 0) < backlog) await add();
      else await delay(10);
    }
  };
  await Promise.race([Promise.all([feed(), feed()]), worker.outcome]);
  await worker.stop();
  await snapshot?.release();
  return toCourse(samples, seconds);
}

function toCourse(
  samples: readonly { readonly at: number; readonly done: number }[],
  seconds: number,
): Course {
  const doneBy = (second: number) => samples.findLast(({ at }) => at <= second) ?? { at: 0, done: 0 };
  const rate = (from: number, to: number) => {
    const [before, after] = [doneBy(from), doneBy(to)];
    return (after.done - before.done) / (after.at - before.at);
  };
  const windows = Array.from({ length: Math.floor(seconds / windowSeconds) }, (_, i) =>
    rate(i * windowSeconds, (i + 1) * windowSeconds),
  );
  const edge = Math.min(edgeSeconds, seconds / 2);
  return { windows, kept: rate(seconds - edge, seconds) / rate(0, edge) };
}

/** A transaction that has read something, and then does nothing. */
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

const percent = (share: number) => `${Math.round(share * 100)} %`;
