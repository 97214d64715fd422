-- The variant of create_jobs for servers: for roots that they have checked, without children, that start with items without settings of their own,
-- as nearly all small jobs are. They may come from several callers, so it waits only for a moment if an open transaction has a dedupe key.
--
-- p_jobs     JSON array of jobs as create_job takes them, without their items
-- p_payloads the items of all jobs, at least one of each, as JSON texts; the separator is the record separator U+001E, which JSON can't contain
-- p_owners   for each of these its job: the place in p_jobs, from 1
-- returns    as insert_jobs
-- locks      as insert_jobs
-- errors     55P03 if another transaction has one of the dedupe keys, and may not commit; and as insert_jobs
create or replace function jobtree.create_plain_jobs(p_jobs json, p_payloads text, p_owners integer[])
returns table (job_id uuid, created boolean)
language sql volatile
set lock_timeout = '20ms'
as $$
  select i.job_id, i.created from jobtree.insert_jobs(p_jobs, string_to_array(p_payloads, E'\x1e'), p_owners, true) i
$$;
