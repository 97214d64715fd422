/**
 * JSON that passes through as the text that Postgres has: nothing in the server reads payloads, so parsing and serializing them
 * again would be wasted work.
 */
import { randomUUID } from 'node:crypto';
import { isRounded, marking } from './exact-numbers.ts';

const space = 0x20;
const quote = 0x22;
const openingBracket = 0x5b;
const backslash = 0x5c;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get value(): unknown {
    return JSON.parse(this.text);
  }

  /** For JSON.stringify: returns the value, or within `stringify` a mark that is replaced with the text. */
  toJSON(): unknown {
    if (pending === undefined) return this.value;
    pending.push(this.text);
    return mark;
  }
}

/** Random, so that no other string equals it, or begins with it. */
const mark = randomUUID();
const quotedMark = JSON.stringify(mark);
let pending: string[] | undefined;

/** Like JSON.parse, in steps, but numbers that JavaScript would round are JSON texts. For `onLong`, see `marking`. */
export function* parsing(json: string, onLong?: (isUsual: boolean) => void): Generator<void, unknown> {
  const marked = yield* marking(json, mark, onLong);
  yield;
  const value: unknown = JSON.parse(marked);
  return marked === json ? value : unmarked(value);
}

/** Goes through all values, however deep: a reviver of JSON.parse would take ten times as long. */
function unmarked(value: unknown): unknown {
  const all = { value };
  const left: object[] = [all];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    const keys = Array.isArray(one) ? one.keys() : Object.keys(one);
    for (const key of keys) {
      const part = (one as Record<PropertyKey, unknown>)[key];
      if (typeof part === 'object' && part !== null) left.push(part);
      else if (typeof part === 'string' && part.startsWith(mark))
        // Also if the key is __proto__.
        Object.defineProperty(one, key, { value: exactly(part.slice(mark.length)) });
    }
  }
  return all.value;
}

/** The number, or its text if JavaScript would round it. */
export function toExactNumber(text: string): unknown {
  return isRounded(text) ? exactly(text) : Number(text);
}

/** What is larger than any number of JavaScript is refused as infinite. */
function exactly(text: string): unknown {
  const number = Number(text);
  return Number.isFinite(number) ? new JsonText(text) : number;
}

/** A value that may have JSON texts in it, as JavaScript has it. */
export function toPlain(value: unknown): unknown {
  if (value instanceof JsonText) return value.value;
  return hasText(value) ? JSON.parse(JSON.stringify(value)) : value;
}

function hasText(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof JsonText || Object.values(value).some(hasText);
}

/** Like JSON.stringify, but inserts JSON texts unchanged. */
export function stringify(value: unknown): string {
  return toText(piecesOf(value));
}

/** In UTF-16 units. */
const largeLength = 1_000_000;
/** Writing so many bytes takes about ten milliseconds. */
const sliceBytes = 4_000_000;

/**
 * Like `stringify`, but returns a large answer as the bytes to be sent. As one text it would be in memory a second time: beside
 * its parts, and while it waits to be sent.
 */
export function serialize(value: unknown): string | Buffer {
  const pieces = piecesOf(value);
  return areLarge(pieces) ? toBytes(pieces) : toText(pieces);
}

/** Like `serialize`, but writes a large answer in slices, each after the first once `turn` has resolved. */
export function serializeInSlices(
  value: unknown,
  turn: (bytes: number) => Promise<void>,
): string | Promise<Buffer> {
  const pieces = piecesOf(value);
  return areLarge(pieces) ? toBytesInSlices(pieces, turn) : toText(pieces);
}

function areLarge(pieces: readonly string[]): boolean {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length > largeLength;
}

/** Every second piece is an inserted text. */
function piecesOf(value: unknown): string[] {
  const texts: string[] = [];
  let frame: string;
  pending = texts;
  try {
    frame = JSON.stringify(value);
  } finally {
    pending = undefined;
  }
  if (texts.length === 0) return [frame];
  const parts = frame.split(quotedMark);
  const pieces = [parts[0] as string];
  for (const [i, text] of texts.entries()) pieces.push(text, parts[i + 1] as string);
  return pieces;
}

function toText(pieces: readonly string[]): string {
  let whole = '';
  for (const piece of pieces) whole += piece;
  return whole;
}

function toBytes(pieces: readonly string[]): Buffer {
  const bytes = bufferFor(pieces);
  let at = 0;
  for (const piece of pieces) at += bytes.write(piece, at);
  return bytes;
}

async function toBytesInSlices(
  pieces: readonly string[],
  turn: (bytes: number) => Promise<void>,
): Promise<Buffer> {
  const bytes = bufferFor(pieces);
  let at = 0;
  let sliceEnd = sliceBytes;
  for (const piece of pieces) {
    if (at >= sliceEnd) {
      await turn(sliceBytes);
      sliceEnd = at + sliceBytes;
    }
    at += bytes.write(piece, at);
  }
  return bytes;
}

function bufferFor(pieces: readonly string[]): Buffer {
  let length = 0;
  for (const piece of pieces) length += Buffer.byteLength(piece);
  return Buffer.allocUnsafe(length);
}

/** JSON that was inserted by SQL may have line breaks between its tokens; strings in JSON never do. */
export function inOneLine(json: string): string {
  return /[\n\r]/.test(json) ? json.replaceAll(/[\n\r]/g, ' ') : json;
}

/** The same for the bytes, which are changed in place. */
export function putInOneLine(json: Buffer): Buffer {
  for (const lineBreak of ['\n', '\r'])
    for (let at = json.indexOf(lineBreak); at >= 0; at = json.indexOf(lineBreak, at + 1)) json[at] = space;
  return json;
}

/** Whether lists and objects in a JSON text are nested more than `most` levels deep. */
export function isTextDeeperThan(text: string, most: number): boolean {
  // Too short for that many brackets.
  if (text.length <= 2 * most) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === quote) {
      i = endOfString(text, i + 1);
    } else if (char === openingBracket || char === openingBrace) {
      depth++;
      if (depth > most) return true;
    } else if (char === closingBracket || char === closingBrace) {
      depth--;
    }
  }
  return false;
}

/** The position of the quote that ends the string; the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - escapes - 1) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Separates JSON texts that go to a stored function or come from one; none of them can contain it. */
const separator = '\u001e';

export function joinTexts(texts: readonly string[]): string {
  return texts.join(separator);
}

/** The texts that a stored function joined. */
export function splitTexts(joined: string): string[] {
  return joined.split(separator);
}
