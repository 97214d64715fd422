-- Makes the jobs of a new tree wait for the jobs in their "after": each is given by its name, which is its type by default.
--
-- p_root_id  the tree, whose jobs create_job has just inserted, with ids in the order of the document
-- p_tree     as create_job takes it
-- errors     JT002 a name that no job of the tree has, or several have; a job that would wait for itself, or in a circle (a fed job also
--            waits for its parent, which seals it)
create or replace function jobtree.link_jobs(p_root_id uuid, p_tree json)
returns void
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_prefix constant text := left(p_root_id::text, 30);
  v_tree record;
  v_circle integer[];
  v_field text;
  v_message text;
begin
  with numbered as materialized (
    select row_number() over (order by n.path)::integer as number, n.path, coalesce(n.spec ->> 'name', n.spec ->> 'type') as name,
      case json_typeof(n.spec -> 'after') when 'array' then n.spec -> 'after' end as after, n.spec ->> 'feed' is not null as is_fed,
      (select coalesce(string_agg(format('children[%s].', p.n - 1), '' order by p.o), '') from unnest(n.path) with ordinality p(n, o)) as at
    from jobtree.tree_nodes(p_tree) n
  ), named as materialized (
    select m.name, count(*) as jobs, min(m.number) as number from numbered m group by m.name
  ), wanted as materialized (
    select m.number, m.at, a.name, a.n, coalesce(d.jobs, 0) as jobs, d.number as after
    from numbered m
    cross join lateral json_array_elements_text(m.after) with ordinality a(name, n)
    left join named d on d.name = a.name
  ), edge as materialized (
    select w.number, w.after, true as is_named from wanted w where w.jobs = 1
    union
    select m.number, p.number, false from numbered m join numbered p on p.path = trim_array(m.path, 1) where m.is_fed and m.path <> '{}'
  )
  select e.jobs, e.afters, e.named, m.names, m.ats, w.*
  into v_tree
  from (select array_agg(e.number) as jobs, array_agg(e.after) as afters, array_agg(e.is_named) as named from edge e) e
  cross join (select array_agg(m.name order by m.number) as names, array_agg(m.at order by m.number) as ats from numbered m) m
  left join lateral (
    select w.number as wrong, format('%safter[%s]', w.at, w.n - 1) as field, w.name, w.jobs as found
    from wanted w
    where w.jobs <> 1 or w.after = w.number
    order by w.number, w.n
    limit 1
  ) w on true;

  if v_tree.wrong is not null then
    v_field := v_tree.field;
    v_message := case v_tree.found
      when 0 then 'names %s, but no job of this tree has that name'
      when 1 then 'names %s, which is the job itself'
      else 'names %s, but several jobs of this tree have that name: give them different names'
    end;
    v_message := format(v_message, to_json(left(v_tree.name, 80)));
  else
    v_circle := jobtree.dependency_circle(cardinality(v_tree.names), v_tree.jobs, v_tree.afters);
    if v_circle is not null then
      v_field := v_tree.ats[v_circle[1]] || 'after';
      v_message := format('is a circle: %s', (
        select string_agg(format('%s waits for %s', left(v_tree.names[c.job], 80), left(v_tree.names[c.after], 80)), ', ' order by c.n)
        from unnest(v_circle, v_circle[2:] || v_circle[1]) with ordinality c(job, after, n)
        where c.n <= 10
      ));
    end if;
  end if;
  if v_field is not null then
    raise exception '% %.', v_field, v_message using errcode = 'JT002', column = v_field;
  end if;

  with edge as (
    select (v_prefix || lpad(to_hex(e.job), 6, '0'))::uuid as job_id, (v_prefix || lpad(to_hex(e.after), 6, '0'))::uuid as after_id
    from unnest(v_tree.jobs, v_tree.afters, v_tree.named) e(job, after, is_named)
    where e.is_named
  )
  update jobtree.job j set after_ids = l.after_ids, awaited = l.awaited
  from (
    select u.id, array_agg(u.after_id order by u.after_id) filter (where u.after_id is not null) as after_ids, bool_or(u.awaited) as awaited
    from (select e.job_id as id, e.after_id, false as awaited from edge e union all select e.after_id, null, true from edge e) u
    group by u.id
  ) l
  where j.id = l.id;
end
$$;
