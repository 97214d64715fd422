/**
 * What one call of a function costs while something grows to a million, in steps of two: the cost must not grow with what the call does
 * not touch. Each call is undone, so that the next one finds the same.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Statement, textOf } from '../../../dist/db/database.js';
import { migrate } from '../../../dist/db/migrate.js';
import type { Bench, Report } from '../bench.ts';
import { median, type Table, whole } from '../figures.ts';
import { deadRecords } from '../growth/dead-records.ts';
import { measureDrains } from '../growth/drains.ts';
import { dueItems } from '../growth/due-items.ts';
import { finishedItems } from '../growth/finished-items.ts';
import { openLeases } from '../growth/open-leases.ts';
import { atMost, type Verdict } from '../verdicts.ts';

export interface Growth {
  /** What grows, in the plural. */
  readonly of: string;
  /** Adds what is missing from one size to the next. */
  fill(pool: pg.Pool, from: number, to: number): Promise<void>;
  /** Whether a session holds an old snapshot all the time. Default: no. */
  readonly holdsSnapshot?: boolean;
  /** The calls, by their name: SQL, or a statement of the domain with its values. */
  readonly calls: Readonly<Record<string, string | readonly [Statement, ...unknown[]]>>;
  /** The longest that a call may take at any size, in milliseconds. Default: three times what it takes at the smallest size, and 5 ms. */
  readonly limitMs?: number;
}

/** A row of the table is a call of one of these. */
const growths: readonly Growth[] = [finishedItems, dueItems, deadRecords, openLeases];

const sizes = [62_500, 125_000, 250_000, 500_000, 1_000_000];
const rounds = 5;
/** So that what filling has left to the background does not count. */
const restMs = 1_000;

export async function measureGrowth(bench: Bench): Promise<Report> {
  const { postgres } = bench;
  const tables: Table[] = [];
  const verdicts: Verdict[] = [];
  const figures: Record<string, unknown> = {};
  for (const { of, fill, calls, limitMs, holdsSnapshot } of growths) {
    const database = await postgres.createDatabase('bench_growth');
    await migrate({ url: database.url });
    const snapshot = holdsSnapshot === true ? await database.pool.connect() : undefined;
    await snapshot?.query('begin isolation level repeatable read');
    await snapshot?.query('select 1');
    const names = Object.keys(calls);
    const found = new Map<string, number[]>(names.map((name) => [name, []]));
    let from = 0;
    for (const size of sizes) {
      await fill(database.pool, from, size);
      from = size;
      await database.pool.query('vacuum analyze');
      await database.settle();
      await delay(restMs);
      for (const name of names)
        found.get(name)?.push(await time(database.pool, calls[name] as Growth['calls'][string]));
    }
    snapshot?.release(true);
    await database.drop();
    tables.push({
      title: `growth: milliseconds of a call, by the number of ${of}`,
      columns: ['', ...sizes.map(whole)],
      rows: names.map((name) => [name, ...(found.get(name) ?? []).map((ms) => ms.toFixed(1))]),
      note: `The median of ${rounds}.`,
    });
    for (const [name, times] of found)
      verdicts.push(
        atMost({
          name: `${name} with up to ${whole(sizes.at(-1) as number)} ${of}`,
          limit: Number((limitMs ?? 3 * (times[0] ?? Number.NaN) + 5).toFixed(1)),
          found: Math.max(...times),
          unit: ' ms',
          digits: 1,
        }),
      );
    figures[of] = Object.fromEntries(found);
  }
  const drained = await measureDrains(bench);
  return {
    tables: [...tables, ...drained.tables],
    verdicts: [...verdicts, ...drained.verdicts],
    figures: { sizes, ms: figures, drains: drained.figures },
  };
}

async function time(pool: pg.Pool, call: Growth['calls'][string]): Promise<number> {
  const query =
    typeof call === 'string' ? { text: call } : { text: textOf(call[0]), values: call.slice(1) as unknown[] };
  const client = await pool.connect();
  const times: number[] = [];
  try {
    // The first one reads what is not in memory.
    for (let i = 0; i <= rounds; i++) {
      await client.query('begin');
      const startedAt = performance.now();
      await client.query(query);
      times.push(performance.now() - startedAt);
      await client.query('rollback');
    }
  } finally {
    client.release();
  }
  return median(times.slice(1));
}
