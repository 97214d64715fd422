/** Numbers for people, and the durations that people give. */
import { InvalidArgumentError } from 'commander';
import { fromJson } from './exact-json.ts';

export { count, counted } from '../domain/values/counted.ts';

/** `0.4 s`, `12 s` */
export function seconds(ms: number): string {
  return `${ms < 10_000 ? (ms / 1_000).toFixed(1) : Math.round(ms / 1_000)} s`;
}

/** How long ago that was: `12s`, `3m`, `2h`, `5d`. */
export function age(time: string): string {
  return roughly(Date.now() - Date.parse(time));
}

/** In how long that is, in the same units. */
export function wait(time: string): string {
  return roughly(Date.parse(time) - Date.now());
}

function roughly(span: number): string {
  const ms = Math.max(0, span);
  if (ms < 60_000) return `${Math.floor(ms / 1_000)}s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m`;
  if (ms < 48 * 3_600_000) return `${Math.floor(ms / 3_600_000)}h`;
  return `${Math.floor(ms / 86_400_000)}d`;
}

/** `500ms`, `30s`, `5m`, `2h`, as `parseDuration` reads it. */
export function duration(ms: number): string {
  const [unit, size] = Object.entries(units).findLast(([, size]) => ms >= size && ms % size === 0) ?? [
    'ms',
    1,
  ];
  return `${ms / size}${unit}`;
}

/** Items a second, in two digits if there are fewer than ten; undefined where the time is too short to tell. */
export function rate(items: number, ms: number): number | undefined {
  if (ms < 50) return undefined;
  const perSecond = (items * 1_000) / ms;
  return perSecond < 10 ? Number(perSecond.toPrecision(2)) : Math.round(perSecond);
}

const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms`, `30s`, `5m`, `2h`, `7d`; a bare number has seconds. */
export function parseDuration(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? [];
  if (number === undefined)
    throw new InvalidArgumentError('Give seconds, or a number with a unit: 500ms, 30s, 5m, 2h, 7d.');
  return Math.round(Number(number) * (units[unit ?? 's'] ?? 0));
}

/** The same, up to a day: timers of more than 24 days would run out at once. */
export function parseDurationUpToDay(lowest: string): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms >= parseDuration(lowest) && ms <= parseDuration('1d')) return ms;
    throw new InvalidArgumentError(`Give a time from ${lowest} to 1d.`);
  };
}

/** `100/10s`: so many in any interval of so long. */
export function parseRate(text: string): { limit: number; intervalMs: number } {
  const [, limit, interval] = /^(\d+)\/(.+)$/.exec(text) ?? [];
  if (limit === undefined || interval === undefined)
    throw new InvalidArgumentError('Give a number and a time: 100/10s, 5/1m.');
  return { limit: Number(limit), intervalMs: parseDuration(interval) };
}

/** `ops:100/5m`: the endpoint to call with so many in so long. */
export function parseAlert(text: string): { endpoint: string; count: number; intervalMs: number } {
  const [, endpoint, rate] = /^(.+):([^:]+)$/.exec(text) ?? [];
  if (endpoint === undefined || rate === undefined)
    throw new InvalidArgumentError('Give an endpoint, a number and a time: ops:100/5m.');
  const { limit: count, intervalMs } = parseRate(rate);
  return { endpoint, count, intervalMs };
}

/** What the other one reads, or `none`, which stays that: commander takes null for no value. */
export function orNone<T>(parse: (text: string) => T): (text: string) => T | 'none' {
  return (text) => (text === 'none' ? 'none' : parse(text));
}

/** `30d`, in seconds; or `never`. */
export function parseSeconds(text: string): number | 'never' {
  return text === 'never' ? text : Math.round(parseDuration(text) / 1_000);
}

/** What parseSeconds has read, for the API. */
export function orNull(value: number | 'never' | undefined): number | null | undefined {
  return value === 'never' ? null : value;
}

/** `1s,30s,5m`; nothing at all means no wait. */
export function parseDurations(text: string): number[] {
  return text === '' ? [] : text.split(',').map(parseDuration);
}

/** `2026-11-21T10:00:00Z`, or how long ago: `30m`, `2h`. */
export function parseInstant(text: string): Date {
  return (
    readInstant(text, -1) ?? refuse('Give a time (2026-11-21T10:00:00Z), or how long ago it was (30m, 2h).')
  );
}

/** `now`, `2026-11-21T10:00:00Z`, or in how long: `30m`, `2h`. */
export function parseRunAt(text: string): Date | 'now' {
  if (text === 'now') return text;
  return (
    readInstant(text, 1) ?? refuse('Give now, a time (2026-11-21T10:00:00Z), or how long from now (30m, 2h).')
  );
}

/** `2026-11-21T10:00:00Z`, or in how long: `90d`. */
export function parseEnd(text: string): Date {
  return readInstant(text, 1) ?? refuse('Give a time (2026-11-21T10:00:00Z), or how long from now (90d).');
}

/** `2026-11-21T10:00:00Z`, as it is written. */
export function parseTime(text: string): string {
  if (/^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw new InvalidArgumentError('Give a time: 2026-11-21T10:00:00Z.');
}

function readInstant(text: string, direction: 1 | -1): Date | undefined {
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)) return new Date(Date.now() + direction * parseDuration(text));
  const instant = new Date(text);
  return /^\d{4}-/.test(text) && !Number.isNaN(instant.getTime()) ? instant : undefined;
}

function refuse(message: string): never {
  throw new InvalidArgumentError(message);
}

export function parseJson(text: string): unknown {
  try {
    return fromJson(text);
  } catch {
    throw new InvalidArgumentError('Give JSON.');
  }
}

export function parseWholeNumber(lowest: number, highest: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && value >= lowest && value <= highest) return value;
    throw new InvalidArgumentError(`Give a whole number from ${lowest} to ${highest}.`);
  };
}

/** `0.2` */
export function parseShare(text: string): number {
  const value = text === '' ? Number.NaN : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Give a number from 0 to 1.');
}

/** How many failed items a job tolerates. */
export type Tolerance =
  | { readonly toleratedFailureCount: number }
  | { readonly toleratedFailurePercentage: number };

/** `10`, or a share: `2.5%` */
export function parseTolerance(text: string): Tolerance {
  const [, number, sign] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const value = Number(number);
  if (sign === '%' && value <= 100) return { toleratedFailurePercentage: value };
  if (sign === '' && Number.isInteger(value) && value <= 2_147_483_647)
    return { toleratedFailureCount: value };
  throw new InvalidArgumentError('Give a number, or a share from 0% to 100%: 10, 2.5%.');
}
