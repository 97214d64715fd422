/**
 * Request bodies as JSON, on any transport. A scan of the bytes, a thousand times faster than parsing, recognizes JSON that would take seconds
 * and a gigabyte to parse. No error quotes what was sent.
 */
import { isUtf8 } from 'node:buffer';
import { randomInt } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { Owner } from '../../concurrency/fair-queue.ts';
import { FairSemaphore } from '../../concurrency/fair-semaphore.ts';
import { largeBytes, largeTurn } from '../../concurrency/large-turns.ts';
import { toEnd } from '../../domain/values/exact-numbers.ts';
import { parsing } from '../../domain/values/json-text.ts';
import { limitExceeded } from '../../schema/core/limit-exceeded.ts';

/** Lists, objects and members: as many as half a million items in one tree have. */
const maxParts = 1_000_000;
/** What commas separate, most of all numbers in lists: 1.9 million take a fifth of a second to parse. */
const maxCommas = 1_500_000;
/** Different keys: each new one takes as long as several repeated ones, up to 1.5 µs. */
const maxKeys = 100_000;
/** Nesting of lists and objects: a million levels take half a second to parse; real requests have some hundreds. */
const maxLevels = 200_000;
/** Long numbers: to look at one takes a third of a microsecond. Those that JavaScript would write in another way count as fifty. */
const maxLongNumbers = 500_000;
/** A smaller body can't have that many parts. */
const smallBytes = maxParts;
/** So many different keys take about as long as a megabyte of anything else. */
const manyKeys = 10_000;
/** The shortest member with its comma: `"a":1,`. Smaller bodies can't have that many keys. */
const memberBytes = 6;

/** How many large bodies are read at a time: the text of each takes its memory again. */
const reads = new FairSemaphore(2);

/** Numbers that JavaScript would round are JSON texts. @throws GraphQLError with the code BAD_REQUEST, or LIMIT_EXCEEDED. */
export const parseJsonBody = (body: Buffer): unknown => toEnd(parsingBody(body));

function* parsingBody(body: Buffer): Generator<void, unknown> {
  if (!isUtf8(body)) throw badRequest('The body is not UTF-8.');
  checkParts(body);
  let longNumbers = 0;
  try {
    yield;
    return yield* parsing(body.toString(), (isUsual) => {
      longNumbers += isUsual ? 1 : 50;
      if (longNumbers > maxLongNumbers) throw new Error();
    });
  } catch {
    const found =
      'There are too many long numbers, of which those count fifty times that JavaScript would round';
    if (longNumbers > maxLongNumbers) throw tooMuch('numbers', found, maxLongNumbers);
    throw badRequest('The body is not JSON.');
  }
}

/** Whether parsing it takes so long that it must wait for a turn of the event loop. */
export function isLargeJson(json: Buffer): boolean {
  if (json.length > largeBytes) return true;
  return (
    hasMoreColons(json, manyKeys) &&
    scan(json, { keys: manyKeys, levels: Number.POSITIVE_INFINITY }).keys > manyKeys
  );
}

/** The same for a body of any size: a large one takes a turn of the event loop for each step, and another for what follows. */
export async function readJsonBody(body: Buffer, owner: Owner): Promise<unknown> {
  if (!isLargeJson(body)) return parseJsonBody(body);
  return reads.run(owner, async () => {
    await largeTurn(body.length, owner);
    const steps = parsingBody(body);
    let step = steps.next();
    while (step.done !== true) {
      await largeTurn(0, owner);
      step = steps.next();
    }
    await largeTurn(0, owner);
    return step.value;
  });
}

/** The same for the text of a WebSocket message or of a URL parameter. */
export function parseJsonText(text: string): unknown {
  return parseJsonBody(Buffer.from(text));
}

export function badRequest(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
}

const quote = 0x22;
const backslash = 0x5c;
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
const colon = 0x3a;
const comma = 0x2c;

