/** A file of lines: texts, or JSON. `\r\n` also ends a line, and empty lines are no items. */
import type { Row } from '../domain/files/file-imports.ts';
import { toJsonText } from '../domain/values/checks.ts';
import {
  checkedJson,
  checkUtf8,
  keptBytes,
  rowOr,
  type Split,
  type SplitOptions,
  splitRows,
  tooLong,
} from './rows.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;

export function splitLines(
  pieces: AsyncIterable<Buffer>,
  options: SplitOptions,
): AsyncGenerator<Split, void, undefined> {
  const { maxRowBytes } = options;
  return split(pieces, options, (line, bytes) => {
    const text = bytes.toString();
    return text === '' ? undefined : rowOr(line, bytes, () => toJsonText(text, 'the line', maxRowBytes));
  });
}

export function splitNdjson(
  pieces: AsyncIterable<Buffer>,
  options: SplitOptions,
): AsyncGenerator<Split, void, undefined> {
  const { maxRowBytes } = options;
  return split(pieces, options, (line, bytes) => {
    const text = bytes.toString().trim();
    return text === '' ? undefined : rowOr(line, bytes, () => checkedJson(text, maxRowBytes));
  });
}

/** A small file may unpack to millions of empty lines, which are no items: where those that begin here end, and how many they are. */
export function emptyLines(piece: Buffer, from: number): { end: number; count: number } {
  for (let [end, count] = [from, 0]; ; count++) {
    if (piece[end] === newline) end += 1;
    else if (piece[end] === carriageReturn && piece[end + 1] === newline) end += 2;
    else return { end, count };
  }
}

async function* split(
  pieces: AsyncIterable<Buffer>,
  { place, start, maxRowBytes }: SplitOptions,
  toRow: (line: number, bytes: Buffer) => Row | undefined,
): AsyncGenerator<Split, void, undefined> {
  let position = start;
  let { line } = place;
  /** The parts of a line that continues in the next piece; only the beginning of one that is too long. */
  let rest: Buffer[] = [];
  let restBytes = 0;
  let rows: Row[] = [];
  const pass = (piece: Buffer, from: number) => {
    const { end, count } = emptyLines(piece, from);
    position += end - from;
    line += count;
    return end;
  };
  const endLine = (last: Buffer, lineBytes: number) => {
    const isTooLong = lineBytes > maxRowBytes;
    rest.push(last);
    let bytes = rest.length === 1 ? last : Buffer.concat(rest);
    if (bytes.at(-1) === carriageReturn) bytes = bytes.subarray(0, -1);
    if (!isTooLong) checkUtf8(bytes, line);
    const row = isTooLong ? tooLong(line, bytes, maxRowBytes) : toRow(line, bytes);
    if (row !== undefined) rows.push(row);
    rest = [];
    restBytes = 0;
  };
  try {
    for await (const piece of pieces) {
      let from = restBytes === 0 ? pass(piece, 0) : 0;
      for (let end = piece.indexOf(newline, from); end !== -1; end = piece.indexOf(newline, from)) {
        const lineBytes = restBytes + end - from;
        endLine(piece.subarray(from, end), lineBytes);
        position += lineBytes + 1;
        line++;
        from = pass(piece, end + 1);
        if (rows.length === splitRows) {
          yield { rows, place: { position, line, columns: null } };
          rows = [];
        }
      }
      restBytes += piece.length - from;
      if (restBytes <= maxRowBytes) rest.push(piece.subarray(from));
      // Of a line that is too long, only enough is kept to identify it.
      else rest = [Buffer.concat([...rest, piece.subarray(from)]).subarray(0, keptBytes)];
      yield { rows, place: { position, line, columns: null } };
      rows = [];
    }
    if (restBytes > 0) {
      const lineBytes = restBytes;
      endLine(Buffer.alloc(0), lineBytes);
      yield { rows, place: { position: position + lineBytes, line: line + 1, columns: null } };
    }
  } catch (error) {
    // Keeps the good rows before the error.
    yield { rows, place: { position, line, columns: null } };
    throw error;
  }
}
