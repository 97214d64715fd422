-- Resumes a paused schedule; occurrences that it missed during the pause are not made up for. Does nothing if it is not paused.
--
-- p_next_at  its next occurrence, which servers compute
-- locks      the schedule's row, exclusively
-- errors     JT001 no such schedule
create or replace function jobtree.resume_schedule(p_name text, p_next_at timestamptz)
returns void
language plpgsql volatile
as $$
begin
  update jobtree.schedule s
  set next_at = case when s.paused_at is null then s.next_at else p_next_at end, paused_at = null
  where s.name = p_name;
  if not found then
    raise exception 'There is no schedule %.', p_name using errcode = 'JT001', column = 'name';
  end if;
end
$$;
