/**
 * When a schedule is due: by a cron in a time zone, or by an interval. The caller passes the time, which comes from Postgres;
 * nothing here reads a clock.
 */
import { Cron } from 'croner';
import { InvalidInputError } from '../../errors.ts';
import { checkInstant, checkInteger, checkText } from '../values/checks.ts';
import { everyMsRange, maxCronLength, maxTimeZoneLength, runAtEnd } from '../values/limits.ts';

/** Either a cron with its zone, or an interval. */
export interface Timing {
  readonly cron: string | null;
  readonly timeZone: string | null;
  readonly everyMs: number | null;
  /** No occurrence is earlier. Intervals count from it; without it, from 1970. */
  readonly startAt: Date | null;
}

export type NewTiming = { readonly [Key in keyof Timing]?: Timing[Key] | undefined };

export type MissedPolicy = 'SKIP' | 'RUN_ONCE' | 'RUN_ALL';

/** An occurrence later than this was missed: the servers were down, not just busy. */
export const missedAfterMs = 30_000;
/** The most missed occurrences that RUN_ALL makes up for; it takes the latest ones. */
export const maxMissed = 1_000;

/** @throws InvalidInputError also for a cron that never occurs */
export function checkTiming(input: NewTiming, path: string, now: Date): Timing & { readonly nextAt: Date } {
  const { cron = null, timeZone = null, everyMs = null } = input;
  const fields = { cron: `${path}times.cron.expression`, startAt: `${path}startAt` };
  if (everyMs !== null) checkInteger(everyMs, `${path}times.everyMs`, ...everyMsRange);
  const startAt = input.startAt == null ? null : checkInstant(input.startAt, fields.startAt);
  const zone = cron === null ? null : checkTimeZone(timeZone ?? 'UTC', `${path}times.cron.timeZone`);
  if (cron !== null) checkCron(cron, fields.cron);
  const timing = { cron, timeZone: zone, everyMs, startAt };
  const nextAt = nextOccurrence(timing, now);
  if (nextAt === null) {
    const field = cron === null ? fields.startAt : fields.cron;
    throw new InvalidInputError(
      `${field} is "${cron ?? startAt?.toISOString()}", which never occurs.`,
      field,
    );
  }
  return { ...timing, nextAt };
}

function checkCron(cron: string, field: string): void {
  checkText(cron, field, maxCronLength);
  // A single word would be a nickname or an instant.
  const parts = cron.trim().split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6 && !cron.startsWith('@')) {
    throw new InvalidInputError(
      `${field} is ${JSON.stringify(cron)}; it must have five fields (minute, hour, day, month, weekday), or six with seconds first.`,
      field,
    );
  }
  try {
    toCron(cron, 'UTC');
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^Cron\w+: /, '') : String(error);
    throw new InvalidInputError(`${field} can't be read: ${JSON.stringify(cron)}. ${reason}`, field);
  }
}

function checkTimeZone(timeZone: string, field: string): string {
  checkText(timeZone, field, maxTimeZoneLength);
  try {
    // Some versions of Node accept offsets, which ignore daylight saving.
    if (/^[+-]/.test(timeZone)) throw new RangeError();
    new Intl.DateTimeFormat('en', { timeZone });
  } catch {
    throw new InvalidInputError(
      `${field} is not known: ${JSON.stringify(timeZone)}. Give a name like Europe/Berlin, or UTC.`,
      field,
    );
  }
  return timeZone;
}

function toCron(cron: string, timeZone: string): Cron {
  return new Cron(cron, { timezone: timeZone, mode: '5-or-6-parts', paused: true });
}

/** The first occurrence after an instant; null if there is none before the year 10000. */
export function nextOccurrence({ cron, timeZone, everyMs, startAt }: Timing, after: Date): Date | null {
  let next: Date | null;
  if (cron !== null) {
    const from = Math.max(after.getTime(), (startAt?.getTime() ?? 1) - 1);
    next = toCron(cron, timeZone ?? 'UTC').nextRun(new Date(from));
  } else {
    const every = everyMs ?? Number.NaN;
    const start = startAt?.getTime() ?? 0;
    next = new Date(start + Math.max(0, Math.floor((after.getTime() - start) / every) + 1) * every);
  }
  return next !== null && next.getTime() < runAtEnd ? next : null;
}

