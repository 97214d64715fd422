-- Cancels what a claim found of jobs that were cancelled meanwhile.
--
-- p_picks    picks of entries that this transaction has locked; those that were leased are gone, and are passed by
-- locks      none new. Leaves the keys to promote_blocked, as free_keys can
create or replace function jobtree.cancel_entries(p_picks jobtree.claim_pick[])
returns void
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  v_gone jobtree.item_range[];
begin
  with gone as (
    delete from jobtree.queue_entry q where q.ctid = any (array(select p.tid from unnest(p_picks) p)) returning q.*
  )
  select array_agg(row(g.job_id, g.position, g.count, g.keyed)::jobtree.item_range) into v_gone from gone g;
  perform jobtree.cancel_ranges(array_agg(g), j.cancelled_at)
  from unnest(v_gone) g
  cross join lateral (select j.cancelled_at from jobtree.job j where j.id = g.job_id offset 0) j
  group by j.cancelled_at;
end
$$;
