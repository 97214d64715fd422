/** What workers note about items while they have them: a note and a log, stored with the item. */
import type { Queries } from '../../db/database.ts';
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

/** Returns how many notes counted: those for lost assignments do not. */
export async function noteItems(engine: Engine, notes: readonly AssignmentNote[]): Promise<number> {
  // Of two notes for one assignment, the last one counts.
  const checked = new Map(notes.map((note, i) => check(note, `notes[${i}]`)));
  const all = [...checked.values()];
  const [row] = await engine.database.call<{ note_items: number }>(
    'note_items',
    all.map(({ leaseId }) => leaseId),
    all.map(({ number }) => number),
    all.map(({ note }) => note),
    all.map(({ log }) => log),
  );
  return row?.note_items ?? 0;
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
