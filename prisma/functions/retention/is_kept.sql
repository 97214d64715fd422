-- Whether a complete tree is not reaped although its retention is over: because a replay or discard in progress may select its dead letters.
create or replace function jobtree.is_kept(p_root_id uuid)
returns boolean
language sql stable
-- plans: no seqscan, bitmapscan
as $$
  select exists (
    select from jobtree.operation o
    where o.finished_at is null and o.kind in ('REPLAY', 'DISCARD')
      and (o.job_id is null or p_root_id = (select j.root_id from jobtree.job j where j.id = o.job_id))
      and exists (
        select from jobtree.job j
        -- Looked up job by job: a join might read all dead letters.
        where j.root_id = p_root_id and (select true from jobtree.dead_letter d where d.job_id = j.id limit 1)
      )
  )
$$;
