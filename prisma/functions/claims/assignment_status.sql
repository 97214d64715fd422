-- The status of an assignment: HELD while its worker has the item, FINISHED once its outcome was reported, CANCELLED, or LOST (unknown,
-- released or taken back).
create or replace function jobtree.assignment_status(p_lease_id uuid, p_number integer) returns text
language sql stable
as $$
  select coalesce((
    select case
      when get_bit(l.open, p_number - 1) = 1 then case when j.cancelled_at is null then 'HELD' else 'CANCELLED' end
      when f.lost then 'LOST'
      when f.lost is not null or exists (
        select from jobtree.outcome o
        where o.job_id = l.job_id and o.position = l.position + p_number - 1 and o.lease_id = l.id
        -- Keeps the planner from reading all outcomes into a hash table.
        offset 0
      ) then 'FINISHED'
      when j.cancelled_at is not null or (
        select c.position + c.count > l.position + p_number - 1 from jobtree.cancellation c
        where c.job_id = l.job_id and c.position <= l.position + p_number - 1
        order by c.position desc
        limit 1
      ) then 'CANCELLED'
      else 'LOST'
    end
    from jobtree.lease l
    cross join lateral (select j.cancelled_at from jobtree.job j where j.id = l.job_id offset 0) j
    left join lateral (
      select f.lost from jobtree.failure f
      where f.job_id = l.job_id and f.position = l.position + p_number - 1 and f.attempt = l.attempt and f.lease_id = l.id
      offset 0
    ) f on true
    where l.id = p_lease_id and p_number between 1 and l.count
  ), 'LOST')
$$;