/** Like `nextOccurrence`, for an existing schedule. @throws InvalidInputError if there is none, or its times can't be computed any more */
export function followingOccurrence(name: string, timing: Timing, after: Date): Date {
  let next: Date | null;
  try {
    next = nextOccurrence(timing, after);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new InvalidInputError(`The times of the schedule ${name} can't be worked out: ${why}`, 'name');
  }
  if (next === null) throw new InvalidInputError(`The schedule ${name} has no further occurrence.`, 'name');
  return next;
}

/** The next few occurrences after an instant, and before another. */
export function nextOccurrences(timing: Timing, after: Date, count: number, until?: Date | null): Date[] {
  const found: Date[] = [];
  for (let last: Date | null = after; found.length < count; found.push(last)) {
    last = nextOccurrence(timing, last);
    if (last === null || (until != null && last >= until)) break;
  }
  return found;
}

/**
 * The first few occurrences of a schedule between two instants, the first of which is inclusive. `nextAt` is its next one, before which there is none;
 * as long as it is paused, the time from which it would go on. None if its times can't be computed any more.
 */
export function occurrencesWithin(
  timing: Timing,
  next: { readonly at: Date; readonly isPaused: boolean },
  range: { readonly from: Date | null; readonly until: Date | null; readonly first: number },
): Date[] {
  const { from, until, first } = range;
  if (first === 0) return [];
  const isFirst = !next.isPaused && (from === null || from <= next.at) && (until === null || next.at < until);
  const since = from === null || from < next.at ? next.at : new Date(from.getTime() - 1);
  try {
    const later = nextOccurrences(timing, since, first - (isFirst ? 1 : 0), until);
    return isFirst ? [next.at, ...later] : later;
  } catch {
    return isFirst ? [next.at] : [];
  }
}

/** The latest occurrences between two instants, both inclusive, in chronological order. */
function latestOccurrences(timing: Timing, first: Date, last: Date, count: number): Date[] {
  const latest: Date[] = [];
  let at = previousOccurrence(timing, new Date(last.getTime() + 1));
  for (; at !== null && at >= first && latest.length < count; at = previousOccurrence(timing, at))
    latest.push(at);
  return latest.reverse();
}

/** The last occurrence before an instant, wherever the schedule starts; null if there is none. */
function previousOccurrence({ cron, timeZone, everyMs, startAt }: Timing, before: Date): Date | null {
  if (cron !== null) return toCron(cron, timeZone ?? 'UTC').previousRuns(1, before)[0] ?? null;
  const every = everyMs ?? Number.NaN;
  const start = startAt?.getTime() ?? 0;
  return new Date(start + (Math.ceil((before.getTime() - start) / every) - 1) * every);
}

/** Which occurrences to make of a schedule that is due: of those that were missed what the policy says, and all others. */
export function dueOccurrences(
  timing: Timing,
  missed: MissedPolicy,
  nextAt: Date,
  now: Date,
): { make: Date[]; next: Date | null } {
  /** The earliest that is not missed. */
  const since = new Date(now.getTime() - missedAfterMs);
  const make = nextAt < since ? missedOccurrences(timing, missed, nextAt, since) : [];
  let at = nextAt < since ? nextOccurrence(timing, new Date(since.getTime() - 1)) : nextAt;
  for (; at !== null && at <= now; at = nextOccurrence(timing, at)) make.push(at);
  return { make, next: at };
}

function missedOccurrences(timing: Timing, missed: MissedPolicy, nextAt: Date, since: Date): Date[] {
  if (missed === 'SKIP') return [];
  const last = new Date(since.getTime() - 1);
  const latest = latestOccurrences(timing, nextAt, last, missed === 'RUN_ONCE' ? 1 : maxMissed);
  // The times may be interpreted differently now.
  return latest.length === 0 ? [nextAt] : latest;
}
