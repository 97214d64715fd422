/**
 * Claiming and reporting, from the first claim to the last completion: jobtree's Worker over its WebSocket, the same with nothing
 * but fetch, and graphile-worker with its local queue. Only jobtree keeps the results.
 */
import { alternate, type Bench, itemsFor, type Report, runChild, withJobtree } from '../bench.ts';
import { cpu, medianRun, type Run, ratio, whole } from '../figures.ts';
import { clearJobs, countJobs, fillJobs } from '../graphile.ts';
import { inBatches } from '../payload.ts';
import type { WorkerTask } from '../task.ts';
import { atLeast, atMost, type Verdict } from '../verdicts.ts';
import { runWork } from '../worked.ts';

/** What jobtree must reach, as a multiple of graphile-worker, and the most CPU that its parts may take, in microseconds per item. */
interface Target {
  readonly ratio?: number;
  readonly cpu?: Partial<Run['cpuPerItem']>;
}
const parts = { client: 'the worker', server: 'the server', postgres: 'Postgres' } as const;

interface Course {
  readonly name: string;
  readonly batch: number;
  /** For both contenders; by default the batch. */
  readonly concurrency?: number;
  /** For jobtree's worker; by default its own default. */
  readonly claimAhead?: boolean;
  readonly target: Target;
}

/** Single items are processed one at a time and ten at a time, and also one at a time with an exchange for each. */
const singles: readonly Course[] = [
  { name: '1, one at a time', batch: 1, concurrency: 1, target: { ratio: 0.8 } },
  { name: '1, ten at a time', batch: 1, concurrency: 10, target: { ratio: 0.8 } },
  { name: '1, none ahead', batch: 1, concurrency: 1, claimAhead: false, target: { cpu: { server: 350 } } },
];
const targets = new Map<number, Target>([
  [10, { ratio: 1.1 }],
  [100, { ratio: 1.4, cpu: { postgres: 16 } }],
  [500, { ratio: 1.8, cpu: { client: 5, server: 7, postgres: 10 } }],
]);

export async function measureWork(bench: Bench): Promise<Report> {
  const courses = bench.options.batches.flatMap((batch): readonly Course[] =>
    batch === 1 ? singles : [{ name: String(batch), batch, target: targets.get(batch) ?? {} }],
  );
  const figures = [];
  for (const course of courses) figures.push(await runCourse(bench, course));
  return {
    tables: [
      {
        title: 'work: items claimed and completed per second',
        columns: [
          'batch',
          'items',
          'jobtree',
          'over HTTP',
          'graphile-worker',
          'ratio',
          'HTTP ratio',
          'CPU jobtree',
          'CPU graphile-worker',
          'WAL jobtree',
          'WAL graphile-worker',
        ],
        rows: figures.map(
          ({ name, items, jobtree: our, jobtreeHttp: http, graphileWorker: their, ...of }) => [
            name,
            whole(items),
            whole(our.median.perSecond),
            whole(http.median.perSecond),
            whole(their.median.perSecond),
            ratio(of.ratio),
            ratio(http.median.perSecond / their.median.perSecond),
            cpu(our.median),
            cpu(their.median),
            whole(our.median.walPerItem),
            whole(their.median.walPerItem),
          ],
        ),
        note: 'CPU: microseconds per item of worker + server + Postgres. WAL: bytes per item.',
      },
    ],
    verdicts: figures.flatMap(({ ratio, jobtree, ...course }) => judge(course, ratio, jobtree.median)),
    figures,
  };
}

async function runCourse(bench: Bench, course: Course) {
  const { batch, concurrency, claimAhead } = course;
  const { options, graphile } = bench;
  const items = itemsFor(options.items, Math.max(batch, concurrency ?? 0));
  const runs = await withJobtree(bench, (jobtree) =>
    alternate(options, items, {
      webSocket: (items) => runWork(bench, jobtree, { items, batch, concurrency, claimAhead }),
      theirs: async (items) => {
        await clearJobs(graphile.pool);
        await inBatches(items, (some) => fillJobs(graphile.pool, 'bench', some));
        const task: WorkerTask = { url: graphile.url, target: 'bench', items, batch, concurrency };
        const run = await runChild(bench, 'graphile-worker', task, { database: graphile });
        const left = await countJobs(graphile.pool);
        if (left > 0) throw new Error(`graphile-worker left ${left} jobs.`);
        return run;
      },
      http: (items) => runWork(bench, jobtree, { items, batch, concurrency, child: 'jobtree-http-worker' }),
    }),
  );
  const withMedian = (runs: readonly Run[]) => ({ median: medianRun(runs), runs });
  const jobtree = withMedian(runs.webSocket);
  const graphileWorker = withMedian(runs.theirs);
  return {
    ...course,
    items,
    jobtree,
    jobtreeHttp: withMedian(runs.http),
    graphileWorker,
    ratio: jobtree.median.perSecond / graphileWorker.median.perSecond,
  };
}

function judge({ name, target }: Course, times: number, { cpuPerItem }: Run): Verdict[] {
  const of = `claim and report, batches of ${name}`;
  const verdicts =
    target.ratio === undefined
      ? []
      : [atLeast({ name: `${of}, against graphile-worker`, limit: target.ratio, found: times })];
  for (const [part, limit] of Object.entries(target.cpu ?? {}) as [keyof typeof parts, number][]) {
    const found = cpuPerItem[part] ?? Number.NaN;
    verdicts.push(
      atMost({ name: `${of}, CPU of ${parts[part]} per item`, limit, found, unit: ' µs', digits: 1 }),
    );
  }
  return verdicts;
}
