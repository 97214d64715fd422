/**
 * Pages of lists that are watched: their rows, each with a mark that differs whenever what is shown of the row may differ. Reading
 * these is cheap, so it can be repeated; the rest is read only for rows whose marks differ.
 */
import type { Queries } from '../../db/database.ts';
import { afterAllPositions } from '../items/item-pages.ts';
import { between, limited } from '../items/item-positions.ts';
import { cancellation } from '../items/read-items.ts';
import { latestProgress } from '../progress/progress.ts';
import { itemIdOf } from '../values/ids.ts';
import type { JobConditions } from './job-conditions.ts';
import { readJobIds } from './job-pages.ts';

export interface MarkedRow {
  readonly id: string;
  readonly mark: string;
}

/** Items of a job in the order in which they were added, and whether none of them will change any more. */
export async function readItemPage(
  database: Queries,
  page: { jobId: string; first: number; failedOnly: boolean },
): Promise<{ rows: MarkedRow[]; final: boolean }> {
  const { rows } = await database.pool.query<{
    rows: { position: number; mark: string }[] | null;
    final: boolean | null;
  }>({
    name: `read_item_page/${page.failedOnly ? 'FAILED' : 'ANY'}`,
    text: itemPageQuery(page.failedOnly),
    values: [page.jobId, page.first],
  });
  // A deleted job has no progress, and will not change any more.
  return {
    rows: (rows[0]?.rows ?? []).map(({ position, mark }) => ({
      id: itemIdOf({ jobId: page.jobId, position }),
      mark,
    })),
    final: rows[0]?.final ?? true,
  };
}

const itemPageQuery = (failedOnly: boolean) =>
  `with page as (
     select k.position
     from (values ($1::uuid, -1::bigint, ${afterAllPositions}::bigint, $2::int)) as u(job_id, after, before, take)
     cross join lateral (${limited(
       failedOnly
         ? between('o.position from jobtree.outcome o', 'o', false, 'o.failed')
         : between('i.position from jobtree.job_item i', 'i', false),
     )}) k
   ), marked as (
     -- The row of an item is another one when it was updated.
     select i.position, concat(d.xmin, '/', coalesce(o.finished_at, c.cancelled_at, j.cancelled_at), '/', q.run_at, '/', l.id, '/', b.job_id, '/', b.position, '/', (
       select max(f.attempt) from jobtree.failure f where f.job_id = $1 and f.position = i.position
     )) as mark
     from (select $1::uuid as job_id, p.position from page p) i
     join jobtree.job j on j.id = i.job_id
     -- One by one: joined, all items and outcomes of the job might be read.
     left join lateral (
       select t.xmin from jobtree.job_item t where t.job_id = $1 and t.position = i.position limit 1
     ) d on true
     left join lateral (
       select r.job_id, r.finished_at from jobtree.outcome r where r.job_id = $1 and r.position = i.position limit 1
     ) o on true
     ${cancellation}
     left join lateral (
       select e.run_at from jobtree.queue_entry e
       where e.job_id = $1 and e.position between i.position - 127 and i.position
         and e.position + e.count > i.position and o.job_id is null
       limit 1
     ) q on true
     left join lateral (
       select h.id from jobtree.lease h
       where h.job_id = $1 and h.position between i.position - 127 and i.position
         and h.position + h.count > i.position and o.job_id is null
         and get_bit(h.open, (i.position - h.position)::int) = 1
       limit 1
     ) l on true
     left join lateral (
       select k.job_id, k.position
       from jobtree.blocked_item w
       cross join lateral (select * from jobtree.serialize_key where key = w.key limit 1) k
       where w.job_id = $1 and w.position = i.position and o.job_id is null
       limit 1
     ) b on true
   )
   select (select p.completed_at is not null from jobtree.job j ${latestProgress} where j.id = $1) as final,
     (select json_agg(json_build_object('position', position, 'mark', mark) order by position) from marked) as rows`;

/**
 * The newest jobs that meet the conditions, of those that a page looks at, the newest first. With trees, the mark of a root also differs when another job of its tree may, of
 * `treeTypes` alone unless that is null.
 */
export async function readJobPage(
  database: Queries,
  page: JobConditions & { first: number; withTrees: boolean; treeTypes?: readonly string[] | null },
): Promise<MarkedRow[]> {
  const { withTrees, treeTypes = null } = page;
  const { ids } = await readJobIds(database, page, { take: page.first, backwards: true });
  if (ids.length === 0) return [];
  const ofTypes = treeTypes === null ? '' : 'and j.type = any ($2::text[])';
  const treeMark = withTrees
    ? `, case when j.parent_id is null then (
               select concat(count(*), '+', sum(p.version)) from jobtree.job j ${latestProgress} where j.root_id = k.id ${ofTypes}
             ) end`
    : '';
  const { rows } = await database.pool.query<MarkedRow>({
    name: `read_job_page/${withTrees}/${treeTypes === null}`,
    text: `select j.id, concat_ws('/', p.generation, p.item_count, p.succeeded, p.failed, p.cancelled, p.started_at,
             p.completed_at, j.sealed_at, j.cancelled_at, j.waits${treeMark}) as mark
           from unnest($1::uuid[]) k(id)
           cross join lateral (select * from jobtree.job where id = k.id offset 0) j
           ${latestProgress}
           order by j.id desc`,
    values: withTrees && treeTypes !== null ? [ids, treeTypes] : [ids],
  });
  return rows;
}
