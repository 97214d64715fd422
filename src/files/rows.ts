/** What a file is split into: rows, which become items, and lines that can't, which become failed ones. */
import { isUtf8 } from 'node:buffer';
import { toJsonText } from '../domain/checks.ts';
import { FileError, type FilePlace, type Row } from '../domain/file-imports.ts';
import { InvalidInputError } from '../errors.ts';

/** Some rows, and where the next one begins. */
export interface Split {
  readonly rows: readonly Row[];
  readonly place: FilePlace;
}

export interface SplitOptions {
  /** Where the next row begins; at position 0 nothing was read before. */
  readonly place: FilePlace;
  /** Of the first byte of the first piece: at the start of a file behind the byte order mark, else the place. */
  readonly start: number;
  /** The longest line or row, in bytes, and the largest payload. */
  readonly maxRowBytes: number;
}

/** So many rows at a time, in which there may be as many bad lines: each run of those is a statement. */
export const splitRows = 1_000;

/** So much of a bad line is kept, in characters. */
const keptLength = 1_000;
/** In bytes: enough for those characters. */
export const keptBytes = 4 * keptLength;

/** @param bytes of the line, or as much of it as there is */
export function badLine(line: number, bytes: Buffer, problem: string): Row {
  const text = bytes
    .subarray(0, keptBytes)
    .toString()
    .replace(/[\r\n]+$/, '')
    .replaceAll('\0', '\ufffd')
    .slice(0, keptLength);
  const payload = JSON.stringify({ line, text: text.toWellFormed() });
  return { line, payload, problem };
}

/** The row that a function makes, or a bad line with what it throws. */
export function rowOr(line: number, bytes: Buffer, toPayload: () => string): Row {
  try {
    return { line, payload: toPayload() };
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return badLine(line, bytes, error.message);
  }
}

/** JSON as it stands in the file, with all digits, if it can be a payload. */
export function checkedJson(text: string, maxBytes: number): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InvalidInputError(`not JSON: ${(error as Error).message}.`);
  }
  toJsonText(value, 'the value', maxBytes);
  return text;
}

export function tooLong(line: number, head: Buffer, maxBytes: number): Row {
  return badLine(line, head, `it is longer than ${maxBytes} bytes.`);
}

export function checkUtf8(bytes: Buffer, line: number): void {
  if (!isUtf8(bytes))
    throw new FileError('NOT_TEXT', 'it is not UTF-8. If the file is in another encoding, name it.', line);
}
