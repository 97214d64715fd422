/** How millions of finished items affect work, the sweep and the start of a server, compared with empty tables. */
import { alternate, type Bench, itemsFor, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { cpu, median, medianRun, type Run, whole } from '../figures.ts';
import { fillHistory, itemsPerJob } from '../history.ts';
import { startServer } from '../server.ts';
import { atLeast, atMost } from '../verdicts.ts';
import { runWork } from '../worked.ts';

const batch = 100;
const sweeps = 20;
/** The functions of a sweep, with the arguments of a server that has just started. */
const sweepCalls = [
  'select * from jobtree.sweep_leases(p_limit => 1000)',
  'select * from jobtree.promote_due(p_limit => 1000)',
  'select * from jobtree.unfolded_trees(p_from => 0, p_limit => 1000)',
];
const limits = { rate: 0.9, sweepMs: 10, startMs: 1_000 };

interface Course {
  readonly startMs: number;
  readonly sweepMs: number;
  readonly slowestSweepMs: number;
}

export async function measureHistory(bench: Bench): Promise<Report> {
  const { options } = bench;
  const jobs = Math.ceil(options.history / itemsPerJob);
  const { empty, full, runs } = await withJobtree(bench, async (empty) =>
    withJobtree(
      bench,
      async (full) => {
        await fillHistory(full.database.pool, jobs);
        const courses = { empty: await runCourse(bench, empty), full: await runCourse(bench, full) };
        const items = itemsFor(options.items, batch);
        const runs = await alternate(options, items, {
          empty: (items) => runWork(bench, empty, { items, batch }),
          full: (items) => runWork(bench, full, { items, batch }),
        });
        return { ...courses, runs };
      },
      { name: 'bench_history' },
    ),
  );
  const [without, withIt] = [medianRun(runs.empty), medianRun(runs.full)];
  const times = withIt.perSecond / without.perSecond;
  const finished = `${whole(jobs * itemsPerJob)} finished items`;
  const row = (name: string, run: Run, { startMs, sweepMs, slowestSweepMs }: Course) => [
    name,
    whole(run.perSecond),
    cpu(run),
    sweepMs.toFixed(1),
    slowestSweepMs.toFixed(1),
    whole(startMs),
  ];
  return {
    tables: [
      {
        title: `history: items claimed and completed per second (batches of ${batch}), a sweep and a start of the server`,
        columns: ['', 'items per second', 'CPU', 'sweep, ms', 'slowest', 'start, ms'],
        rows: [row('empty tables', without, empty), row(finished, withIt, full)],
        note: `CPU: microseconds per item of worker + server + Postgres. sweep: the median of ${sweeps}.`,
      },
    ],
    verdicts: [
      atLeast({ name: `${finished}, rate against empty tables`, limit: limits.rate, found: times }),
      atMost({
        name: `${finished}, one sweep`,
        limit: limits.sweepMs,
        found: full.sweepMs,
        unit: ' ms',
        digits: 1,
      }),
      atMost({
        name: `${finished}, start of a server`,
        limit: limits.startMs,
        found: full.startMs,
        unit: ' ms',
        digits: 0,
      }),
    ],
    figures: { finished: jobs * itemsPerJob, empty, full, ratio: times, runs },
  };
}

async function runCourse({ options }: Bench, { database }: Jobtree): Promise<Course> {
  const starts: number[] = [];
  for (let i = 0; i < options.rounds; i++) starts.push(await timeStart(database.url));
  const times: number[] = [];
  for (let i = 0; i < sweeps; i++) {
    const start = performance.now();
    for (const call of sweepCalls) await database.pool.query(call);
    times.push(performance.now() - start);
  }
  return { startMs: median(starts), sweepMs: median(times), slowestSweepMs: Math.max(...times) };
}

/** Measures the time until a new server, the second one on the database, reports that it is ready. */
async function timeStart(databaseUrl: string): Promise<number> {
  const start = performance.now();
  const server = await startServer(databaseUrl);
  await untilReady(server.url);
  const ms = performance.now() - start;
  await server.stop();
  return ms;
}

async function untilReady(url: string): Promise<void> {
  while (!(await fetch(new URL('/readyz', url))).ok);
}
