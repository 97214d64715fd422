-- Adds items to a job that is not sealed, and with p_seal seals it in the same transaction. A call with p_seal whose items the job has already,
-- by their dedupe keys, may be repeated: the answer of the first one may have been lost.
--
-- p_items    as insert_items has it; may be empty
-- p_traces   the traces that the items belong to: trace_items; null for none
-- returns    the tree's root, the job's type, and what insert_items returns
-- locks      the job's row (lock_open_job)
-- errors     those of lock_open_job; JT002 invalid items (check_items, trace_items); 22003, 22007, 22008, 22P02 or 23514 for a value out of
--            bounds; JT004 p_seal on a job that its parent seals
create or replace function jobtree.add_items(p_job_id uuid, p_items json, p_seal boolean default false, p_traces json default null)
returns table (root_id uuid, type text, positions bigint[], added boolean[], ready integer)
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_payloads text[];
  v_job jobtree.job;
begin
  v_payloads := jobtree.check_items(p_items, 'items');
  v_job := jobtree.lock_open_job(p_job_id, p_seal, p_seal and v_payloads is null);
  root_id := v_job.root_id;
  type := v_job.type;
  ready := 0;
  if v_job.sealed_at is not null then
    positions := array(
      select i.position from json_array_elements(p_items) with ordinality e(value, n)
      cross join lateral (
        select i.position from jobtree.job_item i where i.job_id = p_job_id and i.dedupe_key = e.value ->> 'dedupeKey' offset 0
      ) i
      order by e.n
    );
    if cardinality(positions) < json_array_length(p_items) then
      perform jobtree.lock_open_job(p_job_id, p_seal);
    end if;
    added := array_fill(false, array[cardinality(positions)]);
    return next;
    return;
  end if;
  if v_payloads is not null then
    positions := jobtree.positions_from(jobtree.insert_payloads(v_job, v_payloads), cardinality(v_payloads));
    ready := case when v_job.waits or v_job.run_at > clock_timestamp() then 0 else cardinality(v_payloads) end;
  elsif json_array_length(p_items) > 0 then
    select i.positions, i.added, i.ready into positions, added, ready from jobtree.insert_items(v_job, p_items) i;
  else
    positions := '{}';
    added := '{}';
  end if;
  if p_traces is not null then
    perform jobtree.trace_items(p_job_id, case when added is null then positions else array(
      select case when u.added then u.position end from unnest(positions, added) with ordinality u(position, added, n) order by u.n
    ) end, p_traces);
  end if;
  if p_seal then
    perform jobtree.seal_job(p_job_id);
  end if;
  return next;
end
$$;
