/** What every server asks for all the time about retention reads by its indexes, however many trees there are. */
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { readJobIds } from '../../src/domain/jobs/job-pages.ts';
import { readRetentions } from '../../src/domain/jobs/retention.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { plansOf, readsOf } from '../support/plans.ts';

const trees = 20_000;
let db: TestDatabase;
/** An open tree, and a complete one. */
let some: string;
let kept: string;
beforeAll(async () => {
  db = await createDatabase();
  // Of a hundred trees one is open, and of ten one has a retention of its own; it is over for twenty of each kind.
  await db.query(
    `with made as materialized (select n, jobtree.new_id() as id from generate_series(1, $1::int) n), jobs as (
       insert into jobtree.job (id, root_id, depth, type, priority, max_failures_per_item, backoff_ms, backoff_jitter,
         heartbeat_interval_ms, final_stage, feeds_children, created_at, sealed_at, dedupe_key)
       select id, id, 0, 'x', 0, 3, '{0}', 0, 60000, true, false, now(), case when n % 100 <> 0 then now() end, 'key ' || n from made
     )
     insert into jobtree.job_progress (job_id, version, is_root, open_jobs, completed_at, outcome, reap_at, default_retention, changed_at)
     select id, 1, true, (n % 100 = 0)::int, case when n % 100 <> 0 then now() end, case when n % 100 <> 0 then 'SUCCEEDED' end,
       case when n % 100 = 0 then null
         when n % 10 = 1 then now() + (n / 10 - 20) * interval '1 minute'
         else now() - interval '7 days' + (n - 23) * interval '1 minute' end,
       n % 10 <> 1, now() - interval '1 hour'
     from made`,
    [trees],
  );
  // Those of the future are no answer to any question; there are just many.
  await db.query(`insert into jobtree.idle_tree
    select root_id, case when sealed_at is null then now() - interval '1 hour' else now() + interval '1 hour' end from jobtree.job`);
  const rows = await db.query<{ id: string }>(
    'select distinct on (sealed_at is null) id from jobtree.job order by sealed_at is null desc',
  );
  [some = '', kept = ''] = rows.map(({ id }) => id);
  await db.query('analyze');
});
afterAll(() => db.drop());

/** In a transaction that is rolled back. */
const call = (text: string) => (client: pg.Client) => client.query(`begin; ${text}; rollback`);
const through = (read: (database: Database) => Promise<unknown>) => (client: pg.Client) =>
  read({ pool: client } as unknown as Database);
const progress = 'job_progress by job_progress_pkey';
/** And whether it is so still. */
const idle = [
  'idle_tree by idle_tree_pkey',
  'job by job_pkey',
  'job by job_root_id_idx',
  progress,
  'progress_delta by progress_delta_root_id_id_idx',
];
const reads: [string, (client: pg.Client) => Promise<unknown>, string[], number][] = [
  [
    'what is due',
    call('select jobtree.reap_trees(604800, 100)'),
    [
      'dead_letter by dead_letter_pkey',
      'job by job_pkey',
      'job by job_root_id_idx',
      'job_progress by job_progress_pkey',
      'job_progress by job_progress_reap',
      'operation by operation_running (all)',
      // At most a hundred, and those that people delete.
      'tree_deletion by Seq Scan',
      'tree_deletion by tree_deletion_pkey',
      'tree_hold by tree_hold_pkey',
    ],
    200,
  ],
  [
    'what is on its way',
    (client) => client.query('select jobtree.delete_reaped()'),
    ['tree_deletion by Seq Scan'],
    1,
  ],
  [
    'what is idle, a part of it',
    call(`select * from jobtree.find_idle('00000000-0000-0000-0000-000000000000', 100, 60, 86400)`),
    [...idle, 'job_progress by job_progress_running', 'job_progress by job_progress_waiting'].sort(),
    20_000,
  ],
  [
    'the retention of a tree',
    through((database) =>
      readRetentions(database, { retentionSeconds: 1, idleSeconds: 1, idleExpirySeconds: null }, [some]),
    ),
    idle,
    2,
  ],
  [
    'a list of idle trees',
    through((database) =>
      readJobIds(
        database,
        { types: null, rootsOnly: true, idleSince: new Date() },
        { take: 21, backwards: false },
      ),
    ),
    ['idle_tree by Seq Scan', ...idle.filter((read) => read !== 'job by job_pkey')],
    200,
  ],
  [
    'another retention',
    (client) =>
      client.query(`begin; select jobtree.set_retention('${kept}', '{"retentionSeconds": 60}'); rollback`),
    ['job by job_pkey', 'job by job_root_id_idx', progress, 'tree_deletion by tree_deletion_pkey'],
    2,
  ],
];
it.each(reads)('%s uses indexes', async (_, read, expected, mostRows) => {
  const plans = await plansOf(db, read);
  const most = Math.max(0, ...plans.flatMap(({ nodes }) => nodes.map((node) => node['Actual Rows'] ?? 0)));
  expect([readsOf(plans), most <= mostRows || most]).toEqual([expected, true]);
});
