/** How soon after an item was added an idle worker runs its handler: jobtree against graphile-worker. */
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { startService } from '../child.ts';
import type { AdderMethods } from '../children/adder.ts';
import type { SleeperMethods } from '../children/sleeper.ts';
import { clearJobs } from '../graphile.ts';
import { Histogram } from '../histogram.ts';
import { createJob } from '../jobtree.ts';
import type { WakeTask } from '../task.ts';

const rounds = 2;
const warmUp = 20;
const limits = { p50: 10, p99: 40 };

interface Times {
  /** Measured from just before the call that adds. */
  readonly sent: Histogram;
  /** Measured from the answer to that call; a handler that started earlier counts as 0. */
  readonly acknowledged: Histogram;
}

export async function measureWake(bench: Bench): Promise<Report> {
  const { options, graphile } = bench;
  const contenders = { jobtree: newTimes(), graphile: newTimes() };
  await withJobtree(bench, async ({ server }) => {
    for (let round = 0; round < rounds; round++) {
      const samples = Math.ceil(options.samples / rounds);
      const { id, type } = await createJob(server.url);
      const ours: WakeTask = { contender: 'jobtree', url: server.url, job: id, type };
      await clearJobs(graphile.pool);
      const theirs: WakeTask = { contender: 'graphile', url: graphile.url, job: '', type: 'bench' };
      for (const task of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) {
        await wake(task, samples, contenders[task.contender]);
      }
    }
  });
  const { jobtree, graphile: theirs } = contenders;
  const row = (name: string, { sent, acknowledged }: Times) => [
    name,
    ...[sent, acknowledged].flatMap((times) => [ms(times.quantile(0.5)), ms(times.quantile(0.99))]),
  ];
  const [p50, p99] = [jobtree.sent.quantile(0.5), jobtree.sent.quantile(0.99)];
  return {
    tables: [
      {
        title: `wake: milliseconds until an idle worker handles an item that is added, ${jobtree.sent.size} times`,
        columns: ['', 'from the call p50', 'p99', 'from its answer p50', 'p99'],
        rows: [row('jobtree', jobtree), row('graphile-worker', theirs)],
        note: 'One item at a time, 20 to 60 ms after the answer to the one before. Handlers that start before the answer count as 0.',
      },
    ],
    verdicts: [
      {
        target: `idle worker: p50 at most ${limits.p50} ms, p99 ${limits.p99} ms`,
        found: `${ms(p50)}, ${ms(p99)}`,
        met: p50 <= limits.p50 && p99 <= limits.p99,
      },
    ],
    figures: Object.fromEntries(
      Object.entries(contenders).map(([name, times]) => [
        name,
        Object.fromEntries(
          Object.entries(times).map(([from, of]: [string, Histogram]) => [
            from,
            { p50: of.quantile(0.5), p99: of.quantile(0.99), samples: of.size },
          ]),
        ),
      ]),
    ),
  };
}

async function wake(task: WakeTask, samples: number, times: Times): Promise<void> {
  const worker = await startService<SleeperMethods>('sleeper', task);
  const adder = await startService<AdderMethods>('adder', task);
  await adder.ask.add(warmUp);
  const added = await adder.ask.add(samples);
  const started = await worker.ask.startedAt(warmUp + samples);
  await Promise.all([worker.stop(), adder.stop()]);
  for (const [i, { sentAt, answeredAt }] of added.entries()) {
    const at = started[warmUp + i] as number;
    times.sent.add(at - sentAt);
    times.acknowledged.add(at - answeredAt);
  }
}

const newTimes = (): Times => ({ sent: new Histogram(), acknowledged: new Histogram() });
const ms = (value: number) => value.toFixed(1);
