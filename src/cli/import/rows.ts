/** A file as rows, each of which becomes an item: split as servers split those that are uploaded. Nothing is kept but some rows. */
import { FileError } from '../../domain/files/file-errors.ts';
import type { FileFormat } from '../../domain/files/file-options.ts';
import { split } from '../../files/split.ts';
import { fromJson } from '../exact-json.ts';
import { badFile, type Input } from './input.ts';

export const formats = ['csv', 'ndjson', 'lines'] as const;
export type Format = (typeof formats)[number];
/** JSON arrays are left to servers. */
export type UploadFormat = Format | 'json';

export const fileFormats: Record<UploadFormat, FileFormat> = {
  csv: 'CSV',
  ndjson: 'NDJSON',
  lines: 'LINES',
  json: 'JSON_ARRAY',
};

export interface Row {
  /** Where it is in the file, from 1. */
  readonly line: number;
  readonly payload: unknown;
  /** The length of its JSON text. */
  readonly size: number;
}

/** What is longer than this is no row but a missing line break or closing quote, and must not fill the memory. */
const longestRow = 16 * 1024 * 1024;

const formatsByExtension: Record<string, UploadFormat> = {
  csv: 'csv',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  txt: 'lines',
  json: 'json',
};

export function formatOf(file: string): UploadFormat | undefined {
  const name = file.toLowerCase().replace(/\.(gz|zst)$/, '');
  return formatsByExtension[name.slice(name.lastIndexOf('.') + 1)];
}

/** The first row that can't be read ends it. */
export async function* readRows(
  input: Input,
  format: Format,
  delimiter: string,
): AsyncGenerator<Row, void, undefined> {
  const splits = split(
    toBytes(input.text),
    { format: fileFormats[format], ...(format === 'csv' && { delimiter }) },
    { place: { position: 0, line: 1, columns: null }, start: 0, maxRowBytes: longestRow },
  );
  try {
    for await (const { rows } of splits) {
      for (const { line, payload, problem } of rows) {
        if (problem !== undefined) throw badFile(input.name, `line ${line}`, problem);
        yield { line, payload: fromJson(payload), size: payload.length };
      }
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const { line, reason } = error;
    throw badFile(input.name, line === undefined ? '' : `line ${line}`, reason);
  }
}

async function* toBytes(text: AsyncIterable<string>): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of text) yield Buffer.from(piece);
}
