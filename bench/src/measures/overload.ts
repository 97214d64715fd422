/**
 * What is done in time when callers ask for more than the server can do. They create jobs, give up after a second, and ask once more:
 * work for callers who have left, and their repeats behind it, must not push out what could still be in time.
 */
import { availableParallelism } from 'node:os';
import { type Bench, type Jobtree, type Report, startMeter, withJobtree } from '../bench.ts';
import { startService } from '../child.ts';
import type { Course, ImpatientMethods } from '../children/impatient-callers.ts';
import { median, ratio, whole } from '../figures.ts';
import type { ImpatientTask } from '../task.ts';
import { machineMs } from '../usage.ts';
import { atLeast, atMost } from '../verdicts.ts';

const items = 1_000;
const limitMs = 1_000;
const callers = 16;
const closedSeconds = 7;
const factors = [2, 5, 10];
const overloadSeconds = 8;
/** The first seconds of each load, in which queues fill. */
const fillingSeconds = 3;
/** Of what the server can do, once the overload is over. */
const normal = 0.5;
const normalSeconds = 10;

interface Load {
  readonly offered: string;
  /** Jobs in a second, in the median. */
  readonly goodput: number;
  /** `goodput` against that of callers who wait, right before and after. */
  readonly ofTheMost: number;
  /** The same for each processor that callers and other programs leave to the service: they have the same machine. */
  readonly ofWhatIsLeft: number;
  readonly course: Course;
  /** How much of one processor the server and Postgres took. */
  readonly server: number;
  readonly postgres: number;
  /** What other programs took, and the system on nobody's behalf. */
  readonly others: number;
  /** How many seconds after the end of the overload the normal load is carried out. */
  readonly backAfter?: number;
}

export async function measureOverload(bench: Bench): Promise<Report> {
  const loads = await withJobtree(bench, (jobtree) => run(bench, jobtree));
  const worst = Math.min(...loads.map(({ ofWhatIsLeft }) => ofWhatIsLeft));
  const back = loads.flatMap(({ backAfter }) => backAfter ?? []);
  return {
    tables: [
      {
        title: `overload: new jobs of ${items} items, callers that give up after ${limitMs / 1_000} s and ask again`,
        columns: [
          'offered',
          'in time',
          'of the most',
          'of what is left',
          'p99',
          'refused',
          'late',
          'normal again after',
          'server',
          'Postgres',
          'callers',
          'others',
        ],
        rows: loads.map(toRow),
        note: 'Jobs a second; calls that were refused or given up; and how much of one processor each takes. The most is what callers who wait get right before and after; what is left is that, less the part of the processors that more callers and others take. If others take much, measure again.',
      },
    ],
    verdicts: [
      atLeast({ name: 'of what is left, jobs in time under overload', limit: 0.9, found: worst }),
      atMost({
        name: 'after an overload, normal load is carried out again',
        limit: 5,
        found: Math.max(...back),
        unit: ' s',
      }),
    ],
    figures: loads,
  };
}

function toRow(load: Load): string[] {
  const { offered, goodput, ofTheMost, ofWhatIsLeft, course, backAfter, server, postgres, others } = load;
  return [
    offered,
    whole(goodput),
    ratio(ofTheMost),
    ratio(ofWhatIsLeft),
    `${whole(course.p99Ms)} ms`,
    whole(course.ends.refused),
    whole(course.ends.late + course.ends.failed),
    backAfter === undefined ? '' : `${backAfter} s`,
    ratio(server),
    ratio(postgres),
    ratio(course.processor),
    ratio(others),
  ];
}

async function run({ postgres }: Bench, { server }: Jobtree): Promise<Load[]> {
  const task: ImpatientTask = { url: server.url, items, limitMs };
  const { ask, stop } = await startService<ImpatientMethods>('impatient-callers', task);
  const measure = async (offered: string, course: () => Promise<Course>) => {
    const used = await startMeter(postgres, server);
    const [startedAt, busyBefore = Number.NaN] = [performance.now(), machineMs()];
    const found = await course();
    const [ms, busy = Number.NaN] = [performance.now() - startedAt, machineMs()];
    const { serverMs = Number.NaN, postgresMs = Number.NaN } = await used();
    return {
      offered,
      goodput: median(found.done.slice(fillingSeconds)),
      course: found,
      server: serverMs / ms,
      postgres: postgresMs / ms,
      others: (busy - busyBefore - serverMs - postgresMs) / ms - found.processor,
    };
  };
  const wait = () => measure(`${callers} callers that wait`, () => ask.closed(callers, closedSeconds));
  await ask.closed(callers, closedSeconds);
  let before = await wait();
  const loads: Load[] = [{ ...before, ofTheMost: 1, ofWhatIsLeft: 1 }];
  for (const factor of factors) {
    const capacity = before.goodput;
    const load = await measure(`${factor} times as much`, () => ask.open(capacity * factor, overloadSeconds));
    const later = await ask.open(capacity * normal, normalSeconds);
    const back = later.done.findIndex((done) => done >= 0.9 * capacity * normal);
    const after = await wait();
    const ofTheMost = load.goodput / mean(before.goodput, after.goodput);
    const left = processorsLeft(load) / mean(processorsLeft(before), processorsLeft(after));
    loads.push({
      ...load,
      ofTheMost,
      ofWhatIsLeft: ofTheMost / left,
      backAfter: back === -1 ? Number.POSITIVE_INFINITY : back,
    });
    before = after;
  }
  await stop();
  return loads;
}

const mean = (one: number, other: number) => (one + other) / 2;

const processorsLeft = ({ course, others }: Pick<Load, 'course' | 'others'>) =>
  availableParallelism() - course.processor - others;
