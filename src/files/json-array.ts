/** A file that is one JSON array: each of its elements becomes an item. The file is split by its brackets, and each element is parsed alone. */
import { FileError } from '../domain/files/file-errors.ts';
import type { Row } from '../domain/files/file-imports.ts';
import {
  badLine,
  checkedJson,
  checkUtf8,
  keptBytes,
  rowOr,
  type Split,
  type SplitOptions,
  splitRows,
  tooLong,
} from './rows.ts';

const quote = 0x22;
const comma = 0x2c;
const openingBracket = 0x5b;
const backslash = 0x5c;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
const newline = 0x0a;
const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

export async function* splitJsonArray(
  pieces: AsyncIterable<Buffer>,
  options: SplitOptions,
): AsyncGenerator<Split, void, undefined> {
  const scanner = new ArrayScanner(options);
  for await (const piece of pieces) yield* scanner.scan(piece);
  scanner.end();
}

class ArrayScanner {
  readonly #maxRowBytes: number;
  /** The position of the next byte. */
  #position: number;
  #line: number;
  /** Where the next element begins, after the comma; before the first element, the start of the file, where the array must begin. */
  #place: { position: number; line: number };
  #state: 'BEFORE' | 'WITHIN' | 'BEHIND';
  /** The state within the element: how deep it is nested, whether this is in a string, and whether it follows a backslash. */
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** The line on which the element begins, once any of it has come. */
  #elementLine: number | undefined;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Whether a value must follow, since there was a comma. */
  #isAwaited = false;

  constructor({ place, start, maxRowBytes }: SplitOptions) {
    this.#maxRowBytes = maxRowBytes;
    this.#position = start;
    this.#line = place.line;
    this.#place = { position: place.position, line: place.line };
    this.#state = place.position === 0 ? 'BEFORE' : 'WITHIN';
  }

  *scan(piece: Buffer): Generator<Split, void, undefined> {
    let rows: Row[] = [];
    try {
      let from = 0;
      for (let i = 0; i < piece.length; i++) {
        const byte = piece[i] as number;
        if (byte === newline) this.#line++;
        if (this.#state !== 'WITHIN') {
          if (isSpace(byte)) continue;
          if (this.#state === 'BEHIND') throw this.#bad('something follows the end of the array');
          if (byte !== openingBracket) throw this.#bad('it does not begin with a JSON array');
          this.#state = 'WITHIN';
          from = i + 1;
        } else if (this.#isText) {
          if (this.#isEscaped) this.#isEscaped = false;
          else if (byte === backslash) this.#isEscaped = true;
          else if (byte === quote) this.#isText = false;
        } else if (this.#depth === 0 && (byte === comma || byte === closingBracket)) {
          this.#keep(piece.subarray(from, i));
          const row = this.#take(byte === comma || this.#isAwaited);
          if (row !== undefined) rows.push(row);
          this.#isAwaited = byte === comma;
          if (byte === closingBracket) this.#state = 'BEHIND';
          // Whoever continues from this place sees the end of the array again.
          this.#moveTo(byte === comma ? i + 1 : i);
          from = i + 1;
          if (rows.length === splitRows) {
            yield { rows, place: { ...this.#place, columns: null } };
            rows = [];
          }
        } else if (!isSpace(byte)) {
          this.#elementLine ??= this.#line;
          if (byte === quote) this.#isText = true;
          else if (byte === openingBrace || byte === openingBracket) this.#depth++;
          else if (byte === closingBrace || byte === closingBracket) {
            if (this.#depth === 0) throw this.#bad('a brace is closed that was not opened');
            this.#depth--;
          }
        }
      }
      if (this.#state === 'WITHIN') this.#keep(piece.subarray(from));
      this.#position += piece.length;
      yield { rows, place: { ...this.#place, columns: null } };
    } catch (error) {
      // Keeps the good rows before the error.
      yield { rows, place: { ...this.#place, columns: null } };
      throw error;
    }
  }

  end(): void {
    if (this.#state !== 'BEHIND') throw this.#bad('the JSON array ends early');
  }

  /** @param offset in the current piece */
  #moveTo(offset: number): void {
    this.#place = { position: this.#position + offset, line: this.#line };
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes <= this.#maxRowBytes) this.#parts.push(part);
    // Of an element that is too long, only enough is kept to identify it.
    else this.#parts = [Buffer.concat([...this.#parts, part]).subarray(0, keptBytes)];
  }

  #take(isAwaited: boolean): Row | undefined {
    const bytes = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    const isTooLong = this.#bytes > this.#maxRowBytes;
    const line = this.#elementLine ?? this.#line;
    const isEmpty = this.#elementLine === undefined;
    this.#parts = [];
    this.#bytes = 0;
    this.#elementLine = undefined;
    if (isEmpty) return isAwaited ? badLine(line, bytes, 'a value is missing in the array.') : undefined;
    if (isTooLong) return tooLong(line, bytes, this.#maxRowBytes);
    checkUtf8(bytes, line);
    return rowOr(line, bytes, () => checkedJson(bytes.toString().trim(), this.#maxRowBytes));
  }

  #bad(what: string): FileError {
    return new FileError('BAD_STRUCTURE', `${what}.`, this.#line);
  }
}
