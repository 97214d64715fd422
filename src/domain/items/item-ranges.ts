/** The items of a job as ranges, for pictures of jobs of any size. */
import type { Queries } from '../../db/database.ts';
import type { Survey } from '../../db/surveys.ts';
import { InvalidInputError } from '../../errors.ts';
import type { ItemKey } from '../values/ids.ts';
import { afterAllPositions } from './item-pages.ts';
import { type ItemStatus, itemStatuses } from './item-state.ts';

/** Items that follow each other in the order of their job. */
export interface ItemRange {
  readonly first: ItemKey;
  readonly last: ItemKey;
  readonly counts: readonly { readonly status: ItemStatus; readonly count: number }[];
}

export interface ItemRanges {
  readonly ranges: readonly ItemRange[];
  /** Where to go on; null if everything was read. */
  readonly next: ItemKey | null;
}

export const mostRanges = 2_000;

/** How many rows of each table are read: more than there can be leases that cover one item. */
const mostRows = 20_000;

/**
 * The items of the job `$1` in the positions from `$2` to before `$3`, as up to `$4` ranges that are alike, from the ranges that the tables have: no
 * row of an item is read, except those of failed and blocked ones. What neither waits, runs, failed nor was cancelled has succeeded, if a lease
 * has it. If there are more ranges of one status, all have the same number of items, but the last. `next_from` is where to go on, since there is
 * more to be read than `$5` rows of each table, or null; each range is a list: its first position, its last one, and how many items have each status.
 */
