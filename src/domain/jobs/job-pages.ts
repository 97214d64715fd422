/**
 * Lists of jobs: the ids between two others that meet conditions, in order; the same by what they have come to; and how many there are. However many
 * jobs there are and however few of them match, each looks at a bounded number.
 */
import { hash } from 'node:crypto';
import type { Queries } from '../../db/database.ts';
import { latestProgress } from '../progress/progress.ts';
import { firstUuid, lastUuid, type Range } from '../values/range.ts';
import {
  type Direction,
  type JobConditions,
  Parameters,
  restOf,
  type Source,
  sourcesOf,
  statesOf,
} from './job-conditions.ts';

/** How many jobs a page looks at if an index does not find those that match. */
const mostLookedAt = 5_000;
/** How many jobs are put in an order that no index has. */
export const mostRanked = 10_000;
/** How many jobs are counted, in all and of each type. */
const mostCounted = { all: 250_000, each: 25_000 };

export interface JobPage {
  readonly ids: string[];
  /** The last job that was looked at, if the list goes on after it although the page is not full. */
  readonly end: string | null;
}

/** Bounds of ids, both exclusive. */
interface Bounds {
  readonly after: string;
  readonly before: string;
}

/** The least id that a job which is created then may have. */
function idAt(instant: Date): string {
  const hex = instant.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** When the job with this id was created. */
export function createdAt(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** Null if no job can be within them. */
function boundsOf(
  conditions: JobConditions,
  { after = firstUuid, before = lastUuid }: Pick<Range<string>, 'after' | 'before'>,
): Bounds | null {
  const { types, createdFrom, createdUntil } = conditions;
  const first = createdFrom == null ? firstUuid : idAt(createdFrom);
  const last = createdUntil == null ? lastUuid : idAt(createdUntil);
  const bounds = { after: after > first ? after : first, before: before < last ? before : last };
  const isEmpty = types?.length === 0 || statesOf(conditions)?.length === 0 || bounds.after >= bounds.before;
  return isEmpty ? null : bounds;
}

/**
 * What a source gives within the bounds, up to so many of each stream; where it ends, unless it gives everything: every job before that is among
 * them; and those of them that meet the conditions, as `s`, in order.
 */
function scan(
  conditions: JobConditions,
  source: Source,
  bounds: Bounds,
  { most, total, direction }: { most: number; total?: number; direction: Direction },
) {
  const parameters = new Parameters();
  const [after, before] = [`${parameters.add(bounds.after)}::uuid`, `${parameters.add(bounds.before)}::uuid`];
  const limit = `${parameters.add(most)}::bigint`;
  const scanned = source.text(parameters, { after, before, direction, most: limit });
  const rest = restOf(conditions, source, parameters);
  const isBefore = direction === 'asc' ? '<=' : '>=';
  const within =
    source.isUnordered === true
      ? `n.id > ${after} and n.id < ${before}`
      : `coalesce(n.id ${isBefore} (select e.id from edge e), true)`;
  return {
    parameters,
    isExact: rest.conditions === '',
    tables: `with scanned as materialized (${scanned}${total === undefined ? '' : ` limit ${total}`}),
           edge as materialized (select n.id from scanned n where n.n = ${limit} order by n.id ${direction} limit 1)`,
    found: (more = '') => `(select n.id from scanned n where ${within} order by n.id ${direction} offset 0) s
             ${rest.joins} ${more} where ${rest.conditions || 'true'}`,
  };
}

/** The ids of the jobs that meet the conditions, the oldest first; the newest first for a page from the end. */
export async function readJobIds(
  database: Queries,
  conditions: JobConditions,
  range: Range<string>,
  looksAt = mostLookedAt,
): Promise<JobPage> {
  const bounds = boundsOf(conditions, range);
  let most: JobPage = { ids: [], end: null };
  if (bounds === null || range.take === 0) return most;
  const { base, sources } = sourcesOf(conditions);
  for (const source of sources) {
    const page = await readFrom(database, conditions, source, bounds, range, looksAt);
    if (page.end === null) return page;
    if (source === base) most = page;
  }
  return most;
}

async function readFrom(
  { pool }: Queries,
  conditions: JobConditions,
  source: Source,
  bounds: Bounds,
  { take, backwards }: Range<string>,
  looksAt: number,
): Promise<JobPage> {
  const direction = backwards ? 'desc' : 'asc';
  const isUnordered = source.isUnordered === true;
  const rest = restOf(conditions, source, new Parameters()).conditions;
  const isExact = rest === '' && !isUnordered;
  const most = isExact ? take : Math.max(take, Math.ceil(looksAt / source.streams));
  const { parameters, tables, found } = scan(conditions, source, bounds, { most, direction });
  const limit = parameters.add(take);
  const text = `${tables}, matched as materialized (select s.id from ${found()} order by s.id ${direction} limit ${limit})
           select m.id, false as ends from matched m
           union all
           select e.id, true from edge e${isUnordered ? '' : ` where (select count(*) from matched) < ${limit}`}`;
  const { rows } = await pool.query<{ id: string; ends: boolean }>({
    // Others are too many to be kept prepared.
    ...(isExact && { name: `read_job_ids/${hash('md5', text)}` }),
    text,
    values: parameters.values,
  });
  const ids = rows.flatMap(({ id, ends }) => (ends ? [] : id)).sort();
  if (backwards) ids.reverse();
  return { ids, end: rows.find(({ ends }) => ends)?.id ?? null };
}

/** What trees are put in order by: those that have it, by their roots. */
export type Rank = 'FAILURES' | 'PROGRESS';

export interface RankedJob {
  readonly id: string;
  /** How many items failed, or which part of all items has an outcome. */
  readonly value: number;
}

const values: Readonly<Record<Rank, string>> = {
  FAILURES: 'select p.tree_failed::float8 as value from (select s.id) j',
  PROGRESS: `select (sum(p.succeeded + p.failed + p.cancelled) / greatest(sum(p.item_count), 1))::float8 as value
                   from (select t.id from jobtree.job t where t.root_id = s.id offset 0) j`,
};

/** Only trees that have failures; only trees that are not complete. */
function ofRank(rank: Rank, conditions: JobConditions): JobConditions | null {
  if (rank === 'FAILURES')
    return conditions.hasFailures === false ? null : { ...conditions, hasFailures: true };
  const open = (['WAITING', 'RUNNING'] as const).filter(
    (status) => conditions.statuses?.includes(status) ?? true,
  );
  return { ...conditions, statuses: open };
}

/** Trees by rank, the lowest first; the highest first for a page from the end. Undefined if too many would have to be put in order. */
export async function readRankedJobs(
  { surveys }: Queries,
  rank: Rank,
  given: JobConditions,
  range: Range<RankedJob>,
  most = mostRanked,
): Promise<RankedJob[] | undefined> {
  const { after = { value: -1, id: firstUuid }, before = { value: Infinity, id: lastUuid } } = range;
  const direction = range.backwards ? 'desc' : 'asc';
  const conditions = ofRank(rank, given);
  const bounds = conditions && boundsOf(conditions, {});
  if (conditions === null || bounds === null || range.take === 0) return [];
  for (const source of sourcesOf(conditions).sources) {
    const { parameters, tables, found } = scan(conditions, source, bounds, {
      most: most + 1,
      total: most + 1,
      direction: 'desc',
    });
    const [from, until] = [after, before].map(
      ({ value, id }) => `(${parameters.add(value)}::float8, ${parameters.add(id)}::uuid)`,
    );
    const { rows } = await surveys.query<RankedJob & { all: number }>({
      text: `${tables}, ranked as materialized (
               select s.id, v.value from ${found(`cross join lateral (${values[rank]} ${latestProgress}) v`)}
                 and (select count(*) from scanned) <= ${parameters.add(most)}
             )
             (select r.id, r.value, 0 as all from ranked r where (r.value, r.id) > ${from} and (r.value, r.id) < ${until}
              order by r.value ${direction}, r.id ${direction} limit ${parameters.add(range.take)})
             union all
             select null, null, count(*) from scanned`,
      values: parameters.values,
    });
    if (rows.some(({ all }) => all > most)) continue;
    const ranked = rows.filter(({ id }) => id !== null).map(({ id, value }) => ({ id, value }));
    ranked.sort((a, b) => a.value - b.value || (a.id < b.id ? -1 : 1));
    return range.backwards ? ranked.reverse() : ranked;
  }
  return undefined;
}

export interface JobCount {
  readonly count: number;
  /** Only jobs that were created from then on were counted; null if all were. */
  readonly since: Date | null;
  readonly buckets: readonly { readonly from: Date; readonly until: Date; readonly count: number }[];
}

/** How many jobs meet the conditions, and how many of them were created in each of up to so many parts of the time in which they may have been. */
export async function countJobs(
  database: Queries,
  conditions: JobConditions,
  parts: number,
  most = mostCounted,
): Promise<JobCount> {
  const none = { count: 0, since: null, buckets: [] };
  const bounds = boundsOf(conditions, {});
  if (bounds === null) return none;
  const starts = parts === 0 ? [] : await startsOf(database, conditions, parts);
  let counted: JobCount = none;
  const { base, sources } = sourcesOf(conditions);
  for (const source of sources) {
    const found = await countFrom(database, conditions, source, bounds, starts, most);
    if (found.since === null) return found;
    if (source === base) counted = found;
  }
  return counted;
}

/** Where equal parts of the time from the first to the last job begin, and where the last one ends. */
async function startsOf(database: Queries, conditions: JobConditions, parts: number): Promise<Date[]> {
  const { types, rootsOnly, createdFrom, createdUntil } = conditions;
  const all = { types, rootsOnly, createdFrom, createdUntil } as JobConditions;
  const [{ ids: first }, { ids: last }] = await Promise.all(
    [false, true].map((backwards) => readJobIds(database, all, { take: 1, backwards })) as [
      Promise<JobPage>,
      Promise<JobPage>,
    ],
  );
  if (first[0] === undefined || last[0] === undefined) return [];
  const from = (createdFrom ?? createdAt(first[0])).getTime();
  const until = createdUntil?.getTime() ?? createdAt(last[0]).getTime() + 1;
  const step = Math.max(1, Math.ceil((until - from) / parts));
  const count = Math.ceil((until - from) / step);
  return Array.from({ length: count + 1 }, (_, i) => new Date(Math.min(from + i * step, until)));
}

async function countFrom(
  { surveys }: Queries,
  conditions: JobConditions,
  source: Source,
  bounds: Bounds,
  starts: readonly Date[],
  { all, each }: typeof mostCounted,
): Promise<JobCount> {
  const { parameters, tables, found } = scan(conditions, source, bounds, {
    most: Math.max(each, Math.ceil(all / source.streams)),
    direction: 'desc',
  });
  const ids = parameters.add(starts.length === 0 ? [firstUuid] : starts.slice(0, -1).map(idAt));
  const { rows } = await surveys.query<{ edge: string | null; counts: Record<string, number> | null }>({
    text: `${tables}
           select (select e.id from edge e) as edge, (
             select json_object_agg(c.bucket, c.count) from (
               select width_bucket(s.id, ${ids}::uuid[]) as bucket, count(*) as count from ${found()} group by 1
             ) c
           ) as counts`,
    values: parameters.values,
  });
  const [{ edge, counts } = { edge: null, counts: null }] = rows;
  const counted = counts ?? {};
  return {
    count: Object.values(counted).reduce((sum, count) => sum + count, 0),
    since: edge === null ? null : createdAt(edge),
    buckets: starts.slice(0, -1).map((from, i) => ({
      from,
      until: starts[i + 1] as Date,
      // Those of the first millisecond, and those that came meanwhile, are in the outer ones.
      count: counted[i + 1] ?? 0,
    })),
  };
}
