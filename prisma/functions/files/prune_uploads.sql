-- Deletes the rows of an upload that is removed, or that has expired while no file import reads it: up to p_limit chunks, and after the
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
  -- Rows of objects are small: they contain no data.
  v_object_limit constant integer := p_limit * 32;
  v_id uuid;
  v_chunks integer;
  v_objects integer;
begin
  v_id := jobtree.lease_removal(null, null);
  if v_id is null then
    return false;
  end if;
  delete from jobtree.upload_chunk c
  where c.upload_id = v_id and c.position in (
    select o.position from jobtree.upload_chunk o where o.upload_id = v_id order by o.position limit p_limit
  );
  get diagnostics v_chunks = row_count;
  delete from jobtree.upload_object c
  where c.upload_id = v_id and c.position in (
    select o.position from jobtree.upload_object o where o.upload_id = v_id order by o.position limit v_object_limit
  );
  get diagnostics v_objects = row_count;
  if v_chunks < p_limit and v_objects < v_object_limit then
    with gone as (delete from jobtree.upload u where u.id = v_id returning u.tenant, u.size)
    insert into jobtree.stored_delta (tenant, items, bytes)
    select coalesce(g.tenant, ''), 0, -g.size from gone g where g.size > 0;
  end if;
  return true;
end
$$;
