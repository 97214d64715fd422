-- Looks at the next notes about groups of dead letters: records since when a group has none left, and removes notes of groups that have had
-- none, whenever they were looked at, for 30 days.
--
-- p_after    the note to continue after, by its fingerprint; null to start over
-- p_limit    at how many notes it looks
-- returns    the last note it looked at; null at the end
-- locks      the notes that it changes, skipping locked ones
create or replace function jobtree.prune_notes(p_after uuid default null, p_limit integer default 1000)
returns uuid
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_fingerprints uuid[];
begin
  v_fingerprints := array(
    select n.fingerprint from jobtree.dead_letter_note n
    where n.fingerprint > coalesce(p_after, '00000000-0000-0000-0000-000000000000')
    order by n.fingerprint
    limit p_limit
  );
  with changed as materialized (
    select n.fingerprint, n.empty_since, f.is_empty
    from jobtree.dead_letter_note n
    cross join lateral (
      select not exists (select from jobtree.dead_letter d where d.fingerprint = n.fingerprint) as is_empty offset 0
    ) f
    where n.fingerprint = any (v_fingerprints)
      and (f.is_empty <> (n.empty_since is not null) or f.is_empty and n.empty_since < clock_timestamp() - interval '30 days')
    for update of n skip locked
  ), noted as (
    update jobtree.dead_letter_note n set empty_since = case when c.is_empty then clock_timestamp() end
    from changed c
    where n.fingerprint = c.fingerprint and c.is_empty <> (c.empty_since is not null)
  )
  delete from jobtree.dead_letter_note n
  using changed c
  where n.fingerprint = c.fingerprint and c.is_empty and c.empty_since is not null;
  return case when cardinality(v_fingerprints) = p_limit then v_fingerprints[p_limit] end;
end
$$;
