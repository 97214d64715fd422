-- Whether Postgres can read a text as an instant that rows may have: from 1970 to the end of the year 9999.
create or replace function jobtree.is_instant(p_text text)
returns boolean
language plpgsql stable
as $$
begin
  return p_text::timestamptz between '1970-01-01 00:00:00Z' and '9999-12-31 23:59:59.999Z';
exception when data_exception then
  return false;
end
$$;
