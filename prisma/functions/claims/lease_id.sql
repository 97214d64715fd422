-- The lease that an assignment belongs to. Plain SQL, so that the planner inlines it.
create or replace function jobtree.lease_id(p_assignment_id uuid) returns uuid
language sql immutable parallel safe
as $$
  select (left(p_assignment_id::text, 34) || '00')::uuid
$$;
