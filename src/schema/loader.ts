/**
 * What the fields of one answer need, gathered into a query for all of them. Nothing is remembered behind that query: a later
 * mutation of the same operation may change what was read.
 */
import { createContextCache } from '@pothos/core';
import DataLoader from 'dataloader';
import { maxBatch } from '../domain/limits.ts';
import type { Services } from './builder.ts';

export const loaderOptions = { cache: false, maxBatchSize: maxBatch } as const;

/** A loader for each request. `read` gives a value for each key, in their order. */
export function createLoader<Key, Value>(
  read: (keys: readonly Key[], services: Services) => Promise<readonly (Value | Error)[]>,
): (context: Services) => DataLoader<Key, Value> {
  return createContextCache(
    (services: Services) => new DataLoader<Key, Value>((keys) => read(keys, services), loaderOptions),
  );
}
