-- Enqueues one piece of work: a sealed job with a single item.
--
-- p_type     the type of the job
-- p_payload  any JSON
-- p_options  JSON: dedupeKey, priority, runAt, serializeKey, maxFailuresPerItem, backoffMs and the other options of a root (create_job),
--            except items, sealed, name, after, file, feed, finalStage and children
-- p_wake     whether an idle worker is woken at commit (wake_workers)
-- returns    the job's id, and whether it is new; if another job of the type has the dedupeKey, that job's id
-- errors     JT002 invalid input, as from create_job
create or replace function jobtree.enqueue(p_type text, p_payload json default null, p_options json default '{}', p_wake boolean default true)
returns table (job_id uuid, created boolean)
language plpgsql volatile
as $$
declare
  v_name text;
  v_job json;
begin
  if json_typeof(p_options) is distinct from 'object' then
    raise exception 'options must be an object.' using errcode = 'JT002', column = 'options';
  end if;
  select k into v_name from json_object_keys(p_options) k
  where k = any (array['type', 'payload', 'items', 'sealed', 'name', 'after', 'file', 'feed', 'finalStage', 'children', 'idleExpirySeconds'])
  limit 1;
  if v_name is not null then
    raise exception '% is not an option of enqueue.', v_name using errcode = 'JT002', column = v_name;
  end if;
  -- Of json, which keeps the payload's text.
  select json_object_agg(f.key, f.value) into v_job
  from (
    select o.key, o.value from json_each(p_options) o where o.key <> 'serializeKey'
    union all
    select 'type', to_json(p_type)
    union all
    select 'sealed', to_json(true)
    union all
    select 'items', json_build_array(json_build_object('payload', p_payload, 'serializeKey', p_options -> 'serializeKey'))
  ) f;
  select c.job_id, c.created into job_id, created from jobtree.create_job(v_job) c;
  if p_wake and created then
    perform jobtree.wake_workers(p_type, 1);
  end if;
  return next;
end
$$;
