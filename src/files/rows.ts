/** What a file is split into: rows, which become items, and bad lines, which become failed items. */
import { isUtf8 } from 'node:buffer';
import { FileError } from '../domain/files/file-errors.ts';
import type { FilePlace, Row } from '../domain/files/file-imports.ts';
import { toJsonText, unstorable } from '../domain/values/checks.ts';
import { isTextDeeperThan } from '../domain/values/json-text.ts';
import { maxJsonDepth } from '../domain/values/limits.ts';
import { InvalidInputError } from '../errors.ts';

/** Some rows, and where the next one begins. */
export interface Split {
  readonly rows: readonly Row[];
  readonly place: FilePlace;
}

export interface SplitOptions {
  /** Where the next row begins; at position 0 nothing was read before. */
  readonly place: FilePlace;
  /** The position of the first byte of the first piece: after the byte order mark at the start of a file, else that of the place. */
  readonly start: number;
  /** The longest line or row, in bytes, and the largest payload. */
  readonly maxRowBytes: number;
}

/** How many rows are passed on at a time. As many of them may be bad lines, and each run of those takes a statement. */
export const splitRows = 1_000;

/** How much of a bad line is kept, in characters. */
const keptLength = 1_000;
/** The same in bytes: enough for those characters. */
export const keptBytes = 4 * keptLength;

/** @param bytes of the line, or as much of them as was kept */
export function badLine(line: number, bytes: Buffer, problem: string): Row {
  const text = bytes
    .subarray(0, keptBytes)
    .toString()
    .replace(/[\r\n]+$/, '')
    .replaceAll('\0', '\ufffd')
    .slice(0, keptLength);
  const payload = JSON.stringify({ line, text: text.toWellFormed() });
  // V8 quotes what is not JSON: that may have a NUL, or half a character.
  return { line, payload, problem: problem.replaceAll('\0', '\ufffd').toWellFormed() };
}

/** A row with the payload that `toPayload` returns, or a bad line with the error that it throws. */
export function rowOr(line: number, bytes: Buffer, toPayload: () => string): Row {
  try {
    return { line, payload: toPayload() };
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return badLine(line, bytes, error.message);
  }
}

/** The JSON as it is in the file, with all digits, if it can be a payload. */
export function checkedJson(text: string, maxBytes: number): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InvalidInputError(`not JSON: ${(error as Error).message}.`);
  }
  const normalized = toJsonText(value, 'the value', maxBytes);
  // Of a repeated key only the last value was checked, but Postgres would keep all. Escaped backslashes and whole pairs are fine.
  const escapes = text.replace(/\\\\|\\ud[89ab]..\\ud[c-f]../gi, '');
  return unstorable.test(escapes) || isTextDeeperThan(text, maxJsonDepth) ? normalized : text;
}

export function tooLong(line: number, head: Buffer, maxBytes: number): Row {
  return badLine(line, head, `it is longer than ${maxBytes} bytes.`);
}

export function checkUtf8(bytes: Buffer, line: number): void {
  if (!isUtf8(bytes))
    throw new FileError('NOT_TEXT', 'it is not UTF-8. If the file is in another encoding, name it.', line);
}
