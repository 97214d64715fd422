-- Finds a circle among jobs that wait for each other, by depth-first search: each job is entered once, and each edge is followed once.
--
-- p_count    the number of jobs, which are numbered from 1
-- p_jobs, p_afters   the edges: which job waits for which
-- returns    the jobs of one circle, each waiting for the next, and the last for the first; null if there is none
create or replace function jobtree.dependency_circle(p_count integer, p_jobs integer[], p_afters integer[])
returns integer[]
language plpgsql immutable
as $$
declare
  -- The jobs that each job waits for: those of job n are at v_next[n] to v_last[n].
  v_targets integer[];
  v_next integer[];
  v_last integer[];
  -- Of each job: 0 before it is entered, then its place on the current path, and -1 once it was left.
  v_place integer[] := array_fill(0, array[p_count]);
  v_path integer[] := array_fill(0, array[p_count]);
  v_depth integer;
  v_job integer;
  v_after integer;
begin
  select array_agg(e.after order by e.job, e.after) into v_targets from unnest(p_jobs, p_afters) e(job, after);
  select array_agg(s.until - s.count + 1 order by s.job), array_agg(s.until order by s.job) into v_next, v_last
  from (
    select j.job, count(e.job)::integer as count, (sum(count(e.job)) over (order by j.job))::integer as until
    from generate_series(1, p_count) j(job)
    left join unnest(p_jobs) e(job) on e.job = j.job
    group by j.job
  ) s;

  for v_start in 1 .. p_count loop
    continue when v_place[v_start] <> 0;
    v_depth := 1;
    v_path[1] := v_start;
    v_place[v_start] := 1;
    while v_depth > 0 loop
      v_job := v_path[v_depth];
      if v_next[v_job] > v_last[v_job] then
        v_place[v_job] := -1;
        v_depth := v_depth - 1;
        continue;
      end if;
      v_after := v_targets[v_next[v_job]];
      v_next[v_job] := v_next[v_job] + 1;
      if v_place[v_after] > 0 then
        return v_path[v_place[v_after]:v_depth];
      elsif v_place[v_after] = 0 then
        v_depth := v_depth + 1;
        v_path[v_depth] := v_after;
        v_place[v_after] := v_depth;
      end if;
    end loop;
  end loop;
  return null;
end
$$;
