/**
 * Two rules for inputs that the compiler does not know: a oneOf input has exactly one field, and a non-null field with a default may be left
 * out.
 */
import { type GraphQLInputType, isInputObjectType, isListType, isNonNullType } from 'graphql';

/** Returns the value with its defaults, or undefined if it does not fit. The compiler finds everything else that is wrong with it. */
export type Complete = (value: unknown) => unknown;

/** Null if the type needs no completing. The type must not contain itself. */
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
