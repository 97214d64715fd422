-- Deletes an endpoint. What was to be sent there fails, and so does what trees still send there: lease_deliveries says so.
--
-- errors     JT001 no such endpoint
create or replace function jobtree.delete_endpoint(p_name text)
returns void
language plpgsql volatile
as $$
begin
  delete from jobtree.callback_endpoint e where e.name = p_name;
  if not found then
    raise exception 'There is no endpoint %.', p_name using errcode = 'JT001', column = 'name';
  end if;
end
$$;
