/** Counts and times as the language of the page writes them; times are in the reader's zone. */
let counts: Intl.NumberFormat;
let tenths: Intl.NumberFormat;
let times: Intl.DateTimeFormat;
let clock: Intl.DateTimeFormat;
let minuteTimes: Intl.DateTimeFormat;
let minutes: Intl.DateTimeFormat;

/** `de-AT`, or whichever kind of the language the reader's browser prefers. */
export const localeOf = (language: string) =>
  navigator.languages.find((one) => one.split('-', 1)[0] === language) ?? language;

export function setFormats(language: string): void {
  const locale = localeOf(language);
  counts = new Intl.NumberFormat(locale);
  tenths = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  times = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
  minuteTimes = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  minutes = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
  clock = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });
}
setFormats('en');

export const formatCount = (count: number) => counts.format(count);
export const things = (count: number, one: string, many: string) =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
export const formatTenths = (value: number) => tenths.format(value);
export const formatRate = (rate: number) => counts.format(Number(Number(rate).toPrecision(3)));
export const formatTime = (at: string | number) => times.format(new Date(at));
export const formatTimeToMinute = (at: string) => minuteTimes.format(new Date(at));
export const formatMinute = (at: string | number) => minutes.format(new Date(at));
export const formatClock = (at: string | number) => clock.format(new Date(at));

/** 850 ms, 4.2 s, 3 min, 5 h */
export function formatDuration(ms: number): string {
  const say = (unitMs: number, unit: string, format = formatWhole) => `${format(ms / unitMs)} ${unit}`;
  if (ms < 1_000) return say(1, 'ms');
  if (ms < 60_000) return say(1_000, 's', ms < 10_000 && ms % 1_000 !== 0 ? formatTenths : formatWhole);
  if (ms < 3_600_000) return say(60_000, 'min');
  return ms < 172_800_000 ? say(3_600_000, 'h') : say(86_400_000, 'd');
}

const units = [
  ['d', 86_400_000, 172_800_000],
  ['h', 3_600_000, 3_600_000],
  ['min', 60_000, 60_000],
  ['s', 1_000, 1_000],
  ['ms', 1, 0],
] as const;

/** A setting, which is not rounded: 90 min, 75 s */
export function formatExactly(ms: number): string {
  const [unit, unitMs] = units.find(([, unitMs, fromMs]) => ms >= fromMs && ms % unitMs === 0) ?? units[4];
  return `${formatCount(ms / unitMs)} ${unit}`;
}

/** The median and the 95th percentile: 850 ms / 4.2 s, each on one line with its unit. Undefined if there was nothing. */
export const formatPercentiles = ({ p50Ms, p95Ms }: Percentiles) =>
  p50Ms == null || p95Ms == null
    ? undefined
    : [p50Ms, p95Ms].map((ms) => formatDuration(ms).replace(' ', '\u00a0')).join(' / ');

interface Percentiles {
  readonly p50Ms?: number | null;
  readonly p95Ms?: number | null;
}

const formatWhole = (value: number) => formatCount(Math.round(value));

/** 850 B, 4.2 kB, 31 MB */
export function formatBytes(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), 4);
  const value = bytes / 1_000 ** power;
  return `${formatCount(Number(value.toFixed(value < 10 ? 1 : 0)))} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}
