/** What every server asks for all the time about retention reads by its indexes, however many trees there are. */
import type pg from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { type Database, type Statement, textOf } from '../../../src/db/database.ts';
import { readWatchTokens, revokeTokens } from '../../../src/domain/access/watch-tokens.ts';
import type { Engine } from '../../../src/domain/engine/engine.ts';
import { readJobIds } from '../../../src/domain/jobs/job-pages.ts';
import { finishSome } from '../../../src/domain/operations/finish.ts';
import { readRetentions } from '../../../src/domain/retention/retention.ts';
import { plansOf, readsOf } from '../../support/plans.ts';
import { useDatabase } from '../../support/use-server.ts';

const trees = 20_000;
const db = useDatabase();
/** An open tree, and a complete one. */
let some: string;
let kept: string;
beforeAll(async () => {
  // Of a hundred trees one is open, and of ten one has a retention of its own; it is over for twenty of each kind.
  await db.query(
    `with made as materialized (select n, jobtree.new_id() as id from generate_series(1, $1::int) n), jobs as (
       insert into jobtree.job (id, root_id, depth, type, priority, max_failures_per_item, backoff_ms, backoff_jitter,
         heartbeat_interval_ms, final_stage, feeds_children, created_at, sealed_at, dedupe_key)
       select id, id, 0, 'x', 0, 3, '{0}', 0, 60000, true, false, now(), case when n % 100 <> 0 then now() end, 'key ' || n from made
     ), roots as (
       insert into jobtree.tree (root_id, retention_seconds, completed_at, idle_since)
       select id, case when n % 10 = 1 then 86400 end,
         case when n % 100 = 0 then null
           when n % 10 = 1 then now() - interval '1 day' + (n / 10 - 20) * interval '1 minute'
           else now() - interval '7 days' + (n - 23) * interval '1 minute' end,
         case when n % 100 = 0 then now() - interval '1 hour' end
       from made
     )
     insert into jobtree.job_progress (job_id, version, is_root, open_jobs, completed_at, outcome, changed_at)
     select id, 1, true, (n % 100 = 0)::int, case when n % 100 <> 0 then now() end, case when n % 100 <> 0 then 'SUCCEEDED' end,
       now() - interval '1 hour'
     from made`,
    [trees],
  );
  const rows = await db.query<{ id: string }>(
    'select distinct on (sealed_at is null) id from jobtree.job order by sealed_at is null desc',
  );
  [some = '', kept = ''] = rows.map(({ id }) => id);
  await db.query('analyze');
});

/** In a transaction that is rolled back. */
const call = (text: string) => (client: pg.Client) => client.query(`begin; ${text}; rollback`);
const through = (read: (database: Database) => Promise<unknown>) => (client: pg.Client) =>
  read({ pool: client } as unknown as Database);
const callsOf = (client: pg.Client) => ({
  callForLeases: async <Row extends object>(what: string | Statement, ...values: readonly unknown[]) =>
    (await client.query<Row>(textOf(what as Statement), [...values])).rows,
});
const engineOf = (client: pg.Client) => ({ database: { pool: client } }) as unknown as Engine;
const progress = 'job_progress by job_progress_pkey';
/** And whether it is so still. */
const idle = [
  'file_import by file_import_type_job_id_idx',
  'job by job_root_id_idx',
  progress,
  'progress_delta by progress_delta_root_id_id_idx',
  'tree by tree_pkey',
];
const reads: [string, (client: pg.Client) => Promise<unknown>, string[], number][] = [
  [
    'what is due',
    call(
      `insert into jobtree.operation (id, kind, requested_at, before_position) values (jobtree.new_id(), 'REPLAY', now(), 0);
       select jobtree.reap_trees(604800, 100)`,
    ),
    [
      'dead_letter by dead_letter_pkey',
      'job by job_pkey',
      'job by job_root_id_idx',
      'job_progress by job_progress_pkey',
      'operation by operation_running (all)',
      'tree by tree_completed',
      // At most a hundred, and those that people delete.
      'tree by tree_deletion (all)',
      'tree by tree_pkey',
      'tree by tree_reap',
    ],
    200,
  ],
  [
    'what is on its way',
    (client) => client.query('select jobtree.delete_reaped()'),
    ['tree by tree_deletion (all)'],
    1,
  ],
  [
    'what is idle, a part of it',
    call(`select * from jobtree.find_idle('00000000-0000-0000-0000-000000000000', 100, 60, 86400)`),
    [
      ...idle,
      'job by job_pkey',
      'job_progress by job_progress_running',
      'job_progress by job_progress_waiting',
      'tree by tree_idle',
    ].sort(),
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
    [...idle, 'tree by tree_idle'].sort(),
    200,
  ],
  [
    'another retention',
    (client) =>
      client.query(`begin; select jobtree.set_retention('${kept}', '{"retentionSeconds": 60}'); rollback`),
    ['tree by tree_pkey'],
    2,
  ],
  [
    'what is to be finished',
    (client) => finishSome(engineOf(client), new AbortController().signal),
    [
      'job by job_cancelling (all)',
      'job by job_releasing (all)',
      'operation by Seq Scan',
      'tree by tree_deletion (all)',
    ],
    1,
  ],
  [
    'a revocation of watch tokens',
    (client) => client.query(textOf(revokeTokens), [some]),
    ['tree by tree_pkey', 'tree by tree_revoked (all)'],
    1,
  ],
  [
    'what was revoked',
    (client) => readWatchTokens(callsOf(client), 0n),
    ['tree by tree_revoked', 'watch_secret by Seq Scan'],
    1,
  ],
];
it.each(reads)('%s uses indexes', async (_, read, expected, mostRows) => {
  const plans = await plansOf(db, read);
  const most = Math.max(0, ...plans.flatMap(({ nodes }) => nodes.map((node) => node['Actual Rows'] ?? 0)));
  expect([readsOf(plans), most <= mostRows || most]).toEqual([expected, true]);
});
