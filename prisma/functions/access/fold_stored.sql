-- Adds what folds, uploads and deletions have recorded to each tenant's total. Every server calls it about once a second. The commit does
-- not wait for the disk: after a crash the records are back, and are added again.
--
-- p_limit    the maximum number of records
-- p_from     the record to read from: a low-water mark that skips the dead rows of what was added before; 0 now and then, for records that
--            committed late
-- returns    how many there were, and the last one; null for none
-- locks      records, skipping locked ones; the rows of tenants in their order
create or replace function jobtree.fold_stored(p_limit integer default 10000, p_from bigint default 0)
returns table (records integer, last_record bigint)
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  return query
  with taken as materialized (
    select d.id from jobtree.stored_delta d where d.id >= p_from order by d.id limit p_limit for update skip locked
  ), consumed as (
    delete from jobtree.stored_delta d where d.id = any (array(select t.id from taken t)) returning d.tenant, d.items, d.bytes
  ), added as (
    insert into jobtree.stored as s (tenant, items, bytes)
    select c.tenant, sum(c.items), sum(c.bytes) from consumed c group by c.tenant order by c.tenant
    on conflict (tenant) do update set items = s.items + excluded.items, bytes = s.bytes + excluded.bytes
  )
  select count(*)::integer, max(t.id) from taken t;
end
$$;
