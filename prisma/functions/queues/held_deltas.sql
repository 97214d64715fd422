-- What adds up to how many items of a limited type workers hold: the latest sum, and the deltas that are not in it. The sum says which
-- transactions had ended before it; the deltas of the others are found by their transactions, past all that earlier sums have removed,
-- of which an old snapshot keeps the dead rows.
--
-- returns    where each row is, and what it adds
-- locks      none
create or replace function jobtree.held_deltas(p_type text)
returns table (tid tid, items integer)
language sql stable
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin
as $$
  with latest as materialized (
    select d.ctid as tid, d.items, array(select pg_snapshot_xip(d.seen)) || d.xid as running,
      -- After a restore into another cluster the ids of transactions begin anew.
      case when pg_snapshot_xmax(d.seen) <= pg_snapshot_xmax(pg_current_snapshot()) then pg_snapshot_xmax(d.seen) else '0' end as next
    from jobtree.held_delta d
    where d.type = p_type and d.seen is not null
    order by d.xid desc
    limit 1
  )
  select l.tid, l.items from latest l
  union all
  select d.ctid, d.items from jobtree.held_delta d
  where d.type = p_type and d.seen is null and d.xid >= coalesce((select l.next from latest l), '0')
  union all
  select d.* from latest l
  cross join lateral unnest(l.running) r(xid)
  cross join lateral (
    select d.ctid, d.items from jobtree.held_delta d where d.type = p_type and d.seen is null and d.xid = r.xid offset 0
  ) d
  where r.xid < l.next
$$;
