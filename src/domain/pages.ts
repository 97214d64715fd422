/**
 * Pages of lists: the keys between two others, in order, read by an index that has that order. And pages that are watched: their
 * rows, each with a mark that differs whenever what is shown of the row may differ. Reading these is cheap, so it can be
 * repeated; the rest is read only for rows whose marks differ.
 */
import type { Queries } from '../db/database.ts';
import { InvalidInputError } from '../errors.ts';
import {
  type ItemKey,
  type ItemStatus,
  itemIdOf,
  itemStatuses,
  type JobOutcome,
  type JobStatus,
  pendingStatuses,
} from './item-state.ts';
import { cancellation } from './items.ts';
import { latestProgress } from './progress.ts';

/** Up to `take` rows between two keys, both exclusive; from the start, or from the end. */
export interface Range<Key> {
  readonly after?: Key | undefined;
  readonly before?: Key | undefined;
  readonly take: number;
  readonly backwards: boolean;
}

export const firstUuid = '00000000-0000-0000-0000-000000000000';
export const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const afterAllPositions = Number.MAX_SAFE_INTEGER;
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
function between(select: string, i: string, backwards: boolean, condition = 'true'): string {
  return `select ${select}
          where (${i}.job_id, ${i}.position) > (u.job_id, u.after) and (${i}.job_id, ${i}.position) < (u.job_id, u.before)
            and ${condition}
          order by ${i}.job_id ${direction(backwards)}, ${i}.position ${direction(backwards)}`;
}

const limited = (select: string) => `select k.position from (${select} limit ${maxPageRows}) k limit u.take`;
const jobIs = (fact: string) => `exists (select from jobtree.job where id = u.job_id and ${fact})`;

/** The items of a range that lie between the keys of a request `u`, in their order; of a long range no more than a page. */
function itemsOf(range: string, backwards: boolean): string {
  const first = `greatest(${range}.position, u.after + 1)`;
  const last = `least(${range}.position + ${range}.count, u.before) - 1`;
  return backwards
    ? `generate_series(${last}, greatest(${first}, ${last} - ${maxPageRows}), -1)`
    : `generate_series(${first}, least(${last}, ${first} + ${maxPageRows}))`;
}

/** The condition for entries with items of these statuses, as the indexes for them have it. */
function entriesOf(statuses: ReadonlySet<ItemStatus>): string {
  if (statuses.has('WAITING') && statuses.has('SCHEDULED')) return 'true';
  return `coalesce(q.run_at, 'infinity') ${statuses.has('WAITING') ? '=' : '<'} 'infinity'`;
}

/**
 * The pending items of some statuses. A pending item is in a queue entry, blocked, or in a worker's lease, so nothing finished is
 * read. Entries have at most 128 items and do not overlap. All leases held at the time are read; they are few.
 */
