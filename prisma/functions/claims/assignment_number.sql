-- The number of an assignment in its lease, from 1; 0 for an id that no assignment can have.
create or replace function jobtree.assignment_number(p_assignment_id uuid) returns integer
language sql immutable parallel safe
as $$
  select case when n <= 128 then n else 0 end from get_byte(uuid_send(p_assignment_id), 15) n
$$;
