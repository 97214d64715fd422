-- Finds what is wrong with an object that a caller sent: an unknown key, or an invalid value. A key with null counts as
-- missing.
--
-- p_input    the object: a job, an item, a report, a failure
-- p_keys     the keys that it may have
-- returns    the first problem: the key, and the rest of a sentence about it ("must be …"); no row if there is none
create or replace function jobtree.input_problem(p_input jsonb, p_keys text[])
returns table (field text, message text)
language plpgsql stable
as $$
begin
  if jsonb_typeof(p_input) is distinct from 'object' then
    return query select ''::text, 'must be an object';
    return;
  end if;

  return query
  select e.key, r.message
  from jsonb_each(p_input) e
  cross join lateral (
    select case jsonb_typeof(e.value) when 'string' then length(e.value #>> '{}') else -1 end as length
  ) t
  cross join lateral (
    select case
      when e.key <> all (p_keys) then 'is not known'
      when e.key in ('type', 'name', 'endpoint') and not (t.length > 0 and jobtree.is_name(e.value #>> '{}', 200)) or e.key = 'code' and t.length not between 1 and 200 then 'must be a text of 1 to 200 characters'
      when e.key = 'dedupeKey' and t.length not between 1 and 500 then 'must be a text of 1 to 500 characters'
      when e.key = 'serializeKey' and not (t.length > 0 and jobtree.is_name(e.value #>> '{}', 255)) then 'must be a text of 1 to 255 characters'
      when e.key = 'serializeOnFailure' and e.value not in ('"CONTINUE"', '"BLOCK"') then 'must be CONTINUE or BLOCK'
      when e.key = 'message' and t.length not between 0 and 10000 then 'must be a text of at most 10000 characters'
      when e.key = 'stack' and t.length not between 0 and 4096 then 'must be a text of at most 4096 characters'
      when e.key = 'runAt' and (t.length < 0 or not jobtree.is_instant(e.value #>> '{}'))
        then 'must be an instant from 1970 to the end of the year 9999'
      when e.key in ('sealed', 'finalStage', 'permanent', 'paused') and jsonb_typeof(e.value) <> 'boolean' then 'must be true or false'
      when e.key in ('items', 'children', 'newItems', 'callbacks') and jsonb_typeof(e.value) <> 'array' then 'must be a list'
      when e.key = 'priority'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= -32768 && @ <= 32767)'
        then 'must be a whole number from -32768 to 32767'
      when e.key = 'maxFailuresPerItem'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 0 && @ <= 1000)'
        then 'must be a whole number from 0 to 1000'
      when e.key = 'toleratedFailureCount'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 0 && @ <= 2147483647)'
        then 'must be a whole number from 0 to 2147483647'
      when e.key = 'toleratedFailurePercentage' and not e.value @? 'strict $ ? (@.type() == "number" && @ >= 0 && @ <= 100)'
        then 'must be a number from 0 to 100'
      when e.key = 'after' and (
        not e.value @? 'strict $ ? (@.type() == "array" && @.size() <= 100)' or e.value @? 'strict $[*] ? (@.type() != "string")'
      ) then 'must be a list of at most 100 names of jobs'
      when e.key = 'heartbeatIntervalMs'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 1000 && @ <= 86400000)'
        then 'must be a whole number from 1000 to 86400000'
      when e.key in ('retentionSeconds', 'idleExpirySeconds')
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 0 && @ <= 315576000)'
        then 'must be a whole number from 0 to 315576000, or null for never'
      when e.key = 'idleExpirySeconds' and e.value = '0' then 'must be a whole number from 1 to 315576000, or null for never'
      when e.key in ('concurrency', 'limit')
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 1 && @ <= 1000000)'
        then 'must be a whole number from 1 to 1000000'
      when e.key = 'count'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 1 && @ <= 10000)'
        then 'must be a whole number from 1 to 10000'
      when e.key = 'intervalMs'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 1 && @ <= 86400000)'
        then 'must be a whole number from 1 to 86400000'
      when e.key = 'lifetimeMs'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 1 && @ <= 2147483647)'
        then 'must be a whole number from 1 to 2147483647'
      when e.key = 'retryAfterMs'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 0 && @ <= 2147483647)'
        then 'must be a whole number from 0 to 2147483647'
      when e.key = 'snoozeMs'
        and not e.value @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 1000 && @ <= 2147483647)'
        then 'must be a whole number from 1000 to 2147483647'
      when e.key = 'backoffJitter' and not e.value @? 'strict $ ? (@.type() == "number" && @ >= 0 && @ <= 1)'
        then 'must be a number from 0 to 1'
      when e.key = 'backoffMs' and (
        not e.value @? 'strict $ ? (@.type() == "array" && @.size() <= 100)'
        or e.value @? 'strict $[*] ? (!(@.type() == "number" && @.floor() == @ && @ >= 0 && @ <= 2147483647))'
      ) then 'must be a list of at most 100 whole numbers from 0 to 2147483647'
      when e.key = 'file' and (jsonb_typeof(e.value #> '{source,uploadId}') is distinct from 'string' or jsonb_typeof(e.value -> 'format') is distinct from 'string')
        then 'must be {source: {uploadId}, format, encoding?, delimiter?, quote?, header?}'
      when e.key = 'feed' and not jobtree.is_feed(e.value)
        then 'must be {source?: SUCCESSES | REPORTS, forEach?, payload?, serializeKey?} of paths; with REPORTS it has no paths'
    end as message
  ) r
  where e.value <> 'null' and r.message is not null
  limit 1;
end
$$;
