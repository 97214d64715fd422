-- The outcome of a tree whose jobs have these outcomes; null if none is complete.
create or replace function jobtree.worst_outcome(p_outcomes text[])
returns text
language sql immutable
as $$
  select o.outcome from unnest('{FAILED,CANCELLED,PARTIAL,SUCCEEDED}'::text[]) with ordinality o(outcome, n)
  where o.outcome = any (p_outcomes) order by o.n limit 1
$$;
