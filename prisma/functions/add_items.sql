-- Adds items to a job that is not sealed, and with p_seal seals it in the same transaction.
--
-- p_items    as insert_items has it; may be empty
-- returns    the tree's root, the job's type, and what insert_items returns
-- locks      the job's row (lock_open_job)
-- errors     those of lock_open_job; JT002 items that are none (check_items; 22003, 22007, 22008, 22P02 or 23514 for a value out of
--            bounds), JT004 p_seal on a job that its parent seals
create or replace function jobtree.add_items(p_job_id uuid, p_items json, p_seal boolean default false)
returns table (root_id uuid, type text, positions bigint[], added boolean[], ready integer)
language plpgsql volatile
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_payloads json[];
  v_firsts bigint[];
  v_job jobtree.job;
begin
  v_payloads := jobtree.check_items(p_items, 'items');
  v_job := jobtree.lock_open_job(p_job_id, p_seal);
  if v_payloads is not null then
    v_firsts := jobtree.insert_payloads(v_job, v_payloads);
    return query
      select v_job.root_id, v_job.type, array_agg(f.first + n order by f.first, n), null::boolean[],
        case when v_job.waits or v_job.run_at > clock_timestamp() then 0 else cardinality(v_payloads) end
      from unnest(v_firsts) with ordinality f(first, block)
      cross join lateral generate_series(0, least(1024, cardinality(v_payloads) - 1024 * (f.block - 1)) - 1) n;
  elsif json_array_length(p_items) > 0 then
    return query select v_job.root_id, v_job.type, i.* from jobtree.insert_items(v_job, p_items) i;
  else
    return query select v_job.root_id, v_job.type, '{}'::bigint[], '{}'::boolean[], 0;
  end if;

  if p_seal then
    perform jobtree.seal_job(p_job_id);
  end if;
end
$$;
