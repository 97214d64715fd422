/** Names that people or programs chose, within sentences: one that is written from right to left, or contains marks of direction, turns nothing else round. */

const letters = '[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc]';
const rightToLeft = new RegExp(letters);
/** From the first such letter to the last, with what stands between them. */
const runs = new RegExp(`${letters}+(?:[\\s\\d\\p{P}\\p{S}]+${letters}+)*`, 'gu');
const marks = /[\u202a-\u202e\u2066-\u2069]/g;

const isolate = (text: string) => `\u2068${text}\u2069`;
const shownOf = (text: string) => text.replace(marks, '\ufffd');

function isolatedName(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const shown = shownOf(value);
  return rightToLeft.test(shown) ? isolate(shown) : shown;
}

/** A sentence of the server or of a worker, of which it is not known where its names are. */
export const isolatedWithin = (sentence: string) => shownOf(sentence).replace(runs, isolate);

/** The texts, of which each isolates the names that it contains. */
export function isolated<T extends object>(texts: T): T {
  const entries = Object.entries(texts).map(([key, text]) => [
    key,
    typeof text === 'function'
      ? (...values: unknown[]) => text(...values.map(isolatedName))
      : typeof text === 'object' && !Array.isArray(text)
        ? isolated(text)
        : text,
  ]);
  return Object.fromEntries(entries);
}
