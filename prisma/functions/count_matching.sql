-- How many items an operation of this kind with this filter would select.
--
-- p_kind, p_filter, errors   those of start_operation
create or replace function jobtree.count_matching(p_kind text, p_filter jsonb)
returns bigint
language sql volatile
as $$
  select jobtree.operation_total(o) from jobtree.operation_of(p_kind, p_filter) o
$$;
