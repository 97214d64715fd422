-- Gives back a file import whose upload can't be read because its object store is away. It is due again after as long as the store has been
-- away, at least a second and at most a minute. note_import resets this once the import makes progress.
--
-- p_lease_id    what lease_imports returned
-- p_code, p_message   the reason
-- p_patience_ms for how long to keep trying, in milliseconds
-- returns       false if that time is over, and fail_import has to end the import; true also if another server has it
-- locks         the import's row
create or replace function jobtree.postpone_import(p_job_id uuid, p_lease_id uuid, p_code text, p_message text, p_patience_ms integer)
returns boolean
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_since timestamptz;
begin
  select coalesce(f.store_away_at, v_now) into v_since from jobtree.file_import f
  where f.job_id = p_job_id and f.lease_id = p_lease_id
  for update;
  if not found then
    return true;
  end if;
  if v_now - v_since > p_patience_ms * interval '1 millisecond' then
    return false;
  end if;
  update jobtree.file_import f
  set store_away_at = v_since, error_code = p_code, error_message = p_message, attempts = 0, lease_id = null,
    leased_until = v_now + least(greatest(v_now - v_since, interval '1 second'), interval '1 minute')
  where f.job_id = p_job_id;
  return true;
end
$$;
