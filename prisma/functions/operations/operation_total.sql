-- How many items an operation selects before it begins.
create or replace function jobtree.operation_total(p_operation jobtree.operation)
returns bigint
language plpgsql stable
as $$
begin
  if p_operation.kind in ('CANCEL', 'PROMOTE') then
    return (select coalesce(sum(bit_count(m.matching)), 0) from jobtree.matching_pending(p_operation) m);
  end if;
  return (
    select count(*) from jobtree.matching_dead_letters(p_operation, p_operation.next_job_id, p_operation.next_position, null)
  );
end
$$;
