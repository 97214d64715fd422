-- Pauses a schedule: it creates nothing until it is resumed, and has no next occurrence. Queued occurrences stay queued. Pausing a paused
-- schedule does nothing.
--
-- locks      the schedule's row, exclusively
-- errors     JT001 no such schedule
create or replace function jobtree.pause_schedule(p_name text)
returns void
language plpgsql volatile
as $$
begin
  update jobtree.schedule s
  set paused_at = coalesce(s.paused_at, clock_timestamp()), next_at = null
  where s.name = p_name;
  if not found then
    raise exception 'There is no schedule %.', p_name using errcode = 'JT001', column = 'name';
  end if;
end
$$;
