-- An id for a lease of a claim: the first half is the claim's, so that the leases of a claim stand together and go up with
-- time; the rest is random, so that no id ever names two leases, also when a claim runs a second time (its answer was lost,
-- and a crash or a deletion took what it had got); the last byte is free for the number of an assignment.
--
-- p_claim_id a UUID of version 7
create or replace function jobtree.new_lease_id(p_claim_id uuid) returns uuid
language sql volatile parallel safe
as $$
  select (left(p_claim_id::text, 19) || substr(gen_random_uuid()::text, 20, 15) || '00')::uuid
$$;
