/** For race tests: knowing that somebody waits, or has done, instead of hoping that it does. */
import type { TestDatabase } from './database.ts';

/** Resolves once so many sessions of the database wait for a lock. */
export async function lockWaiters(
  db: TestDatabase,
  count: number,
  { except = 'nothing' } = {},
): Promise<void> {
  for (;;) {
    const [row] = await db.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query !~ $1`,
      [except],
    );
    if ((row?.waiting ?? 0) >= count) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Resolves once the query has a row. */
export async function anyRow(db: TestDatabase, text: string, values: unknown[]): Promise<void> {
  while ((await db.query(text, values)).length === 0) await new Promise((resolve) => setImmediate(resolve));
}
