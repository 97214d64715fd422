-- Finds what is wrong with a schedule: a key that put_schedule does not know, or an invalid value. A key with null counts as missing.
-- Whether a cron expression can be parsed, and when it is due, is checked by the caller that computes nextAt.
--
-- p_schedule  as put_schedule takes it
-- returns     the first problem: the key, and the rest of a sentence about it ("must be …"); no row if there is none
create or replace function jobtree.schedule_problem(p_schedule jsonb)
returns table (field text, message text)
language sql stable
as $$
  select p.field, p.message
  from (select jsonb_strip_nulls(case jsonb_typeof(p_schedule) when 'object' then p_schedule - 'template' else '{}' end) as spec) s
  cross join lateral (
    select '' as field, 'must be an object' as message where jsonb_typeof(p_schedule) is distinct from 'object'
    union all
    select k.key, 'is not known' from jsonb_object_keys(s.spec) k(key)
    where k.key not in ('name', 'cron', 'timeZone', 'everyMs', 'startAt', 'missed', 'overlap', 'paused', 'nextAt')
    union all
    select k.key, case when s.spec ? k.key then format('must be a text of 1 to %s characters', k.longest) else 'is missing' end
    from (values ('name', 200), ('cron', 200), ('timeZone', 100)) k(key, longest)
    where case when s.spec ? k.key
      then jsonb_typeof(s.spec -> k.key) <> 'string' or not jobtree.is_name(s.spec ->> k.key, k.longest)
      else k.key = 'name' end
    union all
    select 'cron', 'or everyMs must be given, and not both' where (s.spec ? 'cron') = (s.spec ? 'everyMs')
    union all
    select 'timeZone', 'can only be set with cron, not with everyMs' where s.spec ? 'timeZone' and s.spec ? 'everyMs'
    union all
    select 'everyMs', 'must be a whole number from 1000 to 31622400000'
    where not s.spec -> 'everyMs' @? 'strict $ ? (@.type() == "number" && @.floor() == @ && @ >= 1000 && @ <= 31622400000)'
    union all
    select k.key, 'must be an instant from 1970 to the end of the year 9999' from (values ('startAt'), ('nextAt')) k(key)
    where case when s.spec ? k.key
      then jsonb_typeof(s.spec -> k.key) <> 'string' or not jobtree.is_instant(s.spec ->> k.key)
      else k.key = 'nextAt' end
    union all
    select 'missed', 'must be SKIP, RUN_ONCE or RUN_ALL' where s.spec -> 'missed' not in ('"SKIP"', '"RUN_ONCE"', '"RUN_ALL"')
    union all
    select 'overlap', 'must be ALLOW, SKIP or QUEUE' where s.spec -> 'overlap' not in ('"ALLOW"', '"SKIP"', '"QUEUE"')
    union all
    select 'paused', 'must be true or false' where jsonb_typeof(s.spec -> 'paused') <> 'boolean'
    union all
    select 'template', 'must be a job' where jsonb_typeof(p_schedule -> 'template') is distinct from 'object'
    union all
    select 'template', 'has more than 1000000 bytes of JSON' where octet_length((p_schedule -> 'template')::text) > 1000000
  ) p
  limit 1
$$;
