-- A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then random bits. Plain SQL, so that the planner inlines it,
-- and the same on every Postgres that jobtree supports (uuidv7() is native only from 18 on).
create or replace function jobtree.new_id() returns uuid
language sql volatile parallel safe
as $$
  select encode(
    set_bit(
      set_bit(
        overlay(
          uuid_send(gen_random_uuid())
          placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
          from 1 for 6
        ),
        52, 1
      ),
      53, 1
    ),
    'hex'
  )::uuid
$$;
