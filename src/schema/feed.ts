/**
 * The mappings of feeds. They are no part of a job's row, since they may have 10 kB each: a list of many jobs, or one under many
 * aliases, would take gigabytes.
 */
import { createContextCache } from '@pothos/core';
import DataLoader from 'dataloader';
import { maxBatch } from '../domain/limits.ts';
import { type FeedRow, readFeeds } from '../domain/read-feeds.ts';
import { measured, takes } from './answer-size.ts';
import type { Services } from './services.ts';

/** Reads each once, since a feed never changes, and one batch after the other, so that what would be too much is not read. */
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

/** Null if the job is not fed, or if it does not fit into the answer any more, which is then refused as a whole. */
export async function loadFeed(jobId: string, context: Services): Promise<unknown> {
  const row = await feeds(context).load(jobId);
  return row !== undefined && takes(row.bytes, context) ? row.feed : null;
}
