-- Rejects a job of a tree that create_job can't take; its children are checked separately.
--
-- p_job      as create_job has it
-- p_items    its items, as they were sent; null if it has none
-- p_path     where it stands: the place of each ancestor and of itself among its siblings, from 1
-- p_jobs     how many jobs its tree has
-- p_before   what is before the path in the names of fields
-- returns    what check_items returns
-- errors     JT002, with the field in the error's column
create or replace function jobtree.check_job(p_job jsonb, p_items json, p_path integer[], p_jobs bigint, p_before text)
returns text[]
language plpgsql stable
as $$
declare
  v_at constant text := p_before || (select coalesce(string_agg(format('children[%s].', n - 1), '' order by o), '') from unnest(p_path) with ordinality p(n, o));
  -- The field, and what is wrong with it.
  v_problem text[];
begin
  if cardinality(p_path) > 32 then
    raise exception 'The tree is more than 32 levels deep below its root.' using errcode = 'JT002', column = p_before || 'children';
  end if;
  if p_jobs > 1000 then
    raise exception 'The tree has % jobs; the limit is 1000.', p_jobs using errcode = 'JT002', column = p_before || 'children';
  end if;
  select array[p.field, p.message] into v_problem
  from jobtree.input_problem(p_job, array[
    'type', 'dedupeKey', 'priority', 'runAt', 'maxFailuresPerItem', 'backoffMs', 'backoffJitter', 'heartbeatIntervalMs',
    'finalStage', 'toleratedFailureCount', 'toleratedFailurePercentage', 'serializeOnFailure', 'name', 'after', 'sealed', 'feed', 'items', 'file',
    'callbacks', 'traceContext', 'children', 'retentionSeconds', 'idleExpirySeconds'
  ]) p;
  v_problem := coalesce(v_problem, case
    when p_job ->> 'type' is null then '{type,is missing}'
    when cardinality(p_path) > 0 and p_job ->> 'callbacks' is not null then array['callbacks', 'can''t be set: callbacks belong to the root']
    when cardinality(p_path) > 0 and p_job ->> 'traceContext' is not null then array['traceContext', 'can''t be set: it belongs to the root']
    when cardinality(p_path) > 0 and p_job ?| '{retentionSeconds,idleExpirySeconds}' then array[
      case when p_job ? 'retentionSeconds' then 'retentionSeconds' else 'idleExpirySeconds' end,
      'can''t be set: a tree is kept as a whole, so it belongs to the root'
    ]
    when cardinality(p_path) = 0 and p_job ->> 'feed' is not null then array['feed', 'can''t be set: the root has no parent to feed it']
    when p_job ->> 'feed' is not null and (p_job ->> 'sealed')::boolean
      then array['sealed', 'can''t be set: the job is fed by its parent, whose completion seals it']
    when p_job ->> 'file' is not null and (p_job ->> 'feed' is not null or (p_job ->> 'sealed')::boolean)
      then array['file', 'can''t be set: the job would be sealed by its parent, or is sealed already']
  end);
  if v_problem is not null then
    v_problem[1] := rtrim(v_at || v_problem[1], '.');
    raise exception '% %.', coalesce(nullif(v_problem[1], ''), 'The tree'), v_problem[2] using errcode = 'JT002', column = v_problem[1];
  end if;
  if p_job ->> 'items' is null then
    return null;
  end if;
  return jobtree.check_items(p_items, v_at || 'items');
end
$$;
