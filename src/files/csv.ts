/**
 * CSV: with a header, each row becomes an object of texts by the names in the header; without one, a list of texts. A row that
 * can't be read is a bad line, and the next row begins on the line after it, even if a quote is never closed, so no rows are
 * swallowed.
 */
import { CsvError, type InfoRecord, type Parser, parse } from 'csv-parse';
import { FileError } from '../domain/files/file-errors.ts';
import type { FilePlace, Row } from '../domain/files/file-imports.ts';
import type { FileOptions } from '../domain/files/file-options.ts';
import { emptyLines } from './lines.ts';
import { badLine, checkUtf8, keptBytes, type Split, type SplitOptions, splitRows } from './rows.ts';

export const maxColumns = 1_000;

const newline = 0x0a;
const nothing = Buffer.alloc(0);

/** A row as the parser returns it. */
interface CsvRecord {
  readonly cells: readonly string[];
  /** How many bytes of the parser's input there are up to the end of the row. */
  readonly end: number;
}

export async function* splitCsv(
  pieces: AsyncIterable<Buffer>,
  options: SplitOptions & { readonly file: FileOptions },
): AsyncGenerator<Split, void, undefined> {
  const splitter = new CsvSplitter(options);
  for await (const piece of pieces) yield* splitter.split(piece, false);
  yield* splitter.split(nothing, true);
}

class CsvSplitter {
  readonly #file: FileOptions;
  readonly #maxRowBytes: number;
  #columns: readonly string[] | null;
  /** The columns as JSON texts with their colons. */
  #keys: readonly string[] = [];
  /** Bytes that have come and belong to no row yet, with the position and line where they begin. */
  #rest: Buffer = nothing;
  #position: number;
  #line: number;
  /** Where the next row begins: before the rest, while a bad line is being skipped. */
  #place: FilePlace;
  #parser: Parser | undefined;
  #records: CsvRecord[] = [];
  /** The position at which the parser began. */
  #parserPosition = 0;
  /** Why the rest begins with a bad line whose end has not come yet, and the beginning of that line. */
  #problem: string | undefined;
  #head: Buffer = nothing;

  constructor({ place, start, maxRowBytes, file }: SplitOptions & { readonly file: FileOptions }) {
    this.#file = file;
    this.#maxRowBytes = maxRowBytes;
    this.#place = place;
    this.#position = start;
    this.#line = place.line;
    this.#columns = place.columns;
    this.#keys = toKeys(place.columns ?? []);
  }

