/** The time from the commit of a report to the event at a subscriber, with few and many subscribers, over one and over many jobs. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { readCommits } from '../checks.ts';
import { whole } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import type { Histogram } from '../histogram.ts';
import { createJobs, fillJobs, type Jobs } from '../jobtree.ts';
import { startReporter } from '../reporter.ts';

const sizes = [1, 100, 1_000, 10_000];
const manyJobs = 1_000;
const perSecond = 2_000;
const batch = 50;
const warmUpMs = 1_000;
/** By this time the last reports have long arrived. */
const settleMs = 500;
const patienceMs = 10_000;
/** The number of subscribers for which the targets apply, the default interval, and the shortest. */
const judged = 1_000;
const standardMs = 100;
const shortestMs = 20;
const limits = { p50: 30, p99: 60 };

interface Course {
  readonly subscribers: number;
  readonly processes: number;
  readonly jobs: number;
  readonly intervalMs: number;
  readonly reportedPerSecond: number;
  readonly eventsPerSecond: number;
  readonly event: Quantiles;
  readonly change: Quantiles;
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

export async function measureLatency(bench: Bench): Promise<Report> {
  const { subscribers } = bench.options;
  const courses = await withJobtree(bench, async (jobtree) => {
    const { url } = jobtree.server;
    const sets = [await createJobs(url, 1), await createJobs(url, manyJobs)];
    const fleet = new Fleet(url);
    const courses: Course[] = [];
    for (const size of new Set(sizes.map((size) => Math.min(size, subscribers)))) {
      await fleet.grow(size);
      for (const jobs of sets) {
        const intervals = size < Math.min(judged, subscribers) ? [standardMs] : [standardMs, shortestMs];
        for (const intervalMs of intervals) {
          courses.push(await runCourse(bench, jobtree, { fleet, jobs, intervalMs }));
        }
      }
    }
    await fleet.stop();
    return courses;
  });

  const counted = courses.filter((course) => course.subscribers === Math.min(judged, subscribers));
  const verdict = (name: string, { jobs, subscribers }: Course, { p50, p99 }: Quantiles) => ({
    target: `${name}, ${whole(subscribers)} subscribers, ${plural(jobs)}: p50 at most ${limits.p50} ms, p99 ${limits.p99} ms`,
    found: `${ms(p50)}, ${ms(p99)}`,
    met: p50 <= limits.p50 && p99 <= limits.p99,
  });
  return {
    tables: [
      {
        title: `latency: milliseconds from commit to subscriber, while ${whole(perSecond)} items are reported per second in batches of ${batch}`,
        columns: [
          'subscribers',
          'jobs',
          'interval',
          'event p50',
          'p99',
          'change p50',
          'p99',
          'events/s',
          'items/s',
        ],
        rows: courses.map(({ subscribers, jobs, intervalMs, event, change, ...rates }) => [
          whole(subscribers),
          whole(jobs),
          `${intervalMs} ms`,
          ms(event.p50),
          ms(event.p99),
          ms(change.p50),
          ms(change.p99),
          whole(rates.eventsPerSecond),
          whole(rates.reportedPerSecond),
        ]),
        note: `event: of the newest commit in it. change: of each commit until an event contains it, so with the wait for the interval. Up to ${Math.max(...courses.map(({ processes }) => processes))} processes of subscribers.`,
      },
    ],
    verdicts: counted.map((course) =>
      course.intervalMs === standardMs
        ? verdict('commit to event', course, course.event)
        : verdict(`commit to event, intervalMs ${shortestMs}, each change`, course, course.change),
    ),
    figures: courses,
  };
}

async function runCourse(
  { options }: Bench,
  { database, server }: Jobtree,
  { fleet, jobs, intervalMs }: { fleet: Fleet; jobs: Jobs; intervalMs: number },
): Promise<Course> {
  const courseMs = options.liveSeconds * 1000;
  const items = (perSecond * (courseMs + warmUpMs + settleMs)) / 1000;
  await fillJobs(database.pool, jobs.ids, items);
  await database.settle();
  await fleet.watch({ jobIds: jobs.ids, intervalMs });
  await fleet.record();

  const reporter = await startReporter({ url: server.url, target: jobs.type, batch, perSecond });
  await delay(warmUpMs);
  const before = await fleet.received();
  const since = now();
  await delay(courseMs);
  const until = now();
  const after = await fleet.received();
  await reporter.stop();
  await delay(settleMs);

  const commits = await readCommits(database.pool, jobs.ids);
  let latency = await fleet.latency(commits, since, until);
  for (const patience = now() + patienceMs; latency.missed > 0; ) {
    if (now() > patience) throw new Error(`${latency.missed} commits never reached their subscribers.`);
    await delay(settleMs);
    latency = await fleet.latency(commits, since, until);
  }
  const reported = commits.flatMap((ofJob) =>
    ofJob.map(({ done, at }, i) => (at >= since && at <= until ? done - (ofJob[i - 1]?.done ?? 0) : 0)),
  );
  const seconds = (until - since) / 1000;
  return {
    subscribers: fleet.size,
    processes: fleet.processes,
    jobs: jobs.ids.length,
    intervalMs,
    reportedPerSecond: reported.reduce((sum, items) => sum + items, 0) / seconds,
    eventsPerSecond: (after.events - before.events) / seconds,
    event: quantiles(latency.event),
    change: quantiles(latency.change),
  };
}

const now = () => performance.timeOrigin + performance.now();
const quantiles = (of: Histogram): Quantiles => ({ p50: of.quantile(0.5), p99: of.quantile(0.99) });
const ms = (value: number) => value.toFixed(0);
const plural = (jobs: number) => (jobs === 1 ? '1 job' : `${whole(jobs)} jobs`);
