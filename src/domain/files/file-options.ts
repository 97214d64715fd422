/** How a file is to be read that becomes the items of a job: what a producer may set, and its checks. */
import { InvalidInputError } from '../../errors.ts';

export const fileFormats = ['CSV', 'NDJSON', 'JSON_ARRAY', 'LINES'] as const;
export type FileFormat = (typeof fileFormats)[number];

/** How a file is to be read. */
export interface FileOptions {
  readonly format: FileFormat;
  /** A name of the Encoding Standard; UTF-8, or UTF-16 with a byte order mark, by default. */
  readonly encoding?: string | null | undefined;
  /** CSV only: the character between cells. A comma by default. */
  readonly delimiter?: string | null | undefined;
  /** CSV only: the character around cells. `"` by default. */
  readonly quote?: string | null | undefined;
  /** CSV only: whether the first row names the columns. True by default. */
  readonly header?: boolean | null | undefined;
}

export interface NewFile extends FileOptions {
  readonly source: { readonly uploadId: string };
}

export function checkFile(file: NewFile, field: string): NewFile {
  const { source, format, encoding, delimiter, quote, header } = file;
  if (format !== 'CSV') {
    const extra = (['delimiter', 'quote', 'header'] as const).find((name) => file[name] != null);
    if (extra !== undefined)
      throw new InvalidInputError(`${field}.${extra} is for CSV only.`, `${field}.${extra}`);
  }
  if (encoding != null && !isEncoding(encoding)) {
    throw new InvalidInputError(
      `${field}.encoding is ${JSON.stringify(encoding.slice(0, 80))}: there is no such encoding. Known are the names of the Encoding Standard: utf-8, utf-16le, windows-1252 …`,
      `${field}.encoding`,
    );
  }
  for (const [name, value] of [
    ['delimiter', delimiter],
    ['quote', quote],
  ] as const) {
    if (value != null && !/^[\t\x20-\x7e]$/.test(value)) {
      throw new InvalidInputError(
        `${field}.${name} must be one character of ASCII, or a tab.`,
        `${field}.${name}`,
      );
    }
  }
  if ((delimiter ?? ',') === (quote ?? '"')) {
    throw new InvalidInputError(`${field}.delimiter and ${field}.quote are the same.`, `${field}.delimiter`);
  }
  return {
    source,
    format,
    encoding: encoding ?? undefined,
    delimiter: delimiter ?? undefined,
    quote: quote ?? undefined,
    header: header ?? undefined,
  };
}

export function isEncoding(name: string): boolean {
  try {
    new TextDecoder(name);
    return true;
  } catch {
    return false;
  }
}
