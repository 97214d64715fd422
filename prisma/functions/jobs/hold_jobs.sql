-- Holds jobs for what this transaction adds to them: until it ends, no other one concludes that nothing more comes (exclude_adders). Whoever
-- calls this reads the jobs afterwards, in a new statement: one that was sealed meanwhile takes nothing more.
--
-- Sealing, cancelling and failing a job only mark it, and never wait for those who add: these would follow each other without a gap, so that
-- the mark would come never, or, if it queued for a lock, they would all wait behind it for as long as the longest of them. Advisory locks,
-- since many transactions that share a row's lock cost Postgres a list of them all, each time that one joins.
--
-- p_job_ids  the jobs; duplicates are allowed
-- p_wait     whether to wait for those about which another transaction is concluding, or to leave these out
-- returns    those that are held
-- locks      an advisory lock for each job, shared, in the order of their ids. Beyond 64 in a transaction, since Postgres has room for a
--            limited number, and in transactions with an old snapshot, which would not see a mark, the jobs' rows, shared: marks wait for these
create or replace function jobtree.hold_jobs(p_job_ids uuid[], p_wait boolean)
returns uuid[]
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_ids constant uuid[] := array(select distinct u from unnest(p_job_ids) u order by 1);
  v_held constant integer :=
    coalesce(nullif(current_setting('jobtree.held_jobs', true), '')::integer, 0) + cardinality(v_ids);
  v_id uuid;
begin
  if v_held > 64 or current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    if p_wait then
      perform 1 from jobtree.job j where j.id = any (v_ids) order by j.id for share;
      return v_ids;
    end if;
    return array(select j.id from jobtree.job j where j.id = any (v_ids) order by j.id for share skip locked);
  end if;
  perform set_config('jobtree.held_jobs', v_held::text, true);
  if not p_wait then
    return array(select u from unnest(v_ids) u where pg_try_advisory_xact_lock_shared(hashtextextended('job ' || u, 0)));
  end if;
  foreach v_id in array v_ids loop
    perform pg_advisory_xact_lock_shared(hashtextextended('job ' || v_id, 0));
  end loop;
  return v_ids;
end
$$;
