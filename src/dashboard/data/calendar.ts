/** What stands on which day of a calendar: days and weeks are those of the reader, occurrences those of schedules in their own zones. */
import type { ScheduleRowFragment } from '../../generated/dashboard.ts';

export const views = ['week', 'month'] as const;
export type View = (typeof views)[number];

/** So many in what is shown are too often for a calendar; two a day in a month are more. */
export const mostShown = 50;
/** More than these of one schedule on one day are one entry. */
const mostApart = 3;

/** The local date, `2026-03-29`. */
export const dayOf = (time: Date) =>
  [
    String(time.getFullYear()).padStart(4, '0'),
    String(time.getMonth() + 1).padStart(2, '0'),
    String(time.getDate()).padStart(2, '0'),
  ].join('-');

export const today = () => dayOf(new Date());

/** Days differ in length where clocks change, so they are counted, not their hours. */
const addDays = (time: Date, days: number) =>
  new Date(time.getFullYear(), time.getMonth(), time.getDate() + days);

export interface Shown {
  /** The first moment of each. */
  readonly days: readonly Date[];
  /** The first moment after the last one. */
  readonly until: Date;
  /** In the range before it and after it. */
  readonly previous: string;
  readonly next: string;
}

/** The week or the month of a day, in whole weeks. `firstWeekday` counts from Monday as 1 to Sunday as 7. */
export function shownDays(view: View, day: Date, firstWeekday: number): Shown {
  const start = view === 'week' ? day : new Date(day.getFullYear(), day.getMonth(), 1);
  const end = view === 'week' ? day : new Date(day.getFullYear(), day.getMonth() + 1, 0);
  const after = (time: Date) => (((time.getDay() || 7) - firstWeekday + 7) % 7) as number;
  const first = addDays(start, -after(start));
  const until = addDays(end, 7 - after(end));
  const days: Date[] = [];
  for (let one = first; one < until; one = addDays(one, 1)) days.push(one);
  const previous = view === 'week' ? addDays(day, -7) : addDays(start, -1);
  const next = view === 'week' ? addDays(day, 7) : addDays(end, 1);
  return { days, until, previous: dayOf(previous), next: dayOf(next) };
}

export type OccurrenceState = 'NEXT' | 'PAUSED' | 'QUEUED' | 'SKIPPED' | 'FAILED' | 'CREATED';

/** Occurrences of a schedule in the same state on one day: one, or more than would have room. */
export interface Entry {
  readonly key: string;
  readonly schedule: ScheduleRowFragment;
  readonly state: OccurrenceState;
  readonly times: readonly [string, ...string[]];
}

export type Calculated = ScheduleRowFragment & { readonly nextOccurrences: readonly string[] };

export const isOften = ({ nextOccurrences }: Calculated) => nextOccurrences.length > mostShown;

/** The entries of each of these days, in their order. What a schedule has had is known of its last occurrences only. */
export function entriesOf(schedules: readonly Calculated[], { days, until }: Shown): Entry[][] {
  const byDay = new Map(days.map((day) => [dayOf(day), [] as Entry[]]));
  for (const schedule of schedules) {
    if (isOften(schedule)) continue;
    for (const [day, times] of groupBy(statesOf(schedule, days[0] as Date, until), ([at]) =>
      dayOf(new Date(at)),
    )) {
      const entries = byDay.get(day);
      for (const [state, same] of groupBy(times, ([, state]) => state)) {
        const sorted = same.map(([at]) => at).sort() as [string, ...string[]];
        const parts = sorted.length > mostApart ? [sorted] : sorted.map((at) => [at] as [string]);
        entries?.push(
          ...parts.map((times) => ({ key: `${times[0]} ${schedule.name}`, schedule, state, times })),
        );
      }
    }
  }
  return days.map((day) =>
    (byDay.get(dayOf(day)) ?? []).sort(
      (a, b) => a.times[0].localeCompare(b.times[0]) || a.schedule.name.localeCompare(b.schedule.name),
    ),
  );
}

/** When, and what is known of it; of two things that are known of one occurrence, what came last. */
function statesOf(
  schedule: Calculated,
  from: Date,
  until: Date,
): readonly (readonly [at: string, state: OccurrenceState])[] {
  const { pausedAt, nextAt, nextOccurrences, queued, lastSkip, lastFailure, lastOccurrenceAt, lastJob } =
    schedule;
  const states = new Map<string, OccurrenceState>();
  const set = (at: string | null | undefined, state: OccurrenceState) => {
    if (at == null) return;
    const time = new Date(at);
    if (time >= from && time < until) states.set(time.toISOString(), state);
  };
  for (const at of nextOccurrences)
    if (pausedAt != null) set(at, 'PAUSED');
    // The others have been since they were calculated.
    else if (nextAt == null || at >= nextAt) set(at, 'NEXT');
  for (const at of queued) set(at, 'QUEUED');
  set(lastSkip?.at, 'SKIPPED');
  set(lastFailure?.at, 'FAILED');
  if (lastJob != null) set(lastOccurrenceAt, 'CREATED');
  return [...states];
}

function groupBy<K, V>(values: readonly V[], keyOf: (value: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
}
