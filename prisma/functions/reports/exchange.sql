-- Accepts outcomes and gives out new work in one transaction: what a worker does all the time, in one round trip and with one wait
-- for the disk. First the reports, as in report_results, then the claims, as in claim_items.
--
-- p_lease_ids … p_kinds   as report_results takes them
-- p_workers … p_starts   as claim_items takes them; the claims are durable, like the reports
-- returns    one row for the reports, of kind REPORTED, with what report_results returns; then those of claim_items
-- locks      those of report_results, skipping locked ones, then those of claim_items
-- errors     those of claim_items, and then no report counts
create or replace function jobtree.exchange(
  p_lease_ids uuid[], p_numbers integer[], p_values json, p_kinds text[],
  p_workers text[], p_types text[], p_limits integer[], p_claim_ids uuid[],
  p_range_types text[], p_range_highs integer[], p_range_lows integer[], p_range_places bigint[],
  p_starts integer[]
)
returns table (
  lease_id uuid, request integer, job_id uuid, root_id uuid, type text, first_position bigint, attempt integer, worker text,
  heartbeat_interval_ms integer, claimed_at timestamptz, deadline_at timestamptz, priority smallint, place bigint,
  has_rest boolean, numbers integer[], payloads text, ready_at timestamptz, last_numbers integer[], keyed boolean, lost boolean, kind text, root_ids uuid[], ready jsonb,
  answers json, figures json[], failed json[]
)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_reported record;
begin
  select * into v_reported from jobtree.report_results(p_lease_ids, p_numbers, p_values, p_kinds, false);
  kind := 'REPORTED';
  root_ids := v_reported.root_ids;
  ready := v_reported.ready;
  answers := v_reported.answers;
  figures := v_reported.figures;
  failed := v_reported.failed;
  return next;
  return query
    select c.*, null::uuid[], null::jsonb, null::json, null::json[], null::json[]
    from jobtree.claim_items(
      p_workers, p_types, p_limits, p_claim_ids, p_range_types, p_range_highs, p_range_lows, p_range_places, p_starts, true
    ) c;
end
$$;
