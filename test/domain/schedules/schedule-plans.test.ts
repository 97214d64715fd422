/** What every server asks for all the time, and what it does when a schedule is due, reads by its indexes, however many there are. */
import { beforeAll, expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { readJobIds } from '../../../src/domain/jobs/job-pages.ts';
import {
  readAgenda,
  readDueSchedules,
  readScheduleNames,
} from '../../../src/domain/schedules/read-schedules.ts';
import { plansOf, readsOf, withoutBitmaps } from '../../support/plans.ts';
import { useDatabase } from '../../support/use-server.ts';

const db = useDatabase();
beforeAll(async () => {
  await db.query(`insert into jobtree.schedule (name, every_ms, missed, overlap, template, created_at, changed_at, next_at, queued)
    select 'schedule ' || lpad(n::text, 6, '0'), 60000, 'RUN_ONCE', 'QUEUE', '{"type": "x"}', now(), now(),
      now() + (n - 3) * interval '1 minute', case when n % 5000 = 0 then array[now()] else '{}' end
    from generate_series(1, 20000) n`);
  await db.query(`insert into jobtree.job (id, root_id, depth, type, priority, max_failures_per_item, backoff_ms, backoff_jitter,
      heartbeat_interval_ms, final_stage, feeds_children, created_at, schedule_name, occurrence_at)
    select i.id, i.id, 0, 'x', 0, 3, '{0}', 0, 60000, true, false, now(), case when n % 2 = 0 then 'schedule ' || (n % 100) end, now()
    from (select n, jobtree.new_id() as id from generate_series(1, 20000) n) i`);
  await db.query('analyze');
});

const range = { take: 21, backwards: false };
const reads: [string, (database: Database) => Promise<unknown>, string[]][] = [
  [
    'what there is to do',
    (database) => readAgenda(database, 1_000),
    [
      'job_progress by job_progress_pkey',
      'schedule by schedule_due (all)',
      'schedule by schedule_queued (all)',
    ],
  ],
  ['what is due', (database) => readDueSchedules(database, 1_000), ['schedule by schedule_due']],
  [
    'a page of schedules',
    (database) => readScheduleNames(database, { ...range, after: 'schedule 000010' }),
    ['schedule by schedule_pkey'],
  ],
  [
    'the trees of a schedule',
    (database) => readJobIds(database, { types: null, schedule: 'schedule 8', rootsOnly: true }, range),
    ['job by job_schedule'],
  ],
];
it.each(reads)('%s uses indexes', async (_, read, expected) => {
  const plans = withoutBitmaps(await plansOf(db, (client) => read({ pool: client } as unknown as Database)));
  expect(readsOf(plans)).toEqual(expected);
  const most = Math.max(...plans.flatMap(({ nodes }) => nodes.map((node) => node['Actual Rows'] ?? 0)));
  expect(most).toBeLessThan(100);
});

it('creating a tree uses indexes', async () => {
  const plans = await plansOf(db, (client) =>
    client.query(
      `begin;
       select * from jobtree.fire_schedule('schedule 000001', (select next_at from jobtree.schedule where name = 'schedule 000001'), array[now()], now() + interval '1 hour');
       select * from jobtree.fire_schedule('schedule 005000');
       select * from jobtree.run_schedule('schedule 000001');
       rollback`,
    ),
  );
  const found = readsOf(plans);
  expect(found.filter((read) => /Seq Scan|\(all\)/.test(read))).toEqual([]);
  expect(found).toContain('schedule by schedule_pkey');
});
