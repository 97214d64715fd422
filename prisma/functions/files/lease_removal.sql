-- Gives a server an upload whose objects must be deleted from a store: one that is removed, or that has expired while no file import reads
-- it. Servers record progress.
--
-- p_lease_ms for how long no other server gets it, in milliseconds
-- returns    its id; null if there is none
-- locks      the upload's row, skipping locked ones
create or replace function jobtree.lease_removal(p_store text, p_lease_ms integer)
returns uuid
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_id constant uuid := jobtree.lock_unneeded_upload(p_store);
begin
  update jobtree.upload u set expires_at = clock_timestamp() + p_lease_ms * interval '1 millisecond' where u.id = v_id;
  return v_id;
end
$$;
