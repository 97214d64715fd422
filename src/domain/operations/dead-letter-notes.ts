/** Notes on groups of dead letters: what people know about them. */
import type { Queries, Statement } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import type { Caller, Scope } from '../access/rights.ts';
import { checkText } from '../values/checks.ts';
import { coversGroup } from './dead-letters.ts';

const maxNoteLength = 10_000;

const removeNote: Statement = {
  name: 'remove_note',
  text: 'delete from jobtree.dead_letter_note where fingerprint = $1 returning fingerprint',
};

const putNote: Statement = {
  name: 'put_note',
  text: `insert into jobtree.dead_letter_note (fingerprint, note, noted_at) values ($1, $2, clock_timestamp())
    on conflict (fingerprint) do update set note = excluded.note, noted_at = excluded.noted_at
    returning fingerprint`,
};

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
    await database.call(removeNote, id);
    return;
  }
  checkText(note, 'note', maxNoteLength);
  await database.call(putNote, id, note);
}

const pruneBatch = 1_000;

/** Records since when a group has had no dead letters, and removes its note after 30 days, whenever it was looked at. */
export const pruneSome: Statement = {
  name: 'prune_notes',
  first: `looked as materialized (
    select n.fingerprint from jobtree.dead_letter_note n
    where n.fingerprint > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
    order by n.fingerprint
    limit $2
  ), changed as materialized (
    select n.fingerprint, n.empty_since, f.is_empty
    from jobtree.dead_letter_note n
    cross join lateral (
      select not exists (select from jobtree.dead_letter d where d.fingerprint = n.fingerprint) as is_empty offset 0
    ) f
    where n.fingerprint = any (array(select l.fingerprint from looked l))
      and (f.is_empty <> (n.empty_since is not null) or f.is_empty and n.empty_since < now() - interval '30 days')
    for update of n skip locked
  ), noted as (
    update jobtree.dead_letter_note n set empty_since = case when c.is_empty then clock_timestamp() end
    from changed c
    where n.fingerprint = c.fingerprint and c.is_empty <> (c.empty_since is not null)
  ), gone as (
    delete from jobtree.dead_letter_note n
    using changed c
    where n.fingerprint = c.fingerprint and c.is_empty and c.empty_since is not null
  )`,
  text: `select case when count(*) = $2 then (array_agg(l.fingerprint order by l.fingerprint desc))[1] end as last from looked l`,
};

/**
 * Removes notes of groups that have had no dead letters for a month, among the next ones after `from`. Returns where to continue; undefined at
 * the end.
 */
export async function pruneNotes(database: Queries, from?: string): Promise<string | undefined> {
  const [row] = await database.call<{ last: string | null }>(pruneSome, from ?? null, pruneBatch);
  return row?.last ?? undefined;
}
