/** Pages of items: the keys between two others, in order, read by an index that has that order. */
import type { Queries } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import type { ItemKey } from '../values/ids.ts';
import { firstUuid, lastUuid, type Range } from '../values/range.ts';
import { between, direction, maxPageRows, positionsOf } from './item-positions.ts';
import { type ItemStatus, itemStatuses } from './item-state.ts';

export const afterAllPositions = Number.MAX_SAFE_INTEGER;

/** A page of the items of a job. */
export interface ItemsRequest {
  readonly jobId: string;
  readonly range: Range<number>;
}

const requests = `from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::int[])
             with ordinality as u(job_id, after, before, take, n)`;

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
