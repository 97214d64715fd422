set local check_function_bodies = off;

-- Has servers add the lines of an upload to a job, and seal the job at the end of the file: lease_imports.
--
-- p_type     the type of the job
-- p_file     {source: {uploadId}, format, encoding?, delimiter?, quote?, header?}; servers validate the values
-- locks      the upload's row, shared
-- errors     JT001 no such upload; JT002 the upload is not complete, or the job has a file
create or replace function jobtree.add_file(p_job_id uuid, p_type text, p_file jsonb)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_upload jobtree.upload;
begin
  if p_file #>> '{source,uploadId}' !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    raise exception 'file.source.uploadId is not the id of an upload.' using errcode = 'JT002', column = 'file.source.uploadId';
  end if;
  select * into v_upload from jobtree.upload u where u.id = (p_file #>> '{source,uploadId}')::uuid and u.removed_at is null for share;
  if v_upload.id is null then
    raise exception 'There is no upload %.', p_file #>> '{source,uploadId}' using errcode = 'JT001', column = 'file.source.uploadId';
  end if;
  if v_upload.sha256 is null then
    raise exception 'Upload % is not complete: % bytes of it are stored.', v_upload.id, v_upload.size using errcode = 'JT002', column = 'file.source.uploadId';
  end if;
  insert into jobtree.file_import (job_id, type, upload_id, options, size, created_at)
  values (p_job_id, p_type, v_upload.id, jsonb_strip_nulls(p_file - 'source'), v_upload.size, clock_timestamp())
  on conflict do nothing;
  if not found then
    raise exception 'Job % has a file.', p_job_id using errcode = 'JT002', column = 'file';
  end if;
end
$$;

-- Adds callbacks to a tree that is not complete. Those for jobs are not sent for jobs that are complete already.
--
-- p_job_id   the root
-- p_callbacks   as add_callbacks has them; a tree has up to 10
-- locks      those of lock_root: the fold that completes the tree comes later, and sends them, or came before, and the call is refused
-- errors     those of lock_root and add_callbacks; JT002 the tree is complete, or would have more than 10
create or replace function jobtree.call_when_complete(p_job_id uuid, p_callbacks jsonb)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_progress constant jobtree.job_progress := jobtree.lock_root(p_job_id);
begin
  if v_progress.open_jobs = 0 then
    raise exception 'The tree of job % is complete: nothing would be sent.', p_job_id using errcode = 'JT002', column = 'jobId';
  end if;
  perform jobtree.add_callbacks(p_job_id, p_callbacks);
  if (select count(*) from jobtree.callback c where c.root_id = p_job_id) > 10 then
    raise exception 'The tree would have more than 10 callbacks.' using errcode = 'JT002', column = 'callbacks';
  end if;
end
$$;

-- Has servers add the lines of an upload to a job that exists, behind what it has, and seal the job at the end of the file.
--
-- p_file     as add_file has it
-- returns    the tree's root
-- locks      those of lock_open_job, and of add_file
-- errors     those of lock_open_job and add_file; JT004 its parent feeds it
create or replace function jobtree.import_file(p_job_id uuid, p_file jsonb)
returns uuid
language plpgsql volatile
set jit = off
set enable_seqscan = off
as $$
declare
  v_job constant jobtree.job := jobtree.lock_open_job(p_job_id, false);
begin
  if v_job.feed is not null then
    raise exception 'Job % is fed by its parent, which seals it.', p_job_id using errcode = 'JT004', column = 'jobId';
  end if;
  perform jobtree.add_file(p_job_id, v_job.type, p_file);
  return v_job.root_id;
end
$$;

-- Locks a whole tree for a change: no fold, replay or reaping of it is under way until the transaction ends.
--
-- p_job_id   the root
-- returns    the root's progress
-- locks      the root's job_progress row
-- errors     JT001 no such job, or it is being deleted; JT002 not a root
create or replace function jobtree.lock_root(p_job_id uuid)
returns jobtree.job_progress
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_root_id uuid;
  v_progress jobtree.job_progress;
begin
  loop
    select j.root_id into v_root_id from jobtree.job j where j.id = p_job_id;
    if v_root_id is null then
      raise exception 'There is no job %.', p_job_id using errcode = 'JT001', column = 'jobId';
    elsif v_root_id <> p_job_id then
      raise exception 'Job % is not a root: this is for whole trees.', p_job_id using errcode = 'JT002', column = 'jobId';
    end if;
    select * into v_progress from jobtree.job_progress p
    where p.job_id = p_job_id order by p.version desc limit 1 for no key update;
    exit when found;
    -- This has waited for a fold, which has written a new version.
  end loop;
  if exists (select from jobtree.tree_deletion d where d.root_id = p_job_id) then
    raise exception 'The tree of job % is being deleted.', p_job_id using errcode = 'JT001', column = 'jobId';
  end if;
  return v_progress;
end
$$;

-- Looks for payloads that meet conditions among the next items of a job: at most 10,000 items, and at least one of about 16 million characters.
--
-- p_from     the position to begin with
-- p_path     keys and list positions, which lead to p_equals as text; null for no such condition
-- p_text     is in the JSON text, in capital or small letters; null for no such condition
-- p_first    how many of them to return, at least one
-- returns    their positions in order; how many items were looked at, up to where the first that is left out begins; and the position to go on
--            with, null if that was all
create or replace function jobtree.search_items(p_job_id uuid, p_from bigint, p_path text[], p_equals text, p_text text, p_first integer)
returns table (positions bigint[], searched integer, next_from bigint)
language sql stable
set jit = off
-- In the order of the key, up to the limit: whatever Postgres knows of the job, it must not read all of it.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  with item as materialized (
    select i.position, i.payload, row_number() over w as n, sum(i.payload_bytes) over w - i.payload_bytes as characters_before
    from (
      select * from jobtree.job_item i
      where (i.job_id, i.position) >= (p_job_id, p_from) and (i.job_id, i.position) < (p_job_id, 9223372036854775807)
      order by i.job_id, i.position
      limit 10001
    ) i
    window w as (order by i.job_id, i.position rows unbounded preceding)
  ), found as materialized (
    select i.position, i.n, row_number() over (order by i.n) as m
    from item i
    where i.n <= 10000 and i.characters_before < 16000000
      and (p_path is null or i.payload #>> p_path = p_equals)
      and (p_text is null or strpos(lower(i.payload::text), lower(p_text)) > 0)
  ), stop as (
    -- The first item that is not looked at, or left out.
    select coalesce(
      (select f.n from found f where f.m = p_first + 1),
      (select min(i.n) from item i where i.n > 10000 or i.characters_before >= 16000000)
    ) as n
  )
  select array(select f.position from found f where f.m <= p_first order by f.m),
    coalesce(s.n - 1, (select count(*) from item))::integer,
    (select i.position from item i where i.n = s.n)
  from stop s
$$;

-- Changes for how long a tree is kept once it is complete, and after how long it is cancelled for being idle. For a complete tree the new
-- retention counts from its completion, so it may be over at once.
--
-- p_settings {retentionSeconds?, idleExpirySeconds?}: whole numbers up to 315,576,000 (ten years), from 0 and from 1, or null for never;
--            what is not there stays as it is
-- locks      those of lock_root; the job's row
-- errors     those of lock_root; JT002 nothing to be changed, or settings that are none
create or replace function jobtree.set_retention(p_job_id uuid, p_settings jsonb)
returns void
language plpgsql volatile
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_problem record;
  v_progress jobtree.job_progress;
  v_seconds integer;
begin
  select * into v_problem from jobtree.input_problem(p_settings, array['retentionSeconds', 'idleExpirySeconds']) p;
  if v_problem.field is not null then
    raise exception '% %.', coalesce(nullif(v_problem.field, ''), 'The settings'), v_problem.message
      using errcode = 'JT002', column = v_problem.field;
  elsif p_settings = '{}' then
    raise exception 'Nothing is to be changed.' using errcode = 'JT002';
  end if;
  v_progress := jobtree.lock_root(p_job_id);

  update jobtree.job j
  set retention_seconds = case when p_settings ? 'retentionSeconds' then coalesce((p_settings ->> 'retentionSeconds')::numeric, -1) else j.retention_seconds end,
    idle_expiry_seconds = case when p_settings ? 'idleExpirySeconds' then coalesce((p_settings ->> 'idleExpirySeconds')::numeric, -1) else j.idle_expiry_seconds end
  where j.id = p_job_id
  returning j.retention_seconds into v_seconds;
  if p_settings ? 'retentionSeconds' and v_progress.open_jobs = 0 then
    update jobtree.job_progress p
    set default_retention = false, reap_at = case when v_seconds >= 0 then (
      select max(c.completed_at) from jobtree.job j
      cross join lateral (select c.completed_at from jobtree.job_progress c where c.job_id = j.id order by c.version desc limit 1) c
      where j.root_id = p_job_id
    ) + v_seconds * interval '1 second' end
    where p.job_id = p_job_id and p.version = v_progress.version;
  end if;
end
$$;