function selectPending(statuses: ReadonlySet<ItemStatus>, backwards: boolean): string {
  const parts: string[] = [];
  if (statuses.has('WAITING') || statuses.has('SCHEDULED')) {
    parts.push(`(select e.position from (
                select q.position, q.count from jobtree.queue_entry q
                where (q.job_id, q.position) > (u.job_id, u.after - 128) and (q.job_id, q.position) < (u.job_id, u.before)
                  and q.position + q.count - 1 > u.after and ${entriesOf(statuses)}
                order by q.job_id ${direction(backwards)}, q.position ${direction(backwards)}
                limit ${maxPageRows}
              ) q
              cross join lateral ${itemsOf('q', backwards)} e(position)
              limit u.take)`);
  }
  if (statuses.has('WAITING')) {
    parts.push(`(${limited(between('b.position from jobtree.blocked_item b', 'b', backwards))})`);
  }
  if (statuses.has('RUNNING')) {
    parts.push(`select h.position + g from held h cross join lateral generate_series(0, h.count - 1) g
              where h.job_id = u.job_id and h.position < u.before and h.position + h.count - 1 > u.after
                and get_bit(h.open, g) = 1 and h.position + g > u.after and h.position + g < u.before`);
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
const heldLeases = `with held as materialized (
             select l.job_id, l.position, l.count, l.open
             from (select * from jobtree.lease where deadline_at is not null offset 0) l where l.job_id = any ($1)
           )`;

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
  const readsLeases = statuses.length < itemStatuses.length && statuses.some((status) => leased.has(status));
  const { rows } = await database.pool.query<{ positions: number[] }>({
    // Abbreviated, since Postgres keeps only 63 characters of a name.
    name: `read_item_keys/${statuses.map((status) => status.slice(0, 2))}/${direction(backwards)}`,
    text: `${readsLeases ? heldLeases : ''}
           select array_to_json(${positionsOf(new Set(statuses), backwards)}) as positions
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

/** Statuses whose items may be in leases: an item that is being cancelled is, until its lease has ended. */
const leased: ReadonlySet<ItemStatus> = new Set(['RUNNING', 'CANCELLED']);

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

/** Which jobs a list shows. */
export interface JobConditions {
  /** Of this type, or of one of these types. */
  readonly type: string | readonly string[] | null;
  readonly status: JobStatus | null;
  /** The outcome of the job itself. */
  readonly outcome?: JobOutcome | null;
  /** The schedule that made them. */
  readonly schedule?: string | null;
  /** Only roots of trees that have been idle since then, or longer. */
  readonly idleSince?: Date | null;
  readonly rootsOnly: boolean;
  /** Whether the status and the outcome are those of whole trees. Says nothing unless they are asked for, of roots only. */
  readonly wholeTrees?: boolean;
}

const statusConditions: Readonly<Record<JobStatus, string>> = {
  WAITING: 'p.started_at is null and p.completed_at is null',
  RUNNING: 'p.started_at is not null and p.completed_at is null',
  COMPLETED: "p.completed_at is not null and p.outcome <> 'CANCELLED'",
  CANCELLED: "p.outcome = 'CANCELLED'",
};
/** A tree whose root is complete, but that is not itself, or has another outcome: few, with an index of their own. */
const rootDiffers =
  '(p.is_root and p.completed_at is not null and (p.open_jobs > 0 or p.tree_outcome <> p.outcome))';
const treeStatusConditions: Readonly<Record<JobStatus, string>> = {
  WAITING: statusConditions.WAITING,
  RUNNING:
    '(p.started_at is not null or p.completed_at is not null) and (p.completed_at is null or p.open_jobs > 0)',
  COMPLETED: "p.completed_at is not null and p.open_jobs = 0 and p.tree_outcome <> 'CANCELLED'",
  CANCELLED: "p.completed_at is not null and p.open_jobs = 0 and p.tree_outcome = 'CANCELLED'",
};
const outcomesOfCompleted = ['SUCCEEDED', 'FAILED'] as const satisfies readonly JobOutcome[];
const outcomeCondition = (outcome: JobOutcome) => `p.outcome = '${outcome}'`;
const treeOutcomeCondition = (outcome: JobOutcome) =>
  `p.completed_at is not null and p.open_jobs = 0 and p.tree_outcome = '${outcome}'`;

/**
 * The statement that reads at most $3 ids of jobs between $1 and $2. Jobs that wait, run, or did not succeed are few, so lists of
 * these start from the progress. Complete or successful jobs are the majority, so if a type is given, its jobs are read and then
 * filtered; likewise the jobs of a schedule, which are roots. Idle trees are rare, so lists of them start there. From $4 on
 * follow the type, the schedule and the instant, if they are given.
 */
function selectJobs(conditions: JobConditions, direction: 'asc' | 'desc'): string {
  if (Array.isArray(conditions.type)) {
    // For each type, reads what a list of that type alone would read.
    const one = selectJobs({ ...conditions, type: '' }, direction).replaceAll('$4', 's.type');
    return `select k.id from unnest($4::text[]) s(type) cross join lateral (${one}) k order by k.id ${direction} limit $3`;
  }
  const { type, status, outcome = null, schedule = null, idleSince = null, rootsOnly } = conditions;
  const ofTrees = rootsOnly && conditions.wholeTrees === true;
  const own = conditionsOf(status && statusConditions[status], outcome && outcomeCondition(outcome));
  const found = ofTrees
    ? conditionsOf(status && treeStatusConditions[status], outcome && treeOutcomeCondition(outcome))
    : own;
  const looksAt = found.length === 0 ? '' : latestProgress;
  const isFound = allOf(found);
  const end = `order by id ${direction} limit $3`;
  const ofType = type === null ? '' : ' and j.type = $4';
  if (idleSince !== null) {
    const [scheduleAt, idleAt] = [
      type === null ? 4 : 5,
      4 + (type === null ? 0 : 1) + (schedule === null ? 0 : 1),
    ];
    const ofSchedule = schedule === null ? '' : ` and j.schedule_name = $${scheduleAt}`;
    return `select j.id
            from jobtree.idle_tree t
            cross join lateral (select * from jobtree.job where id = t.root_id offset 0) j ${looksAt}
            where t.root_id > $1 and t.root_id < $2${ofType}${ofSchedule}${isFound}
              and t.idle_since <= $${idleAt} and jobtree.idle_since(t.root_id) <= $${idleAt}
            order by t.root_id ${direction} limit $3`;
  }
  if (schedule !== null) {
    return `select j.id from jobtree.job j ${looksAt}
            where j.id > $1 and j.id < $2 and j.schedule_name = $${type === null ? 4 : 5}${ofType}${isFound}
            ${end}`;
  }
  const isMost = outcome === null ? status === 'COMPLETED' : outcome === 'SUCCEEDED';
  if (found.length === 0 || (isMost && type !== null)) {
    return `select j.id from jobtree.job j ${looksAt}
            where j.id > $1 and j.id < $2${ofType}${rootsOnly ? ' and j.parent_id is null' : ''}${isFound}
            ${end}`;
  }
  const part = (isRoot: boolean, condition: string) => `(
            select p.job_id as id from jobtree.job_progress p
              ${type === null ? '' : 'cross join lateral (select j.type from jobtree.job j where j.id = p.job_id offset 0) j'}
            where ${isRoot ? '' : 'not '}p.is_root${condition} and p.job_id > $1 and p.job_id < $2${ofType}
            ${end})`;
  // Complete jobs are indexed by outcome.
  const each =
    outcome === null && status === 'COMPLETED'
      ? outcomesOfCompleted.map((one) => ` and ${outcomeCondition(one)}`)
      : [allOf(own)];
  // Most roots say what their trees do. The others are read on their own.
  const parts = ofTrees
    ? [
        ...each.map((condition) => part(true, `${condition} and not ${rootDiffers}`)),
        part(true, `${isFound} and ${rootDiffers}`),
      ]
    : (rootsOnly ? [true] : [true, false]).flatMap((isRoot) =>
        each.map((condition) => part(isRoot, condition)),
      );
  return parts.length === 1 ? parts.join('') : `${parts.join(' union all ')} ${end}`;
}

function conditionsOf(...conditions: readonly (string | null)[]): string[] {
  return conditions.flatMap((condition) => condition ?? []);
}

function allOf(conditions: readonly string[]): string {
  return conditions.map((condition) => ` and ${condition}`).join('');
}

function jobValues(
  { type, schedule = null, idleSince = null }: JobConditions,
  { after = firstUuid, before = lastUuid, take }: Range<string>,
): unknown[] {
  return [after, before, take, ...[type, schedule, idleSince].filter((value) => value !== null)];
}

function variantOf(conditions: JobConditions): string {
  const { type, status, outcome, schedule = null, idleSince = null, rootsOnly } = conditions;
  const roots = conditions.wholeTrees === true ? 'trees' : 'roots';
  const whose = schedule === null ? (rootsOnly ? roots : 'all') : `schedule/${roots}`;
  const part = idleSince === null ? whose : `${whose}/idle`;
  return `${status ?? 'ANY'}/${outcome ?? 'ANY'}/${kindOf(type)}/${part}`;
}

const kindOf = (type: JobConditions['type']) =>
  type === null ? 'any' : typeof type === 'string' ? 'type' : 'types';

/** The ids of the jobs that meet the conditions, the oldest first; the newest first for a page from the end. */
export async function readJobIds(
  database: Queries,
  conditions: JobConditions,
  range: Range<string>,
): Promise<string[]> {
  const direction = range.backwards ? 'desc' : 'asc';
  const { rows } = await database.pool.query<{ id: string }>({
    name: `read_job_ids/${variantOf(conditions)}/${direction}`,
    text: selectJobs(conditions, direction),
    values: jobValues(conditions, range),
  });
  return rows.map(({ id }) => id);
}

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
    text: `with page as (
             select k.position
             from (values ($1::uuid, -1::bigint, ${afterAllPositions}::bigint, $2::int)) as u(job_id, after, before, take)
             cross join lateral (${limited(
               page.failedOnly
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
             (select json_agg(json_build_object('position', position, 'mark', mark) order by position) from marked) as rows`,
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

/** The newest jobs that meet the conditions, the newest first. */
export async function readJobPage(
  database: Queries,
  page: JobConditions & { first: number; withTrees: boolean },
): Promise<MarkedRow[]> {
  const treeMark = page.withTrees
    ? `, case when j.parent_id is null then (
               select concat(count(*), '+', sum(p.version)) from jobtree.job j ${latestProgress} where j.root_id = k.id
             ) end`
    : '';
  const { rows } = await database.pool.query<MarkedRow>({
    name: `read_job_page/${page.withTrees}/${variantOf(page)}`,
    text: `select j.id, concat_ws('/', p.generation, p.item_count, p.succeeded, p.failed, p.cancelled, p.started_at,
             p.completed_at, j.sealed_at, j.cancelled_at, j.waits${treeMark}) as mark
           from (${selectJobs(page, 'desc')}) k
           join jobtree.job j on j.id = k.id
           ${latestProgress}
           order by j.id desc`,
    values: jobValues(page, { take: page.first, backwards: true }),
  });
  return rows;
}
