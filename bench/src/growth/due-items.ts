/** Making entries ready while ever more of a type are due, each an entry of one item. */
import type { Growth } from '../measures/growth.ts';

const fill = `
  with job as (
    select t.job_id as id from jobtree.create_job('{"type": "due"}') t
  ), block as materialized (
    select nextval('jobtree.block_seq') * 1024 as position from generate_series(1, ceil($1 / 1000.0)::int)
  )
  insert into jobtree.queue_entry (job_id, position, place, count, type, priority, attempt, bytes, run_at, ready_at)
  select j.id, b.position + i, b.position + i, 1, 'due', 0, 1, 100, now() - interval '1 s', now()
  from job j cross join block b cross join generate_series(0, 999) i
  limit $1`;

export const dueItems: Growth = {
  of: 'due items',
  fill: async (pool, from, to) => void (await pool.query(fill, [to - from])),
  calls: { 'promote_due, 1,000 of them': 'select * from jobtree.promote_due(1000)' },
};
