-- Creates the items of child jobs from successes of their parents: by each child's mapping, and from the new items that
-- the reports list. A cancelled child gets none.
--
-- p_job_ids, p_positions   items that have just succeeded in this transaction
-- p_new_items  for each, the JSON array of new items in its report, if any
-- returns    the types of the children that got ready items, and how many: {type: count}
-- locks      none new: the caller holds the children and has locked the serialize keys of the new items (lock_fed)
create or replace function jobtree.feed_children(p_job_ids uuid[], p_positions bigint[], p_new_items json[])
returns jsonb
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
declare
  v_child jobtree.job;
  -- Its mapping, and the new items that reports list.
  v_source text;
  v_payloads json[];
  v_parents bigint[];
  v_by integer[];
  v_fed bigint[];
  v_items json;
  v_count integer;
  v_ready jsonb;
  v_is_traced boolean;
begin
  for v_child in
    select c.* from jobtree.job c
    where c.id = any (array(select f.id from jobtree.job f where f.feed is not null and f.parent_id = any (p_job_ids)))
    order by c.id
  loop
    continue when v_child.cancelled_at is not null;
    v_is_traced := exists (select from jobtree.trace_context t where t.job_id = v_child.parent_id);
    foreach v_source in array '{SUCCESSES,REPORTS}'::text[] loop
      v_payloads := null;
      v_items := null;
      if v_source = 'REPORTS' and p_new_items is not null then
        select json_agg(e.value order by u.n, e.n), array_agg(u.n::integer order by u.n, e.n), array_agg(u.position order by u.n, e.n)
        into v_items, v_by, v_parents
        from unnest(p_job_ids, p_positions, p_new_items) with ordinality u(job_id, position, new_items, n)
        cross join lateral json_array_elements(u.new_items) with ordinality e(value, n)
        where u.job_id = v_child.parent_id and e.value ->> 'type' = v_child.type;
      elsif v_source = 'SUCCESSES' and v_child.feed ->> 'source' = v_source then
        select array_agg(p.payload order by u.n) filter (where not v_child.feed ? 'serializeKey'),
          json_agg(json_build_object('payload', p.payload, 'serializeKey', p.key) order by u.n) filter (where v_child.feed ? 'serializeKey'),
          array_agg(u.n::integer order by u.n), array_agg(u.position order by u.n)
        into v_payloads, v_items, v_by, v_parents
        from unnest(p_job_ids, p_positions) with ordinality u(job_id, position, n)
        join jobtree.outcome o on o.job_id = u.job_id and o.position = u.position
        left join jobtree.job_item i on v_child.feed ?| '{forEach,payload,serializeKey}' and i.job_id = u.job_id and i.position = u.position
        cross join lateral (
          select o.result as payload, null as key where not v_child.feed ?| '{forEach,payload,serializeKey}'
          union all
          select f.payload, jobtree.tenant_beginning(v_child.type) || (f.key #>> '{}')
          from jobtree.feed_items(v_child.feed, i.payload, o.result) f
          where v_child.feed ?| '{forEach,payload,serializeKey}'
        ) p
        where u.job_id = v_child.parent_id;
      end if;

      if v_items is not null then
        select array(select case when r.added then r.position end from unnest(i.positions, i.added) with ordinality r(position, added, n) order by r.n),
          i.ready
        into v_fed, v_count
        from jobtree.insert_items(v_child, v_items, v_parents) i;
      elsif v_payloads is not null then
        v_fed := jobtree.insert_payloads(v_child, v_payloads::text[], v_parents);
        v_count := cardinality(v_payloads);
      else
        continue;
      end if;
      if v_is_traced then
        -- To the traces of the items that fed them.
        insert into jobtree.trace_context (job_id, position, count, traceparent, tracestate)
        select v_child.id, c.position, 1, t.traceparent, t.tracestate
        from unnest(case when v_items is null then jobtree.positions_from(v_fed, v_count) else v_fed end, v_by) c(position, by)
        cross join lateral (
          select x.* from jobtree.trace_context x
          where x.job_id = p_job_ids[c.by] and x.position <= p_positions[c.by]
          order by x.job_id desc, x.position desc
          limit 1
        ) t
        where c.position is not null and t.position + t.count > p_positions[c.by];
      end if;
      v_ready := jobtree.add_up(v_ready, jsonb_build_object(v_child.type, v_count));
    end loop;
  end loop;
  return v_ready;
end
$$;
