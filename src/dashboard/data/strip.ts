/** The geometry of a strip: ranges side by side, each as wide as it has items. */
import type { ItemRangesQuery, ItemStatus } from '../../generated/dashboard.ts';

type Answered = NonNullable<ItemRangesQuery['job']>['itemRanges']['ranges'][number];

export interface Segment {
  /** How many items come before it. */
  readonly start: number;
  readonly count: number;
  /** The numbers of its first and last item, with gaps between them unless they are `count - 1` apart. */
  readonly first: number;
  readonly last: number;
  readonly counts: Answered['counts'];
}

export interface Strip {
  readonly segments: readonly Segment[];
  readonly total: number;
}

const numberOf = (itemId: string) => Number(itemId.slice(itemId.lastIndexOf(':') + 1));

export function toStrip(ranges: readonly Answered[]): Strip {
  let total = 0;
  const segments = ranges.map(({ firstId, lastId, counts }) => {
    const count = counts.reduce((sum, one) => sum + one.count, 0);
    const segment = { start: total, count, first: numberOf(firstId), last: numberOf(lastId), counts };
    total += count;
    return segment;
  });
  return { segments, total };
}

/** The segment that has the n-th item, from 0. */
export function segmentAt({ segments }: Strip, n: number): Segment | undefined {
  let [low, high] = [0, segments.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((segments[middle] as Segment).start <= n) low = middle;
    else high = middle - 1;
  }
  return segments[low];
}

/** The number of the n-th item; where the numbers have gaps, one that is near it. */
export function positionAt(strip: Strip, n: number): number {
  const segment = segmentAt(strip, Math.min(Math.max(n, 0), strip.total - 1));
  if (segment === undefined) return 0;
  const { start, count, first, last } = segment;
  return (
    first +
    Math.round(
      ((last - first) * (Math.min(Math.max(n, start), start + count - 1) - start)) / Math.max(1, count - 1),
    )
  );
}

/** Whether positionAt is sure of the item. */
export function isExactAt(strip: Strip, n: number): boolean {
  const segment = segmentAt(strip, n);
  return segment !== undefined && segment.last - segment.first === segment.count - 1;
}

export interface View {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const zoomFactor = 4;

/** A quarter of what is shown, around the n-th item. */
export function zoomedIn(strip: Strip, n: number): View {
  const half = Math.max(1, Math.ceil(strip.total / zoomFactor / 2));
  return { from: positionAt(strip, n - half), to: positionAt(strip, n + half) };
}

/** Four times what is shown. Numbers say where: how many items are there is only known once it is read. */
export function zoomedOut(
  { from, to }: View,
  whole: { readonly first: number; readonly last: number },
): View {
  const [first, last] = [from ?? whole.first, to ?? whole.last];
  const more = Math.ceil(((last - first + 1) * (zoomFactor - 1)) / 2);
  const view = { from: Math.max(0, first - more), to: last + more };
  return view.from <= whole.first && view.to >= whole.last ? {} : view;
}

/** As much further to the left (-1) or to the right (1). */
export function panned({ from, to }: View, direction: -1 | 1): View {
  if (from === undefined || to === undefined) return { from, to };
  const by = direction * Math.max(1, Math.round((to - from) / 2));
  return from + by < 0 ? { from: 0, to: to - from } : { from: from + by, to: to + by };
}

/** The order from top to bottom where several are at one place; what people look for is drawn last. */
export const stacked: readonly ItemStatus[] = [
  'SUCCEEDED',
  'CANCELLED',
  'WAITING',
  'SCHEDULED',
  'READY',
  'BLOCKED',
  'RUNNING',
  'RETRYING',
  'FAILED',
];
