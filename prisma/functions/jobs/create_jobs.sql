-- Creates trees of jobs, with the items that they start with: all of them, or none. create_job creates one.
--
-- p_trees    JSON array of trees as create_job takes them, up to 1,000
-- returns    for each tree, in order, its root's id, and whether it is new; if another job of the type has the dedupeKey, also one of this
--            call, that job's id
-- errors     JT002 too many trees, and as from create_job; for an invalid job, with more than one tree, its tree as [n], from 0, before the field
create or replace function jobtree.create_jobs(p_trees json)
returns table (job_id uuid, created boolean)
language plpgsql volatile
-- plans: no seqscan; generic
as $$
#variable_conflict use_column
declare
  v_prefix text;
  v_keys text[];
  v_given record;
  v_made record;
  v_node record;
begin
  if json_typeof(p_trees) is distinct from 'array' or json_array_length(p_trees) > 1000 then
    raise exception 'trees must be a list of up to 1000.' using errcode = 'JT002', column = 'trees';
  end if;
  v_prefix := case when json_array_length(p_trees) > 1 then '[%s].' else '' end;
  if strpos(p_trees::text, '"serializeKey"') > 0 then
    -- The keys of all jobs at once and in order: other trees may lock the same ones.
    select jobtree.lock_keys(array_agg(i.value ->> 'serializeKey')) into v_keys
    from json_array_elements(p_trees) t(tree)
    cross join lateral jobtree.tree_nodes(t.tree) n
    cross join lateral json_array_elements(case json_typeof(n.spec -> 'items') when 'array' then n.spec -> 'items' end) i
    -- Items of jobs that wait for others enter no line yet, and check_job rejects invalid keys.
    where coalesce(json_array_length(case json_typeof(n.spec -> 'after') when 'array' then n.spec -> 'after' end), 0) = 0
      and jobtree.is_name(i.value ->> 'serializeKey', 255);
  end if;

  with node as materialized (
    select t.n as tree, n.path, n.spec, cardinality(n.path) as depth,
      row_number() over (order by t.n, n.path)::integer as place, count(*) over (partition by t.n) as jobs
    from json_array_elements(p_trees) with ordinality t(tree, n)
    cross join lateral jobtree.tree_nodes(t.tree) n
  ), checked as materialized (
    select n.*, jobtree.check_job(n.spec::jsonb, n.spec -> 'items', n.path, n.jobs, format(v_prefix, n.tree - 1)) as payloads
    from (select n.* from node n order by n.place offset 0) n
  )
  select json_agg(c.spec order by c.place) as specs, array_agg(c.place order by c.place) filter (where c.path = '{}') as tops,
    array_agg(r.place order by c.place) as roots, array_agg(p.place order by c.place) as parents, array_agg(c.depth order by c.place) as depths,
    (select array_agg(u.payload order by c.place, u.n) from checked c cross join lateral unnest(c.payloads) with ordinality u(payload, n)) as payloads,
    (select array_agg(c.place order by c.place) from checked c cross join lateral unnest(c.payloads)) as owners
  into v_given
  from checked c
  join checked r on r.tree = c.tree and r.path = '{}'
  left join checked p on p.tree = c.tree and c.path <> '{}' and p.path = c.path[:c.depth - 1];
  if v_given.specs is null then
    return;
  end if;

  select array_agg(m.job_id order by m.n) as ids, array_agg(m.created order by m.n) as created into v_made
  from jobtree.insert_jobs(v_given.specs, v_given.payloads, v_given.owners, false, v_given.roots, v_given.parents, v_given.depths)
    with ordinality m(job_id, created, n);
  for v_node in
    select g.id, s.type, s.callbacks, s.file, case when json_array_length(s.items) > 0 and g.n not in (select u from unnest(v_given.owners) u) then s.items end as items
    from rows from (json_array_elements(v_given.specs), unnest(v_made.ids), unnest(v_made.created)) with ordinality g(spec, id, created, n)
    cross join lateral json_to_record(g.spec) s(type text, callbacks jsonb, file jsonb, items json)
    where g.created
    order by g.n
  loop
    if v_node.callbacks is not null then
      perform jobtree.add_callbacks(v_node.id, v_node.callbacks);
    end if;
    if v_node.items is not null then
      perform jobtree.insert_items(j, v_node.items) from jobtree.job j where j.id = v_node.id;
    end if;
    if v_node.file is not null then
      perform jobtree.add_file(v_node.id, v_node.type, v_node.file);
    end if;
  end loop;

  for v_node in
    select t.tree, t.tree -> 'traceContext' as trace, v_made.ids[v_given.tops[t.n]] as id, v_made.created[v_given.tops[t.n]] as created
    from json_array_elements(p_trees) with ordinality t(tree, n)
    order by t.n
  loop
    return query select v_node.id, v_node.created;
    continue when not v_node.created;
    if json_typeof(v_node.trace) <> 'null' then
      perform jobtree.check_trace_context(v_node.trace);
      insert into jobtree.trace_context (job_id, position, count, traceparent, tracestate)
      select j.id, b.first, b.last - b.first + 1, v_node.trace ->> 'traceparent', v_node.trace ->> 'tracestate'
      from jobtree.job j
      cross join lateral (
        select min(i.position) as first, max(i.position) as last from jobtree.job_item i where i.job_id = j.id group by i.position / 1024
      ) b
      where j.root_id = v_node.id;
    end if;
    -- However it is written.
    if strpos(v_node.tree::text, '"after"') > 0 or strpos(v_node.tree::text, '\u') > 0 then
      perform jobtree.link_jobs(v_node.id, v_node.tree);
    end if;
  end loop;
  if v_keys is not null then
    delete from jobtree.serialize_key k where k.key = any (v_keys) and k.job_id is null;
  end if;
end
$$;
