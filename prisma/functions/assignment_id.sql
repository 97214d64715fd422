-- The id of an assignment, from its claim's id and its number there: so a claim that is repeated finds what it got. It
-- begins as the claim's id does and goes up with the number; the rest is from a hash over the whole of the claim's id, so
-- that nobody can guess it from another. Plain SQL, so that the planner inlines it; random bytes would cost more.
--
-- p_claim_id a UUID of version 7
-- p_number   from 1; after 4095 the order begins again
create or replace function jobtree.assignment_id(p_claim_id uuid, p_number bigint) returns uuid
language sql immutable parallel safe
as $$
  select encode(
    substr(uuid_send(p_claim_id), 1, 8) || int2send((x'a000'::integer - 65536 + (p_number & 4095))::smallint)
      || substr(sha256(uuid_send(p_claim_id) || int8send(p_number)), 1, 6),
    'hex'
  )::uuid
$$;
