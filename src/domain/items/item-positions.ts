/** The SQL that selects a page of items of some statuses, in the order of their positions. */
import { type ItemStatus, itemStatuses, pendingStatuses } from './item-state.ts';

/** The most rows that a page reads: one more than it shows. */
export const maxPageRows = 1_001;
export const direction = (backwards: boolean) => (backwards ? 'desc' : 'asc');

/**
 * Selects what a table has between the keys of a request `u`. The planner takes such a comparison for a good part of the table,
 * however little its statistics know about this job. So it reads in the order of the key up to the limit, which it knows, and
 * never sorts everything that a job has. It does not know the value of $4, the limit of the request, which therefore surrounds
 * this one.
 */
export function between(select: string, i: string, backwards: boolean, condition = 'true'): string {
  return `select ${select}
          where (${i}.job_id, ${i}.position) > (u.job_id, u.after) and (${i}.job_id, ${i}.position) < (u.job_id, u.before)
            and ${condition}
          order by ${i}.job_id ${direction(backwards)}, ${i}.position ${direction(backwards)}`;
}

export const limited = (select: string) =>
  `select k.position from (${select} limit ${maxPageRows}) k limit u.take`;
const jobIs = (fact: string) => `exists (select from jobtree.job where id = u.job_id and ${fact})`;

/** The items of a range that lie between the keys of a request `u`, in their order; of a long range no more than a page. */
function itemsOf(range: string, backwards: boolean): string {
  const first = `greatest(${range}.position, u.after + 1)`;
  const last = `least(${range}.position + ${range}.count, u.before) - 1`;
  return backwards
    ? `generate_series(${last}, greatest(${first}, ${last} - ${maxPageRows}), -1)`
    : `generate_series(${first}, least(${last}, ${first} + ${maxPageRows}))`;
}

/** The statuses of what is in queue entries. */
const entryStatuses = ['WAITING', 'SCHEDULED', 'RETRYING', 'READY'] as const;

/**
 * The items in queue entries of one status, or of any. Entries have at most 128 items and do not overlap. A status is compared with
 * the key, as in `between`, or the planner may read entries of all statuses.
 */
function inEntries(status: ItemStatus | undefined, backwards: boolean): string {
  const entry = ['q.job_id', 'q.position'];
  const request = ['u.job_id'];
  if (status !== undefined) {
    entry.unshift('jobtree.status_of_item(null, null, false, false, q.run_at, q.attempt)');
    request.unshift(`'${status}'`);
  }
  return `(select e.position from (
                select q.position, q.count from jobtree.queue_entry q
                where (${entry}) > (${request}, u.after - 128) and (${entry}) < (${request}, u.before)
                  and q.position + q.count - 1 > u.after
                order by ${entry.map((column) => `${column} ${direction(backwards)}`)}
                limit ${maxPageRows}
              ) q
              cross join lateral ${itemsOf('q', backwards)} e(position)
              limit u.take)`;
}

/**
 * The pending items of some statuses. A pending item is in a queue entry, blocked, or in a worker's lease, so nothing finished is
 * read: of entries only those of these statuses, in an index that has them in this order. Entries have at most 128 items and do not
 * overlap. Leases do, since an item may have come back and been claimed again while the rest of its lease is open: but each has an open
 * item, and of those that were read up to 127 may be before the page, and up to 127 after the last lease that was read.
 */
function selectPending(statuses: ReadonlySet<ItemStatus>, backwards: boolean): string {
  const parts: string[] = [];
  const inEntry = entryStatuses.filter((status) => statuses.has(status));
  for (const status of inEntry.length === entryStatuses.length ? [undefined] : inEntry)
    parts.push(inEntries(status, backwards));
  if (statuses.has('BLOCKED')) {
    parts.push(`(${limited(between('b.position from jobtree.blocked_item b', 'b', backwards))})`);
  }
  if (statuses.has('RUNNING')) {
    parts.push(`select h.position + g
              from (
                select h.* from (
                  select l.position, l.count, l.open from jobtree.lease l
                  where (l.job_id, l.position) > (u.job_id, u.after - 128) and (l.job_id, l.position) < (u.job_id, u.before)
                    and coalesce(l.check_at, 'infinity') < 'infinity'
                  order by l.job_id ${direction(backwards)}, l.position ${direction(backwards)}
                  limit ${maxPageRows + 256}
                ) h
                limit u.take + 256
              ) h
              cross join lateral generate_series(0, h.count - 1) g
              where get_bit(h.open, g) = 1 and h.position + g > u.after and h.position + g < u.before`);
  }
  return merged(parts, backwards);
}

/** Merges the positions of several selections, each of which is in order and no longer than a page. */
function merged(parts: readonly string[], backwards: boolean): string {
  return `select p.position from (
              ${parts.join('\n              union all\n              ')}
            ) p(position)
            order by p.position ${direction(backwards)}
            limit u.take`;
}

const arrayOfPending = (statuses: ReadonlySet<ItemStatus>, backwards: boolean) =>
  `case when ${jobIs('cancelled_at is not null')} then '{}' else array(${selectPending(statuses, backwards)}) end`;

/** The items in ranges of cancelled items, and while a job is being cancelled, also those that are in no range yet. */
function selectCancelled(backwards: boolean): string {
  const rangeOfAfter = `select r.position from jobtree.cancellation r
                where (r.job_id, r.position) >= (u.job_id, 0) and (r.job_id, r.position) <= (u.job_id, u.after)
                order by r.job_id desc, r.position desc
                limit 1`;
  return `array(${merged(
    [
      `(select e.position from (
                select c.position, c.count from jobtree.cancellation c
                where (c.job_id, c.position) >= (u.job_id, coalesce((${rangeOfAfter}), u.after))
                  and (c.job_id, c.position) < (u.job_id, u.before) and c.position + c.count - 1 > u.after
                order by c.job_id ${direction(backwards)}, c.position ${direction(backwards)}
                limit ${maxPageRows}
              ) c
              cross join lateral ${itemsOf('c', backwards)} e(position)
              limit u.take)`,
      `select e.position from unnest(
                case when ${jobIs('cancelling')} then array(${selectPending(new Set(pendingStatuses), backwards)}) end
              ) e(position)`,
    ],
    backwards,
  )})`;
}

const outcomes = (condition: string, backwards: boolean) =>
  `array(${limited(between('o.position from jobtree.outcome o', 'o', backwards, condition))})`;

/** An array of the positions of the items of some statuses that a request `u` asks for, in their order. */
export function positionsOf(statuses: ReadonlySet<ItemStatus>, backwards: boolean): string {
  if (itemStatuses.every((status) => statuses.has(status))) {
    return `array(${limited(between('i.position from jobtree.job_item i', 'i', backwards))})`;
  }
  const parts: string[] = [];
  if (pendingStatuses.some((status) => statuses.has(status))) parts.push(arrayOfPending(statuses, backwards));
  if (statuses.has('CANCELLED')) parts.push(selectCancelled(backwards));
  if (statuses.has('SUCCEEDED') && statuses.has('FAILED')) parts.push(outcomes('true', backwards));
  else if (statuses.has('SUCCEEDED')) parts.push(outcomes('not o.failed', backwards));
  else if (statuses.has('FAILED')) parts.push(outcomes('o.failed', backwards));
  const [only = '', ...others] = parts;
  if (others.length === 0) return only;
  const each = parts.map((part) => `select position from unnest(${part}) k(position)`);
  return `array(${merged(each, backwards)})`;
}
