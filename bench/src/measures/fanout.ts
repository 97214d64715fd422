/**
 * How many events a server delivers when many subscribers watch the same jobs: with one shared execution per job, on WebSockets and as event
 * streams, and with one per subscriber, as for operations whose texts differ. There are two jobs, since even with the shortest interval one job sends
 * 1,000 subscribers no more than 50,000 events a second.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { bareWriteCpu } from '../bare-writes.ts';
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { ratio, whole } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { createJobs, fillJob } from '../jobtree.ts';
import { startReporter } from '../reporter.ts';
import type { Watching } from '../task.ts';
import { cpuMs } from '../usage.ts';

const jobCount = 2;
const watchersOfJob = 1_000;
const intervalMs = 20;
/** So many that each job changes more often than once per interval: each batch has items of both jobs. */
const perSecond = 2_000;
const batch = 50;
const warmUpMs = 1_000;
const target = 5;
const leastPerSecond = 60_000;
const mostCpuPerEvent = 7;
const mostOfStreams = 1.5;

interface Course {
  readonly eventsPerSecond: number;
  /** Microseconds of the server's CPU for each event, beyond what it uses without subscribers. */
  readonly cpuPerEvent: number;
  /** The same for the subscribers. */
  readonly clientCpuPerEvent: number;
  readonly serverShare: number;
}

export async function measureFanout(bench: Bench): Promise<Report> {
  const seconds = bench.options.liveSeconds;
  const size = Math.min(jobCount * watchersOfJob, bench.options.subscribers);
  const { shared, streams, apart, processes } = await withJobtree(bench, async ({ database, server }) => {
    const jobs = await createJobs(server.url, jobCount);
    const fleet = new Fleet(server.url);
    await fleet.grow(size);
    const items = perSecond * (seconds + (2 * warmUpMs) / 1000) * 4;
    for (let filled = 0; filled < items; filled += batch) {
      for (const id of jobs.ids) await fillJob(database.pool, id, batch / jobCount);
    }
    await database.settle();
    const course = async () => {
      const reporter = await startReporter({ url: server.url, target: jobs.type, batch, perSecond });
      await delay(warmUpMs);
      const before = { ...(await fleet.received()), server: cpuMs(server.pid) ?? Number.NaN };
      const start = performance.now();
      await delay(seconds * 1000);
      const after = { ...(await fleet.received()), server: cpuMs(server.pid) ?? Number.NaN };
      const ms = performance.now() - start;
      await reporter.stop();
      return {
        ms,
        events: after.events - before.events,
        server: after.server - before.server,
        client: after.cpuMs - before.cpuMs,
      };
    };
    const watched = async (how: Partial<Watching>) => {
      await fleet.watch({ jobIds: jobs.ids, intervalMs, ...how });
      return course();
    };
    const apart = await watched({ apart: true });
    // Not first, since a server that has just started uses more for everything. Between the two, so that neither is affected by
    // how busy the other left the server.
    await fleet.watch({ jobIds: [], intervalMs });
    const unwatched = await course();
    const courses = { apart, shared: await watched({}), streams: await watched({ asStreams: true }) };
    const beyond = ({ ms, events, server, client }: typeof unwatched): Course => {
      return {
        eventsPerSecond: (events / ms) * 1000,
        cpuPerEvent: ((server - (unwatched.server / unwatched.ms) * ms) * 1000) / events,
        clientCpuPerEvent: (client * 1000) / events,
        serverShare: server / ms,
      };
    };
    const { processes } = fleet;
    await fleet.stop();
    return {
      shared: beyond(courses.shared),
      streams: beyond(courses.streams),
      apart: beyond(courses.apart),
      processes,
    };
  });

  const bare = await bareWriteCpu(size / jobCount);
  const times = shared.eventsPerSecond / apart.eventsPerSecond;
  const streamTimes = streams.cpuPerEvent / shared.cpuPerEvent;
  const cpuTimes = apart.cpuPerEvent / shared.cpuPerEvent;
  const row = (name: string, course: Course) => [
    name,
    whole(course.eventsPerSecond),
    course.cpuPerEvent.toFixed(1),
    course.clientCpuPerEvent.toFixed(1),
    `${Math.round(course.serverShare * 100)} %`,
  ];
  return {
    tables: [
      {
        title: `fanout: events of ${jobCount} jobs to ${whole(size / jobCount)} subscribers each`,
        columns: ['', 'events/s', 'CPU server', 'CPU subscribers', 'server busy'],
        rows: [
          row('one execution a job', shared),
          row('as event streams', streams),
          row('one each', apart),
          ['a bare write', '–', bare.toFixed(1), '–', '–'],
        ],
        note: `CPU: microseconds for each event; of the server, beyond what the reports take. A bare write: as many bytes to as many sockets of Node, without a server. ${processes} process${processes === 1 ? '' : 'es'} of subscribers.`,
      },
    ],
    verdicts: [
      {
        target: `events per second of shared executions: at least ${whole(leastPerSecond)}`,
        found: whole(shared.eventsPerSecond),
        met: shared.eventsPerSecond >= leastPerSecond,
      },
      {
        target: `CPU of the server for each of them: at most ${mostCpuPerEvent} µs`,
        found: `${shared.cpuPerEvent.toFixed(1)} µs`,
        met: shared.cpuPerEvent <= mostCpuPerEvent,
      },
      {
        target: `CPU of the server for an event of a stream: at most ${mostOfStreams} times that`,
        found: ratio(streamTimes),
        met: streamTimes <= mostOfStreams,
      },
      {
        target: `events of a shared execution: at least ${target} times as many`,
        found: ratio(times),
        met: times >= target,
      },
      {
        target: `events of a shared execution: at most 1/${target} of the CPU`,
        found: `1/${ratio(cpuTimes)}`,
        met: cpuTimes >= target,
      },
    ],
    figures: {
      subscribers: size,
      shared,
      streams,
      apart,
      bareWriteCpu: bare,
      ratio: times,
      cpuRatio: cpuTimes,
      streamRatio: streamTimes,
    },
  };
}
