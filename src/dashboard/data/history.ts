/** What a history is shown of: how far back, in how many steps, and how its durations become the cells of a heat map. */
import type { HistoryStepFragment } from '../../generated/dashboard.ts';

export type Step = HistoryStepFragment;

/** As long as figures are kept; each in 48 to 72 steps. */
export const ranges = {
  '1h': { minutes: 60, step: 1 },
  '6h': { minutes: 360, step: 5 },
  '24h': { minutes: 1_440, step: 30 },
  '2d': { minutes: 2_880, step: 60 },
} as const;
export type RangeName = keyof typeof ranges;
export const rangeNames = Object.keys(ranges) as RangeName[];

export const toRange = (name: string | undefined): RangeName =>
  rangeNames.find((known) => known === name) ?? '1h';

/** How many a minute; the last step may have only begun. */
export function perMinute({ from, until }: Step, count: number): number {
  return (count * 60_000) / Math.max(10_000, Date.parse(until) - Date.parse(from));
}

/** A column for each step, and a row for each duration between the shortest and the longest, the shortest first. */
export interface HeatMap {
  readonly cells: readonly { readonly column: number; readonly row: number; readonly count: number }[];
  readonly columns: number;
  /** The shortest duration of each row, in milliseconds. */
  readonly rows: readonly number[];
  readonly most: number;
}

/** The longest duration of a row, exclusive. */
export const endOf = (fromMs: number) => (fromMs === 0 ? 1 : fromMs * 2);

export function toHeatMap(steps: readonly Step[], kind: 'wait' | 'processing'): HeatMap {
  const all = steps.flatMap((step, column) => step[kind].buckets.map((bucket) => ({ ...bucket, column })));
  const durations = all.map(({ fromMs }) => fromMs);
  const rows: number[] = [];
  for (let at = Math.min(...durations); at <= Math.max(...durations); at = endOf(at)) rows.push(at);
  return {
    cells: all.map(({ column, fromMs, count }) => ({ column, row: rows.indexOf(fromMs), count })),
    columns: steps.length,
    rows,
    most: Math.max(0, ...all.map(({ count }) => count)),
  };
}
