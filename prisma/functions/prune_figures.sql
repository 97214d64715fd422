-- Removes figures that are older than two days, up to p_limit rows.
--
-- returns    how many
-- locks      old figures, skipping locked ones
create or replace function jobtree.prune_figures(p_limit integer default 5000)
returns integer
language plpgsql volatile
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_count integer;
begin
  delete from jobtree.figure f
  where f.ctid = any (array(
    select o.ctid from jobtree.figure o
    where o.minute < clock_timestamp() - interval '2 days'
    limit p_limit
    for update skip locked
  ));
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
