/** Items that failed for good, grouped by type, code and the pattern of the message. */
import type { Queries } from '../../db/database.ts';
import type { Survey } from '../../db/surveys.ts';
import { InvalidInputError } from '../../errors.ts';
import { type Caller, coversType, type Scope } from '../access/rights.ts';
import { checkInstant } from '../values/checks.ts';
import type { ItemKey } from '../values/ids.ts';
import { namesOf } from '../values/tenants.ts';

export interface DeadLetterGroup {
  readonly id: string;
  readonly type: string;
  readonly code: string;
  readonly pattern: string;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The one that died last. */
  readonly example: ItemKey;
  readonly note: string | null;
  readonly notedAt: Date | null;
}

interface GroupRow extends Omit<DeadLetterGroup, 'example'> {
  readonly job_id: string;
  readonly position: number;
}

const groups = (condition: string, end: string) => `
  select g.fingerprint as id, g.count, g.first_at as "firstAt", g.last_at as "lastAt", e.type, e.code, e.pattern, e.job_id, e.position,
    n.note, n.noted_at as "notedAt"
  from (
    select d.fingerprint, count(*) as count, min(d.died_at) as first_at, max(d.died_at) as last_at
    from jobtree.dead_letter d
    where ${condition}
    group by d.fingerprint
    ${end}
  ) g
  cross join lateral (
    select * from jobtree.dead_letter d where d.fingerprint = g.fingerprint order by d.died_at desc limit 1
  ) e
  left join jobtree.dead_letter_note n on n.fingerprint = g.fingerprint
  order by g.count desc, g.fingerprint`;

function toGroup({ job_id: jobId, position, ...group }: GroupRow): DeadLetterGroup {
  return { ...group, example: { jobId, position } };
}

export interface GroupsWanted {
  readonly types: readonly string[] | null;
  readonly codes: readonly string[] | null;
  /** Only groups after this one. */
  readonly after: string | null;
  readonly first: number;
}

/** The largest groups, the largest first. */
export async function readLargestGroups(
  database: Queries,
  { types, codes, after, first }: GroupsWanted,
): Promise<DeadLetterGroup[]> {
  const values: unknown[] = [first];
  const conditions: string[] = [];
  for (const [column, wanted] of [
    ['type', types],
    ['code', codes],
  ] as const)
    if (wanted !== null) conditions.push(`d.${column} = any ($${values.push(wanted)})`);
  let having = '';
  if (after !== null) {
    const [size] = (await readSizes(database, [after])).values();
    if (size === undefined)
      throw new InvalidInputError(
        'after is a group without dead letters: it was replayed or discarded meanwhile. Query again from the start.',
        'after',
      );
    having = `having (-count(*), d.fingerprint) > (-$${values.push(size)}::bigint, $${values.push(after)}::uuid)`;
  }
  const { rows } = await database.surveys.query<GroupRow>({
    name: `read_largest_groups/${types !== null}/${codes !== null}/${after !== null}`,
    text: groups(
      conditions.join(' and ') || 'true',
      `${having} order by count(*) desc, d.fingerprint limit $1`,
    ),
    values,
  });
  return rows.map(toGroup);
}

async function readSizes(database: Queries, ids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await database.surveys.query<{ id: string; count: number }>({
    name: 'read_sizes_of_groups',
    text: 'select fingerprint as id, count(*) as count from jobtree.dead_letter where fingerprint = any ($1) group by fingerprint',
    values: [ids],
  });
  return new Map(rows.map(({ id, count }) => [id, count]));
}

