-- Removes those of the given keys, which this transaction has locked, that no item has.
create or replace function jobtree.drop_keys(p_keys text[])
returns void
language sql volatile
-- plans: no seqscan
as $$
  delete from jobtree.serialize_key k where k.key = any (p_keys) and k.job_id is null
$$;
