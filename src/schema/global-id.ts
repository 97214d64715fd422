/**
 * Ids as clients see them: the type and the key, `Job:019a…`. Readable on purpose: people meet them in logs and on the
 * command line, and a wrong one can be told from a right one.
 */
import { checkId, checkName } from '../domain/checks.ts';
import { type ItemKey, itemIdOf, parseItemId } from '../domain/item-state.ts';
import { maxNameLength } from '../domain/limits.ts';
import { InvalidInputError } from '../errors.ts';

const kinds = {
  Job: 'a job',
  JobItem: 'an item',
  Assignment: 'an assignment',
  Schedule: 'a schedule',
  DeadLetterGroup: 'a group of dead letters',
  Operation: 'an operation',
  CallbackEndpoint: 'an endpoint',
  CallbackDelivery: 'a delivery',
  Upload: 'an upload',
  ApiKey: 'an API key',
} as const;
export type NodeType = keyof typeof kinds;

export function encodeGlobalId(typename: string, id: string): string {
  return `${typename}:${id}`;
}

function split(globalId: string): { typename: string; id: string } {
  const colon = globalId.indexOf(':');
  return { typename: globalId.slice(0, Math.max(colon, 0)), id: globalId.slice(colon + 1) };
}

/** An id of any type, for `node`. */
export function decodeGlobalId(globalId: string): { typename: string; id: string } {
  const { typename } = split(globalId);
  if (!Object.hasOwn(kinds, typename)) {
    throw new InvalidInputError(
      `There is no type with such ids: ${JSON.stringify(globalId.slice(0, 80))}.`,
      'id',
    );
  }
  return { typename, id: keyOf(typename as NodeType, globalId, 'id') };
}

/** The key in an id that must be one of this type. */
export function keyOf(type: NodeType, globalId: string, field: string): string {
  if (type === 'JobItem') return itemIdOf(itemKeyOf(globalId, field));
  if (type === 'Schedule' || type === 'CallbackEndpoint')
    return checkName(keyText(type, globalId, field), field, maxNameLength);
  return checkId(keyText(type, globalId, field), kinds[type], field);
}

/** The item that an id names, which must be one. */
export function itemKeyOf(globalId: string, field: string): ItemKey {
  const key = parseItemId(keyText('JobItem', globalId, field));
  if (key === undefined) {
    throw new InvalidInputError(
      `${field} is not the id of an item: ${JSON.stringify(globalId.slice(0, 80))}. Such an id is JobItem:, the UUID of the job, and behind another colon a number.`,
      field,
    );
  }
  return key;
}

function keyText(type: NodeType, globalId: string, field: string): string {
  const { typename, id } = split(globalId);
  if (typename !== type) {
    throw new InvalidInputError(
      `${field} is not the id of ${kinds[type]}: ${JSON.stringify(globalId.slice(0, 80))}. Such an id starts with ${type}:`,
      field,
    );
  }
  return id;
}

/** The key in an id of a batch's entry; what is no id of this type stays as it is, for the entry's own check to refuse. */
export function keyOrText(type: NodeType, globalId: string): string {
  return globalId.startsWith(`${type}:`) ? globalId.slice(type.length + 1) : globalId;
}
