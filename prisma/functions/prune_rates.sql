-- Removes slices that no longer count towards a rate.
--
-- locks      none that a claim waits for
create or replace function jobtree.prune_rates()
returns void
language sql volatile
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  delete from jobtree.rate_slice s
  using jobtree.queue q
  where q.rate_limit is not null and s.type = q.type and s.ends_at < now() - q.rate_interval_ms * interval '1 millisecond' - interval '1 second'
$$;
