/**
 * What is done in time when callers ask for more than the server can do. They create jobs, give up after a second, and ask once more:
 * work for callers who have left, and their repeats behind it, must not push out what could still be in time.
 */
import { type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { startService } from '../child.ts';
import type { ImpatientMethods } from '../children/impatient-callers.ts';
import { median, ratio, whole } from '../figures.ts';
import type { ImpatientTask } from '../task.ts';
import { atLeast, atMost } from '../verdicts.ts';

const items = 200;
const limitMs = 1_000;
const callers = 16;
const closedSeconds = 5;
const factors = [2, 5, 10];
const overloadSeconds = 8;
/** The first seconds of each load, in which queues fill. */
const fillingSeconds = 3;
/** Of what the server can do, once the overload is over. */
const normal = 0.5;
const normalSeconds = 10;

interface Load {
  readonly factor: number;
  /** Jobs in a second, in the median. */
  readonly goodput: number;
  /** How many seconds after the end of the overload the normal load is carried out. */
  readonly backAfter: number;
}

export async function measureOverload(bench: Bench): Promise<Report> {
  const { capacity, loads } = await withJobtree(bench, run);
  const best = Math.max(capacity, ...loads.map(({ goodput }) => goodput));
  const worst = Math.min(...loads.map(({ goodput }) => goodput)) / best;
  return {
    tables: [
      {
        title: `overload: new jobs of ${items} items, callers that give up after ${limitMs / 1_000} s and ask again`,
        columns: ['offered', 'in time', 'of the most', 'normal again after'],
        rows: [
          [`${callers} callers that wait`, whole(capacity), ratio(capacity / best), ''],
          ...loads.map(({ factor, goodput, backAfter }) => [
            `${factor} times as much`,
            whole(goodput),
            ratio(goodput / best),
            `${backAfter} s`,
          ]),
        ],
        note: 'Jobs a second. The callers need the same processors.',
      },
    ],
    verdicts: [
      atLeast({ name: 'of the most, jobs in time under overload', limit: 0.9, found: worst }),
      atMost({
        name: 'after an overload, normal load is carried out again',
        limit: 5,
        found: Math.max(...loads.map(({ backAfter }) => backAfter)),
        unit: ' s',
      }),
    ],
    figures: { capacity, loads },
  };
}

async function run({ server }: Jobtree): Promise<{ capacity: number; loads: Load[] }> {
  const task: ImpatientTask = { url: server.url, items, limitMs };
  const { ask, stop } = await startService<ImpatientMethods>('impatient-callers', task);
  await ask.closed(callers, closedSeconds);
  const capacity = await ask.closed(callers, closedSeconds);
  const loads: Load[] = [];
  for (const factor of factors) {
    const during = await ask.open(capacity * factor, overloadSeconds);
    const after = await ask.open(capacity * normal, normalSeconds);
    const back = after.findIndex((created) => created >= 0.9 * capacity * normal);
    loads.push({
      factor,
      goodput: median(during.slice(fillingSeconds)),
      backAfter: back === -1 ? Number.POSITIVE_INFINITY : back,
    });
  }
  await stop();
  return { capacity, loads };
}