  async *split(piece: Buffer, isLast: boolean): AsyncGenerator<Split, void, undefined> {
    let rows: Row[] = [];
    try {
      if (this.#rest.length === 0 && this.#problem === undefined) {
        // No row is begun, so the parser, which is slow with millions of empty lines, need not see any.
        this.#rest = piece;
        this.#parserPosition += this.#leaveOutEmptyLines();
        piece = this.#rest;
      } else {
        this.#rest = Buffer.concat([this.#rest, piece]);
      }
      let unread = piece;
      for (;;) {
        if (this.#problem !== undefined) {
          if (!this.#endBadLine(rows, isLast)) break;
          unread = this.#rest;
        }
        const error = await this.#parse(unread, isLast);
        for (const record of this.#records.splice(0)) {
          this.#takeRecord(record, rows);
          if (rows.length < splitRows) continue;
          yield { rows, place: this.#place };
          rows = [];
        }
        this.#leaveOutEmptyLines();
        if (error === undefined) break;
        if (!(error instanceof CsvError)) throw error;
        this.#problem = explain(error, this.#maxRowBytes);
        this.#parser = undefined;
      }
      yield { rows, place: this.#place };
    } catch (error) {
      // Keeps the good rows before the error.
      yield { rows, place: this.#place };
      throw error;
    }
  }

  async #parse(bytes: Buffer, isLast: boolean): Promise<Error | undefined> {
    if (this.#parser === undefined) {
      this.#parser = this.#createParser();
      this.#parserPosition = this.#position;
    }
    const parser = this.#parser;
    return new Promise((resolve) => {
      parser.once('error', resolve);
      if (isLast) {
        parser.once('end', () => resolve(undefined));
        parser.resume().end(bytes);
      } else {
        parser.write(bytes, (error) => {
          if (!error) parser.off('error', resolve);
          resolve(error ?? undefined);
        });
      }
    });
  }

  #createParser(): Parser {
    const { delimiter, quote } = this.#file;
    return parse({
      delimiter: delimiter ?? ',',
      quote: quote ?? '"',
      escape: quote ?? '"',
      record_delimiter: ['\n', '\r\n'],
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: this.#maxRowBytes,
      // Takes rows here, so that none waits to be read from the stream. The type of `on_record` knows no other kind of record.
      on_record: ((cells: string[], { bytes }: InfoRecord & { bytes: number }) => {
        this.#records.push({ cells, end: bytes });
        return null;
      }) as unknown as () => string[],
    });
  }

  #takeRecord({ cells, end }: CsvRecord, rows: Row[]): void {
    this.#leaveOutEmptyLines();
    const bytes = this.#moveBy(this.#parserPosition + end - this.#position);
    const line = this.#line;
    this.#line += countLines(bytes);
    checkUtf8(bytes, line);
    if (this.#columns === null && this.#file.header !== false) {
      this.#columns = checkHeader(cells, line);
      this.#keys = toKeys(cells);
    } else {
      rows.push(this.#toRow(cells, bytes, line));
    }
    this.#place = { position: this.#position, line: this.#line, columns: this.#columns };
  }

  #toRow(cells: readonly string[], bytes: Buffer, line: number): Row {
    const width = this.#columns?.length ?? Math.min(cells.length, maxColumns);
    if (cells.length !== width) {
      const expected = this.#columns === null ? `the limit is ${maxColumns}` : `the header has ${width}`;
      return badLine(
        line,
        bytes,
        `the row has ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}, ${expected}.`,
      );
    }
    if (bytes.includes(0))
      return badLine(line, bytes, "it has the character \\u0000, which can't be stored.");
    let payload: string;
    if (this.#columns === null) payload = JSON.stringify(cells);
    else {
      payload = '{';
      for (let i = 0; i < width; i++) payload += (this.#keys[i] as string) + JSON.stringify(cells[i]);
      payload += '}';
    }
    return payload.length * 3 > this.#maxRowBytes && Buffer.byteLength(payload) > this.#maxRowBytes
      ? badLine(line, bytes, `it has more than ${this.#maxRowBytes} bytes as JSON.`)
      : { line, payload };
  }

  /** Skips the bad line with which the rest begins. Returns false if its end has not come yet. */
  #endBadLine(rows: Row[], isLast: boolean): boolean {
    const end = this.#rest.indexOf(newline);
    const part = this.#moveBy(end === -1 ? this.#rest.length : end + 1);
    this.#head = Buffer.concat([this.#head, part.subarray(0, keptBytes)]).subarray(0, keptBytes);
    if (end === -1 && !isLast) return false;
    const problem = this.#problem as string;
    if (this.#columns === null && this.#file.header !== false)
      throw new FileError('BAD_STRUCTURE', `the header can not be read: ${problem}`, this.#line);
    rows.push(badLine(this.#line, this.#head, problem));
    this.#problem = undefined;
    this.#head = nothing;
    this.#line++;
    this.#place = { position: this.#position, line: this.#line, columns: this.#columns };
    return true;
  }

  /** However many empty lines there are, they take no memory. Returns how many bytes they have. */
  #leaveOutEmptyLines(): number {
    const { end, count } = emptyLines(this.#rest, 0);
    this.#line += count;
    return this.#moveBy(end).length;
  }

  /** Moves forward and returns the bytes that leave the rest. */
  #moveBy(bytes: number): Buffer {
    const part = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    this.#position += bytes;
    return part;
  }
}

const toKeys = (columns: readonly string[]) =>
  columns.map((name, i) => `${i === 0 ? '' : ','}${JSON.stringify(name)}:`);

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) lines++;
  return lines;
}

function checkHeader(header: readonly string[], line: number): readonly string[] {
  const refuse = (what: string) => new FileError('BAD_STRUCTURE', what, line);
  if (header.length > maxColumns) {
    throw new FileError(
      'LIMIT_EXCEEDED',
      `the header has ${header.length} columns; the limit is ${maxColumns}.`,
      line,
    );
  }
  const unnamed = header.findIndex((name) => name.trim() === '');
  if (unnamed !== -1) throw refuse(`column ${unnamed + 1} of the header has no name.`);
  const names = new Set<string>();
  for (const name of header) {
    if (names.has(name)) throw refuse(`the header names ${JSON.stringify(name.slice(0, 80))} twice.`);
    if (name.includes('\0')) throw refuse('the header has the character \\u0000.');
    names.add(name);
  }
  return header;
}

function explain({ code }: CsvError, maxRowBytes: number): string {
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'a quote is opened in it and never closed.';
    case 'CSV_MAX_RECORD_SIZE':
      return `it is longer than ${maxRowBytes} bytes, or a quote is opened in it and not closed within as many.`;
    default:
      return 'a quote is misplaced: within a quoted cell it must be doubled, and a cell with a quote must be quoted.';
  }
}
