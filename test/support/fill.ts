/** Many rows, as they are after a while: jobs whose items are done, and some that wait and are held. */
import type { TestDatabase } from './database.ts';

export interface Size {
  readonly items: number;
  readonly jobs: number;
}

const ended = `('00000000-0000-7000-8000-' || lpad(to_hex(j), 12, '0'))::uuid`;
const pending = `('00000000-0000-7000-9000-' || lpad(to_hex(j), 12, '0'))::uuid`;
/** Of the j-th job and the p-th item of it. */
const leaseOf = (size: number) =>
  `('00000000-0000-7000-${size === 128 ? 'a' : 'b'}000-' || lpad(to_hex(j * 1024 + p / ${size}), 10, '0') || '00')::uuid`;

const insertJobs = (id: string, sealed: string, completed = 'null') => `
  with made as (
    insert into jobtree.job (id, root_id, depth, type, priority, max_failures_per_item, backoff_ms, backoff_jitter,
      heartbeat_interval_ms, final_stage, feeds_children, created_at, sealed_at, dedupe_key)
    select ${id}, ${id}, 0, case when j % 200 = 7 then 'rare' else 'filled-' || j % 20 end, 0, 3, '{}', 0, 60000, true, false, now(), ${sealed},
      case when j % 10 = 7 then 'key-' || ${id} end
    from generate_series(1, $1::bigint) j
    returning id
  )
  insert into jobtree.tree (root_id, completed_at) select id, ${completed} from made`;

/** Items that are done: what a table keeps. */
export async function fillEnded(db: TestDatabase, { items, jobs }: Size): Promise<void> {
  const each = Math.ceil(items / jobs);
  await db.query(insertJobs(ended, 'now()', 'now()'), [jobs]);
  await db.query(
    `insert into jobtree.job_progress (job_id, version, is_root, item_count, succeeded, failed, started_at, completed_at, outcome, tree_outcome, tree_failed)
     select ${ended}, 7, true, $2::bigint, $2::bigint - $2::bigint / 10, $2::bigint / 10, now(), now(), o.outcome, o.outcome,
       case when j % 100 = 3 then 1 + j % 7 else 0 end
     from generate_series(1, $1::bigint) j
     cross join lateral (select case when j % 100 = 3 then 'FAILED' when j % 100 = 4 then 'CANCELLED' else 'SUCCEEDED' end as outcome) o`,
    [jobs, each],
  );
  await db.query(
    `insert into jobtree.job_item (job_id, position, created_at, payload_bytes, dedupe_key, payload)
     select ${ended}, j * 1024 * 1024 + p, now(), 8, case when p % 10 = 0 then 'k' || p end, '{"n": 1}'
     from generate_series(1, $1::bigint) j, generate_series(0, $2::bigint - 1) p`,
    [jobs, each],
  );
  await db.query(
    `insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, attempt, count, priority, open, worker)
     select ${leaseOf(128)}, ${ended}, j * 1024 * 1024 + p,
       now(), now(), 1, least(128, $2::bigint - p), 0, B'0'::bit(128), 'w'
     from generate_series(1, $1::bigint) j, generate_series(0, $2::bigint - 1, 128) p`,
    [jobs, each],
  );
  await db.query(
    `insert into jobtree.outcome (job_id, position, lease_id, finished_at, failed, result)
     select ${ended}, j * 1024 * 1024 + p, ${leaseOf(128)},
       now(), p % 10 = 9, '1'
     from generate_series(1, $1::bigint) j, generate_series(0, $2::bigint - 1) p`,
    [jobs, each],
  );
  await db.query(
    `insert into jobtree.failure (job_id, position, attempt, lease_id, at, lost, code, message, worker)
     select o.job_id, o.position, 1, o.lease_id, now(), false, 'E', 'no', 'w' from jobtree.outcome o where o.failed`,
  );
  await db.query(
    `insert into jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
     select o.job_id, o.position, 'ended', now(), 'E', 'no', '00000000-0000-4000-8000-000000000001' from jobtree.outcome o where o.failed`,
  );
  await db.query(
    `insert into jobtree.item_note (job_id, position, noted_at, note, log)
     select o.job_id, o.position, now(), 'n', '[]' from jobtree.outcome o`,
  );
  await db.query(
    `insert into jobtree.cancellation (job_id, position, count, cancelled_at)
     select ${ended}, j * 1024 * 1024 + $2::bigint + p, 1, now() from generate_series(1, $1::bigint) j, generate_series(0, 20, 2) p`,
    [jobs, each],
  );
}

