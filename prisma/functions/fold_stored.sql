-- Adds what folds, uploads and deletions have recorded to each tenant's total. Every server calls it about once a second. The commit does
-- not wait for the disk: after a crash the records are back, and are added again.
--
-- p_limit    the maximum number of records
-- returns    how many there were
-- locks      records, skipping locked ones; the rows of tenants in their order
create or replace function jobtree.fold_stored(p_limit integer default 10000)
returns integer
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_count integer;
begin
  perform set_config('synchronous_commit', 'off', true);
  with taken as materialized (
    select d.id from jobtree.stored_delta d order by d.id limit p_limit for update skip locked
  ), consumed as (
    delete from jobtree.stored_delta d where d.id = any (array(select t.id from taken t)) returning d.tenant, d.items, d.bytes
  ), added as (
    insert into jobtree.stored as s (tenant, items, bytes)
    select c.tenant, sum(c.items), sum(c.bytes) from consumed c group by c.tenant order by c.tenant
    on conflict (tenant) do update set items = s.items + excluded.items, bytes = s.bytes + excluded.bytes
  )
  select count(*) into v_count from taken;
  return v_count;
end
$$;
