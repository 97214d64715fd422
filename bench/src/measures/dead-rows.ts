/** How many dead rows claiming and reporting leave for vacuum: all row versions that were updated or deleted. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Bench, itemsFor, type Report, runChild, withJobtree } from '../bench.ts';
import { checkWorked } from '../checks.ts';
import { whole } from '../figures.ts';
import { createJob, fillJob } from '../jobtree.ts';
import { applicationName } from '../postgres.ts';
import type { WorkerTask } from '../task.ts';
import { atMost } from '../verdicts.ts';

const batch = 100;
const limit = 150;
const pollMs = 50;

interface Changes {
  readonly table: string;
  readonly updated: number;
  readonly deleted: number;
}

export async function measureDeadRows(bench: Bench): Promise<Report> {
  const items = itemsFor(bench.options.items, batch);
  const { before, after } = await withJobtree(bench, async (jobtree) => {
    const { database, server } = jobtree;
    const { id, type } = await createJob(server.url);
    await fillJob(database.pool, id, items);
    const before = await readChanges(database.pool);
    const task: WorkerTask = { url: server.url, target: type, items, batch };
    await runChild(bench, 'jobtree-worker', task, jobtree);
    await checkWorked(server.url, database.pool, id, items);
    // A connection reports its counts when it ends; an idle one may take ten seconds.
    await server.stop();
    await untilAlone(database.pool);
    return { before, after: await readChanges(database.pool) };
  });
  const perThousand = (count: number) => (count / items) * 1000;
  const changes = after.map(({ table, updated, deleted }) => {
    const was = before.find((one) => one.table === table);
    return {
      table,
      updated: perThousand(updated - (was?.updated ?? 0)),
      deleted: perThousand(deleted - (was?.deleted ?? 0)),
    };
  });
  const sum = changes.reduce((sum, { updated, deleted }) => sum + updated + deleted, 0);
  return {
    tables: [
      {
        title: `dead rows: left per 1,000 items by the work on ${whole(items)} (batches of ${batch})`,
        columns: ['table', 'updated', 'deleted'],
        rows: changes
          .filter(({ updated, deleted }) => updated + deleted > 0)
          .map(({ table, updated, deleted }) => [table, updated.toFixed(1), deleted.toFixed(1)]),
      },
    ],
    verdicts: [
      atMost({ name: 'dead rows left per 1,000 items, batches of 100', limit, found: sum, digits: 0 }),
    ],
    figures: { items, perThousandItems: sum, changes },
  };
}

async function readChanges(pool: pg.Pool): Promise<Changes[]> {
  const { rows } = await pool.query(
    `select relname as table, n_tup_upd::int as updated, n_tup_del::int as deleted
     from pg_stat_user_tables where schemaname = 'jobtree' order by relname`,
  );
  return rows;
}

/** Waits until only the benchmark's own connections are left. */
async function untilAlone(pool: pg.Pool): Promise<void> {
  while (true) {
    const { rows } = await pool.query(
      `select count(*)::int as others from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and application_name <> $1`,
      [applicationName],
    );
    if (rows[0].others === 0) return;
    await delay(pollMs);
  }
}
