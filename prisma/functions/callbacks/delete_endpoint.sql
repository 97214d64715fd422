-- Deletes an endpoint. lease_deliveries fails its pending deliveries, and later ones of trees that still call it.
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
