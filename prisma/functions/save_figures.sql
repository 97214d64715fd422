-- Stores a server's figures of a minute, a row for each type, replacing what it stored before: calls can be repeated. The commit does not
-- wait for the disk: a crash of Postgres may lose the latest ones.
--
-- p_slot_id  the server and its minute
-- p_minute   the minute, as an earlier call for this slot returned it; null for the first call, which writes nothing, so that a repeated
--            call never writes to another minute
-- p_figures  JSON array of the columns of figure, without minute and slot_id
-- returns    the minute, and in how many milliseconds it ends: 0 once it is over
create or replace function jobtree.save_figures(p_slot_id uuid, p_minute timestamptz, p_figures json)
returns table (minute timestamptz, ends_in_ms integer)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := clock_timestamp();
  v_minute constant timestamptz := coalesce(p_minute, date_trunc('minute', v_now));
  v_ends_in_ms constant integer := greatest(extract(epoch from v_minute + interval '1 minute' - v_now) * 1000, 0);
begin
  if p_minute is null then
    return query select v_minute, v_ends_in_ms;
    return;
  end if;
  perform set_config('synchronous_commit', 'off', true);
  insert into jobtree.figure (
    type, minute, slot_id, claimed, succeeded, failed, lost, dead, wait_buckets, wait_counts, took_buckets, took_counts
  )
  select f.type, v_minute, p_slot_id, f.claimed, f.succeeded, f.failed, f.lost, f.dead,
    f.wait_buckets, f.wait_counts, f.took_buckets, f.took_counts
  from json_to_recordset(p_figures) f(
    type text, claimed integer, succeeded integer, failed integer, lost integer, dead integer,
    wait_buckets integer[], wait_counts integer[], took_buckets integer[], took_counts integer[]
  )
  on conflict on constraint figure_pkey do update
  set claimed = excluded.claimed, succeeded = excluded.succeeded, failed = excluded.failed, lost = excluded.lost, dead = excluded.dead,
    wait_buckets = excluded.wait_buckets, wait_counts = excluded.wait_counts,
    took_buckets = excluded.took_buckets, took_counts = excluded.took_counts;
  return query select v_minute, v_ends_in_ms;
end
$$;
