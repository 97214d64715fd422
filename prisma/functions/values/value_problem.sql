-- What is wrong with a value that a caller sent.
--
-- p_key      its key; with [] behind it for each value of a list; alert.intervalMs for that of an alert, intervalMs for that of a rate
-- p_value    the value; null only in a list
-- returns    what is to be said of it: what it is, and what it must be; null if it is fine
create or replace function jobtree.value_problem(p_key text, p_value jsonb)
returns text
language plpgsql stable
as $$
declare
  v_type constant text := jsonb_typeof(p_value);
  v_number constant numeric := case jsonb_typeof(p_value) when 'number' then p_value::numeric end;
  v_is_whole constant boolean := p_key not in ('backoffJitter', 'toleratedFailurePercentage');
  v_longest constant integer := case
    when p_key in ('type', 'name', 'endpoint', 'code', 'after[]') then 200
    when p_key = 'dedupeKey' then 500
    when p_key = 'serializeKey' then 255
    when p_key = 'message' then 10000
    when p_key = 'stack' then 4096
  end;
  v_length integer;
  v_range numrange;
  v_rule text;
begin
  if v_longest is not null and v_type = 'string' then
    v_length := length(p_value #>> '{}');
    if p_key in ('type', 'name', 'endpoint', 'after[]', 'serializeKey') then
      v_length := v_length - length(jobtree.tenant_beginning(p_value #>> '{}'));
    end if;
    return case
      when v_length = 0 and p_key not in ('message', 'stack') then 'is empty'
      when v_length > v_longest then format('has %s characters; the limit is %s', v_length, v_longest)
    end;
  end if;
  if p_key in ('after', 'backoffMs') and v_type = 'array' then
    return case when jsonb_array_length(p_value) > 100 then format('has %s entries; the limit is 100', jsonb_array_length(p_value)) end;
  end if;

  v_range := case p_key
    when 'priority' then numrange '[-32768,32767]'
    when 'maxFailuresPerItem' then numrange '[0,1000]'
    when 'backoffMs[]' then numrange '[0,2147483647]'
    when 'backoffJitter' then numrange '[0,1]'
    when 'heartbeatIntervalMs' then numrange '[1000,86400000]'
    when 'toleratedFailureCount' then numrange '[0,2147483647]'
    when 'toleratedFailurePercentage' then numrange '[0,100]'
    when 'retentionSeconds' then numrange '[0,315576000]'
    when 'idleExpirySeconds' then numrange '[1,315576000]'
    when 'concurrency' then numrange '[1,1000000]'
    when 'limit' then numrange '[1,1000000]'
    when 'count' then numrange '[1,10000]'
    when 'intervalMs' then numrange '[1,86400000]'
    when 'alert.intervalMs' then numrange '[1000,86400000]'
    when 'lifetimeMs' then numrange '[1,2147483647]'
    when 'retryAfterMs' then numrange '[0,2147483647]'
    when 'snoozeMs' then numrange '[1000,2147483647]'
  end;
  v_rule := case
    when v_longest is not null then format('a text of %s %s characters', case when p_key in ('message', 'stack') then 'at most' else '1 to' end, v_longest)
    when v_range is not null then
      case when (v_number <@ v_range and (v_number = trunc(v_number) or not v_is_whole)) is not true then format(
        'a %s from %s to %s%s', case when v_is_whole then 'whole number' else 'number' end, lower(v_range), upper(v_range),
        case when p_key in ('retentionSeconds', 'idleExpirySeconds') then ', or null for never' end
      ) end
    when p_key in ('items', 'children', 'newItems', 'callbacks', 'after', 'backoffMs') and v_type <> 'array' then 'a list'
    when p_key in ('sealed', 'finalStage', 'permanent', 'paused') and v_type <> 'boolean' then 'true or false'
    when p_key = 'serializeOnFailure' and p_value not in ('"CONTINUE"', '"BLOCK"') then 'CONTINUE or BLOCK'
    when p_key = 'runAt' and (v_type <> 'string' or not jobtree.is_instant(p_value #>> '{}')) then 'an instant from 1970 to the end of the year 9999'
    when p_key = 'file' and (jsonb_typeof(p_value #> '{source,uploadId}') is distinct from 'string' or jsonb_typeof(p_value -> 'format') is distinct from 'string')
      then '{source: {uploadId}, format, encoding?, delimiter?, quote?, header?}'
    when p_key = 'feed' and not jobtree.is_feed(p_value)
      then '{source?: SUCCESSES | REPORTS, forEach?, payload?, serializeKey?} of paths; with REPORTS it has no paths'
  end;
  return case when v_rule is not null then
    format('is %s; it must be %s', left(p_value::text, 80) || case when length(p_value::text) > 80 then '…' else '' end, v_rule)
  end;
end
$$;
