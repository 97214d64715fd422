-- The id of the n-th assignment of a lease: the lease's id, with n as its last byte. Plain SQL, so that the planner inlines it.
create or replace function jobtree.assignment_id(p_lease_id uuid, p_number integer) returns uuid
language sql immutable parallel safe
as $$
  select (left(p_lease_id::text, 34) || lpad(to_hex(p_number), 2, '0'))::uuid
$$;
