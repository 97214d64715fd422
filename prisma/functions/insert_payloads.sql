-- Puts new items without settings of their own into a job: the items, their queue entries, and one delta. insert_items is
-- for the others.
--
-- p_job      the job's row, which the caller holds locked, or has just inserted
-- p_payloads at least one
-- returns    the positions of the items, in order
-- locks      none
create or replace function jobtree.insert_payloads(p_job jobtree.job, p_payloads json[])
returns bigint[]
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_job_id constant uuid := p_job.id;
  v_run_at constant timestamptz(3) := p_job.run_at;
  v_positions constant bigint[] := jobtree.new_positions(cardinality(p_payloads));
  v_bytes integer[];
  v_size integer;
begin
  select array_agg(b.bytes), jobtree.entry_size(max(b.bytes)) into v_bytes, v_size
  from (select octet_length(u.payload::text) as bytes from unnest(p_payloads) u(payload)) b;

  insert into jobtree.job_item (job_id, position, created_at, payload_bytes, run_at, payload)
  select v_job_id, u.position, v_now, u.bytes, v_run_at, u.payload
  from unnest(v_positions, v_bytes, p_payloads) u(position, bytes, payload);

  insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
  select v_job_id, min(u.position), min(u.position), sum(u.bytes),
    case when v_run_at > v_now then v_run_at end, 1, count(*), p_job.priority, p_job.type
  from unnest(v_positions, v_bytes) u(position, bytes)
  group by u.position / 1024, u.position % 1024 / v_size;

  insert into jobtree.progress_delta (root_id, job_id, items) values (p_job.root_id, v_job_id, cardinality(p_payloads));
  return v_positions;
end
$$;
