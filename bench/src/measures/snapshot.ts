/**
 * The same work while another session holds a snapshot open, as a backup or a forgotten transaction does. Postgres may then
 * remove no dead rows, so queues that walk over their dead rows get slower with every item. Items are added as fast as they are
 * done, and a bystander uses another table of the database.
 */
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { type Contender, type Course, runSteadily } from '../course.ts';
import { ratio, whole } from '../figures.ts';
import { clearJobs, fillJobs } from '../graphile.ts';
import { createJob, fillItems } from '../jobtree.ts';
import { atLeast, atMost } from '../verdicts.ts';

const batch = 100;
const limits = { kept: 0.9, bystander: 1.2 };
/** By this time its rate has fallen far. */
const mostSecondsOfGraphile = 45;

export async function measureSnapshot(bench: Bench): Promise<Report> {
  const { options, graphile } = bench;
  const { seconds } = options;
  const windowSeconds = Math.max(5, Math.ceil(seconds / 20));
  const run = (contender: Contender, seconds: number, held: boolean) =>
    runSteadily(contender, { seconds, windowSeconds, held });
  const ours = (held: boolean) =>
    withJobtree(bench, async ({ database, server }) => {
      const job = await createJob(server.url);
      const task = { url: server.url, target: job.type, batch };
      const fill = (some: readonly unknown[]) => fillItems(database.pool, job.id, some);
      return run({ child: 'jobtree-worker', database, task, fill }, seconds, held);
    });
  const theirs = async (held: boolean) => {
    await clearJobs(graphile.pool);
    const task = { url: graphile.url, target: 'bench', batch };
    const fill = (some: readonly unknown[]) => fillJobs(graphile.pool, 'bench', some);
    const contender = { child: 'graphile-worker', database: graphile, task, fill };
    return run(contender, Math.min(seconds, mostSecondsOfGraphile), held);
  };
  const jobtree = compare(await ours(false), await ours(true));
  const graphileWorker = compare(await theirs(false), await theirs(true));

  const courses = [jobtree.without, jobtree.held, graphileWorker.without, graphileWorker.held];
  const windows = Math.max(...courses.map((course) => course.windows.length));
  const show = (value: number | undefined) => (value === undefined ? '' : whole(value));
  const row = (name: string, read: (course: Course) => string) => [name, ...courses.map(read)];
  const held = `snapshot held for ${seconds} s`;
  return {
    tables: [
      {
        title: `snapshot: items per second, in windows of ${windowSeconds} seconds (batches of ${batch}, items added meanwhile)`,
        columns: [
          'from second',
          'jobtree',
          'jobtree, snapshot held',
          'graphile-worker',
          'graphile-worker, snapshot held',
        ],
        rows: [
          ...Array.from({ length: windows }, (_, i) =>
            row(String(i * windowSeconds), (course) => show(course.windows[i])),
          ),
          row('last third', ({ lastThird }) => whole(lastThird)),
          row('bystander, ms', ({ bystander }) => bystander.meanMs.toFixed(2)),
          ['rate with it', '', ratio(jobtree.kept), '', ratio(graphileWorker.kept)],
          ['latency with it', '', ratio(jobtree.bystander), '', ratio(graphileWorker.bystander)],
        ],
        note: 'The last third with the snapshot against the same third without it. bystander: the mean time of a point update of another table.',
      },
    ],
    verdicts: [
      atLeast({
        name: `${held}, rate of the last third against none held`,
        limit: limits.kept,
        found: jobtree.kept,
      }),
      atMost({
        name: `${held}, latency of a bystander against none held`,
        limit: limits.bystander,
        found: jobtree.bystander,
      }),
    ],
    figures: { seconds, jobtree, graphileWorker },
  };
}

const compare = (without: Course, held: Course) => ({
  without,
  held,
  kept: held.lastThird / without.lastThird,
  bystander: held.bystander.meanMs / without.bystander.meanMs,
});
