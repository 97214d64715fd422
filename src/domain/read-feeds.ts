import type { Queries } from '../db/database.ts';
import { JsonText } from './json-text.ts';

export interface FeedRow {
  readonly id: string;
  readonly feed: JsonText;
  /** Of its JSON text. */
  readonly bytes: number;
}

/** How these jobs are fed, in any order; of one that is not fed, nothing. */
export async function readFeeds(database: Queries, jobIds: readonly string[]): Promise<FeedRow[]> {
  const { rows } = await database.pool.query<{ id: string; feed: string; bytes: number }>({
    name: 'read_feeds',
    text: `select id, feed::text, octet_length(feed::text) as bytes
           from jobtree.job where id = any ($1::uuid[]) and feed is not null`,
    values: [jobIds],
  });
  return rows.map((row) => ({ ...row, feed: new JsonText(row.feed) }));
}
