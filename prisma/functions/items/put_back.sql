-- Puts the rest of an entry back into the queue when a part of it is leased: the items before the part, and those after it, each in their
-- old place. The rest of a small entry gets the size of the whole, so that nobody has to measure payloads.
--
-- p_job_id … p_lost   the columns of the entry, which is deleted
-- p_from, p_taken   the part: its first item, from 0, and how many
create or replace function jobtree.put_back(
  p_job_id uuid, p_position bigint, p_place bigint, p_bytes bigint, p_attempt integer, p_count integer, p_priority smallint, p_type text,
  p_keyed boolean, p_ready_at timestamptz, p_lost boolean, p_from integer, p_taken integer
)
returns void
language plpgsql volatile
-- plans: no seqscan; generic
as $$
declare
  v_first integer := 0;
  v_count integer := p_from;
  v_bytes bigint;
begin
  for v_part in 1 .. 2 loop
    if v_count > 0 then
      v_bytes := p_bytes;
      if p_bytes > 100000 then
        select sum(i.payload_bytes) into v_bytes from jobtree.job_item i
        where i.job_id = p_job_id and i.position >= p_position + v_first and i.position < p_position + v_first + v_count;
      end if;
      insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type, keyed, ready_at, lost)
      values (p_job_id, p_position + v_first, p_place + v_first, v_bytes, p_attempt, v_count, p_priority, p_type, p_keyed, p_ready_at, p_lost);
    end if;
    v_first := p_from + p_taken;
    v_count := p_count - v_first;
  end loop;
end
$$;
