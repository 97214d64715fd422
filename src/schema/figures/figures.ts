/** How many items of one or more types are done, and how long they wait and take: fields of a queue, and of a total. */
import type { Histogram } from '../../domain/figures/histogram.ts';
import { type FigureSpan, readFigures } from '../../domain/figures/read-figures.ts';
import { countSlow } from '../../domain/figures/slow-items.ts';
import { checkInteger } from '../../domain/values/checks.ts';
import { builder } from '../core/builder.ts';
import { createGroupLoader, createLoader } from '../core/loader.ts';
import { Queue, Workload } from '../queues/queue.ts';

const DurationBucket = builder
  .objectRef<readonly [fromMs: number, count: number]>('DurationBucket')
  .implement({
    description: 'Durations of about the same length.',
    fields: (t) => ({
      fromMs: t.field({
        type: 'Count',
        description:
          'The shortest, in milliseconds: 0 or a power of two. The next bucket begins at twice as much.',
        resolve: ([fromMs]) => fromMs,
      }),
      count: t.field({ type: 'Count', description: 'How many there were.', resolve: ([, count]) => count }),
    }),
  });

const Durations = builder.objectRef<Histogram>('Durations').implement({
  description:
    'The distribution of durations. They are counted in buckets, so a percentile is at most an eighth too high or too low.',
  fields: (t) => ({
    count: t.field({
      type: 'Count',
      description: 'How many there were.',
      resolve: ({ count }) => count,
    }),
    p50Ms: t.int({
      nullable: true,
      description: 'Half of them took no longer, in milliseconds; null if there were none.',
      resolve: (histogram) => histogram.quantileMs(0.5),
    }),
    p95Ms: t.int({
      nullable: true,
      description: '95 % of them took no longer, in milliseconds; null if there were none.',
      resolve: (histogram) => histogram.quantileMs(0.95),
    }),
    p99Ms: t.int({
      nullable: true,
      description: '99 % of them took no longer, in milliseconds; null if there were none.',
      resolve: (histogram) => histogram.quantileMs(0.99),
    }),
    buckets: t.field({
      type: [DurationBucket],
      complexity: { multiplier: 5 },
      description:
        'How many were about how long, from the shortest to the longest: up to 32 buckets, those that are not empty. For heat maps.',
      resolve: (histogram) => histogram.octaves(),
    }),
  }),
});

const perSecond = ({ from, until }: FigureSpan, count: number) =>
  (count * 1_000) / Math.max(1, until.getTime() - from.getTime());

const QueueFigures = builder.objectRef<FigureSpan>('QueueFigures').implement({
  description:
    'What the servers counted in a period, for one type or for several together. Work that workers did by SQL alone, bypassing the servers, is not included. Servers save their counts every ten seconds; the latest are only those of the server that you ask.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'When the period begins.' }),
    until: t.expose('until', { type: 'DateTime', description: 'When the period ends: not later than now.' }),
    claimed: t.field({
      type: 'Count',
      description: 'How many items workers got; an item that was claimed again counts again.',
      resolve: ({ tally }) => tally.claimed,
    }),
    succeeded: t.field({
      type: 'Count',
      description: 'How many items succeeded.',
      resolve: ({ tally }) => tally.succeeded,
    }),
    failed: t.field({
      type: 'Count',
      description: 'How many attempts failed, reported or lost.',
      resolve: ({ tally }) => tally.failed,
    }),
    lost: t.field({
      type: 'Count',
      description: "How many of the failed attempts lost their worker's heartbeats.",
      resolve: ({ tally }) => tally.lost,
    }),
    dead: t.field({
      type: 'Count',
      description: 'How many items failed for good, including expired ones.',
      resolve: ({ tally }) => tally.dead,
    }),
    deadRate: t.float({
      nullable: true,
      description:
        'The share of failed items among those that succeeded or failed for good: 0 to 1; null if there were none.',
      resolve: ({ tally: { dead, succeeded } }) =>
        dead + succeeded === 0 ? null : dead / (dead + succeeded),
    }),
    perSecond: t.float({
      description: 'How many items succeeded or failed for good per second, on average.',
      resolve: (span) => perSecond(span, span.tally.dead + span.tally.succeeded),
    }),
    claimedPerSecond: t.float({
      description: 'How many items workers got per second, on average.',
      resolve: (span) => perSecond(span, span.tally.claimed),
    }),
    wait: t.field({
      type: Durations,
      description:
        'How long items waited for a worker, from being ready (after a backoff, behind their serialize key, given back) to being claimed.',
      resolve: ({ tally }) => tally.wait,
    }),
    processing: t.field({
      type: Durations,
      description:
        'How long attempts took, from the claim to the report of a success or a failure. For a worker that claims ahead, this includes the wait for a handler.',
      resolve: ({ tally }) => tally.took,
    }),
  }),
});