/** How many items of each group failed for good in each of the last `steps` steps, the oldest first; the last one is not over yet. */
export async function readGroupHistories(
  database: Queries,
  ids: readonly string[],
  { steps, stepMinutes }: { steps: number; stepMinutes: number },
): Promise<DeathCount[][]> {
  const { rows } = await database.surveys.query<{ id: string; from: Date; count: number }>({
    name: 'read_histories_of_groups',
    text: `with grid as (
             select s.start, s.start + s.length as stop
             from (
               select date_bin(w.length, clock_timestamp(), '2000-01-01') - ($2::int - 1 - n) * w.length as start, w.length
               from (select $3::int * interval '1 minute' as length) w cross join generate_series(0, $2::int - 1) n
             ) s
           ), counted as (
             select d.fingerprint, date_bin($3::int * interval '1 minute', d.died_at, '2000-01-01') as start, count(*) as count
             from jobtree.dead_letter d
             where d.fingerprint = any ($1) and d.died_at >= (select min(g.start) from grid g)
             group by 1, 2
           )
           select i.id, g.start as "from", coalesce(c.count, 0) as count
           from unnest($1::uuid[]) i(id) cross join grid g
           left join counted c on c.fingerprint = i.id and c.start = g.start
           order by g.start`,
    values: [ids, steps, stepMinutes],
  });
  const histories = new Map<string, DeathCount[]>(ids.map((id) => [id, []]));
  for (const { id, from, count } of rows) histories.get(id)?.push({ from, count });
  return ids.map((id) => histories.get(id) ?? []);
}

export interface DeathCount {
  readonly from: Date;
  readonly count: number;
}

export interface DigestEntry {
  readonly id: string;
  readonly count: number;
}

/** How many items of each group failed for good since then, for the groups with the most of them, in descending order. */
export async function readDigest(
  database: Queries,
  { since, types, first }: { since: Date; types: readonly string[] | null; first: number },
): Promise<DigestEntry[]> {
  checkInstant(since, 'since');
  const { rows } = await database.surveys.query<DigestEntry>({
    name: `read_digest/${types === null ? 'any' : 'types'}`,
    text: `select fingerprint as id, count(*) as count from jobtree.dead_letter
           where died_at >= $2 ${types === null ? '' : 'and type = any ($3)'}
           group by fingerprint order by count(*) desc, fingerprint limit $1`,
    values: types === null ? [first, since] : [first, since, types],
  });
  return rows;
}

/** The groups with these ids, in any order. A group without dead letters does not exist. */
export async function readGroups(database: Queries, ids: readonly string[]): Promise<DeadLetterGroup[]> {
  const { rows } = await database.pool.query<GroupRow>({
    name: 'read_groups',
    text: groups('d.fingerprint = any ($1)', ''),
    values: [ids],
  });
  return rows.map(toGroup);
}

/**
 * Whether the group exists and the scope covers its type, which is the same for the whole group. The query reads no more of a
 * group outside the scope than of one that does not exist.
 */
export async function coversGroup(
  { pool }: Pick<Queries, 'pool'>,
  scope: Pick<Caller, 'tenant'> & Scope,
  id: string,
): Promise<boolean> {
  const { from, until } = namesOf(scope.tenant);
  const { rows } = await pool.query<{ type: string }>({
    name: 'read_type_of_group',
    text: `select g.type from (select d.type from jobtree.dead_letter d where d.fingerprint = $1 limit 1) g
           where $2::text is null or g.type > $2 and g.type < $3`,
    values: [id, from, until],
  });
  const [group] = rows;
  return group !== undefined && coversType(scope, group.type);
}

/** The group that each of these items is in, in the order of the keys; null for one that is no dead letter. */
export async function readGroupIds(database: Queries, keys: readonly ItemKey[]): Promise<(string | null)[]> {
  const { rows } = await database.pool.query<{ id: string | null }>({
    name: 'read_group_ids',
    text: `select d.fingerprint as id from unnest($1::uuid[], $2::bigint[]) with ordinality as u(job_id, position, n)
           left join lateral (
             select fingerprint from jobtree.dead_letter where job_id = u.job_id and position = u.position limit 1
           ) d on true
           order by u.n`,
    values: [keys.map(({ jobId }) => jobId), keys.map(({ position }) => position)],
  });
  return rows.map(({ id }) => id);
}

