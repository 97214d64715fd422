/**
 * What the compiler does not know of inputs: that of some exactly one field is given, and that a field which can't be null may be left out
 * if it has a default.
 */
import { type GraphQLInputType, isInputObjectType, isListType, isNonNullType } from 'graphql';

/** Gives the value with its defaults; undefined for one that does not fit. What else is wrong with it the compiler finds. */
export type Complete = (value: unknown) => unknown;

/** Null if there is nothing to do. The type must not contain itself. */
export function completeOf(type: GraphQLInputType): Complete | null {
  if (isNonNullType(type)) return completeOf(type.ofType);
  if (isListType(type)) return ofList(completeOf(type.ofType));
  if (!isInputObjectType(type)) return null;
  const { isOneOf } = type;
  const defaults: [string, unknown][] = [];
  const inner: [string, Complete][] = [];
  for (const field of Object.values(type.getFields())) {
    if (isNonNullType(field.type) && field.defaultValue !== undefined)
      defaults.push([field.name, field.defaultValue]);
    const complete = completeOf(field.type);
    if (complete !== null) inner.push([field.name, complete]);
  }
  if (!isOneOf && defaults.length === 0 && inner.length === 0) return null;
  return (value) => {
    if (typeof value !== 'object' || value === null) return value;
    const fields: Record<string, unknown> = { ...value };
    const given = Object.values(fields);
    if (isOneOf && (given.length !== 1 || given[0] == null)) return undefined;
    for (const [name, standard] of defaults) if (!Object.hasOwn(fields, name)) fields[name] = standard;
    for (const [name, complete] of inner) {
      if (fields[name] == null) continue;
      const completed = complete(fields[name]);
      if (completed === undefined) return undefined;
      fields[name] = completed;
    }
    return fields;
  };
}

function ofList(complete: Complete | null): Complete | null {
  if (complete === null) return null;
  return (value) => {
    if (!Array.isArray(value)) return complete(value);
    const completed = value.map(complete);
    return completed.includes(undefined) ? undefined : completed;
  };
}
