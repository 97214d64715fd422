/** Items that failed for good, grouped by type, code and the pattern of the message. */
import type { Queries } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import { type Caller, coversType, type Scope } from '../access/rights.ts';
import { checkInstant, checkText } from '../values/checks.ts';
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

const maxNoteLength = 10_000;

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

/** The largest groups, the largest first. */
export async function readLargestGroups(
  database: Queries,
  { types, first }: { types: readonly string[] | null; first: number },
): Promise<DeadLetterGroup[]> {
  const { rows } = await database.surveys.query<GroupRow>({
    name: `read_largest_groups/${types === null ? 'any' : 'types'}`,
    text: groups(
      types === null ? 'true' : 'd.type = any ($2)',
      'order by count(*) desc, d.fingerprint limit $1',
    ),
    values: types === null ? [first] : [first, types],
  });
  return rows.map(toGroup);
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

/**
 * Stores what somebody knows about a group, until it is replaced; null or an empty text removes it. A group of a type that the
 * scope does not cover counts as non-existent.
 */
export async function noteGroup(
  database: Queries,
  scope: Pick<Caller, 'tenant'> & Scope,
  id: string,
  note: string | null,
): Promise<void> {
  if (!(await coversGroup(database, scope, id)))
    throw new NotFoundError(`There are no dead letters in the group ${id}.`, 'groupId');
  if (note === null || note === '') {
    await database.pool.query({
      name: 'remove_note',
      text: 'delete from jobtree.dead_letter_note where fingerprint = $1',
      values: [id],
    });
    return;
  }
  checkText(note, 'note', maxNoteLength);
  await database.pool.query({
    name: 'note_group',
    text: `insert into jobtree.dead_letter_note (fingerprint, note, noted_at) values ($1, $2, clock_timestamp())
           on conflict (fingerprint) do update set note = excluded.note, noted_at = excluded.noted_at`,
    values: [id, note],
  });
}

const pruneBatch = 1_000;

/**
 * Removes notes of groups that have had no dead letters for a month, among the next ones after `from`. Returns where to continue; undefined at
 * the end.
 */
export async function pruneNotes(database: Queries, from?: string): Promise<string | undefined> {
  const [row] = await database.call<{ prune_notes: string | null }>('prune_notes', from ?? null, pruneBatch);
  return row?.prune_notes ?? undefined;
}

/** Items of a group, the newest dead letter first. */
export async function readDeadItems(
  database: Queries,
  { groupId, first }: { groupId: string; first: number },
): Promise<ItemKey[]> {
  const { rows } = await database.pool.query<{ job_id: string; position: number }>({
    name: 'read_dead_items',
    text: `select job_id, position from jobtree.dead_letter where fingerprint = $1 order by died_at desc, job_id, position limit $2`,
    values: [groupId, first],
  });
  return rows.map(({ job_id: jobId, position }) => ({ jobId, position }));
}
