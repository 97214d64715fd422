-- The assignments that a claim made, whatever became of them: a short range of the primary key. Others in it come from a
-- claim that began with the same bits in the same millisecond. Plain SQL, so that the planner inlines it.
create or replace function jobtree.claimed_ids(p_claim_id uuid) returns setof uuid
language sql stable parallel safe
as $$
  select a.id from jobtree.assignment a
  where a.id between (left(p_claim_id::text, 19) || 'a000-000000000000')::uuid
      and (left(p_claim_id::text, 19) || 'afff-ffffffffffff')::uuid
    and a.id = jobtree.assignment_id(
      p_claim_id, (get_byte(uuid_send(a.id), 8) & 15) * 256 + get_byte(uuid_send(a.id), 9)
    )
$$;
