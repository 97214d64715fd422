-- An id for a lease of a claim. The first half is the claim's, so that the leases of a claim are adjacent and ascend with time. The rest is
-- random, so that no id ever names two leases, even if a claim runs a second time because its answer was lost and a crash or a deletion
-- removed what it had got. The last byte is free for the number of an assignment.
--
-- p_claim_id a UUID of version 7
create or replace function jobtree.new_lease_id(p_claim_id uuid) returns uuid
language sql volatile parallel safe
as $$
  select (left(p_claim_id::text, 19) || substr(gen_random_uuid()::text, 20, 15) || '00')::uuid
$$;
