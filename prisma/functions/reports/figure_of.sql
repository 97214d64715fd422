-- What a report adds to the figures of a type, in the form that report_results returns.
--
-- returns    a JSON array: type, milliseconds, succeeded, failed, dead letters
create or replace function jobtree.figure_of(p_type text, p_took interval, p_succeeded bigint, p_failed bigint, p_dead bigint)
returns json
language sql stable
as $$
  select json_build_array(p_type, round(extract(epoch from p_took) * 1000), p_succeeded, p_failed, p_dead)
$$;
