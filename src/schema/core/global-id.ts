/**
 * The ids that clients see: the type and the key, `Job:019a…`. They are readable on purpose: people meet them in logs and on the
 * command line, and can tell a wrong one from a right one.
 */
import { checkName, isId } from '../../domain/values/checks.ts';
import { type ItemKey, itemIdOf, parseItemId } from '../../domain/values/ids.ts';
import { maxNameLength } from '../../domain/values/limits.ts';
import { InvalidInputError } from '../../errors.ts';

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

/** Their ids are used for other purposes than to read them. */
const hasNoNode: ReadonlySet<string> = new Set<NodeType>(['Upload', 'ApiKey']);

export function encodeGlobalId(typename: string, id: string): string {
  return `${typename}:${id}`;
}

function split(globalId: string): { typename: string; id: string } {
  const colon = globalId.indexOf(':');
  return { typename: globalId.slice(0, Math.max(colon, 0)), id: globalId.slice(colon + 1) };
}

/** Decodes an id of any type, for `node` and `nodes`. */
export function decodeGlobalId(globalId: string, field: string): { typename: NodeType; id: string } {
  const { typename } = split(globalId);
  if (!Object.hasOwn(kinds, typename) || hasNoNode.has(typename)) {
    throw new InvalidInputError(
      `${field} is not the id of a node: ${JSON.stringify(globalId.slice(0, 80))}.`,
      field,
    );
  }
  return { typename: typename as NodeType, id: keyOf(typename as NodeType, globalId, field) };
}

/** The key in an id, which must be of this type. */
export function keyOf(type: NodeType, globalId: string, field: string): string {
  if (type === 'JobItem') return itemIdOf(itemKeyOf(globalId, field));
  const key = keyText(type, globalId, field);
  if (type === 'Schedule' || type === 'CallbackEndpoint') return checkName(key, field, maxNameLength);
  if (!isId(key)) throw notAnId(type, globalId, field, `is ${type}: and a UUID.`);
  // In the form that Postgres uses, so that ids can be compared.
  return key.toLowerCase();
}

/** The key of the item that an id names. */
export function itemKeyOf(globalId: string, field: string): ItemKey {
  const key = parseItemId(keyText('JobItem', globalId, field));
  if (key === undefined)
    throw notAnId(
      'JobItem',
      globalId,
      field,
      'is JobItem:, the UUID of the job, another colon and a number.',
    );
  return key;
}

function keyText(type: NodeType, globalId: string, field: string): string {
  const { typename, id } = split(globalId);
  if (typename !== type) throw notAnId(type, globalId, field, `starts with ${type}:`);
  return id;
}

function notAnId(type: NodeType, globalId: string, field: string, form: string): InvalidInputError {
  const given = JSON.stringify(globalId.slice(0, 80));
  return new InvalidInputError(
    `${field} is not the id of ${kinds[type]}: ${given}. Such an id ${form}`,
    field,
  );
}

/** The key in the id of a batch entry. An id of another type is returned unchanged, so that the check of that entry refuses it. */
export function keyOrText(type: NodeType, globalId: string): string {
  return globalId.startsWith(`${type}:`) ? globalId.slice(type.length + 1) : globalId;
}