const minutesInADay = 24 * 60;
/** As long as figures are kept. */
const minutesInHistory = 2 * minutesInADay;
const mostSteps = 1_440;

const figures = createGroupLoader(
  ({ last }: { names: readonly string[]; last: number }) => last,
  async (keys, { engine }) => {
    const spans = await readFigures(
      engine,
      keys.map(({ names }) => names),
      keys[0].last,
    );
    return spans.map(([span]) => span as FigureSpan);
  },
);

const histories = createGroupLoader(
  ({ last, step }: { names: readonly string[]; last: number; step: number }) => `${last}/${step}`,
  (keys, { engine }) =>
    readFigures(
      engine,
      keys.map(({ names }) => names),
      keys[0].last,
      keys[0].step,
    ),
);

const namesIn = (workload: { type: string } | { names: readonly string[] }) =>
  'names' in workload ? workload.names : [workload.type];

const slowCounts = createLoader(async (types: readonly string[], { engine }) => {
  const counts = await countSlow(engine, types);
  return types.map((type) => counts.get(type) ?? 0);
});

const slowLimits = createLoader((types: readonly string[], { engine }) => engine.slowAfter.of(engine, types));

builder.interfaceFields(Workload, (t) => ({
  figures: t.field({
    type: QueueFigures,
    description: 'What was done recently.',
    args: {
      lastMinutes: t.arg.int({
        required: true,
        defaultValue: 5,
        description:
          'The current minute and the minutes before it, this many in all: 1 to 1,440, a day. Default: 5.',
      }),
    },
    complexity: { field: 20 },
    resolve: (workload, { lastMinutes }, context) =>
      figures(context).load({
        names: namesIn(workload),
        last: checkInteger(lastMinutes ?? 5, 'lastMinutes', 1, minutesInADay),
      }),
  }),
  history: t.field({
    type: [QueueFigures],
    description:
      'What was done recently, in steps, up to 1,440, the oldest first: for graphs. A step without data has zeros.',
    args: {
      lastMinutes: t.arg.int({
        required: true,
        defaultValue: 60,
        description: 'How far back: 1 to 2,880 minutes, two days; beyond that nothing is kept. Default: 60.',
      }),
      stepMinutes: t.arg.int({
        required: true,
        defaultValue: 1,
        description:
          'How long a step is, in minutes: 1 to 60. Steps begin at multiples of their length; the last one is not over yet. INVALID_INPUT if that makes more than 1,440 steps. Default: 1.',
      }),
    },
    complexity: ({ lastMinutes, stepMinutes }) => ({
      field: 20,
      multiplier: Math.max(
        1,
        Math.min(mostSteps, Math.ceil((lastMinutes ?? 60) / Math.max(1, stepMinutes ?? 1))),
      ),
    }),
    resolve: async (workload, { lastMinutes, stepMinutes }, context) => {
      const last = checkInteger(lastMinutes ?? 60, 'lastMinutes', 1, minutesInHistory);
      const step = checkInteger(stepMinutes ?? 1, 'stepMinutes', last > mostSteps ? 2 : 1, 60);
      return histories(context).load({ names: namesIn(workload), last, step });
    },
  }),
}));

builder.objectFields(Queue, (t) => ({
  slow: t.field({
    type: 'Count',
    description: 'How many items workers have held for longer than `slowAfterMs`.',
    complexity: { field: 10 },
    resolve: ({ type }, _, context) => slowCounts(context).load(type),
  }),
  slowAfterMs: t.field({
    type: 'Count',
    nullable: true,
    description:
      'The time after which a held item counts as slow, in milliseconds: JOBTREE_SLOW_FACTOR times the p99 of processing within the last day, and at least JOBTREE_SLOW_AFTER_MS. Null while fewer than 20 attempts are known. It is updated once a minute.',
    complexity: { field: 20 },
    resolve: ({ type }, _, context) => slowLimits(context).load(type),
  }),
}));

/** Whether an item of a type is slow after being held for this long; `heldMs` is null if it is not held. */
export async function isSlow(
  type: string,
  heldMs: number | null,
  context: Parameters<typeof slowLimits>[0],
): Promise<boolean> {
  if (heldMs === null || heldMs < context.engine.slowAfter.leastMs) return false;
  const limit = await slowLimits(context).load(type);
  return limit !== null && heldMs >= limit;
}
