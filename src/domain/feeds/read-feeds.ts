import type { Queries } from '../../db/database.ts';
import { JsonText } from '../values/json-text.ts';

export interface FeedRow {
  readonly id: string;
  readonly feed: JsonText;
  /** The size of its JSON text. */
  readonly bytes: number;
}

/** The feeds of these jobs, in any order; none for a job that is not fed. */
export async function readFeeds(database: Queries, jobIds: readonly string[]): Promise<FeedRow[]> {
  const { rows } = await database.pool.query<{ id: string; feed: string; bytes: number }>({
    name: 'read_feeds',
    text: `select id, feed::text, octet_length(feed::text) as bytes
           from jobtree.job where id = any ($1::uuid[]) and feed is not null`,
    values: [jobIds],
  });
  return rows.map((row) => ({ ...row, feed: new JsonText(row.feed) }));
}
