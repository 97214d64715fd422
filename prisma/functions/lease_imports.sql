-- Gives a server file imports that no other server is working on, those that have waited longest first. A server that had one before can no
-- longer record progress for it.
--
-- p_lease_ms for how long it has them, in milliseconds; note_import renews that
-- p_in_store whether to give imports of uploads in an object store, or of those in Postgres
-- returns    what to import, and from which position
-- locks      the imports, skipping locked ones
create or replace function jobtree.lease_imports(p_limit integer, p_lease_ms integer, p_in_store boolean)
returns table (
  job_id uuid, lease_id uuid, upload_id uuid, options jsonb, size bigint, attempts integer, "position" bigint, line bigint, columns jsonb,
  type text
)
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz(3) := clock_timestamp();
begin
  return query
  with free as (
    select f.job_id from jobtree.file_import f
    where f.finished_at is null and (f.leased_until is null or f.leased_until <= v_now)
      and exists (select from jobtree.upload u where u.id = f.upload_id and (u.store is not null) = p_in_store)
    order by f.leased_until nulls first, f.job_id
    limit p_limit
    for update skip locked
  )
  update jobtree.file_import f
  set lease_id = gen_random_uuid(), leased_until = v_now + p_lease_ms * interval '1 millisecond', attempts = f.attempts + 1,
    started_at = coalesce(f.started_at, v_now)
  where f.job_id = any (array(select r.job_id from free r))
  returning f.job_id, f.lease_id, f.upload_id, f.options, f.size, f.attempts, f.position, f.line, f.columns,
    (select j.type from jobtree.job j where j.id = f.job_id);
end
$$;
