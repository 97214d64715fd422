/** Medians and tables. */
import type { Outcome } from './child.ts';

/** One run, with the cost of each item where the system tells it. */
export interface Run {
  readonly perSecond: number;
  /** CPU time of each process that took part, in microseconds. */
  readonly cpuPerItem: { readonly client: number; readonly server?: number; readonly postgres?: number };
  /** Bytes of write-ahead log, for all of Postgres. */
  readonly walPerItem: number;
}

/** What Postgres and the server used while a child ran. */
export interface Used {
  readonly serverMs: number | undefined;
  readonly postgresMs: number | undefined;
  readonly walBytes: number;
}

export function toRun({ items, ms, cpuMs }: Outcome, { serverMs, postgresMs, walBytes }: Used): Run {
  const perItem = (cpu: number | undefined) => (cpu === undefined ? undefined : (cpu * 1000) / items);
  return {
    perSecond: (items / ms) * 1000,
    cpuPerItem: {
      client: (cpuMs * 1000) / items,
      server: perItem(serverMs),
      postgres: perItem(postgresMs),
    },
    walPerItem: walBytes / items,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function medianRun(runs: readonly Run[]): Run {
  const of = (read: (run: Run) => number | undefined) => {
    const values = runs.map(read).filter((value) => value !== undefined);
    return values.length === 0 ? undefined : median(values);
  };
  return {
    perSecond: of((run) => run.perSecond) ?? Number.NaN,
    cpuPerItem: {
      client: of((run) => run.cpuPerItem.client) ?? Number.NaN,
      server: of((run) => run.cpuPerItem.server),
      postgres: of((run) => run.cpuPerItem.postgres),
    },
    walPerItem: of((run) => run.walPerItem) ?? Number.NaN,
  };
}

export const whole = (value: number) => Math.round(value).toLocaleString('en');
export const ratio = (value: number) => value.toFixed(2);

/** CPU times as `22 + 15 + 30`: client, server and Postgres. */
export function cpu({ cpuPerItem: { client, server, postgres } }: Run): string {
  return [client, server, postgres]
    .map((value) => (value === undefined ? '–' : value.toFixed(0)))
    .join(' + ');
}

/** What a measure prints: a title, rows, and a note on columns that need an explanation. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly note?: string;
}

export function print({ title, columns, rows, note }: Table): void {
  const widths = columns.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('   ');
  console.log(`\n${title}\n`);
  for (const row of [columns, ...rows]) console.log(`  ${line(row).trimEnd()}`);
  if (note !== undefined) console.log(`\n  ${note}`);
}
