-- Deletes the rows of an upload that is removed, or that has expired while no file import reads it: up to p_limit parts, and after the
-- last one the upload. Call it again at once as long as it returns true. Objects in an object store must be deleted before: lease_removal.
--
-- returns    whether it did anything
-- locks      the upload's row, skipping locked ones
create or replace function jobtree.prune_uploads(p_limit integer default 32)
returns boolean
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_id uuid;
  v_limit integer;
  v_count integer;
begin
  v_id := jobtree.lease_removal(null, null);
  if v_id is null then
    return false;
  end if;
  -- Rows of objects are small: they contain no data.
  v_limit := p_limit * case when exists (select from jobtree.upload_part p where p.upload_id = v_id and p.name is not null) then 32 else 1 end;
  delete from jobtree.upload_part p
  where p.upload_id = v_id and p.position in (
    select o.position from jobtree.upload_part o where o.upload_id = v_id order by o.position limit v_limit
  );
  get diagnostics v_count = row_count;
  if v_count < v_limit then
    with gone as (delete from jobtree.upload u where u.id = v_id returning u.tenant, u.size)
    insert into jobtree.stored_delta (tenant, items, bytes)
    select coalesce(g.tenant, ''), 0, -g.size from gone g where g.size > 0;
  end if;
  return true;
end
$$;
