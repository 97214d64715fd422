/** Looks at the first rows of a file before its job exists: for people, and so that a wrong format or schema is refused at once. */
import type { Engine } from '../domain/engine/engine.ts';
import { FileError } from '../domain/files/file-errors.ts';
import type { FilePlace, Row } from '../domain/files/file-imports.ts';
import { checkFile, type FileOptions, type NewFile } from '../domain/files/file-options.ts';
import type { Upload } from '../domain/files/read-uploads.ts';
import type { Uploads } from '../domain/files/uploads.ts';
import { InvalidInputError } from '../errors.ts';
import { StoreError } from '../object-store/store-error.ts';
import { checkRows } from './check-rows.ts';
import { type Guess, guessFormat } from './guess-format.ts';
import { checkUtf8 } from './rows.ts';
import { split } from './split.ts';
import { openText, type Text } from './text.ts';

/** A file of which none of so many rows is good has another format or type than its job. */
const mostRows = 10;
/** How many rows people are shown. */
export const previewRows = 20;
/** In bytes; what has fewer rows within these is left to the import. */
const mostText = 1_000_000;
/** Tried if a text is not UTF-8: every text can be read in it. */
const otherEncoding = 'windows-1252';
const newline = 0x0a;

/**
 * Returns without a word if a row is good, or if the beginning can't be read: the import says why.
 *
 * @throws InvalidInputError if none of the first rows can become an item that a worker gets, or if the options of the file are wrong
 */
export async function checkFirstRows(
  engine: Engine,
  uploads: Uploads,
  { type, file, field }: { readonly type: string; readonly file: NewFile; readonly field: string },
): Promise<void> {
  const { source, ...options } = checkFile(file, field);
  const upload = await uploads.find(source.uploadId);
  if (upload === undefined || upload.sha256 === null) return;
  const rows = await firstRows(engine, uploads, upload, options, mostRows).catch((error) => {
    if (error instanceof FileError || error instanceof StoreError) return [];
    throw error;
  });
  const checked = await checkRows(engine, type, rows);
  const [first] = checked;
  if (first === undefined || checked.some(({ problem }) => problem === undefined)) return;
  const which = checked.length === 1 ? 'The only row is bad' : `The first ${checked.length} rows are all bad`;
  throw new InvalidInputError(`${field}: ${which}. Line ${first.line}: ${first.problem}`, field);
}

/** What a file would become. */
export interface FilePreview extends FileOptions {
  readonly rows: readonly Row[];
  /** Why it can't be read, from the start or any further. */
  readonly problem: string | null;
}

/**
 * The first rows, read as the options say; what they leave open is guessed. With a type, its schema is checked as well.
 *
 * @throws InvalidInputError if the options are wrong; StoreError if the object store does not return the upload
 */
export async function previewFile(
  engine: Engine,
  uploads: Uploads,
  upload: Upload,
  given: Partial<FileOptions>,
  type: string | null,
): Promise<FilePreview> {
  const source = { uploadId: upload.id };
  const isCsv = given.delimiter != null || given.quote != null || given.header != null;
  const said = given.format ?? (isCsv ? 'CSV' : undefined);
  checkFile({ ...given, format: said ?? 'LINES', source }, 'file');
  let encoding = given.encoding ?? undefined;
  let guess: Guess = { format: 'LINES' };
  try {
    try {
      guess = guessFormat(await beginningOf(uploads, upload, encoding));
    } catch (error) {
      if (!(error instanceof FileError && error.code === 'NOT_TEXT') || encoding !== undefined) throw error;
      encoding = otherEncoding;
      guess = guessFormat(await beginningOf(uploads, upload, encoding));
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { ...given, format: said ?? guess.format, encoding, rows: [], problem: error.message };
  }
  const format = said ?? guess.format;
  const delimiter = given.delimiter ?? (format === guess.format ? guess.delimiter : undefined);
  const file = { ...given, format, encoding, delimiter, source };
  const { source: _, ...options } = checkFile(file, 'file');
  try {
    const rows = await firstRows(engine, uploads, upload, options, previewRows);
    return { ...options, rows: type === null ? rows : await checkRows(engine, type, rows), problem: null };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { ...options, rows: [], problem: error.message };
  }
}

const opened = (uploads: Uploads, { id, size }: Upload, encoding: string | undefined): Promise<Text> =>
  openText({ size, read: (from) => uploads.read(id, from) }, { encoding, from: 0, maxBytes: mostText });

/** Some text from the start. @throws FileError if it is none */
async function beginningOf(uploads: Uploads, upload: Upload, encoding: string | undefined): Promise<Buffer> {
  const { pieces } = await opened(uploads, upload, encoding);
  try {
    for await (const piece of pieces) {
      if (piece.length === 0) continue;
      // A character may continue in the next piece.
      const end = upload.size === piece.length ? piece.length : piece.lastIndexOf(newline) + 1;
      checkUtf8(piece.subarray(0, end), 1);
      return piece;
    }
    return Buffer.alloc(0);
  } finally {
    await pieces.return();
  }
}

async function firstRows(
  engine: Engine,
  uploads: Uploads,
  upload: Upload,
  options: FileOptions,
  most: number,
): Promise<readonly Row[]> {
  const place: FilePlace = { position: 0, line: 1, columns: null };
  const text = await opened(uploads, upload, options.encoding ?? undefined);
  const { maxJsonBytes: maxRowBytes } = engine.limits;
  const found: Row[] = [];
  try {
    for await (const { rows } of split(text.pieces, options, { place, start: text.position, maxRowBytes })) {
      found.push(...rows.slice(0, most - found.length));
      if (found.length === most) break;
    }
  } catch (error) {
    // Fewer rows fit into what is read.
    if (!(error instanceof FileError && error.code === 'LIMIT_EXCEEDED') || found.length === 0) throw error;
  } finally {
    await text.pieces.return();
  }
  return found;
}
