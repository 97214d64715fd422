-- The status of an item: the only place that decides it. It depends on no clock, so an index has what a page of one status needs: what
-- has come due keeps its status until promote_due has cleared its time. Plain SQL, so that the planner inlines it. An index is built on it:
-- a migration that changes what it says of entries must build that anew.
--
-- p_failed         whether its outcome is a failure; null without an outcome
-- p_cancelled_at   when it was cancelled, itself or with its job
-- p_is_held        whether a lease has it, and its bit there is open
-- p_is_blocked     whether it is in blocked_item
-- p_run_at, p_attempt   of its queue entry
create or replace function jobtree.status_of_item(
  p_failed boolean, p_cancelled_at timestamptz, p_is_held boolean, p_is_blocked boolean, p_run_at timestamptz, p_attempt integer
)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_failed then 'FAILED'
    when p_failed is not null then 'SUCCEEDED'
    when p_cancelled_at is not null then 'CANCELLED'
    when p_is_held then 'RUNNING'
    when p_is_blocked then 'BLOCKED'
    when p_run_at is null then 'READY'
    when p_run_at = 'infinity' then 'WAITING'
    when p_attempt > 1 then 'RETRYING'
    else 'SCHEDULED'
  end
$$;
