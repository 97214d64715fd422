-- Records that items of a lease have ended, whatever ended them, if the concurrency of their type is limited: the trigger of lease.
--
-- locks      none
create or replace function jobtree.give_back_places()
returns trigger
language plpgsql volatile
as $$
begin
  insert into jobtree.held_delta (type, items) values (new.limited_type, bit_count(new.open) - bit_count(old.open));
  return null;
end
$$;