/** @throws GraphQLError if parsing would take too long, or too much memory. */
function checkParts(json: Buffer): void {
  if (json.length <= smallBytes) return;
  const { parts, commas, keys, levels } = scan(json, { keys: maxKeys, levels: maxLevels });
  if (levels > maxLevels) throw tooMuch('depth', 'Lists and objects are nested too deeply', maxLevels);
  if (keys > maxKeys) throw tooMuch('keys', 'Objects have too many different keys', maxKeys);
  if (parts > maxParts) {
    const found = `There are ${parts.toLocaleString('en')} lists, objects and members of objects`;
    throw tooMuch('parts', found, maxParts);
  }
  if (commas > maxCommas) throw tooMuch('entries', 'Lists and objects have too many entries', maxCommas);
}

interface Found {
  readonly parts: number;
  readonly commas: number;
  readonly keys: number;
  /** Of those that are open at the end. */
  readonly levels: number;
}

/** Counts what JSON consists of, until it is nested more deeply or has more different keys than `most`. */
function scan(json: Buffer, most: { readonly keys: number; readonly levels: number }): Found {
  const keys = new KeyCount();
  let parts = 0;
  let commas = 0;
  let levels = 0;
  let start = 0;
  let end = 0;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (byte === quote) {
      start = i + 1;
      end = endOfString(json, start);
      i = end;
    } else if (byte === openingBracket || byte === openingBrace) {
      parts++;
      levels++;
      if (levels > most.levels) break;
    } else if (byte === closingBracket || byte === closingBrace) {
      levels--;
    } else if (byte === comma) {
      commas++;
    } else if (byte === colon) {
      parts++;
      keys.add(json, start, end);
      if (keys.count > most.keys) break;
    }
  }
  return { parts, commas, keys: keys.count, levels };
}

/** Finds out in a fraction of the time that a scan takes that there can't be more keys: most JSON has far fewer, or no room for more. */
function hasMoreColons(json: Buffer, most: number): boolean {
  let count = 0;
  for (let at = 0; count <= most; count++) {
    if (count + (json.length - at) / memberBytes <= most) return false;
    at = json.indexOf(colon, at + 1);
    if (at < 0) return false;
  }
  return true;
}

function tooMuch(
  limit: 'depth' | 'entries' | 'keys' | 'numbers' | 'parts',
  found: string,
  most: number,
): GraphQLError {
  const { message, extensions } = limitExceeded(limit, found, most);
  return new GraphQLError(message, { extensions: { ...extensions, http: { status: 400 } } });
}

const marks = 1 << 22;
/** Random, so that nobody can choose keys that collide. */
const seed = randomInt(2 ** 31);

/** Counts different keys; a few less, since keys with the same hash count as one. */
class KeyCount {
  count = 0;
  readonly #seen = new Uint8Array(marks / 8);

  add(json: Buffer, start: number, end: number): void {
    let hash = seed;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ (json[i] as number), 0x01000193);
    // Its low bits depend only on the low bits of the input, so the high bits are mixed in.
    const mark = (hash ^ (hash >>> 15)) & (marks - 1);
    const bit = 1 << (mark & 7);
    const byte = this.#seen[mark >> 3] as number;
    if ((byte & bit) !== 0) return;
    this.#seen[mark >> 3] = byte | bit;
    this.count++;
  }
}

/** The index of the quote that ends the string; the length of the body if there is none. */
function endOfString(body: Buffer, start: number): number {
  // Most strings are short: this finds the end faster than starting `indexOf`.
  for (let i = start; i < start + 32; i++) {
    if (body[i] === quote) return i;
    if (body[i] === backslash) i++;
  }
  for (let end = body.indexOf(quote, start); end >= 0; end = body.indexOf(quote, end + 1)) {
    let escapes = 0;
    while (end - escapes > start && body[end - escapes - 1] === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return body.length;
}
