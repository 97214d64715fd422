-- The jobs of some types, or of a tenant, in the order of their ids: for what is looked up job by job, past everything of others.
--
-- p_types, p_tenant   null for any; null for both selects nothing
-- returns    null if there are more than 1,000, or nothing is selected
create or replace function jobtree.few_jobs(p_types text[], p_tenant text)
returns uuid[]
language plpgsql stable
-- plans: no seqscan, bitmapscan
-- A custom plan drops the condition that is not wanted.
set plan_cache_mode = force_custom_plan
as $$
begin
  if p_types is null and p_tenant is null then
    return null;
  end if;
  return (
    select case when count(*) <= 1000 then coalesce(array_agg(j.id order by j.id), '{}') end
    from (
      select j.id from jobtree.job j
      where (p_types is null or j.type = any (p_types))
        and (p_tenant is null or j.type > p_tenant || '//' and j.type < p_tenant || '/0')
      limit 1001
    ) j
  );
end
$$;
