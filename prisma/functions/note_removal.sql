-- Records how far the objects of a removed upload are deleted. A part that a server was storing at that time may arrive later, and if its
-- server died no row names it. So the store counts as empty only if it is found empty after p_settle_ms. prune_uploads then deletes the
-- rows.
--
-- p_is_empty whether the store has no object of the upload at the moment
-- p_settle_ms   for how long after the removal a part may still arrive, in milliseconds
-- locks      the upload's row
create or replace function jobtree.note_removal(p_id uuid, p_is_empty boolean, p_settle_ms integer)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_settle constant interval := p_settle_ms * interval '1 millisecond';
begin
  update jobtree.upload u
  set store = case when not p_is_empty or u.removed_at + v_settle > v_now then u.store end,
    expires_at = case when p_is_empty then greatest(v_now, u.removed_at + v_settle) else v_now end
  where u.id = p_id and u.removed_at is not null;
end
$$;
