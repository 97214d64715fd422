-- The jobs among which the items of an operation are, after the one at which it has stopped, in the order of their ids: those that it selected
-- when it was requested, a job with all jobs below it, the jobs of single items, or those of a few types or a small tenant. Null if it goes
-- through all jobs.
--
-- p_last_id  the last of them; null for all
create or replace function jobtree.jobs_of_operation(p_operation jobtree.operation, p_last_id uuid default null)
returns uuid[]
language plpgsql stable
-- plans: no seqscan
as $$
declare
  v_jobs constant uuid[] := case
    when p_operation.selected_job_ids is not null then p_operation.selected_job_ids
    when p_operation.job_id is not null then array(
      with recursive subtree as (
        select p_operation.job_id as id
        union all
        select c.id from jobtree.job c join subtree s on c.parent_id = s.id
      )
      select s.id from subtree s
    )
    when p_operation.item_job_ids is not null then p_operation.item_job_ids
    else jobtree.few_jobs(p_operation.types, p_operation.tenant)
  end;
begin
  return case when v_jobs is not null then array(
    select distinct u from unnest(v_jobs) u where u > p_operation.next_job_id and u <= coalesce(p_last_id, u) order by u
  ) end;
end
$$;
