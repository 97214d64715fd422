-- The job that has a dedupe key, or null. As a range, so that no plan goes through all jobs of the type.
create or replace function jobtree.job_of_key(p_type text, p_key text)
returns uuid
language sql stable
-- plans: no seqscan, bitmapscan
as $$
  select j.id from jobtree.job j where (j.dedupe_key, j.type) >= (p_key, p_type) and (j.dedupe_key, j.type) <= (p_key, p_type)
$$;
