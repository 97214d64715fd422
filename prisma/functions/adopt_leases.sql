-- Records the leases of a type that began before its concurrency was limited, so that they count.
--
-- locks      none; the caller has locked the type's row of queue
create or replace function jobtree.adopt_leases(p_type text)
returns void
language sql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  insert into jobtree.queue_lease (type, lease_id)
  select p_type, l.id from jobtree.lease l
  cross join lateral (select j.type from jobtree.job j where j.id = l.job_id offset 0) j
  where l.deadline_at is not null and j.type = p_type
    and l.id not in (select k.lease_id from jobtree.queue_lease k where k.type = p_type)
$$;
