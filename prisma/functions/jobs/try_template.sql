-- Rejects a template from which create_job can't create a tree, or can create only one. It creates the tree and undoes it, so it rejects
-- everything that create_job rejects.
--
-- p_template what create_job takes
-- p_path     what is before "template" in the names of fields
-- errors     JT002, with the field, behind "template", in the error's column
create or replace function jobtree.try_template(p_template json, p_path text)
returns void
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_tree record;
  v_message text;
  v_field text;
begin
  select * into v_tree from jobtree.create_job(p_template);
  if not v_tree.created or exists (select from jobtree.job j where j.root_id = v_tree.job_id and j.dedupe_key is not null) then
    raise exception 'dedupeKey can''t be set: every occurrence would get the first tree again.' using errcode = 'JT002', column = 'dedupeKey';
  end if;
  if exists (select from jobtree.file_import f join jobtree.job j on j.id = f.job_id where j.root_id = v_tree.job_id) then
    raise exception 'file can''t be set: the upload would be gone by the second occurrence.' using errcode = 'JT002', column = 'file';
  end if;
  raise exception 'It can be made.' using errcode = 'JT000';
exception when others then
  if sqlstate = 'JT000' then
    return;
  elsif sqlstate not like 'JT%' then
    raise;
  end if;
  get stacked diagnostics v_message = message_text, v_field = column_name;
  raise exception '%template: %', p_path, v_message using errcode = 'JT002', column = rtrim(p_path || 'template.' || v_field, '.');
end
$$;
