-- Types of which anything was done within the last hour, according to the saved figures: one probe for each type that has figures.
--
-- p_types    only these; null for all, by name
-- p_after    only types whose names come after this one
-- returns    their names
create or replace function jobtree.worked_types(p_types text[] default null, p_after text default null)
returns setof text
language sql stable
-- plans: no seqscan, bitmapscan
as $$
  with recursive known(type) as (
    (select f.type from jobtree.figure f where p_types is null and f.type > coalesce(p_after, '') order by f.type limit 1)
    union all
    select (select f.type from jobtree.figure f where f.type > k.type order by f.type limit 1) from known k where k.type is not null
  )
  select k.type from (
    select k.type from known k
    union all
    select u.type from unnest(p_types) u(type) where p_after is null or u.type > p_after
  ) k
  -- Under the beginning of its names stand the figures of a whole tenant.
  where k.type <> jobtree.tenant_beginning(k.type) and exists (
    select from jobtree.figure f where f.type = k.type and f.minute >= clock_timestamp() - interval '1 hour'
  )
$$;
