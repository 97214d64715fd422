-- Whether a claim was carried out before: the ids of its leases begin like its id, and the leases name it. A repeat that arrives while the
-- claim is still in progress on another server waits for it.
--
-- p_claim_ids  the claim ids of a call's requests; null for a request that can't be repeated
-- locks        an advisory lock for each id, in their order
-- errors       JT002 an id whose time is more than a day away; JT006 several claims, one of which is repeated
create or replace function jobtree.is_repeated(p_claim_ids uuid[])
returns boolean
language plpgsql volatile
-- plans: no seqscan, bitmapscan; generic
as $$
declare
  v_id uuid;
  v_locked boolean;
begin
  if cardinality(p_claim_ids) > 1 then
    p_claim_ids := array(select distinct c from unnest(p_claim_ids) c order by c);
  end if;
  foreach v_id in array p_claim_ids loop
    continue when v_id is null;
    if abs(('x' || translate(left(v_id::text, 13), '-', ''))::bit(48)::bigint / 1000 - extract(epoch from clock_timestamp())) > 86400 then
      raise exception 'The time in claimId is more than a day away from that of the database.' using errcode = 'JT002', column = 'claimId';
    end if;
    v_locked := pg_advisory_xact_lock(hashtextextended(v_id::text, 0)) is null;
  end loop;
  if cardinality(p_claim_ids) = 1 then
    return exists (
      select from jobtree.lease l
      where l.id between (left(v_id::text, 19) || '0000-000000000000')::uuid and (left(v_id::text, 19) || 'ffff-ffffffffffff')::uuid
        and l.claim_id = v_id
    );
  end if;
  if exists (
    select from unnest(p_claim_ids) c(id)
    join jobtree.lease l on l.claim_id = c.id
      and l.id between (left(c.id::text, 19) || '0000-000000000000')::uuid and (left(c.id::text, 19) || 'ffff-ffffffffffff')::uuid
  ) then
    raise exception 'A repeated claim must be sent alone.' using errcode = 'JT006';
  end if;
  return false;
end
$$;
