/**
 * The mappings of feeds. They are not read with a job's row, since each may have 10 kB: for a list of many jobs, or one under
 * many aliases, that would be gigabytes.
 */
import { createContextCache } from '@pothos/core';
import DataLoader from 'dataloader';
import { type FeedRow, readFeeds } from '../../domain/feeds/read-feeds.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import { measured, takes } from '../core/answer-size.ts';
import { builder } from '../core/builder.ts';
import type { Services } from '../core/services.ts';
import { FeedSource } from '../jobs/inputs.ts';

/** Each feed is read once, since it never changes, and batches are read one after the other, so that nothing is read beyond the limit. */
const feeds = createContextCache((context: Services) => {
  let before: Promise<unknown> = Promise.resolve();
  const read = async (jobIds: readonly string[]): Promise<(FeedRow | undefined)[]> => {
    if (measured(context).isOverflown) return jobIds.map(() => undefined);
    const found = await readFeeds(context.engine.database, jobIds);
    const byId = new Map(found.map((row) => [row.id, row]));
    return jobIds.map((id) => byId.get(id));
  };
  return new DataLoader<string, FeedRow | undefined>(
    (jobIds) => {
      const reading = before.then(() => read(jobIds));
      before = reading.catch(() => undefined);
      return reading;
    },
    { maxBatchSize: maxBatch },
  );
});

/** As `createJob` stores it, without the fields that were omitted. */
interface StoredFeed {
  readonly source?: 'SUCCESSES' | 'REPORTS';
  readonly forEach?: string;
  readonly payload?: unknown;
  readonly serializeKey?: string;
}

/** A feed under one alias in an answer. */
interface ShownFeed {
  readonly stored: StoredFeed;
  readonly bytes: number;
  /** The fields that the answer has already: loading the feed counts each of them once. */
  readonly shown: Set<string>;
}

/** A field of a feed. Null if repeating it exceeds the limit of the answer, which is then refused as a whole. */
function fieldOf<Name extends keyof StoredFeed>(
  { stored, bytes, shown }: ShownFeed,
  name: Name,
  context: Services,
): StoredFeed[Name] | null {
  if (shown.has(name) && !takes(bytes, context)) return null;
  shown.add(name);
  return stored[name] ?? null;
}

export const Feed = builder.objectRef<ShownFeed>('Feed').implement({
  description: 'How successes of the parent become items, with the fields of FeedInput. Null if not given.',
  fields: (t) => ({
    source: t.field({
      type: FeedSource,
      description: 'Where the items come from.',
      resolve: ({ stored }) => stored.source ?? 'SUCCESSES',
    }),
    forEach: t.string({
      nullable: true,
      description: 'The path to a list; each of its elements becomes an item.',
      resolve: (feed, _, context) => fieldOf(feed, 'forEach', context),
    }),
    payload: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The payload of a new item: a path, or an object whose values are paths.',
      resolve: (feed, _, context) => fieldOf(feed, 'payload', context),
    }),
    serializeKey: t.string({
      nullable: true,
      description: 'The path to the `serializeKey` of a new item.',
      resolve: (feed, _, context) => fieldOf(feed, 'serializeKey', context),
    }),
  }),
});

/** Null if the job is not fed, or if the feed exceeds the limit of the answer, which is then refused as a whole. */
export async function loadFeed(jobId: string, context: Services): Promise<ShownFeed | null> {
  const row = await feeds(context).load(jobId);
  if (row === undefined || !takes(row.bytes, context)) return null;
  return { stored: row.feed.value as StoredFeed, bytes: row.bytes, shown: new Set() };
}
