/**
 * Batches what the fields of one answer need into one query. Nothing is cached after that query, since a later mutation of the
 * same operation may change what was read.
 */
import { createContextCache } from '@pothos/core';
import DataLoader from 'dataloader';
import { maxBatch } from '../../domain/values/limits.ts';
import type { Services } from './services.ts';

export const loaderOptions = { cache: false, maxBatchSize: maxBatch } as const;

/** Creates a loader for each request. `read` returns a value for each key, in their order. */
export function createLoader<Key, Value>(
  read: (keys: readonly Key[], services: Services) => Promise<readonly (Value | Error)[]>,
): (context: Services) => DataLoader<Key, Value> {
  return createContextCache(
    (services: Services) => new DataLoader<Key, Value>((keys) => read(keys, services), loaderOptions),
  );
}

/** Like `createLoader`, for keys that one query can't read: those of one group are read together. If a group fails, the others do not. */
export function createGroupLoader<Key, Value>(
  groupOf: (key: Key) => unknown,
  read: (keys: readonly [Key, ...Key[]], services: Services) => Promise<readonly Value[]>,
): (context: Services) => DataLoader<Key, Value> {
  return createLoader(async (keys, services) => {
    const values = new Map<Key, Value | Error>();
    await Promise.all(
      Array.from(groupBy(keys, groupOf).values(), async (group) => {
        const found = await read(group, services).catch((error: Error) => error);
        for (const [i, key] of group.entries()) {
          values.set(key, found instanceof Error ? found : (found[i] as Value));
        }
      }),
    );
    return keys.map((key) => values.get(key) as Value | Error);
  });
}

/** `Map.groupBy`, which the oldest Node that jobtree runs on does not have. */
export function groupBy<Value, Key>(
  values: readonly Value[],
  keyOf: (value: Value) => Key,
): Map<Key, [Value, ...Value[]]> {
  const groups = new Map<Key, [Value, ...Value[]]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
