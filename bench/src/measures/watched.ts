/** Claiming and reporting while many watch, against the same while nobody does. */
import { type Bench, type Report, runChild, withJobtree } from '../bench.ts';
import { cpu, medianRun, type Run, ratio, whole } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { createJobs, fillJobs } from '../jobtree.ts';
import type { WorkerTask } from '../task.ts';

/** The number of jobs, and the target for the rate with watchers, as a share of the rate without. */
const cases = [
  { jobs: 1_000, target: 0.8 },
  { jobs: 1, target: 0.9 },
];
const batch = 100;
const share = 0.3;
const warmUpShare = 0.2;

export async function measureWatched(bench: Bench): Promise<Report> {
  const { options } = bench;
  const items = Math.ceil((options.items * share) / batch) * batch;
  const { runs, subscribers, processes } = await withJobtree(bench, async (jobtree) => {
    const { database, server } = jobtree;
    const fleet = new Fleet(server.url);
    const runs = cases.map(({ jobs, target }) => ({
      jobs,
      target,
      none: [] as Run[],
      watched: [] as Watched[],
    }));
    const work = async (jobCount: number, items: number) => {
      const jobs = await createJobs(server.url, jobCount);
      await fillJobs(database.pool, jobs.ids, items);
      if (fleet.size > 0) await fleet.watch({ jobIds: jobs.ids, intervalMs: 100 });
      const before = await fleet.received();
      const task: WorkerTask = { url: server.url, target: jobs.type, items, batch };
      const run = await runChild(bench, 'jobtree-worker', task, jobtree);
      const after = await fleet.received();
      return {
        ...run,
        eventsPerItem: (after.events - before.events) / items,
        subscriberCpuPerItem: ((after.cpuMs - before.cpuMs) * 1000) / items,
      };
    };
    // Runs without watchers come before and after those with watchers, so that changes over time affect both.
    const unwatched = async () => {
      for (const { jobs, none } of runs) none.push(await work(jobs, items));
    };
    await work(1, Math.ceil((items * warmUpShare) / batch) * batch);
    await unwatched();
    await fleet.grow(options.subscribers);
    for (const { jobs, watched } of runs) watched.push(await work(jobs, items), await work(jobs, items));
    const { size: subscribers, processes } = fleet;
    await fleet.stop();
    await unwatched();
    return { runs, subscribers, processes };
  });

  const figures = runs.map(({ jobs, target, none, watched }) => {
    const [without, withThem] = [medianRun(none), medianRun(watched)];
    return {
      jobs,
      target,
      none: { median: without, runs: none },
      watched: { median: withThem, runs: watched },
      ratio: withThem.perSecond / without.perSecond,
      eventsPerItem: mean(watched.map((run) => run.eventsPerItem)),
      subscriberCpuPerItem: mean(watched.map((run) => run.subscriberCpuPerItem)),
    };
  });
  return {
    tables: [
      {
        title: `watched: items claimed and completed per second, with ${whole(subscribers)} subscribers and without (batches of ${batch})`,
        columns: [
          'jobs',
          'without',
          'with',
          'ratio',
          'CPU without',
          'CPU with',
          'events per item',
          'CPU subscribers',
        ],
        rows: figures.map(({ jobs, none, watched, ...rest }) => [
          whole(jobs),
          whole(none.median.perSecond),
          whole(watched.median.perSecond),
          ratio(rest.ratio),
          cpu(none.median),
          cpu(watched.median),
          rest.eventsPerItem.toFixed(1),
          rest.subscriberCpuPerItem.toFixed(0),
        ]),
        note: `CPU: microseconds per item of worker + server + Postgres, and of the ${processes} processes of subscribers, which share the machine.`,
      },
    ],
    verdicts: figures.map(({ jobs, target, ratio: times }) => ({
      target: `reports, ${whole(subscribers)} subscribers of ${jobs === 1 ? '1 job' : `${whole(jobs)} jobs`}: at least ${target} times as fast as without`,
      found: ratio(times),
      met: times >= target,
    })),
    figures,
  };
}

interface Watched extends Run {
  readonly eventsPerItem: number;
  readonly subscriberCpuPerItem: number;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
