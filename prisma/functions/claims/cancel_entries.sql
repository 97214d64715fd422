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
  v_entries jobtree.queue_entry[];
begin
  with gone as (
    delete from jobtree.queue_entry q where q.ctid = any (array(select p.tid from unnest(p_picks) p)) returning q as entry
  )
  select array_agg(g.entry) into v_entries from gone g;
  perform jobtree.cancel_ranges(array_agg(e.job_id), array_agg(e.position), array_agg(e.count::bigint), j.cancelled_at)
  from unnest(v_entries) e
  cross join lateral (select j.cancelled_at from jobtree.job j where j.id = e.job_id offset 0) j
  group by j.cancelled_at;
  perform jobtree.free_keys(array_agg(e.job_id), array_agg(e.position + n), false)
  from unnest(v_entries) e
  cross join lateral generate_series(0, e.count - 1) n
  where e.keyed;
end
$$;
