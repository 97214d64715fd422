-- Looks for payloads that meet conditions among the next items of a job: at most 10,000 items, and at least one of about 16 million characters.
--
-- p_from     the position to begin with
-- p_path     keys and list positions, which lead to p_equals as text; null for no such condition
-- p_text     is in the JSON text, whatever the case of its letters; null for no such condition
-- p_first    how many of them to return, at least one
-- returns    their positions in order; how many items were looked at, up to where the first that is left out begins; and the position to go on
--            with, null if that was all
create or replace function jobtree.search_items(p_job_id uuid, p_from bigint, p_path text[], p_equals text, p_text text, p_first integer)
returns table (positions bigint[], searched integer, next_from bigint)
language sql stable
set jit = off
-- In the order of the key, up to the limit: whatever Postgres knows of the job, it must not read all of it.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  with item as materialized (
    select i.position, i.payload, row_number() over w as n, sum(i.payload_bytes) over w - i.payload_bytes as characters_before
    from (
      select * from jobtree.job_item i
      where (i.job_id, i.position) >= (p_job_id, p_from) and (i.job_id, i.position) < (p_job_id, 9223372036854775807)
      order by i.job_id, i.position
      limit 10001
    ) i
    window w as (order by i.job_id, i.position rows unbounded preceding)
  ), found as materialized (
    select i.position, i.n, row_number() over (order by i.n) as m
    from item i
    where i.n <= 10000 and i.characters_before < 16000000
      and (p_path is null or i.payload #>> p_path = p_equals)
      and (p_text is null or strpos(lower(i.payload::text), lower(p_text)) > 0)
  ), stop as (
    -- The first item that is not looked at, or left out.
    select coalesce(
      (select f.n from found f where f.m = p_first + 1),
      (select min(i.n) from item i where i.n > 10000 or i.characters_before >= 16000000)
    ) as n
  )
  select array(select f.position from found f where f.m <= p_first order by f.m),
    coalesce(s.n - 1, (select count(*) from item))::integer,
    (select i.position from item i where i.n = s.n)
  from stop s
$$;
