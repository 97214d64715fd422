/** Counts and times as the reader's own language writes them; times are in the reader's zone. */
const counts = new Intl.NumberFormat();
const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export const formatCount = (count: number) => counts.format(count);
export const formatTime = (at: string | number) => times.format(new Date(at));
export const formatClock = (at: string | number) => clock.format(new Date(at));

/** 850 ms, 4.2 s, 3 min, 5 h */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

/** 850 B, 4.2 kB, 31 MB */
export function formatBytes(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), 4);
  const number = bytes / 1_000 ** power;
  return `${power > 0 && number < 10 ? number.toFixed(1) : Math.round(number)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}
