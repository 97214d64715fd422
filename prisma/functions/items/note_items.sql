-- Stores what workers note about items that they hold: a note, which replaces an earlier one, and a log, of which the last fifty lines of
-- all attempts are kept. Repeating a call changes nothing. The commit does not wait for the disk.
--
-- p_lease_ids, p_numbers   assignments, none twice; those that are not open, or whose job is cancelled, don't count
-- p_notes    the notes: null keeps the current one, an empty text removes it
-- p_logs     JSON arrays of {at, text}, with all lines of this attempt; null keeps the current ones
-- returns    how many assignments counted
-- locks      the leases in the order of their ids, for key share, waiting for reports on them and deletions of the tree; then item_note
--            rows in the order of their keys
create or replace function jobtree.note_items(p_lease_ids uuid[], p_numbers integer[], p_notes text[], p_logs jsonb[])
returns integer
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_count integer;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform from jobtree.lease l where l.id = any (p_lease_ids) order by l.id for key share;

  insert into jobtree.item_note as n (job_id, position, noted_at, note, log)
  select h.job_id, h.position, clock_timestamp(), h.note, coalesce(h.log, '[]')
  from (
    select l.job_id, l.position + u.number - 1 as position, u.note, (
        select jsonb_agg(e.value || jsonb_build_object('attempt', l.attempt) order by e.n)
        from jsonb_array_elements(u.log) with ordinality e(value, n)
      ) as log
    from unnest(p_lease_ids, p_numbers, p_notes, p_logs) u(lease_id, number, note, log)
    join jobtree.lease l on l.id = u.lease_id
    join jobtree.job j on j.id = l.job_id
    where case when u.number > 0 then get_bit(l.open, u.number - 1) = 1 end and j.cancelled_at is null
  ) h
  order by h.job_id, h.position
  on conflict on constraint item_note_pkey do update
  set noted_at = excluded.noted_at, note = coalesce(excluded.note, n.note), log = (
    select coalesce(jsonb_agg(k.value order by k.n), '[]')
    from (
      select a.value, a.n
      from (
        select e.value, e.n from jsonb_array_elements(n.log) with ordinality e(value, n)
        where excluded.log = '[]' or e.value -> 'attempt' <> excluded.log #> '{0,attempt}'
        union all
        select e.value, 1000 + e.n from jsonb_array_elements(excluded.log) with ordinality e(value, n)
      ) a
      order by a.n desc
      limit 50
    ) k
  );
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
