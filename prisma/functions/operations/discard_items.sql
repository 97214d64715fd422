-- Discards dead letters: the items stay failed. promote_blocked passes on the serialize keys that they kept.
--
-- p_job_ids, p_positions   the items; those that are not dead letters are ignored
-- returns    how many were dead letters
-- locks      the dead letters, in their order
create or replace function jobtree.discard_items(p_job_ids uuid[], p_positions bigint[])
returns integer
language sql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
  with locked as materialized (
    select d.ctid as tid from jobtree.dead_letter d
    join unnest(p_job_ids, p_positions) u(job_id, position) on d.job_id = u.job_id and d.position = u.position
    order by d.job_id, d.position
    for update of d
  ), gone as (
    delete from jobtree.dead_letter d where d.ctid = any (array(select l.tid from locked l)) returning d.job_id, d.position
  ), passed as (
    update jobtree.ended_head e set held = false from gone g where e.job_id = g.job_id and e.position = g.position
  )
  select count(*)::integer from gone
$$;
