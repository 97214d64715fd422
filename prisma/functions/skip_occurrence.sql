-- Skips an occurrence of a schedule: the next one, or a queued one. Does nothing if it is no longer either.
--
-- p_at       the occurrence
-- p_next_at  the one after it, which servers compute; used if p_at is the next one
-- returns    whether it was skipped
-- locks      the schedule's row, exclusively
-- errors     JT001 no such schedule
create or replace function jobtree.skip_occurrence(p_name text, p_at timestamptz, p_next_at timestamptz)
returns boolean
language plpgsql volatile
as $$
begin
  update jobtree.schedule s
  set next_at = case when s.next_at = p_at then p_next_at else s.next_at end,
    queued = array_remove(s.queued, p_at::timestamptz(3)),
    skipped_at = p_at, skip_reason = 'ASKED'
  where s.name = p_name and (s.next_at = p_at or p_at = any (s.queued));
  if not found and not exists (select from jobtree.schedule s where s.name = p_name) then
    raise exception 'There is no schedule %.', p_name using errcode = 'JT001', column = 'name';
  end if;
  return found;
end
$$;