export const itemRanges: Survey = {
  name: 'item_ranges',
  without: ['seqscan', 'bitmapscan'],
  text: `with entry as materialized (
      select q.position, q.count, jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt) as status
      from jobtree.queue_entry q
      where (q.job_id, q.position) > ($1, $2::bigint - 128) and (q.job_id, q.position) < ($1, $3)
      order by q.job_id, q.position limit $5
    ), lease as materialized (
      select l.position, l.count, l.open
      from jobtree.lease l
      where (l.job_id, l.position) > ($1, $2::bigint - 128) and (l.job_id, l.position) < ($1, $3)
      order by l.job_id, l.position limit $5
    ), failed as materialized (
      select o.position from jobtree.outcome o
      where o.failed and (o.job_id, o.position) >= ($1, $2) and (o.job_id, o.position) < ($1, $3)
      order by o.job_id, o.position limit $5
    ), blocked as materialized (
      select b.position from jobtree.blocked_item b
      where (b.job_id, b.position) >= ($1, $2) and (b.job_id, b.position) < ($1, $3)
      order by b.job_id, b.position limit $5
    ), cancelled as materialized (
      select c.position, c.count from jobtree.cancellation c
      where (c.job_id, c.position) >= ($1, coalesce((
          select b.position from jobtree.cancellation b
          where (b.job_id, b.position) >= ($1, 0) and (b.job_id, b.position) <= ($1, $2)
          order by b.job_id desc, b.position desc limit 1
        ), $2)) and (c.job_id, c.position) < ($1, $3)
      order by c.job_id, c.position limit $5
    ), seen as (
      -- Where the first table has more rows than were read; a caller gets on in any case.
      select case when count(f.position) > 0 then greatest(min(f.position), $2 + 1) end as until
      from (
        select max(e.position) from entry e having count(*) = $5
        union all select max(l.position) from lease l having count(*) = $5
        union all select max(o.position) from failed o having count(*) = $5
        union all select max(b.position) from blocked b having count(*) = $5
        union all select max(c.position) from cancelled c having count(*) = $5
      ) f(position)
    ), by_status as materialized (
      select u.status, range_agg(int8range(u.position, u.position + u.count)) as items
      from (
        -- Once its job is cancelled, what is pending is cancelled.
        select p.position, p.count, coalesce(case when p.status not in ('FAILED', 'CANCELLED') then (
            select 'CANCELLED' from jobtree.job j where j.id = $1 and j.cancelled_at is not null
          ) end, p.status) as status
        from (
          select e.status, e.position, e.count from entry e
          union all
          select 'RUNNING', l.position, l.count from lease l where bit_count(l.open) = l.count
          union all
          select 'RUNNING', l.position + r.from, r.count
          from lease l cross join lateral jobtree.bit_runs(l.open, l.count) r
          where bit_count(l.open) > 0 and bit_count(l.open) < l.count
          union all
          select 'BLOCKED', b.position, 1 from blocked b
          union all
          select 'FAILED', o.position, 1 from failed o
          union all
          select 'CANCELLED', c.position, c.count from cancelled c
        ) p
      ) u
      group by u.status
    ), piece as (
      select u.status, lower(r.items) as position, (upper(r.items) - lower(r.items))::integer as count
      from (
        select s.status, s.items from by_status s
        union all
        select 'SUCCEEDED', (select range_agg(int8range(l.position, l.position + l.count)) from lease l)
          - coalesce((select range_agg(s.items) from by_status s), '{}')
      ) u
      cross join seen w
      cross join lateral unnest(u.items * int8multirange(int8range($2, least($3, w.until)))) r(items)
    ), counted as (
      select p.*, sum(p.count) over (order by p.position) - p.count as before, sum(p.count) over () as total,
        case when p.status is distinct from lag(p.status) over (order by p.position) then 1 else 0 end as begins
      from piece p
    ), numbered as (
      select c.*, sum(c.begins) over (order by c.position) as run, sum(c.begins) over () as runs,
        (c.total + $4 - 1) / $4 as size
      from counted c
    ), part as (
      -- A run each, or each as much of a piece as belongs to a range.
      select case when n.runs <= $4 then n.run else n.before / n.size end as range, n.status, n.position, n.count
      from numbered n
      where n.runs <= $4 or n.before / n.size = (n.before + n.count - 1) / n.size
      union all
      select s.range, n.status, n.position + greatest(0, s.range * n.size - n.before),
        (least(n.before + n.count, (s.range + 1) * n.size) - greatest(n.before, s.range * n.size))::integer
      from numbered n
      cross join lateral generate_series(n.before / n.size, (n.before + n.count - 1) / n.size) s(range)
      where n.runs > $4 and n.before / n.size < (n.before + n.count - 1) / n.size
    ), alike as (
      select p.range, p.status, min(p.position) as first, max(p.position + p.count) - 1 as last, sum(p.count) as count
      from part p
      group by p.range, p.status
    )
    select (select w.until from seen w) as next_from,
      coalesce(jsonb_agg(jsonb_build_array(r.first, r.last, r.counts) order by r.range), '[]') as ranges
    from (
      select a.range, min(a.first) as first, max(a.last) as last, jsonb_object_agg(a.status, a.count) as counts
      from alike a
      group by a.range
    ) r`,
};

/** The ranges of a job's items, from `from` up to and including `to`. */
export async function readItemRanges(
  database: Queries,
  jobId: string,
  { from, to, most }: { from: ItemKey | undefined; to: ItemKey | undefined; most: number },
): Promise<ItemRanges> {
  if (most < 1 || most > mostRanges)
    throw new InvalidInputError(`most is ${most}: it must be from 1 to 2,000.`, 'most');
  for (const [name, key] of Object.entries({ from, to })) {
    if (key !== undefined && key.jobId !== jobId)
      throw new InvalidInputError(`${name} is not an item of this job.`, name);
  }
  const until = to === undefined ? afterAllPositions : to.position + 1;
  const { rows } = await database.surveys.query<{
    next_from: number | null;
    ranges: [first: number, last: number, counts: Partial<Record<ItemStatus, number>>][];
  }>({
    ...itemRanges,
    values: [jobId, from?.position ?? 0, until, most, mostRows],
  });
  const [found] = rows;
  if (found === undefined) throw new Error('item_ranges returned no row');
  const keyOf = (position: number): ItemKey => ({ jobId, position });
  return {
    ranges: found.ranges.map(([first, last, counts]) => ({
      first: keyOf(first),
      last: keyOf(last),
      counts: itemStatuses.flatMap((status) => {
        const count = counts[status];
        return count === undefined ? [] : [{ status, count }];
      }),
    })),
    next: found.next_from === null ? null : keyOf(found.next_from),
  };
}
