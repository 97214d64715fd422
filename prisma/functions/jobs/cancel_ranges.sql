-- Stores that items are cancelled, neighbours in one range, counts them, and passes on the serialize keys that they had.
--
-- p_ranges   the items, none twice
-- p_at       when they were cancelled
-- p_now      whether the next items of their keys proceed at once, as free_keys has it
-- returns    the types that got ready items, and how many
-- locks      those of free_keys
create or replace function jobtree.cancel_ranges(p_ranges jobtree.item_range[], p_at timestamptz, p_now boolean default false)
returns jsonb
language plpgsql volatile
-- plans: no seqscan, hashjoin, mergejoin; generic
as $$
declare
  v_keyed record;
begin
  with kept as (
    insert into jobtree.cancellation (job_id, position, count, cancelled_at)
    select g.job_id, min(g.position), sum(g.count), p_at
    from (
      select u.*, u.position - sum(u.count) over (partition by u.job_id order by u.position) + u.count as run from unnest(p_ranges) u
    ) g
    group by g.job_id, g.run
    returning job_id, count
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id, cancelled)
    select j.root_id, k.job_id, k.count
    from (select k.job_id, sum(k.count) as count from kept k group by k.job_id) k
    cross join lateral (select j.root_id from jobtree.job j where j.id = k.job_id offset 0) j
  )
  select array_agg(u.job_id) as job_ids, array_agg(u.position + n) as positions into v_keyed
  from unnest(p_ranges) u
  cross join lateral generate_series(0, u.count - 1) n
  where u.keyed;
  return case when v_keyed.positions is not null then jobtree.free_keys(v_keyed.job_ids, v_keyed.positions, p_now) end;
end
$$;
