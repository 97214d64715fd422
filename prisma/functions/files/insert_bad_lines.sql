-- Adds lines to a job that can't be read, or that make no valid payload of its type, as items that no worker sees, each with a failure and
-- a dead letter. They can be replayed with a corrected payload.
--
-- p_job      the job's row, which the caller has locked
-- p_payloads what is known of each line
-- p_codes, p_problems   what is wrong with each
-- locks      none
create or replace function jobtree.insert_bad_lines(p_job jobtree.job, p_payloads json[], p_codes text[], p_problems text[])
returns void
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_job_id constant uuid := p_job.id;
  v_count constant integer := cardinality(p_payloads);
  v_positions constant bigint[] := jobtree.positions_from(
    array(select nextval('jobtree.block_seq') * 1024 from generate_series(1, v_count, 1024)), v_count
  );
begin
  insert into jobtree.job_item (job_id, position, created_at, payload_bytes, run_at, payload)
  select v_job_id, u.position, v_now, octet_length(u.payload::text), p_job.run_at, u.payload
  from rows from (unnest(v_positions), unnest(p_payloads)) u(position, payload);
  insert into jobtree.failure (job_id, position, attempt, at, lost, code, message)
  select v_job_id, u.position, 1, v_now, false, u.code, u.problem
  from unnest(v_positions, p_codes, p_problems) u(position, code, problem);
  insert into jobtree.progress_delta (root_id, job_id, items, bytes)
  select p_job.root_id, v_job_id, v_count, sum(octet_length(u.payload::text)) from unnest(p_payloads) u(payload);
  perform jobtree.bury_items(
    array_fill(v_job_id, array[v_count]), v_positions, array_fill(null::uuid, array[v_count]),
    p_codes, p_problems, false
  );
end
$$;
