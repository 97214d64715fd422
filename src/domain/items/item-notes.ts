/** What workers note about items while they have them: a note and a log, stored with the item. */
import { type Queries, type Statement, unflushed } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkBatch, checkId, checkInstant, checkText } from '../values/checks.ts';
import { type ItemKey, splitAssignmentId } from '../values/ids.ts';
import { maxLogLines, maxNoteLength } from '../values/limits.ts';

export interface LogLine {
  readonly at: Date;
  readonly text: string;
}

export interface AssignmentNote {
  readonly assignmentId: string;
  /** Empty to remove it; null or undefined to keep the present one. */
  readonly note?: string | null | undefined;
  /** All lines of this attempt; null or undefined to keep the present ones. */
  readonly log?: readonly LogLine[] | null | undefined;
}

/** What is kept of an item. */
export interface ItemNote {
  readonly note: string | null;
  readonly log: readonly (LogLine & { readonly attempt: number })[];
}

/**
 * Stores what workers note about the assignments `$1`, `$2`, none twice: a note, which replaces an earlier one and of which an empty one removes
 * it; and a log, with all lines of this attempt. What is null stays as it is. Assignments that are not open, or whose job is cancelled, don't
 * count. Repeating it changes nothing.
 *
 * Locks the leases in the order of their ids, waiting for reports on them and deletions of the tree, and then rows of item_note in the order of
 * their keys.
 */
export const storeNotes: Statement = {
  name: 'note_items',
  // Nothing is read of a lease but what its lock finds: the snapshot may be from before a report that was waited for.
  first: `held as materialized (
      select l.id, l.job_id, l.position, l.open, l.attempt from jobtree.lease l where l.id = any ($1::uuid[]) order by l.id for key share
    ), given as (
      select h.job_id, h.position + u.number - 1 as position, u.note, coalesce((
          select jsonb_agg(e.value || jsonb_build_object('attempt', h.attempt) order by e.n)
          from jsonb_array_elements(u.log) with ordinality e(value, n)
        ), '[]') as log
      from unnest($1, $2::integer[], $3::text[], $4::jsonb[]) u(lease_id, number, note, log)
      join held h on h.id = u.lease_id
      cross join lateral (select j.cancelled_at from jobtree.job j where j.id = h.job_id offset 0) j
      where case when u.number > 0 then get_bit(h.open, u.number - 1) = 1 end and j.cancelled_at is null
    ), noted as (
      insert into jobtree.item_note as n (job_id, position, noted_at, note, log)
      select g.job_id, g.position, clock_timestamp(), g.note, g.log from given g where ${unflushed} order by g.job_id, g.position
      on conflict on constraint item_note_pkey do update
      set noted_at = excluded.noted_at, note = coalesce(excluded.note, n.note), log = (
        select coalesce(jsonb_agg(k.value order by k.n), '[]')
        from (
          select a.value, a.n
          from (
            select e.value, e.n from jsonb_array_elements(n.log) with ordinality e(value, n)
            where excluded.log = '[]' or e.value -> 'attempt' <> excluded.log #> '{0,attempt}'
            union all
            select e.value, 1000 + e.n from jsonb_array_elements(excluded.log) with ordinality e(value, n)
          ) a
          order by a.n desc
          limit ${maxLogLines}
        ) k
      )
      returning n.position
    )`,
  text: 'select count(*)::integer as count from noted',
};

/** Returns how many notes counted: those for lost assignments do not. */
export async function noteItems(engine: Engine, notes: readonly AssignmentNote[]): Promise<number> {
  // Of two notes for one assignment, the last one counts.
  const checked = new Map(notes.map((note, i) => check(note, `notes[${i}]`)));
  const all = [...checked.values()];
  const [row] = await engine.database.call<{ count: number }>(
    storeNotes,
    all.map(({ leaseId }) => leaseId),
    all.map(({ number }) => number),
    all.map(({ note }) => note),
    all.map(({ log }) => log),
  );
  return row?.count ?? 0;
}

export function checkNotes(notes: readonly AssignmentNote[]): void {
  checkBatch(notes.length, 'notes');
}

function check({ assignmentId, note, log }: AssignmentNote, field: string) {
  const id = checkId(assignmentId, 'an assignment', `${field}.assignmentId`);
  if (note != null && note !== '') checkText(note, `${field}.note`, maxNoteLength);
  if (log != null && log.length > maxLogLines)
    throw new InvalidInputError(`${field}.log has more than ${maxLogLines} lines.`, `${field}.log`);
  const lines = log?.map(({ at, text }, i) => ({
    at: checkInstant(at, `${field}.log[${i}].at`).toISOString(),
    text: text === '' ? '' : checkText(text, `${field}.log[${i}].text`, maxNoteLength),
  }));
  const texts = { note: note ?? null, log: lines === undefined ? null : JSON.stringify(lines) };
  return [id, { ...splitAssignmentId(id), ...texts }] as const;
}

interface Row {
  /** Which of the keys, from 1. */
  readonly n: number;
  readonly note: string | null;
  readonly log: readonly { readonly attempt: number; readonly at: string; readonly text: string }[];
}

/** Of each item, in the order of the keys. */
export async function readNotes(database: Queries, keys: readonly ItemKey[]): Promise<ItemNote[]> {
  const { rows } = await database.pool.query<Row>({
    name: 'read_notes',
    text: `select u.n::int, nullif(i.note, '') as note, i.log
           from unnest($1::uuid[], $2::bigint[]) with ordinality as u(job_id, position, n)
           cross join lateral (
             select * from jobtree.item_note where job_id = u.job_id and position = u.position limit 1
           ) i`,
    values: [keys.map(({ jobId }) => jobId), keys.map(({ position }) => position)],
  });
  const notes = keys.map((): ItemNote => ({ note: null, log: [] }));
  for (const { n, note, log } of rows)
    notes[n - 1] = { note, log: log.map((line) => ({ ...line, at: new Date(line.at) })) };
  return notes;
}
