/**
 * JSON that passes through as the text that Postgres has: nothing in the server looks into a payload, so parsing it and
 * writing it again would be work for nothing.
 */
import { randomUUID } from 'node:crypto';

export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get value(): unknown {
    return JSON.parse(this.text);
  }

  /** What JSON.stringify makes of it: the value, or within `stringify` a mark in whose place the text is put. */
  toJSON(): unknown {
    if (pending === undefined) return this.value;
    pending.push(this.text);
    return mark;
  }
}

/** Nobody outside can know it, so no other string of an answer is it. */
const mark = randomUUID();
const quotedMark = JSON.stringify(mark);
let pending: string[] | undefined;

/** As JSON.stringify, with texts of JSON put in as they are. */
export function stringify(value: unknown): string {
  const texts: string[] = [];
  let frame: string;
  pending = texts;
  try {
    frame = JSON.stringify(value);
  } finally {
    pending = undefined;
  }
  if (texts.length === 0) return frame;
  const parts = frame.split(quotedMark);
  let whole = parts[0] as string;
  for (const [i, text] of texts.entries()) whole += text + parts[i + 1];
  return whole;
}

/** Stands between JSON texts that go to a stored function or come from one; none can contain it. */
const separator = '\u001e';

export function joinTexts(texts: readonly string[]): string {
  return texts.join(separator);
}

/** The texts that a stored function put together. */
export function splitTexts(joined: string): string[] {
  return joined.split(separator);
}
