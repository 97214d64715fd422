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
  v_count constant integer := cardinality(p_payloads);
  v_block bigint;
  v_size integer;
  v_positions bigint[];
  v_all bigint[];
begin
  select jobtree.entry_size(max(octet_length(u.payload::text))) into v_size from unnest(p_payloads) u(payload);

  for v_from in 0 .. v_count - 1 by 1024 loop
    v_block := nextval('jobtree.block_seq');
    with inserted as (
      insert into jobtree.job_item as i (job_id, position, created_at, payload_bytes, run_at, payload)
      select v_job_id, v_block * 1024 + u.n - 1, v_now, octet_length(u.payload::text), v_run_at, u.payload
      from unnest(case when v_count <= 1024 then p_payloads else p_payloads[v_from + 1 : v_from + 1024] end) with ordinality u(payload, n)
      returning i.position, i.payload_bytes
    ), queued as (
      insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
      select v_job_id, min(i.position), min(i.position), sum(i.payload_bytes),
        case when v_run_at > v_now then v_run_at end, 1, count(*), p_job.priority, p_job.type
      from inserted i
      group by i.position % 1024 / v_size
    ), counted as (
      insert into jobtree.progress_delta (root_id, job_id, items)
      select p_job.root_id, v_job_id, count(*) from inserted i
    )
    select array_agg(i.position) into v_positions from inserted i;
    v_all := v_all || v_positions;
  end loop;
  return v_all;
end
$$;
