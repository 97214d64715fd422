/**
 * Checks of single values. Each throws an InvalidInputError that names the field, or returns what was asked for.
 *
 * What a stored function is given, that function checks (input_problem), so that SQL callers meet the same rule, and TypeScript does not check it again.
 * It repeats a rule only for items, reports and traces, which share a call and are refused one by one; for what JSON can't carry; for paths within a feed,
 * to name the one; for the size of a tree, before it is walked; and for times of schedules, with which it computes.
 */
import { InvalidInputError } from '../../errors.ts';
import { isTextDeeperThan, JsonText, stringify } from './json-text.ts';
import { maxBatch, maxJsonDepth, runAtEnd } from './limits.ts';
import { withoutTenant } from './tenants.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const revision = /^[0-9a-f]{8}-[0-9a-f]{14}$/;
export const unstorable = /\\u0000|\\ud[89a-f]/i;

export function isId(value: string): boolean {
  return uuid.test(value);
}

export function checkId(value: string, kind: string, field: string): string {
  if (!isId(value)) throw new InvalidInputError(`${field} is not the id of ${kind}: ${quote(value)}.`, field);
  // In the form that Postgres uses, so that ids can be compared.
  return value.toLowerCase();
}

/** Whether the text has the form of a job's or tree's revision, as `revision` writes it. */
export function isRevision(value: string): boolean {
  return revision.test(value);
}

export function checkRevision(value: string, field: string): string {
  if (!isRevision(value)) throw new InvalidInputError(`${field} is not a revision: ${quote(value)}.`, field);
  return value;
}

/** Version 7, so that the ids of assignments, which begin as this does, go up with time: that keeps their index small. */
export function checkClaimId(value: string): string {
  if (!uuid.test(value) || !/^.{14}7.{4}[89ab]/i.test(value)) {
    throw new InvalidInputError(`claimId is not a UUID of version 7: ${quote(value)}.`, 'claimId');
  }
  return value.toLowerCase();
}

export function checkText(value: string, field: string, maxLength: number): string {
  if (value.length === 0) throw new InvalidInputError(`${field} is empty.`, field);
  if (value.length > maxLength) {
    throw new InvalidInputError(`${field} has ${value.length} characters; the limit is ${maxLength}.`, field);
  }
  checkStorable(value, field);
  return value;
}

/** A name of a type, a worker, a schedule, an endpoint, or a serialize key: the tenant that it belongs to does not count. */
export function checkName(value: string, field: string, maxLength: number): string {
  checkText(withoutTenant(value), field, maxLength);
  return value;
}

export function checkStorable(value: string, field: string): void {
  if (value.includes('\0') || !value.isWellFormed()) {
    throw new InvalidInputError(
      `${field} has a character that can't be stored: \\u0000 or half a surrogate pair.`,
      field,
    );
  }
}

export function checkInteger(value: number, field: string, lowest: number, highest: number): number {
  if (!Number.isInteger(value) || value < lowest || value > highest) {
    throw new InvalidInputError(
      `${field} is ${value}; it must be a whole number from ${lowest} to ${highest}.`,
      field,
    );
  }
  return value;
}

export function checkInstant(value: Date, field: string): Date {
  if (!(value.getTime() >= 0 && value.getTime() < runAtEnd)) {
    throw new InvalidInputError(`${field} must be an instant from 1970 to the end of the year 9999.`, field);
  }
  return value;
}

export function checkBatch(size: number, field: string): void {
  if (size === 0) throw new InvalidInputError(`${field} is empty.`, field);
  if (size > maxBatch) {
    throw new InvalidInputError(
      `${field} has ${size} entries; the limit is ${maxBatch}. Send several batches.`,
      field,
    );
  }
}

/** The JSON text of fields whose rules a stored function checks: only what JSON or Postgres can't hold is refused here. `path`: where they stand. */
export function toCheckedText(fields: object, path = ''): string {
  const text = JSON.stringify(fields);
  if (mayBeUnstorable(text))
    for (const [name, value] of Object.entries(fields)) checkLeaves(value, `${path}${name}`);
  return text;
}

/** The JSON text of a value, if Postgres can store it. */
export function toJsonText(value: unknown, field: string, maxBytes: number): string {
  // Checked first, since code that walks a value nested deeper than the stack allows would crash.
  if (isDeeperThan(value, maxJsonDepth)) {
    throw new InvalidInputError(`${field} is nested more than ${maxJsonDepth} levels deep.`, field);
  }
  const text = stringify(value ?? null);
  // A character has at most three bytes in UTF-8 for each unit of its length, so most texts need no count.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) {
    throw new InvalidInputError(
      `${field} has ${Buffer.byteLength(text)} bytes of JSON; the limit is ${maxBytes}. Store it elsewhere and send a reference.`,
      field,
    );
  }
  if (mayBeUnstorable(text)) checkLeaves(value, field);
  return text;
}

/** JSON.stringify writes null for NaN and infinite numbers; 1e400 is read as one. */
function mayBeUnstorable(text: string): boolean {
  return unstorable.test(text) || text.includes('null');
}

/** Whether lists and objects of a JSON value are nested more than so deep; a list of numbers is 1 deep. */
export function isDeeperThan(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof JsonText) return isTextDeeperThan(value.text, most);
  if (most === 0) return true;
  if (Array.isArray(value)) {
    for (const element of value) if (isDeeperThan(element, most - 1)) return true;
  } else {
    for (const key in value) {
      if (isDeeperThan((value as Record<string, unknown>)[key], most - 1)) return true;
    }
  }
  return false;
}

/** Finds the string or number that can't be stored, if there is one: text that only looks like an escape is fine. */
function checkLeaves(value: unknown, field: string): void {
  if (typeof value === 'string') {
    checkStorable(value, field);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value))
      throw new InvalidInputError(`${field} is a number beyond what JavaScript can hold.`, field);
  } else if (Array.isArray(value)) {
    value.forEach((element, i) => {
      checkLeaves(element, `${field}[${i}]`);
    });
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      checkLeaves(key, `${field} (a key)`);
      checkLeaves(member, `${field}.${key}`);
    }
  }
}

function quote(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
}
