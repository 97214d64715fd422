-- The jobs that an operation's filter selects: a job with all jobs below it, or the jobs of single items. Null if it selects by neither.
create or replace function jobtree.jobs_of_operation(p_operation jobtree.operation)
returns uuid[]
language plpgsql stable
-- plans: no seqscan
as $$
begin
  if p_operation.job_id is not null then
    return (
      with recursive subtree as (
        select p_operation.job_id as id
        union all
        select c.id from jobtree.job c join subtree s on c.parent_id = s.id
      )
      select array_agg(s.id) from subtree s
    );
  end if;
  return (select array_agg(distinct u) from unnest(p_operation.item_job_ids) u);
end
$$;
