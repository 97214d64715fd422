/** Pages of items: the keys between two others, in order, read by an index that has that order. */
import type { Queries } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import type { ItemKey } from '../values/ids.ts';
import { firstUuid, lastUuid, type Range } from '../values/range.ts';
import { type ItemStatus, itemStatuses, pendingStatuses } from './item-state.ts';

export const afterAllPositions = Number.MAX_SAFE_INTEGER;
/** The most rows that a page reads: one more than it shows. */
const maxPageRows = 1_001;
const direction = (backwards: boolean) => (backwards ? 'desc' : 'asc');

/** A page of the items of a job. */
export interface ItemsRequest {
  readonly jobId: string;
  readonly range: Range<number>;
}

const requests = `from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::int[])
             with ordinality as u(job_id, after, before, take, n)`;

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
function positionsOf(statuses: ReadonlySet<ItemStatus>, backwards: boolean): string {
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
/**
 * The given statuses in a fixed order, each once; all for null.
 *
 * @throws InvalidInputError if the list is empty
 */
export function statusesOf(given: readonly ItemStatus[] | null): readonly ItemStatus[] {
  if (given?.length === 0)
    throw new InvalidInputError('statuses is empty: leave it out for all.', 'statuses');
  return given === null ? itemStatuses : itemStatuses.filter((status) => given.includes(status));
}

/**
 * Pages of items of some statuses in the order in which they were added, one for each request, all in one query; if `backwards`,
 * from the end, last item first. Cheap for any statuses: no part of the query reads much more than a page.
 */
export async function readItemKeys(
  database: Queries,
  given: readonly ItemStatus[] | null,
  backwards: boolean,
  pages: readonly ItemsRequest[],
): Promise<ItemKey[][]> {
  const statuses = statusesOf(given);
  const { rows } = await database.pool.query<{ positions: number[] }>({
    // Abbreviated, since Postgres keeps only 63 characters of a name.
    name: `read_item_keys/${statuses.map((status) => status.slice(0, 3))}/${direction(backwards)}`,
    text: `select array_to_json(${positionsOf(new Set(statuses), backwards)}) as positions
           ${requests}
           order by u.n`,
    values: [
      pages.map(({ jobId }) => jobId),
      pages.map(({ range }) => range.after ?? -1),
      pages.map(({ range }) => range.before ?? afterAllPositions),
      pages.map(({ range }) => range.take),
    ],
  });
  return pages.map(({ jobId }, i) => (rows[i]?.positions ?? []).map((position) => ({ jobId, position })));
}

/** A page of a tree's results. */
export interface ResultsRequest {
  readonly rootId: string;
  readonly range: Range<ItemKey>;
}

/**
 * Pages of the successes of final stages, by job and then in the order in which the items were added; one for each request, all
 * in one query, and from the end if `backwards`.
 */
export async function readResultKeys(
  database: Queries,
  backwards: boolean,
  pages: readonly ResultsRequest[],
): Promise<ItemKey[][]> {
  const { rows } = await database.pool.query<{ job_ids: string[]; positions: number[] }>({
    name: `read_result_keys/${direction(backwards)}`,
    // A nested loop visits the stages in their order, and stops at the limit.
    text: `select array_to_json(k.job_ids) as job_ids, array_to_json(k.positions) as positions
           from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[], $5::bigint[], $6::int[])
             with ordinality as r(root_id, after_job, after, before_job, before, take, n)
           cross join lateral (
             select array_agg(k.job_id) as job_ids, array_agg(k.position) as positions
             from (
               select k.job_id, k.position
               from (
                 select j.id as job_id, case when j.id = r.after_job then r.after else -1 end as after,
                   case when j.id = r.before_job then r.before else ${afterAllPositions} end as before
                 from jobtree.job j
                 where j.root_id = r.root_id and j.final_stage and j.id >= r.after_job and j.id <= r.before_job
                 order by j.id ${direction(backwards)}
                 offset 0
               ) u
               cross join lateral (
                 ${between('o.job_id, o.position from jobtree.outcome o', 'o', backwards, 'not o.failed')}
                 limit ${maxPageRows}
               ) k
               limit r.take
             ) k
           ) k
           order by r.n`,
    values: [
      pages.map(({ rootId }) => rootId),
      pages.map(({ range }) => range.after?.jobId ?? firstUuid),
      pages.map(({ range }) => range.after?.position ?? -1),
      pages.map(({ range }) => range.before?.jobId ?? lastUuid),
      pages.map(({ range }) => range.before?.position ?? afterAllPositions),
      pages.map(({ range }) => range.take),
    ],
  });
  return toKeys(pages, rows);
}

/** A page of the items that the success of an item created. */
export interface ChildrenRequest {
  readonly parent: ItemKey;
  readonly range: Range<ItemKey>;
}

/**
 * Pages of the items of fed jobs that the successes of items created, by job and then in the order in which they were added. Only
 * jobs of these types, or all for null. One page for each request, all in one query, and from the end if `backwards`.
 */
export async function readChildKeys(
  database: Queries,
  types: readonly string[] | null,
  backwards: boolean,
  pages: readonly ChildrenRequest[],
): Promise<ItemKey[][]> {
  const order = `c.id ${direction(backwards)}, i.position ${direction(backwards)}`;
  const { rows } = await database.pool.query<{ job_ids: string[]; positions: number[] }>({
    name: `read_child_keys/${direction(backwards)}`,
    // A success creates few items, so they can be sorted: their index covers only the parents.
    text: `select array_to_json(k.job_ids) as job_ids, array_to_json(k.positions) as positions
           from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::bigint[], $5::uuid[], $6::bigint[], $7::int[])
             with ordinality as r(job_id, position, after_job, after, before_job, before, take, n)
           cross join lateral (
             select array_agg(k.job_id) as job_ids, array_agg(k.position) as positions
             from (
               select c.id as job_id, i.position
               from (
                 select j.id from jobtree.job j
                 where j.parent_id = r.job_id and j.feed is not null and ($8::text[] is null or j.type = any ($8))
                 offset 0
               ) c
               cross join lateral (
                 select i.position from jobtree.job_item i
                 where i.job_id = c.id and i.parent_position = r.position
                 offset 0
               ) i
               where (c.id, i.position) > (r.after_job, r.after) and (c.id, i.position) < (r.before_job, r.before)
               order by ${order}
               limit r.take
             ) k
           ) k
           order by r.n`,
    values: [
      pages.map(({ parent }) => parent.jobId),
      pages.map(({ parent }) => parent.position),
      pages.map(({ range }) => range.after?.jobId ?? firstUuid),
      pages.map(({ range }) => range.after?.position ?? -1),
      pages.map(({ range }) => range.before?.jobId ?? lastUuid),
      pages.map(({ range }) => range.before?.position ?? afterAllPositions),
      pages.map(({ range }) => range.take),
      types,
    ],
  });
  return toKeys(pages, rows);
}

/** The keys of each page, from separate lists of job ids and positions. */
function toKeys(
  pages: readonly unknown[],
  rows: readonly { readonly job_ids: string[] | null; readonly positions: number[] | null }[],
): ItemKey[][] {
  return pages.map((_, i) => {
    const { job_ids: jobIds, positions } = rows[i] ?? {};
    return (positions ?? []).map((position, k) => ({ jobId: jobIds?.[k] ?? '', position }));
  });
}