/** Jobs of which a third waits, a third is scheduled and a third is held, and what of it is not folded. */
export async function fillPending(db: TestDatabase, { items, jobs }: Size): Promise<void> {
  const each = Math.ceil(items / jobs);
  await db.query(insertJobs(pending, 'null'), [jobs]);
  await db.query(
    `insert into jobtree.job_progress (job_id, version, is_root, item_count, open_jobs, started_at)
     select ${pending}, 7, true, $2::bigint, 1, case when j % 3 = 2 then now() end from generate_series(1, $1::bigint) j`,
    [jobs, each],
  );
  await db.query(
    `insert into jobtree.job_item (job_id, position, created_at, payload_bytes, payload)
     select ${pending}, j * 1024 * 1024 + p, now(), 8, '{"n": 1}'
     from generate_series(1, $1::bigint) j, generate_series(0, $2::bigint - 1) p`,
    [jobs, each],
  );
  await db.query(
    `insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
     select ${pending}, j * 1024 * 1024 + p, j * 1024 * 1024 + p, 8 * 16, case when j % 3 = 1 then now() + interval '1 h' end, 1,
       least(16, $2::bigint - p), 0, 'filled-' || j % 20
     from generate_series(1, $1::bigint) j, generate_series(0, $2::bigint - 1, 16) p where j % 3 < 2`,
    [jobs, each],
  );
  await db.query(
    `insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker)
     select ${leaseOf(16)}, ${pending}, j * 1024 * 1024 + p,
       now(), now(), now() + interval '1 h', 1, least(16, $2::bigint - p), 0,
       (~B'0'::bit(128)) << (128 - least(16, $2::bigint - p)::integer), 'w'
     from generate_series(1, $1::bigint) j, generate_series(0, $2::bigint - 1, 16) p where j % 3 = 2`,
    [jobs, each],
  );
  await db.query(
    `insert into jobtree.serialize_key (key, job_id, position)
     select 'filled-' || j, ${pending}, j * 1024 * 1024 from generate_series(1, $1::bigint) j`,
    [jobs],
  );
  await db.query(
    `insert into jobtree.blocked_item (key, job_id, position, type, priority, attempt, waits_since)
     select 'filled-' || j, ${pending}, j * 1024 * 1024 + 512 * 1024 + p, 'filled-' || j % 20, 0, 1, now()
     from generate_series(1, $1::bigint) j, generate_series(1, 10) p`,
    [jobs],
  );
  await db.query(
    `insert into jobtree.progress_delta (root_id, job_id, items)
     select ${pending}, ${pending}, 0 from generate_series(1, $1::bigint) j, generate_series(1, 5)`,
    [jobs],
  );
}

/**
 * A job of very many items, of which the first is held, the last one waits, and of the others one in ten failed; and of as many that
 * were cancelled one by one. Gives its id.
 */
export async function fillLarge(db: TestDatabase, items: number): Promise<string> {
  const id = '00000000-0000-7000-8fff-000000000000';
  const large = `'${id}'::uuid`;
  await db.query(insertJobs(large, 'now()'), [1]);
  await db.query(
    `insert into jobtree.job_item (job_id, position, created_at, payload_bytes, payload)
     select ${large}, p, now(), 8, '{"n": 1}' from generate_series(1, $1::bigint) p`,
    [items],
  );
  await db.query(
    `insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker)
     select ('00000000-0000-7000-c000-' || lpad(to_hex(p), 10, '0') || '00')::uuid, ${large}, p, now(), now(),
       case when p = 1 then now() + interval '1 h' end, 1, 1, 0, case when p = 1 then B'1' else B'0' end::bit(128), 'w'
     from generate_series(1, $1::bigint - 1) p`,
    [items],
  );
  await db.query(
    `insert into jobtree.outcome (job_id, position, lease_id, finished_at, failed, result)
     select l.job_id, l.position, l.id, now(), l.position % 10 = 9, '1' from jobtree.lease l
     where l.job_id = ${large} and l.position > 1`,
  );
  await db.query(
    `insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type)
     values (${large}, $1, $1, 8, 1, 1, 0, 'filled-1')`,
    [items],
  );
  await db.query(
    `insert into jobtree.cancellation (job_id, position, count, cancelled_at)
     select ${large}, $1 + p, 1, now() from generate_series(1, $1::bigint) p`,
    [items],
  );
  return id;
}
