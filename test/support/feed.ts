/** Feeds of several servers in one process, and what they say. */
import { Writable } from 'node:stream';
import pino from 'pino';
import { expect } from 'vitest';
import { readConfig } from '../../src/config.ts';
import type { TreeProgress } from '../../src/domain/progress.ts';
import { bridgeLockClass } from '../../src/events/bridge.ts';
import { LiveFeed } from '../../src/events/feed.ts';
import type { TestDatabase } from './database.ts';

export interface TestFeed {
  readonly feed: LiveFeed;
  /** What came in, in order. */
  readonly trees: TreeProgress[];
  readonly work: string[];
  readonly activity: () => number;
  readonly epochs: () => number;
  readonly log: () => string;
}

/** Starts nothing yet. */
export function createFeed(directUrl: string, env: Record<string, string> = {}): TestFeed {
  const trees: TreeProgress[] = [];
  const work: string[] = [];
  let activity = 0;
  let epochs = 0;
  let log = '';
  const sink = new Writable({
    write: (chunk, _, done) => {
      log += chunk;
      done();
    },
  });
  const feed = new LiveFeed({
    directUrl,
    redis: readConfig(env).redis,
    logger: pino({ level: 'debug' }, sink),
    onTree: (tree) => trees.push(tree),
    onWork: (payload) => work.push(payload),
    onActivity: () => {
      activity++;
    },
    onEpoch: () => {
      epochs++;
    },
    onBack: () => undefined,
  });
  return { feed, trees, work, activity: () => activity, epochs: () => epochs, log: () => log };
}

/** Says something of a tree, as the fold does. */
export async function announce(db: TestDatabase, root: string, openJobs: number): Promise<void> {
  await db.query(`select pg_notify('jobtree_progress', $1::jsonb::text)`, [
    JSON.stringify({ root, openJobs, jobs: [] }),
  ]);
}

/** The process ids, in Postgres, of the sessions that have the role of the bridge. */
export async function bridges(db: TestDatabase): Promise<number[]> {
  const rows = await db.query<{ pid: number }>(
    `select l.pid from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
     where l.locktype = 'advisory' and l.classid = $1 and l.granted order by l.objid`,
    [bridgeLockClass],
  );
  return rows.map(({ pid }) => pid);
}

/** Waits until it is so. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  timeout = 15_000,
): Promise<void> {
  await expect.poll(async () => ((await check()) ? what : 'not yet'), { timeout, interval: 10 }).toBe(what);
}
