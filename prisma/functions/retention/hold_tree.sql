-- Keeps a tree from being reaped for a while, for a caller that reads all of it, and that repeats the call before the time is over. The
-- tree can still be deleted explicitly.
--
-- p_seconds  for how long from now
-- returns    whether the tree is held; false if it is gone or being deleted
-- locks      the root's job_progress row, shared, for an instant: reap_trees skips the tree
create or replace function jobtree.hold_tree(p_root_id uuid, p_seconds integer)
returns boolean
language plpgsql volatile
-- plans: no seqscan, bitmapscan
as $$
begin
  loop
    perform 1 from jobtree.job_progress p where p.job_id = p_root_id order by p.version desc limit 1 for share;
    exit when found;
    -- This has waited for a fold, which has written a new version.
    if not exists (select from jobtree.job j where j.id = p_root_id) then
      return false;
    end if;
  end loop;
  if exists (select from jobtree.tree_deletion d where d.root_id = p_root_id) then
    return false;
  end if;
  insert into jobtree.tree_hold as h (root_id, held_until) values (p_root_id, clock_timestamp() + p_seconds * interval '1 second')
  on conflict (root_id) do update set held_until = greatest(h.held_until, excluded.held_until);
  return true;
end
$$;
