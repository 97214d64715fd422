-- Makes a delivery due at once, whatever its state; if it fails, the waits begin anew. An endpoint that had answered 410 is called again.
--
-- p_tenant   only a delivery to an endpoint of this tenant; null for any
-- locks      the delivery's row, then the endpoint's
-- errors     JT001 no such delivery
create or replace function jobtree.retry_delivery(p_id uuid, p_tenant text default null)
returns void
language plpgsql volatile
-- plans: no seqscan
as $$
declare
  v_endpoint text;
begin
  update jobtree.callback_delivery d
  set due_at = clock_timestamp(), attempts_before = d.attempts, delivered_at = null, failed_at = null
  where d.id = p_id and (p_tenant is null or starts_with(d.endpoint, p_tenant || '//'))
  returning d.endpoint into v_endpoint;
  if not found then
    raise exception 'There is no delivery %.', p_id using errcode = 'JT001', column = 'deliveryId';
  end if;
  update jobtree.callback_endpoint e set gone_at = null where e.name = v_endpoint and e.gone_at is not null;
end
$$;
