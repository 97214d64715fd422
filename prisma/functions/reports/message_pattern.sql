-- What the messages of one kind of failure have in common: the message without quoted parts and without words that contain a digit, such as
-- numbers, times, ids and addresses.
create or replace function jobtree.message_pattern(p_message text) returns text
language sql immutable parallel safe
as $$
  select left(
    regexp_replace(
      regexp_replace(
        regexp_replace(
          left(p_message, 1000), '"[^"]*"|`[^`]*`|(?<!\w)''[^'']*''(?!\w)', '…', 'g'
        ), '\m[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\M', '…', 'gi'
      ), '\m\w*\d\w*([.,:/+-]+\w*\d\w*)*', '…', 'g'
    ), 200
  )
$$;
