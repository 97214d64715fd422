/** A file as rows, each of which becomes an item. Nothing is kept but the row that is being read. */
import { pipeline, Readable } from 'node:stream';
import { CsvError, type InfoRecord, parse } from 'csv-parse';
import { badFile, type Input } from './input.ts';

export const formats = ['csv', 'ndjson', 'lines'] as const;
export type Format = (typeof formats)[number];

export interface Row {
  /** Where it is in the file, from 1. */
  readonly line: number;
  readonly payload: unknown;
  /** The length of its text. */
  readonly size: number;
}

/** What is longer than this is no row but a missing line break or closing quote, and must not fill the memory. */
const longestRow = 16 * 1024 * 1024;

const formatsByExtension: Record<string, Format | 'json'> = {
  csv: 'csv',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  txt: 'lines',
  json: 'json',
};

export function formatOf(file: string): Format | 'json' | undefined {
  const name = file.toLowerCase().replace(/\.(gz|zst)$/, '');
  return formatsByExtension[name.slice(name.lastIndexOf('.') + 1)];
}

export function readRows(input: Input, format: Format, delimiter: string): AsyncIterable<Row> {
  switch (format) {
    case 'csv':
      return csvRows(input, delimiter);
    case 'ndjson':
      return jsonRows(input);
    case 'lines':
      return lines(input);
  }
}

/** Every line that is not empty; `\r\n` ends one too. */
async function* lines(input: Input): AsyncGenerator<Row & { payload: string }, void, undefined> {
  let line = 0;
  let rest = '';
  const toRow = (text: string) => {
    line++;
    const payload = text.endsWith('\r') ? text.slice(0, -1) : text;
    return { line, payload, size: payload.length };
  };
  for await (const text of input.text) {
    const complete = (rest + text).split('\n');
    rest = complete.pop() ?? '';
    for (const each of complete) {
      const row = toRow(each);
      if (row.size > 0) yield row;
    }
    if (rest.length > longestRow)
      throw badFile(input.name, `line ${line + 1}`, 'the line is longer than 16 MB.');
  }
  const last = toRow(rest);
  if (last.size > 0) yield last;
}

async function* jsonRows(input: Input): AsyncGenerator<Row, void, undefined> {
  for await (const { line, payload, size } of lines(input)) {
    if (payload.trim() === '') continue;
    yield { line, payload: parseJson(input, line, payload), size };
  }
}

function parseJson(input: Input, line: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badFile(input.name, `line ${line}`, `not JSON: ${(error as Error).message}.`);
  }
}

/** Each row as an object of texts, by the names in the header. */
async function* csvRows(input: Input, delimiter: string): AsyncGenerator<Row, void, undefined> {
  let linesParsed = 0;
  let columns = 0;
  const toRecord = (cells: string[], { lines }: InfoRecord): CsvRecord => {
    linesParsed = lines;
    columns ||= cells.length;
    return { cells, line: lines - linesWithin(cells) };
  };
  const parser = parse({
    delimiter,
    skip_empty_lines: true,
    max_record_size: longestRow,
    on_record: toRecord as unknown as () => string[], // its type knows no other kind of record
  });
  // An error of the source ends the parser too, whose reader throws it.
  pipeline(Readable.from(input.text), parser, () => {});
  let header: string[] | undefined;
  try {
    for await (const { cells, line } of parser as AsyncIterable<CsvRecord>) {
      if (header === undefined) header = checkHeader(input, cells, line);
      else yield toRow(header, cells, line);
    }
  } catch (error) {
    throw error instanceof CsvError ? explain(input, error, columns, linesParsed + 1) : error;
  }
}

interface CsvRecord {
  readonly cells: string[];
  readonly line: number;
}

function linesWithin(cells: string[]): number {
  let lines = 0;
  for (const cell of cells) if (cell.includes('\n')) lines += cell.split('\n').length - 1;
  return lines;
}

function toRow(header: string[], cells: string[], line: number): Row {
  let size = 0;
  for (const cell of cells) size += cell.length;
  return { line, payload: Object.fromEntries(header.map((name, i) => [name, cells[i]])), size };
}

function checkHeader(input: Input, header: string[], line: number): string[] {
  const where = `line ${line}`;
  const unnamed = header.findIndex((name) => name.trim() === '');
  if (unnamed !== -1) throw badFile(input.name, where, `column ${unnamed + 1} of the header has no name.`);
  const repeated = header.find((name, i) => header.indexOf(name) !== i);
  if (repeated !== undefined) throw badFile(input.name, where, `the header names "${repeated}" twice.`);
  return header;
}

/** The parser names the line where it gave up; with quotes, the line where the row begins is where a person has to look. */
function explain(input: Input, error: CsvError, columns: number, rowStart: number): Error {
  switch (error.code) {
    case 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH': {
      const cells = (error.record as string[]).length;
      return badFile(input.name, `line ${error.lines}`, `the row has ${cells} cells, the header ${columns}.`);
    }
    case 'CSV_QUOTE_NOT_CLOSED':
    case 'CSV_MAX_RECORD_SIZE':
      return badFile(input.name, `line ${rowStart}`, 'a quote is opened in this row and never closed.');
    default:
      return badFile(
        input.name,
        `line ${rowStart}`,
        `a quote stands at line ${error.lines} where none may: within a quoted cell it has to be doubled.`,
      );
  }
}
