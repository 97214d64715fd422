-- A report as report_outcomes takes it, without the assignment. Plain SQL, so that the planner inlines it.
create or replace function jobtree.whole_report(p_value json, p_kind text) returns json
language sql stable
as $$
  select case p_kind
    when 'report' then p_value
    when 'snooze' then p_value
    when 'failure' then json_build_object('failure', p_value)
    else json_build_object('result', p_value)
  end
$$;
