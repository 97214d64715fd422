-- Rejects anything but a W3C trace context.
--
-- p_context  {traceparent, tracestate?}
-- errors     JT002, with the field in the error's column
create or replace function jobtree.check_trace_context(p_context json)
returns void
language plpgsql immutable
as $$
begin
  if json_typeof(p_context) is distinct from 'object' or coalesce(p_context ->> 'traceparent', '') !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' then
    raise exception 'traceContext.traceparent must be a W3C traceparent: 00-<32 hexadecimal digits>-<16>-<2>.'
      using errcode = 'JT002', column = 'traceContext.traceparent';
  end if;
  if p_context ->> 'tracestate' !~ '^[ -~]+$' or length(p_context ->> 'tracestate') > 512 then
    raise exception 'traceContext.tracestate must be a W3C tracestate: 1 to 512 visible ASCII characters.'
      using errcode = 'JT002', column = 'traceContext.tracestate';
  end if;
end
$$;
