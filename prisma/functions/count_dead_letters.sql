-- How many dead letters meet a filter, which is that of start_operation, with its errors.
create or replace function jobtree.count_dead_letters(p_filter jsonb)
returns bigint
language sql volatile
as $$
  select count(*)
  from jobtree.operation_of('DISCARD', p_filter) o
  cross join lateral jobtree.matching_dead_letters(o, o.next_job_id, o.next_position, null)
$$;
