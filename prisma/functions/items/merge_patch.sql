-- Applies a JSON merge patch (RFC 7396): null removes a key, an object is merged, and anything else replaces what was there. Keys keep their
-- order, and numbers their digits.
--
-- returns    the target with the patch
create or replace function jobtree.merge_patch(p_target json, p_patch json)
returns json
language plpgsql immutable
as $$
declare
  v_target constant json := case json_typeof(p_target) when 'object' then p_target else '{}' end;
begin
  if json_typeof(p_patch) <> 'object' then
    return p_patch;
  end if;
  return (
    select '{' || coalesce(string_agg(to_json(m.key)::text || ':' || m.value::text, ',' order by m.is_new, m.n), '') || '}'
    from (
      select t.key, case when p.key is null then t.value else jobtree.merge_patch(t.value, p.value) end as value, false as is_new, t.n
      from json_each(v_target) with ordinality t(key, value, n)
      left join json_each(p_patch) p on p.key = t.key
      where json_typeof(p.value) is distinct from 'null'
      union all
      select p.key, jobtree.merge_patch(null, p.value), true, p.n
      from json_each(p_patch) with ordinality p(key, value, n)
      where json_typeof(p.value) <> 'null' and not exists (select from json_object_keys(v_target) t(key) where t.key = p.key)
    ) m
  )::json;
end
$$;