/** How many dead letters of a tree are looked at. */
const mostCounted = 10_000;
export const mostTreeGroups = 20;

/** How many of the dead letters of a tree are in a group. */
export type TreeGroup = Pick<DeadLetterGroup, 'id' | 'type' | 'code' | 'pattern' | 'count'>;

export interface TreeDeadLetters {
  readonly groups: readonly TreeGroup[];
  /** Whether there may be more dead letters than these groups count. */
  readonly hasMore: boolean;
}

/**
 * The largest `$3` groups among the first `$2` dead letters of each tree, job by job: no more is read than is counted, whatever the jobs have.
 * `counted` is how many dead letters of the tree were counted, in all groups.
 */
const treeDeadLetters: Survey = {
  name: 'read_tree_dead_letters',
  without: ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'],
  text: `select t.n::integer, g.*
    from unnest($1::uuid[]) with ordinality as t(root_id, n)
    cross join lateral (
      select c.fingerprint as id, c.type, c.code, c.pattern, count(*) as count, (sum(count(*)) over ())::bigint as counted
      from (
        select d.fingerprint, d.type, d.code, d.pattern
        from (select j.id from jobtree.job j where j.root_id = t.root_id order by j.id) j
        cross join lateral (
          select d.fingerprint, d.type, d.code, d.pattern from jobtree.dead_letter d
          where d.job_id = j.id
          order by d.position
          limit $2
        ) d
        limit $2
      ) c
      group by c.fingerprint, c.type, c.code, c.pattern
      order by count(*) desc, c.fingerprint
      limit $3
    ) g
    order by t.n, g.count desc, g.id`,
};

/** The largest groups among the first dead letters of each tree, in the order of the roots. */
export async function readTreeDeadLetters(
  database: Queries,
  rootIds: readonly string[],
): Promise<TreeDeadLetters[]> {
  const { rows } = await database.surveys.query<TreeGroup & { n: number; counted: number }>({
    ...treeDeadLetters,
    values: [rootIds, mostCounted, mostTreeGroups],
  });
  return rootIds.map((_, i) => {
    const ofTree = rows.filter(({ n }) => n === i + 1);
    const groups = ofTree.map(({ n: _n, counted: _counted, ...group }) => group);
    const counted = ofTree[0]?.counted ?? 0;
    const shown = groups.reduce((sum, { count }) => sum + count, 0);
    return { groups, hasMore: counted === mostCounted || shown < counted };
  });
}

/** Items of a group, the newest dead letter first; only those after one of them, if that is given. */
export async function readDeadItems(
  database: Queries,
  { groupId, first, after = null }: { groupId: string; first: number; after?: ItemKey | null },
): Promise<ItemKey[]> {
  const diedAt = after && (await readDeath(database, groupId, after));
  const { rows } = await database.pool.query<{ job_id: string; position: number }>({
    name: `read_dead_items/${after !== null}`,
    text: `select job_id, position from jobtree.dead_letter
           where fingerprint = $1 ${after === null ? '' : 'and died_at <= $3 and (died_at < $3 or (job_id, position) > ($4::uuid, $5::bigint))'}
           order by died_at desc, job_id, position limit $2`,
    values: [groupId, first, ...(after === null ? [] : [diedAt, after.jobId, after.position])],
  });
  return rows.map(({ job_id: jobId, position }) => ({ jobId, position }));
}

/** When an item of the group failed for good. */
async function readDeath(database: Queries, groupId: string, { jobId, position }: ItemKey): Promise<Date> {
  const { rows } = await database.pool.query<{ at: Date }>({
    name: 'read_death',
    text: 'select died_at as at from jobtree.dead_letter where fingerprint = $1 and job_id = $2 and position = $3',
    values: [groupId, jobId, position],
  });
  if (rows[0] === undefined)
    throw new InvalidInputError(
      'after is no dead letter of the group: it was replayed or discarded meanwhile. Query again from the start.',
      'after',
    );
  return rows[0].at;
}
