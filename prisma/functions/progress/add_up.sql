-- Adds counts by name: {"resize": 3} and {"resize": 1, "mail": 2} make {"resize": 4, "mail": 2}. Null counts as empty.
--
-- returns    a JSON object
create or replace function jobtree.add_up(p_counts jsonb, p_more jsonb) returns jsonb
language sql immutable
as $$
  select case
    when p_counts is null then p_more
    when p_more is null then p_counts
    else (
      select jsonb_object_agg(s.key, s.count)
      from (
        select c.key, sum(c.value::bigint) as count
        from (select * from jsonb_each_text(p_counts) union all select * from jsonb_each_text(p_more)) c
        group by c.key
      ) s
    )
  end
$$;
