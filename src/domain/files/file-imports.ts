/**
 * Uploads that become the items of jobs: how far each is. `lease-imports.ts` says which server imports it, `files/` reads it, and
 * `server/loops/importer.ts` runs the imports.
 */
import type { Queries, Statement } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { joinTexts } from '../values/json-text.ts';
import { firstUuid, lastUuid, type Range } from '../values/range.ts';
import type { FileErrorCode } from './file-errors.ts';
import type { FileFormat, FileOptions } from './file-options.ts';

/** An import that this server is working on. */
export interface LeasedImport {
  readonly jobId: string;
  readonly leaseId: string;
  readonly uploadId: string;
  readonly options: FileOptions;
  /** The size of the upload in bytes. */
  readonly size: number;
  /** How often a server has started it since it last made progress; 1 at first. */
  readonly attempts: number;
  readonly place: FilePlace;
  /** The type of the job. */
  readonly type: string;
  /** Its tenant; null for none. */
  readonly tenant: string | null;
}

/** Where the next item begins. */
export interface FilePlace {
  /** The position of its first byte in the text, decompressed and in UTF-8. */
  readonly position: number;
  readonly line: number;
  /** For a CSV file with a header: the names of the columns. */
  readonly columns: readonly string[] | null;
}

/** A line that becomes an item, or can't become one. */
export interface Row {
  /** From 1. */
  readonly line: number;
  /** JSON text. */
  readonly payload: string;
  /** What is wrong with the line, which then becomes a failed item. */
  readonly problem?: string | undefined;
  /** The code of the failure. Without it, BAD_LINE: the line can't be read. */
  readonly code?: 'INVALID_PAYLOAD' | undefined;
}

/** In milliseconds, longer than a working server is ever silent. */
export const importLeaseMs = 10_000;

export interface ImportNote {
  readonly rows: readonly Row[];
  /** Where reading continues after these rows. */
  readonly place: FilePlace;
  readonly bytesRead: number;
  /** KEEP: more follows. GIVE_BACK: another server may continue. DONE: the end of the file; the job is sealed. */
  readonly next: 'KEEP' | 'GIVE_BACK' | 'DONE';
}

/** Adds the rows and notes the progress. LOST: another server has taken over. SEALED: the job takes no more items. */
export async function recordImport(
  engine: Engine,
  { jobId, leaseId }: LeasedImport,
  { rows, place, bytesRead, next }: ImportNote,
): Promise<'NOTED' | 'LOST' | 'SEALED'> {
  const bad: number[] = [];
  const codes: string[] = [];
  const problems: string[] = [];
  for (const [i, { line, problem, code }] of rows.entries()) {
    if (problem === undefined) continue;
    bad.push(i + 1);
    codes.push(code ?? 'BAD_LINE');
    problems.push(`Line ${line}: ${problem}`);
  }
  const [row] = await engine.database.call<{
    status: 'NOTED' | 'LOST' | 'SEALED';
    root_id: string;
    type: string;
  }>(
    'note_import',
    jobId,
    leaseId,
    rows.length === 0 ? null : joinTexts(rows.map(({ payload }) => payload)),
    bad,
    codes,
    problems,
    place.position,
    place.line,
    place.columns === null ? null : JSON.stringify(place.columns),
    bytesRead,
    next === 'DONE',
    next === 'KEEP' ? importLeaseMs : null,
  );
  if (row === undefined) throw new Error('note_import returned no row');
  if (row.status === 'NOTED') {
    if (rows.length > 0 || next === 'DONE') engine.effects.touched(row.root_id);
    if (rows.length > bad.length) engine.effects.ready(new Map([[row.type, rows.length - bad.length]]));
  }
  return row.status;
}

/** Ends the import, then fails the job, which takes no more items; cancel_items does the rest. No row if another server has the import. */
const failOne: Statement = {
  name: 'fail_import',
  first: `ended as (
    update jobtree.file_import f
    set finished_at = clock_timestamp(), lease_id = null, leased_until = null, error_code = $3, error_message = $4,
      bytes_read = greatest(f.bytes_read, $5)
    where f.job_id = $1 and f.lease_id = $2
    returning f.job_id
  ), failed as (
    update jobtree.job j
    set failed_at = n.at, cancelled_at = n.at, cancel_reason = 'FAILURES', cancelling = true, waits = false, sealed_at = n.at
    from ended e
    cross join (select clock_timestamp()::timestamptz(3) as at) n
    where j.id = e.job_id and j.sealed_at is null
    returning j.root_id, j.id
  ), counted as (
    insert into jobtree.progress_delta (root_id, job_id) select f.root_id, f.id from failed f
  )`,
  text: 'select j.root_id from ended e join jobtree.job j on j.id = e.job_id',
};

