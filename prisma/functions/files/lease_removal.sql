-- Finds the first upload of a store that is removed, or that has expired while no file import reads it. Nobody can use it from now on: its
-- objects must be deleted from the store, and servers record how far they are, or its rows, by the caller.
--
-- p_store    an object store; null for uploads in Postgres only
-- p_lease_ms for how long no other server gets it, in milliseconds; null if the caller deletes it in this transaction
-- returns    its id; null if there is none
-- locks      the upload's row, skipping locked ones
create or replace function jobtree.lease_removal(p_store text, p_lease_ms integer)
returns uuid
language plpgsql volatile
-- A custom plan drops one of the conditions on the store.
-- plans: no seqscan; custom
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_passed uuid[] := '{}';
  v_id uuid;
begin
  loop
    -- Not `is not distinct from`, which can't use an index.
    select u.id into v_id from jobtree.upload u
    where (p_store is null and u.store is null or u.store = p_store) and u.expires_at <= v_now and u.id <> all (v_passed)
      and not exists (select from jobtree.file_import f where f.upload_id = u.id and f.finished_at is null)
    order by u.expires_at limit 1 for update skip locked;
    if v_id is null then
      return null;
    end if;
    -- In a new statement, which sees imports that began before the lock.
    exit when not exists (select from jobtree.file_import f where f.upload_id = v_id and f.finished_at is null);
    v_passed := v_passed || v_id;
  end loop;
  update jobtree.upload u
  set removed_at = coalesce(u.removed_at, v_now), expires_at = coalesce(v_now + p_lease_ms * interval '1 millisecond', u.expires_at)
  where u.id = v_id and (u.removed_at is null or p_lease_ms is not null);
  return v_id;
end
$$;
