-- Rejects every change to the audit, whoever makes it, except additions and removals by the servers' upkeep, which never affect entries younger
-- than a day.
--
-- errors     insufficient_privilege
create or replace function jobtree.keep_audit()
returns trigger
language plpgsql
as $$
begin
  if tg_op = 'DELETE' and current_setting('jobtree.prunes_audit', true) = 'on' and old.at < clock_timestamp() - interval '1 day' then
    return old;
  end if;
  raise exception 'Entries of the audit can''t be changed.' using errcode = 'insufficient_privilege';
end
$$;
