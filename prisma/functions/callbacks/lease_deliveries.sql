-- Gives a server due deliveries to send; no other server gets them before the lease is over. If the server dies between this commit and
-- noteDelivery, they are sent again under the same ids. The commit waits for the disk, and so for the commit of the fold that created the
-- delivery. Due deliveries to deleted or gone endpoints fail.
--
-- p_lease_ms  longer than an attempt can take, in milliseconds
-- p_limit     the maximum number of deliveries
-- p_host_limit   the maximum number to one host, including those that the caller is sending
-- p_busy      the hosts that the caller is sending to, one element for each delivery
-- returns     what to send where and with which secrets, shared fairly among endpoints; sent_at is the time to sign
-- locks       the deliveries, skipping locked ones
create or replace function jobtree.lease_deliveries(p_lease_ms integer, p_limit integer, p_host_limit integer, p_busy text[])
returns table (id uuid, message_id text, endpoint text, url text, secrets text[], body text, attempt integer, sent_at timestamptz)
language plpgsql volatile
-- plans: no seqscan, bitmapscan, hashjoin, mergejoin; generic
as $$
#variable_conflict use_column
declare
  c_many constant integer := 500;
  v_now constant timestamptz(3) := clock_timestamp();
begin
  return query
  with recursive first as materialized (
    select d.endpoint from jobtree.callback_delivery d where d.due_at <= v_now order by d.due_at limit c_many
  ), pending(name) as (
    -- If much is due, all endpoints that have pending deliveries, one probe each: what is due first may all be of one.
    (
      select d.endpoint from jobtree.callback_delivery d
      where d.due_at is not null and (select count(*) from first) = c_many
      order by d.endpoint
      limit 1
    )
    union all
    select (
      select d.endpoint from jobtree.callback_delivery d where d.due_at is not null and d.endpoint > p.name order by d.endpoint limit 1
    )
    from pending p
    where p.name is not null
  ), named as (
    select p.name from pending p
    union
    select f.endpoint from first f
  ), due as materialized (
    select d.tid, d.due_at, coalesce(e.host, '') as host, e.is_called, row_number() over (partition by e.host, e.is_called order by d.nth, d.due_at) as nth
    from named p
    left join lateral (
      select lower(substring(e.url from '^[^:]+://(\[[^\]]*\]|[^/?#:]*)')) as host, e.gone_at is null as is_called from jobtree.callback_endpoint e where e.name = p.name
    ) e on true
    cross join lateral (
      select d.ctid as tid, d.due_at, row_number() over (order by d.due_at) as nth from jobtree.callback_delivery d
      where d.endpoint = p.name and d.due_at <= v_now
      order by d.due_at
      limit p_limit
    ) d
    where p.name is not null
  ), chosen as materialized (
    select u.tid from due u
    where u.is_called is not true or u.nth <= p_host_limit - (select count(*) from unnest(p_busy) b(host) where b.host = u.host)
    order by u.nth, u.due_at
    limit p_limit
  ), locked as materialized (
    select d.ctid as tid, d.endpoint from jobtree.callback_delivery d
    where d.ctid = any (array(select c.tid from chosen c)) and d.due_at <= v_now
    for update skip locked
  ), leased as (
    update jobtree.callback_delivery d
    set attempts = d.attempts + s.is_called::integer,
      due_at = case when s.is_called then v_now + p_lease_ms * interval '1 millisecond' end,
      failed_at = case when not s.is_called then v_now end,
      history = case when jsonb_array_length(d.history) < 20 or s.is_called then d.history else d.history - 0 end || case when s.is_called then '[]' else jsonb_build_array(jsonb_build_object(
        'at', v_now, 'error', case when e.name is null then 'There is no such endpoint any more.' else 'The endpoint answered 410 before.' end
      )) end
    from locked l
    left join jobtree.callback_endpoint e on e.name = l.endpoint
    cross join lateral (select e.name is not null and e.gone_at is null as is_called) s
    where d.ctid = l.tid
    returning d.*
  )
  select l.id, l.message_id, l.endpoint, e.url,
    array_remove(array[e.secret, case when e.previous_secret_until > v_now then e.previous_secret end], null), l.body, l.attempts, v_now
  from leased l
  join jobtree.callback_endpoint e on e.name = l.endpoint
  where l.due_at is not null;
end
$$;
