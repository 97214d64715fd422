/**
 * Which held items are slow: a worker has had them for far longer than is usual for their type. Leases are checked when somebody
 * asks; nothing is written.
 */
import { LRUCache } from 'lru-cache';
import { type FigureSource, type FigureSpan, readFigures } from './read-figures.ts';

/** When an item counts as slow. */
export interface Slowness {
  /** How many times the p99 of its type. */
  readonly factor: number;
  /** But not before this many milliseconds. */
  readonly afterMs: number;
}

/** The p99 is that of the last day, needs at least this many attempts, and is read again at this interval. */
const usualMinutes = 24 * 60;
const fewestAttempts = 20;
const lookUpEveryMs = 60_000;
const mostTypes = 10_000;

export class SlowAfter {
  readonly #slowness: Slowness;
  readonly #known = new LRUCache<string, Promise<number | null>>({ max: mostTypes, ttl: lookUpEveryMs });

  constructor(slowness: Slowness) {
    this.#slowness = slowness;
  }

  get leastMs(): number {
    return this.#slowness.afterMs;
  }

  /** For each type, in their order: after how many milliseconds an item is slow; null while too little is known. */
  async of(source: FigureSource, types: readonly string[]): Promise<(number | null)[]> {
    const unknown = [...new Set(types)].filter((type) => !this.#known.has(type));
    if (unknown.length > 0) {
      const read = readFigures(
        source,
        unknown.map((type) => [type]),
        usualMinutes,
      );
      for (const [i, type] of unknown.entries()) {
        const after = read.then((spans) => this.#after(spans[i]?.[0]));
        after.catch(() => this.#known.delete(type));
        this.#known.set(type, after);
      }
    }
    return Promise.all(types.map(async (type) => (await this.#known.get(type)) ?? null));
  }

  #after(span: FigureSpan | undefined): number | null {
    const p99 = span?.tally.took.quantileMs(0.99);
    if (span === undefined || p99 === undefined || span.tally.took.count < fewestAttempts) return null;
    return Math.max(this.#slowness.afterMs, Math.ceil(this.#slowness.factor * p99));
  }
}

export interface SlowSource extends FigureSource {
  readonly slowAfter: SlowAfter;
}

/** After how many milliseconds items are slow, by type, for the types that may have slow ones. */
export async function slowLimits(
  source: SlowSource,
  types: readonly string[] | null,
): Promise<Map<string, number>> {
  const { slowAfter, database } = source;
  const { rows } = await database.pool.query<{ type: string }>({
    name: 'read_long_held',
    text: `select j.type from jobtree.lease l join jobtree.job j on j.id = l.job_id
           where l.check_at is not null and l.claimed_at <= clock_timestamp() - $2::float8 * interval '1 ms'
             and ($1::text[] is null or j.type = any ($1))
           group by j.type
           order by j.type
           limit ${mostTypes}`,
    values: [types, slowAfter.leastMs],
  });
  const names = rows.map(({ type }) => type);
  const limits = await slowAfter.of(source, names);
  return new Map(
    names.flatMap((type, i): [string, number][] => {
      const ms = limits[i];
      return ms == null ? [] : [[type, ms]];
    }),
  );
}

/** How many slow items there are, by type: of these types, or of all that have any. */
export async function countSlow(
  source: SlowSource,
  types: readonly string[] | null,
): Promise<Map<string, number>> {
  const limits = await slowLimits(source, types);
  if (limits.size === 0) return new Map();
  const { rows } = await source.database.pool.query<{ type: string; items: number }>({
    name: 'count_slow',
    text: `select j.type, sum(bit_count(l.open))::integer as items
           from jobtree.lease l
           join jobtree.job j on j.id = l.job_id and j.cancelled_at is null
           join unnest($1::text[], $2::float8[]) s(type, ms) on s.type = j.type
           where l.check_at is not null and l.claimed_at <= clock_timestamp() - s.ms * interval '1 ms'
           group by j.type`,
    values: [[...limits.keys()], [...limits.values()]],
  });
  return new Map(rows.map(({ type, items }) => [type, items]));
}
