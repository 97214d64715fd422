-- Waits until no other transaction has locked a queue entry, but not beyond p_until. The other transaction has split it, claimed all of it,
-- or rolled back: look again.
--
-- returns    false if the time was over first
-- locks      the queue entry
create or replace function jobtree.wait_for_entry(p_tid tid, p_until timestamptz)
returns boolean
language plpgsql volatile
-- So that the previous value is restored at the end, whatever is set inside.
set lock_timeout = 0
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ms constant integer := extract(epoch from p_until - clock_timestamp()) * 1000;
begin
  if v_ms < 1 then
    return false;
  end if;
  perform set_config('lock_timeout', v_ms::text, true);
  perform from jobtree.queue_entry q where q.ctid = p_tid for update;
  return true;
exception when lock_not_available then
  return false;
end
$$;
