-- The variant of add_items for servers, for items that consist of a payload only, as nearly all do.
--
-- p_payloads at least one JSON text; the separator is the record separator U+001E, which JSON can't contain
-- p_traces   the traces that the items belong to: trace_items; null for none
-- returns    the tree's root, the job's type, and the first position of each 1,024 items; the positions of these are consecutive
-- locks      the job's row (lock_open_job)
-- errors     those of lock_open_job; 22P02 or 22P05 for a text that is not JSON, or that Postgres can't store
create or replace function jobtree.add_payloads(p_job_id uuid, p_payloads text, p_traces json default null)
returns table (root_id uuid, type text, first_positions bigint[])
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_job jobtree.job;
  v_payloads constant text[] := string_to_array(p_payloads, E'\x1e');
  v_firsts bigint[];
begin
  if strpos(p_payloads, '\u') > 0 then
    -- As in check_items.
    perform array_to_json(v_payloads::json[])::jsonb;
  end if;
  v_job := jobtree.lock_open_job(p_job_id, false);
  v_firsts := jobtree.insert_payloads(v_job, v_payloads);
  if p_traces is not null then
    perform jobtree.trace_items(p_job_id, jobtree.positions_from(v_firsts, cardinality(v_payloads)), p_traces);
  end if;
  return query select v_job.root_id, v_job.type, v_firsts;
end
$$;
