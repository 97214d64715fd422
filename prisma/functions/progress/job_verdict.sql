-- The outcome of a job whose items have all ended.
create or replace function jobtree.job_verdict(p_failed_at timestamptz, p_cancelled_at timestamptz, p_succeeded bigint, p_failed bigint)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_failed_at is not null then 'FAILED'
    when p_cancelled_at is not null then 'CANCELLED'
    when p_failed = 0 then 'SUCCEEDED'
    when p_succeeded > 0 then 'PARTIAL'
    else 'FAILED'
  end
$$;
