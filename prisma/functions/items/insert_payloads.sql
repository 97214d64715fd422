-- Adds new items without settings of their own to a job: the items, their queue entries, and one delta. insert_items adds
-- all others.
--
-- p_job      the job's row, which the caller has locked or just inserted
-- p_payloads JSON texts, at least one; converted only when they are stored, because each conversion between json and text is a copy
-- p_parents  for each, the position of the parent job's item that created it; null if none did
-- returns    the first position of each 1,024 items; the positions of these are consecutive
-- locks      none
-- errors     22P02 for a text that is not JSON
create or replace function jobtree.insert_payloads(p_job jobtree.job, p_payloads text[], p_parents bigint[] default null)
returns bigint[]
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_now constant timestamptz(3) := clock_timestamp();
  v_job_id constant uuid := p_job.id;
  v_run_at constant timestamptz(3) := p_job.run_at;
  -- While the job waits for others nothing is due, until release_items examines it again.
  v_due_at constant timestamptz(3) := case when p_job.waits then 'infinity' when v_run_at > v_now then v_run_at end;
  v_count constant integer := cardinality(p_payloads);
  v_first bigint;
  v_size integer;
  v_bytes bigint;
  v_some text[];
  v_firsts bigint[] := '{}';
begin
  select jobtree.entry_size(max(octet_length(u.payload))), sum(octet_length(u.payload)) into v_size, v_bytes from unnest(p_payloads) u(payload);

  for v_from in 0 .. v_count - 1 by 1024 loop
    v_first := nextval('jobtree.block_seq') * 1024;
    v_firsts := v_firsts || v_first;
    v_some := case when v_count <= 1024 then p_payloads else p_payloads[v_from + 1 : v_from + 1024] end;
    insert into jobtree.job_item (job_id, position, created_at, payload_bytes, run_at, payload, parent_position)
    select v_job_id, v_first + u.n - 1, v_now, octet_length(u.payload), v_run_at, u.payload::json, u.parent
    from unnest(v_some, p_parents[v_from + 1 : v_from + 1024]) with ordinality u(payload, parent, n);
    insert into jobtree.queue_entry (job_id, position, place, bytes, run_at, attempt, count, priority, type)
    select v_job_id, v_first + g.n, v_first + g.n, g.bytes, v_due_at, 1, g.count, p_job.priority, p_job.type
    from (
      select min(u.n) - 1 as n, sum(octet_length(u.payload)) as bytes, count(*) as count
      from unnest(v_some) with ordinality u(payload, n)
      group by (u.n - 1) / v_size
    ) g;
  end loop;
  insert into jobtree.progress_delta (root_id, job_id, items, bytes) values (p_job.root_id, v_job_id, v_count, v_bytes);
  return v_firsts;
end
$$;
