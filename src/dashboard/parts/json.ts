import { mark, unmark } from '../../domain/values/exact-numbers.ts';

/** With all digits of numbers. */
export const stringify = (value: unknown, space?: number) => unmark(JSON.stringify(value, null, space));

interface Place {
  readonly line: number;
  readonly column: number;
}

/** @throws Error with the text, if it is not JSON: of where it is wrong, END if it ends too early, undefined if the browser does not say */
export function parseJson(json: string, otherwise: (place: Place | 'END' | undefined) => string): unknown {
  try {
    // First as it was entered: of that browsers say where it is wrong.
    JSON.parse(json);
    return JSON.parse(mark(json));
  } catch (error) {
    // Browsers say it in their message alone.
    const [, line, column] = /line (\d+) column (\d+)/.exec(String(error)) ?? [];
    const place = line === undefined ? undefined : { line: Number(line), column: Number(column) };
    throw new Error(otherwise(/ end of /.test(String(error)) ? 'END' : place));
  }
}
