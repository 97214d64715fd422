/** What `/metrics` shows: the families of metrics, their names and meanings, and how they follow from the figures and queues. */
import { Counter, Gauge, type Metric, type Registry } from 'prom-client';
import type { TenantStored } from '../../domain/access/stored.ts';
import { type Figures, restOfTypes, Tally } from '../../domain/figures/figures.ts';
import { type Histogram, lowerBoundMs } from '../../domain/figures/histogram.ts';
import type { Queue } from '../../domain/queues/queues.ts';

export interface Depths {
  readonly queues: readonly Queue[];
  readonly slow: ReadonlyMap<string, number>;
  readonly stored: readonly TenantStored[];
}

/** Label values for types or tenants: the first so many keep their names, all others are "other". */
export class TypeLabels {
  readonly #most: number;
  readonly #known = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  of(type: string): string {
    if (this.#known.has(type)) return type;
    if (type === restOfTypes || this.#known.size >= this.#most) return 'other';
    this.#known.add(type);
    return type;
  }
}

export function addStored(registry: Registry, labels: TypeLabels, stored: readonly TenantStored[]): void {
  const registers = [registry];
  const labelNames = ['tenant'] as const;
  const items = new Gauge({
    name: 'jobtree_stored_items',
    help: 'Stored items, pending and finished, by tenant; an empty tenant stands for items without one. The same from every server.',
    labelNames,
    registers,
  });
  const bytes = new Gauge({
    name: 'jobtree_stored_bytes',
    help: 'Stored bytes of payloads and results (as JSON text) and of uploads, by tenant; an empty tenant stands for data without one. The same from every server.',
    labelNames,
    registers,
  });
  for (const one of stored) {
    const tenant = one.tenant === null ? '' : labels.of(one.tenant);
    items.inc({ tenant }, one.items);
    bytes.inc({ tenant }, one.bytes);
  }
}

const depths: readonly {
  readonly name: string;
  readonly help: string;
  readonly of: (queue: Queue, slow: number) => number;
  /** Combines the values of types that share a label. */
  readonly join?: typeof Math.max;
}[] = [
  {
    name: 'jobtree_items_ready',
    help: 'Items ready to be claimed. The same from every server.',
    of: ({ ready }) => ready,
  },
  {
    name: 'jobtree_items_scheduled',
    help: 'Items that have not failed, and wait until they are due. The same from every server.',
    of: ({ scheduled }) => scheduled,
  },
  {
    name: 'jobtree_items_retrying',
    help: 'Items that have failed, and wait for their next attempt. The same from every server.',
    of: ({ retrying }) => retrying,
  },
  {
    name: 'jobtree_items_waiting',
    help: 'Items of jobs that wait for other jobs. The same from every server.',
    of: ({ waiting }) => waiting,
  },
  {
    name: 'jobtree_items_blocked',
    help: 'Items that wait for another item with the same serialize key. The same from every server.',
    of: ({ blocked }) => blocked,
  },
  {
    name: 'jobtree_items_running',
    help: 'Items that workers hold. The same from every server.',
    of: ({ running }) => running,
  },
  {
    name: 'jobtree_items_slow',
    help: 'Items that workers have held far longer than usual for their type. The same from every server.',
    of: (_, slow) => slow,
  },
  {
    name: 'jobtree_oldest_ready_seconds',
    help: 'How long the oldest ready item has waited for a worker; 0 if none is ready. The same from every server.',
    of: ({ oldestReadyMs }) => (oldestReadyMs ?? 0) / 1_000,
    join: Math.max,
  },
  {
    name: 'jobtree_queue_paused',
    help: '1 while the type is paused, otherwise 0. The same from every server.',
    of: ({ paused }) => Number(paused),
    join: Math.max,
  },
];

export function addDepths(registry: Registry, labels: TypeLabels, found: Depths | undefined): void {
  new Gauge({
    name: 'jobtree_database_up',
    help: '1 if this server could read the queues from Postgres for this scrape, otherwise 0.',
    registers: [registry],
  }).set(found === undefined ? 0 : 1);
  for (const { name, help, of, join } of depths) {
    const gauge = new Gauge({ name, help, labelNames: ['type'], registers: [registry] });
    const values = new Map<string, number>();
    for (const queue of found?.queues ?? []) {
      const label = labels.of(queue.type);
      const value = of(queue, found?.slow.get(queue.type) ?? 0);
      const before = values.get(label);
      values.set(label, before === undefined ? value : join ? join(before, value) : before + value);
    }
    for (const [type, value] of values) gauge.set({ type }, value);
  }
}

const counters: readonly {
  readonly name: string;
  readonly help: string;
  readonly of: (tally: Tally) => number;
}[] = [
  {
    name: 'jobtree_items_claimed_total',
    help: 'Items that workers claimed from this server.',
    of: ({ claimed }) => claimed,
  },
  {
    name: 'jobtree_items_succeeded_total',
    help: 'Successful items reported to this server.',
    of: ({ succeeded }) => succeeded,
  },
  {
    name: 'jobtree_attempts_failed_total',
    help: 'Failed attempts: reported to this server, or found lost by it.',
    of: ({ failed }) => failed,
  },
  {
    name: 'jobtree_heartbeats_lost_total',
    help: 'Attempts that failed because their worker stopped sending heartbeats, found by this server.',
    of: ({ lost }) => lost,
  },
  {
    name: 'jobtree_items_dead_total',
    help: 'Items that failed for good: reported to this server, or found by it.',
    of: ({ dead }) => dead,
  },
];

/**
 * Counters that are new since the last scrape begin with 0, and have their value from the next one on: Prometheus takes the first value of a series
 * for its beginning, so the first burst of a type would not be an increase. Returns the labels that are shown now.
 */
export function addFigures(
  registry: Registry,
  labels: TypeLabels,
  { totals }: Figures,
  shown: ReadonlySet<string> | undefined,
): Set<string> {
  const none = new Tally();
  const tallies = Array.from(totals, ([name, tally]) => {
    const type = labels.of(name);
    return { type, tally: shown === undefined || shown.has(type) ? tally : none };
  });
  for (const { name, help, of } of counters) {
    const counter = new Counter({ name, help, labelNames: ['type'], registers: [registry] });
    for (const { type, tally } of tallies) counter.inc({ type }, of(tally));
  }
  addHistogram(registry, {
    name: 'jobtree_item_wait_seconds',
    help: 'Time from ready to claimed, of items claimed from this server.',
    histograms: tallies.map(({ type, tally }) => ({ type, histogram: tally.wait })),
  });
  addHistogram(registry, {
    name: 'jobtree_item_processing_seconds',
    help: 'Time from the claim to the report, of attempts reported to this server.',
    histograms: tallies.map(({ type, tally }) => ({ type, histogram: tally.took })),
  });
  return new Set(tallies.map(({ type }) => type));
}

/** Powers of two: from 4 ms to a little over an hour. */
const boundsMs = Array.from({ length: 21 }, (_, i) => 2 ** (i + 2));

/** A prom-client histogram can only observe single values, so the finished buckets are registered as a metric. */
function addHistogram(
  registry: Registry,
  options: { name: string; help: string; histograms: readonly { type: string; histogram: Histogram }[] },
): void {
  const { name, help, histograms } = options;
  const byLabel = new Map<string, { counts: number[]; sumMs: number; count: number }>();
  for (const { type, histogram } of histograms) {
    const sum = byLabel.get(type) ?? { counts: boundsMs.map(() => 0), sumMs: 0, count: 0 };
    byLabel.set(type, sum);
    sum.sumMs += histogram.sumMs;
    sum.count += histogram.count;
    for (const [bucket, count] of histogram.buckets()) {
      const first = boundsMs.findIndex((bound) => lowerBoundMs(bucket) < bound);
      if (first !== -1) sum.counts[first] = (sum.counts[first] as number) + count;
    }
  }
  const values = Array.from(byLabel, ([type, { counts, sumMs, count }]) => {
    let below = 0;
    return [
      ...boundsMs.map((bound, i) => {
        below += counts[i] as number;
        return { metricName: `${name}_bucket`, labels: { type, le: String(bound / 1_000) }, value: below };
      }),
      { metricName: `${name}_bucket`, labels: { type, le: '+Inf' }, value: count },
      { metricName: `${name}_sum`, labels: { type }, value: sumMs / 1_000 },
      { metricName: `${name}_count`, labels: { type }, value: count },
    ];
  }).flat();
  const metric = { name, help, type: 'histogram', aggregator: 'sum' };
  registry.registerMetric({ ...metric, get: async () => ({ ...metric, values }) } as unknown as Metric);
}
