-- The outcome of a tree whose jobs have these outcomes; null if none is complete. An expression, so that the planner inlines it.
create or replace function jobtree.worst_outcome(p_outcomes text[])
returns text
language sql immutable parallel safe
as $$
  select case
    when 'FAILED' = any (p_outcomes) then 'FAILED'
    when 'CANCELLED' = any (p_outcomes) then 'CANCELLED'
    when 'PARTIAL' = any (p_outcomes) then 'PARTIAL'
    when 'SUCCEEDED' = any (p_outcomes) then 'SUCCEEDED'
  end
$$;
