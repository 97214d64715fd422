-- Deletes a schedule. The trees that it created remain.
--
-- locks      the schedule's row, exclusively
-- errors     JT001 no such schedule
create or replace function jobtree.delete_schedule(p_name text)
returns void
language plpgsql volatile
as $$
begin
  delete from jobtree.schedule s where s.name = p_name;
  if not found then
    raise exception 'There is no schedule %.', p_name using errcode = 'JT001', column = 'name';
  end if;
end
$$;
