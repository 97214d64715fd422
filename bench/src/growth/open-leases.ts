/** What workers do all the time while ever more items are held: half of them of a type with a concurrency limit, in a lease each. */
import type { Growth } from '../measures/growth.ts';

const begin = `
  with job as (
    select n.type, t.job_id as id from unnest('{limited,free,own}'::text[]) n(type)
    cross join lateral jobtree.create_job(json_build_object('type', n.type)) t
  ), items as (
    select jobtree.add_items(j.id, (select json_agg(json_build_object('payload', n)) from generate_series(1, 100) n)) from job j
  ), limited as (
    select jobtree.set_queue('limited', '{"concurrency": 1000000}')
  )
  select from job, items, limited`;
const idOf = (i: string) => `('00000000-0000-7000-8000-' || lpad(to_hex(${i}), 10, '0') || '00')::uuid`;
const hold = `
  with held as (
    insert into jobtree.lease (id, job_id, position, claimed_at, heartbeat_at, check_at, attempt, count, priority, open, worker, limited_type)
    select ${idOf('i')}, j.id, i, now(), now(), now() + interval '1 hour', 1, 1, 0, jobtree.bit_at(1), 'bench', nullif(j.type, 'free')
    from generate_series($1::integer, $2::integer - 1) i
    join jobtree.job j on j.type = case i % 2 when 0 then 'limited' else 'free' end
    returning limited_type
  )
  insert into jobtree.held_delta (type, items) select h.limited_type, 1 from held h where h.limited_type is not null`;

export const openLeases: Growth = {
  of: 'open leases',
  fill: async (pool, from, to) => {
    if (from === 0) {
      await pool.query(begin);
      await pool.query(`select * from jobtree.claim_items('{bench}', '{own}', '{10}')`);
    }
    await pool.query(hold, [from, to]);
    await pool.query(`select * from jobtree.claim_items('{bench}', '{limited}', '{1}')`);
  },
  calls: {
    'claim_items, with a concurrency limit': `select * from jobtree.claim_items('{bench}', '{limited}', '{1}')`,
    queue_rooms: `select * from jobtree.queue_rooms('{limited}')`,
    'keep_leases, 100 of them': `select * from jobtree.keep_leases(
      array(select ${idOf('i * 500')} from generate_series(1, 100) i), array_fill(jobtree.bit_at(1), array[100]), array_fill(jobtree.bit_at(1), array[100]))`,
    'start_operation, running items of another job': `select * from jobtree.start_operation('CANCEL',
      jsonb_build_object('jobId', (select j.id from jobtree.job j where j.type = 'own'), 'statuses', '["RUNNING"]'::jsonb))`,
  },
};
