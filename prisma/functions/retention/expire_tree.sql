-- Cancels a tree that has been idle for longer than its expiry, with the cancel_reason IDLE.
--
-- p_expiry_seconds    the expiry of trees without their own; null for never
-- returns             the jobs that have more to cancel: cancel_items; null if the tree was not due
-- locks               the tree's row, shared, as cancel_job does; the jobs' rows in the order of their ids, waiting a moment for transactions that seal them; those of exclude_adders,
--                     and if a transaction is adding to the tree it is not idle; then those of cancel_job
create or replace function jobtree.expire_tree(p_root_id uuid, p_expiry_seconds integer)
returns uuid[]
language plpgsql volatile
-- plans: no seqscan, bitmapscan
set lock_timeout = '100ms'
as $$
declare
  v_open uuid[];
begin
  perform 1 from jobtree.tree t where t.root_id = p_root_id for share;
  perform 1 from jobtree.job j where j.root_id = p_root_id order by j.id for no key update;
  v_open := array(select j.id from jobtree.job j where j.root_id = p_root_id and j.sealed_at is null);
  if cardinality(jobtree.exclude_adders(v_open)) < cardinality(v_open) then
    return null;
  end if;
  -- From here on, everything that was added meanwhile is visible.
  return (
    select c.cancelling
    from jobtree.tree t
    cross join lateral jobtree.cancel_job(t.root_id, p_reason => 'IDLE') c
    where t.root_id = p_root_id
      and jobtree.idle_since(t.root_id) <= clock_timestamp()
        - nullif(coalesce(t.idle_expiry_seconds, p_expiry_seconds), -1) * interval '1 second'
  );
end
$$;
