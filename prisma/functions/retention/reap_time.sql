-- When a tree that is complete may be reaped; null for never. Where the servers' default applies, that counts from this time.
--
-- p_retention_seconds of the root
create or replace function jobtree.reap_time(p_retention_seconds integer, p_completed_at timestamptz)
returns timestamptz
language sql stable parallel safe
as $$
  select case when p_retention_seconds is distinct from -1 then p_completed_at + make_interval(secs => coalesce(p_retention_seconds, 0)) end
$$;
