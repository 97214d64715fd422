/** Splits text into rows, according to its format: files that servers import, and files that the command line reads. */
import { FileError } from '../domain/files/file-errors.ts';
import type { FileOptions } from '../domain/files/file-options.ts';
import { splitCsv } from './csv.ts';
import { splitJsonArray } from './json-array.ts';
import { splitLines, splitNdjson } from './lines.ts';
import type { Split, SplitOptions } from './rows.ts';

/** @param pieces in UTF-8 */
export function split(
  pieces: AsyncIterable<Buffer>,
  file: FileOptions,
  options: SplitOptions,
): AsyncGenerator<Split, void, undefined> {
  switch (file.format) {
    case 'CSV':
      return splitCsv(pieces, { ...options, file });
    case 'NDJSON':
      return splitNdjson(pieces, options);
    case 'JSON_ARRAY':
      return splitJsonArray(pieces, options);
    case 'LINES':
      return splitLines(pieces, options);
    default:
      throw new FileError('BAD_STRUCTURE', `There is no format ${JSON.stringify(file.format)}.`);
  }
}
