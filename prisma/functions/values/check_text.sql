-- Rejects JSON with a character that Postgres can't store: \u0000, or half a surrogate pair. The type json accepts these, so that only a
-- later reader of the value would fail; the type jsonb rejects them, as this function does.
--
-- errors     22P05 or 22P02
create or replace function jobtree.check_text(p_json json)
returns void
language plpgsql immutable
as $$
begin
  if strpos(p_json::text, '\u') > 0 then
    perform p_json::jsonb;
  end if;
end
$$;
