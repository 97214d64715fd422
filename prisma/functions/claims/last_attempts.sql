-- Which of the items claimed together fail for good if this attempt fails: its number exceeds maxFailuresPerItem, counted from when the
-- item was added or replayed. An item that was lost in its last attempt, beside others, is a suspect: fail_attempts lets it be tried again, alone.
--
-- p_position, p_count   the first item, and how many
-- p_attempt, p_max_failures   the number of the attempt, and the job's maxFailuresPerItem
-- returns    their numbers, from 1, negative for suspects; null for none
-- locks      none
create or replace function jobtree.last_attempts(
  p_job_id uuid, p_position bigint, p_count integer, p_attempt integer, p_max_failures integer
)
returns integer[]
language plpgsql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
begin
  -- An item on its first attempt was never replayed.
  if p_attempt = 1 then
    return case when p_max_failures = 0 then array(select generate_series(1, p_count)) end;
  end if;
  return (
    select array_agg(case when p_attempt - r.replayed > p_max_failures + 1 then -n.n else n.n end) from generate_series(1, p_count) n(n)
    cross join lateral (
      select coalesce((
        select r.attempt from jobtree.replay r
        where r.job_id = p_job_id and r.position = p_position + n.n - 1 and r.attempt < p_attempt
      ), 0) as replayed
      offset 0
    ) r
    where p_attempt - r.replayed > p_max_failures
  );
end
$$;
