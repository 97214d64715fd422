/** Looks at the first rows of a file before its job exists, so that a wrong format or schema is refused at once. */
import type { Engine } from '../domain/engine/engine.ts';
import { FileError } from '../domain/uploads/file-errors.ts';
import type { FilePlace, Row } from '../domain/uploads/file-imports.ts';
import { checkFile, type NewFile } from '../domain/uploads/file-options.ts';
import type { Uploads } from '../domain/uploads/uploads.ts';
import { InvalidInputError } from '../errors.ts';
import { StoreError } from '../object-store/store-error.ts';
import { checkRows } from './check-rows.ts';
import { split } from './split.ts';
import { openText } from './text.ts';

/** A file of which none of so many rows is good has another format or type than its job. */
const mostRows = 10;
/** In bytes; what has fewer rows within these is left to the import. */
const mostText = 1_000_000;

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
  const rows = await firstRows(engine, uploads, checkFile(file, field)).catch((error) => {
    if (error instanceof FileError || error instanceof StoreError) return [];
    throw error;
  });
  const checked = await checkRows(engine, type, rows);
  const [first] = checked;
  if (first === undefined || checked.some(({ problem }) => problem === undefined)) return;
  const which = checked.length === 1 ? 'The only row is bad' : `The first ${checked.length} rows are all bad`;
  throw new InvalidInputError(`${field}: ${which}. Line ${first.line}: ${first.problem}`, field);
}

async function firstRows(engine: Engine, uploads: Uploads, file: NewFile): Promise<readonly Row[]> {
  const { source, ...options } = file;
  const upload = await uploads.find(source.uploadId);
  if (upload === undefined || upload.sha256 === null) return [];
  const read = (from: number) => uploads.read(upload.id, from);
  const place: FilePlace = { position: 0, line: 1, columns: null };
  const encoding = options.encoding ?? undefined;
  const text = await openText({ size: upload.size, read }, { encoding, from: 0, maxBytes: mostText });
  const { maxJsonBytes: maxRowBytes } = engine.limits;
  const found: Row[] = [];
  try {
    for await (const { rows } of split(text.pieces, options, { place, start: text.position, maxRowBytes })) {
      found.push(...rows.slice(0, mostRows - found.length));
      if (found.length === mostRows) break;
    }
  } finally {
    await text.pieces.return();
  }
  return found;
}
