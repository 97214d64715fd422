/**
 * Whether a caller at full load leaves another its share. One has 64 connections and the other 4; each claims and reports batches
 * of 100 of its own type as fast as it can. The fair share of the small one is half of what both do together, or what it does
 * alone if that is less.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { startChild } from '../child.ts';
import { median, ratio, whole } from '../figures.ts';
import { createJob, fillJob } from '../jobtree.ts';
import { createKey } from '../keys.ts';
import { atLeast } from '../verdicts.ts';

const batch = 100;
const connections = { small: 4, large: 64 };
const warmUpMs = 1_500;
const courseMs = 1_500;
const courses = 3;
/** More than either processes in all courses. */
const backlog = { small: 700_000, large: 500_000 };

interface Course {
  /** Items per second. */
  readonly alone: number;
  readonly beside: number;
  readonly large: number;
}

/** How much of its fair share the small caller gets beside the large one. */
const shareOf = ({ alone, beside, large }: Course) => beside / Math.min(alone, (beside + large) / 2);

export async function measureFairness(bench: Bench): Promise<Report> {
  const found = await withJobtree(bench, (jobtree) => run(jobtree), {
    env: { JOBTREE_AUTH: 'keys' },
  });
  const share = median(found.map(shareOf));
  return {
    tables: [
      {
        title: `fairness: a caller with ${connections.small} connections beside one with ${connections.large}, batches of ${batch}`,
        columns: ['', 'alone', 'beside', 'the large one', 'of its fair share'],
        rows: found.map((course, i) => [
          `course ${i + 1}`,
          whole(course.alone),
          whole(course.beside),
          whole(course.large),
          ratio(shareOf(course)),
        ]),
        note: 'Items per second.',
      },
    ],
    verdicts: [
      atLeast({ name: 'of its fair share, a caller beside another at full load', limit: 0.8, found: share }),
    ],
    figures: found,
  };
}

async function run(jobtree: Jobtree): Promise<Course[]> {
  const { database, server } = jobtree;
  const admin = await createKey(database.url, { roles: ['admin'] });
  const start = async (size: keyof typeof connections) => {
    const { id, type } = await createJob(server.url, {}, admin);
    await fillJob(database.pool, id, backlog[size]);
    const token = await createKey(database.url, { roles: ['worker'] });
    const task = { url: server.url, target: type, batch, concurrency: batch * connections[size], token };
    return () => {
      let done = 0;
      const child = startChild('jobtree-http-worker', task, {
        onDone: (count) => {
          done = count;
        },
      });
      return { done: () => done, stop: child.stop };
    };
  };
  const [startSmall, startLarge] = [await start('small'), await start('large')];
  await database.settle();
  const small = startSmall();
  const found: Course[] = [];
  for (let i = 0; i < courses; i++) {
    await delay(warmUpMs);
    const alone = await rates(small);
    const large = startLarge();
    while (large.done() === 0) await delay(20);
    await delay(warmUpMs);
    const both = await rates(small, large);
    await large.stop();
    found.push({ alone: alone[0] ?? 0, beside: both[0] ?? 0, large: both[1] ?? 0 });
  }
  await small.stop();
  return found;
}

/** Items per second of each crew, over one course. */
async function rates(...crews: readonly { done(): number }[]): Promise<number[]> {
  const before = crews.map((crew) => crew.done());
  const from = performance.now();
  await delay(courseMs);
  const seconds = (performance.now() - from) / 1_000;
  return crews.map((crew, i) => (crew.done() - (before[i] as number)) / seconds);
}
