-- Records that a server is looking for lost heartbeats. After a gap in which none did (all were down, or Postgres was away) no heartbeat
-- can have arrived either: from its end on, every lease has a full lease time before it may be taken back.
--
-- p_gap_ms   the longest time without a look that does not count as a gap, in milliseconds
-- returns    since when servers have been looking without a gap
-- locks      the one row of watch, skipping it if locked
create or replace function jobtree.note_sweep(p_gap_ms integer)
returns timestamptz
language plpgsql volatile
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
begin
  perform set_config('synchronous_commit', 'off', true);
  update jobtree.watch w
  set swept_at = v_now,
    resumed_at = case when w.swept_at < v_now - p_gap_ms * interval '1 millisecond' then v_now else w.resumed_at end
  where w.ctid = (select f.ctid from jobtree.watch f where f.id = 1 for update skip locked);
  return (select w.resumed_at from jobtree.watch w where w.id = 1);
end
$$;
