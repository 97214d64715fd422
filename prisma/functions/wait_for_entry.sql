-- Waits until nobody else has a queue entry, but not beyond an instant. Whoever had it has split it, claimed it whole, or given
-- up: look again.
--
-- returns    false if the time was over first
-- locks      the queue entry
create or replace function jobtree.wait_for_entry(p_tid tid, p_until timestamptz)
returns boolean
language plpgsql volatile
-- Restores what was set before, whatever is set inside.
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