export async function failImport(
  engine: Engine,
  { jobId, leaseId }: LeasedImport,
  { code, message }: { code: FileErrorCode; message: string },
  bytesRead: number,
): Promise<void> {
  const [row] = await engine.database.call<{ root_id: string }>(
    failOne,
    jobId,
    leaseId,
    code,
    message.slice(0, 1_000),
    bytesRead,
  );
  if (row === undefined) return;
  engine.effects.touched(row.root_id);
  engine.effects.unfinished();
}

/** How long an import waits for the store of its upload before it fails: long enough for restarts, repairs and corrected settings. */
const storePatienceMs = 3_600_000;

/**
 * The import is due again after as long as the store has been away, at least a second and at most a minute. note_import resets this once the
 * import makes progress. Returns a row if the store has been away for longer than `$5` milliseconds.
 */
const postponeOne: Statement = {
  name: 'postpone_import',
  first: `away as (
    select f.job_id, coalesce(f.store_away_at, now()) as since, now() - f.store_away_at > $5 * interval '1 millisecond' as is_over
    from jobtree.file_import f where f.job_id = $1 and f.lease_id = $2
    for update
  ), back as (
    update jobtree.file_import f
    set store_away_at = a.since, error_code = $3, error_message = $4, attempts = 0, lease_id = null,
      leased_until = now() + least(greatest(now() - a.since, interval '1 second'), interval '1 minute')
    from away a where f.job_id = a.job_id and a.is_over is not true
  )`,
  text: 'select a.job_id from away a where a.is_over',
};

/** Gives the import back, to be tried again later. Returns false if it has waited for long enough. */
export async function postponeImport(
  engine: Engine,
  { jobId, leaseId }: LeasedImport,
  { code, message }: { code: FileErrorCode; message: string },
): Promise<boolean> {
  const [over] = await engine.database.call(postponeOne, jobId, leaseId, code, message, storePatienceMs);
  return over === undefined;
}

export type FileImportStatus = 'WAITING' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

export interface FileImport {
  readonly jobId: string;
  readonly uploadId: string;
  /** Of the file; null if its sender gave none, or the upload is gone. */
  readonly name: string | null;
  readonly format: FileFormat;
  readonly size: number;
  readonly bytesRead: number;
  readonly items: number;
  readonly badLines: number;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly errorCode: FileErrorCode | null;
  readonly errorMessage: string | null;
}

export function fileImportStatus({ startedAt, finishedAt, errorCode }: FileImport): FileImportStatus {
  if (finishedAt === null) return startedAt === null || errorCode !== null ? 'WAITING' : 'RUNNING';
  if (errorCode === null) return 'COMPLETED';
  return errorCode === 'JOB_SEALED' ? 'CANCELLED' : 'FAILED';
}

/** The imports of these jobs; not every job has one. */
export async function readFileImports(database: Queries, jobIds: readonly string[]): Promise<FileImport[]> {
  const { rows } = await database.pool.query<FileImport>({
    name: 'read_file_imports',
    text: `select f.job_id as "jobId", f.upload_id as "uploadId", u.name, f.options ->> 'format' as format, f.size,
             f.bytes_read as "bytesRead", f.items, f.bad_lines as "badLines", f.started_at as "startedAt", f.finished_at as "finishedAt",
             f.error_code as "errorCode", f.error_message as "errorMessage"
           from jobtree.file_import f left join jobtree.upload u on u.id = f.upload_id
           where f.job_id = any ($1)`,
    values: [jobIds],
  });
  return rows;
}

/** Which of these uploads a job has for its file, whether or not its import has ended. */
export async function readImportedUploads(
  { pool }: Pick<Queries, 'pool'>,
  uploadIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'read_imported_uploads',
    text: `select u.id from unnest($1::uuid[]) u(id)
           where exists (select from jobtree.file_import f where f.upload_id = u.id)`,
    values: [uploadIds],
  });
  return new Set(rows.map(({ id }) => id));
}

/** The ids of jobs with a file, of these types unless that is null: the oldest first, or the newest first for a page from the end. */
export async function readImportedJobs(
  database: Queries,
  types: readonly string[] | null,
  { after = firstUuid, before = lastUuid, take, backwards }: Range<string>,
): Promise<string[]> {
  const direction = backwards ? 'desc' : 'asc';
  const end = `f.job_id > $1 and f.job_id < $2 order by f.job_id ${direction} limit $3`;
  const all = `select f.job_id as id from jobtree.file_import f where ${end}`;
  const ofTypes = `select k.id from unnest($4::text[]) s(type) cross join lateral (
      select f.job_id as id from jobtree.file_import f where f.type = s.type and ${end}
    ) k order by k.id ${direction} limit $3`;
  const { rows } = await database.pool.query<{ id: string }>({
    name: `read_imported_jobs/${types === null}/${direction}`,
    text: types === null ? all : ofTypes,
    values: [after, before, take, ...(types === null ? [] : [types])],
  });
  return rows.map(({ id }) => id);
}
