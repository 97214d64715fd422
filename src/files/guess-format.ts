/** Guesses from the beginning of a text how a file is to be read, for a person who looks at its first rows and can correct it. */
import type { FileFormat } from '../domain/files/file-options.ts';

export interface Guess {
  readonly format: FileFormat;
  /** For CSV, unless it is a comma. */
  readonly delimiter?: string;
}

/** The most frequent in the first line is taken; of two, the first here. */
const delimiters = [',', ';', '\t', '|'];

export function guessFormat(beginning: Buffer): Guess {
  const text = beginning.toString().trimStart();
  const end = text.search(/\r?\n/);
  const line = end < 0 ? text : text.slice(0, end);
  if (isJson(line)) {
    // An array in one line may be the only row of NDJSON: as elements it is at least as likely meant.
    return {
      format: line.startsWith('[') && text.slice(line.length).trim() === '' ? 'JSON_ARRAY' : 'NDJSON',
    };
  }
  if (text.startsWith('[')) return { format: 'JSON_ARRAY' };
  if (text.startsWith('{')) return { format: 'NDJSON' };
  const counts = delimiters.map((one) => outsideQuotes(line).split(one).length - 1);
  const most = Math.max(...counts);
  if (most === 0) return { format: 'LINES' };
  const delimiter = delimiters[counts.indexOf(most)] as string;
  return delimiter === ',' ? { format: 'CSV' } : { format: 'CSV', delimiter };
}

const outsideQuotes = (line: string) => line.replace(/"[^"]*"/g, '');

/** Whether it is an object or a list. A lone number or word is a line of text. */
function isJson(line: string): boolean {
  if (!/^[[{]/.test(line)) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
