/**
 * The body of a request as JSON, whichever way it came. What would take seconds and a gigabyte to parse is told by a look at its
 * bytes, which takes a thousandth of that; and no error repeats what was sent.
 */
import { isUtf8 } from 'node:buffer';
import { GraphQLError } from 'graphql';
import { limitExceeded } from '../schema/limit-exceeded.ts';

/** Of lists, objects and their members: half a million items in one tree have as many. */
const maxParts = 1_000_000;
/** A body no larger than this can't have as many. */
const smallBytes = maxParts;

/** @throws GraphQLError with the code BAD_REQUEST, or LIMIT_EXCEEDED. */
export function parseJsonBody(body: Buffer): unknown {
  if (!isUtf8(body)) throw badRequest('The body is not UTF-8.');
  checkParts(body);
  try {
    return JSON.parse(body.toString());
  } catch {
    throw badRequest('The body is not JSON.');
  }
}

/** The same for the text of a WebSocket message, or of a parameter. */
export function parseJsonText(text: string): unknown {
  return parseJsonBody(Buffer.from(text));
}

export function badRequest(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
}

const quote = 0x22;
const backslash = 0x5c;
const openingBracket = 0x5b;
const openingBrace = 0x7b;
const colon = 0x3a;

/** @throws GraphQLError if this would take too long to parse, or too much memory. */
export function checkParts(json: Buffer): void {
  if (json.length <= smallBytes) return;
  let parts = 0;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (byte === quote) i = endOfString(json, i + 1);
    else if (byte === openingBracket || byte === openingBrace || byte === colon) parts++;
  }
  if (parts <= maxParts) return;
  const found = `There are ${parts.toLocaleString('en')} lists, objects and members of objects`;
  const { message, extensions } = limitExceeded('parts', found, maxParts);
  throw new GraphQLError(message, { extensions: { ...extensions, http: { status: 400 } } });
}

/** Where the quote stands that ends the string; the end of the body if there is none. */
function endOfString(body: Buffer, start: number): number {
  for (let end = body.indexOf(quote, start); end >= 0; end = body.indexOf(quote, end + 1)) {
    let escapes = 0;
    while (end - escapes > start && body[end - escapes - 1] === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return body.length;
}
