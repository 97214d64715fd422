/** Feeds of several servers in one process, and what they say. */
import { Writable } from 'node:stream';
import pino from 'pino';
import { expect } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import type { TreeProgress } from '../../src/domain/progress/progress.ts';
import { relayLockClass } from '../../src/events/relay.ts';
import { LiveTransport } from '../../src/events/transport.ts';
import type { TestDatabase } from './database.ts';

export interface TestTransport {
  readonly transport: LiveTransport;
  /** What came in, in order. */
  readonly trees: TreeProgress[];
  readonly work: string[];
  /** The trees of which a message was lost. */
  readonly losses: string[];
  readonly activity: () => number;
  readonly resyncs: () => number;
  readonly log: () => string;
}

/** Starts nothing yet. */
export function createTransport(directUrl: string, env: Record<string, string> = {}): TestTransport {
  const trees: TreeProgress[] = [];
  const work: string[] = [];
  const losses: string[] = [];
  let activity = 0;
  let resyncs = 0;
  let log = '';
  const sink = new Writable({
    write: (chunk, _, done) => {
      log += chunk;
      done();
    },
  });
  const transport = new LiveTransport({
    directUrl,
    redis: readConfig(env).redis,
    logger: pino({ level: 'debug' }, sink),
    onTree: (tree) => trees.push(tree),
    onWork: (payload) => work.push(payload),
    onActivity: () => {
      activity++;
    },
    onLoss: (root) => losses.push(root),
    onResync: () => {
      resyncs++;
    },
    onBack: () => undefined,
  });
  return { transport, trees, work, losses, activity: () => activity, resyncs: () => resyncs, log: () => log };
}

/** Says something of a tree, as the fold does. */
export async function announce(db: TestDatabase, root: string, openJobs: number): Promise<void> {
  await db.query(`select jobtree.send_hints('progress', array[$1::jsonb::text])`, [
    JSON.stringify({ root, openJobs, jobs: [] }),
  ]);
}

/** The process ids, in Postgres, of the sessions that have the role of the relay. */
export async function relays(db: TestDatabase): Promise<number[]> {
  const rows = await db.query<{ pid: number }>(
    `select l.pid from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
     where l.locktype = 'advisory' and l.classid = $1 and l.granted order by l.objid`,
    [relayLockClass],
  );
  return rows.map(({ pid }) => pid);
}

/** Waits until it is so. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  timeout = 60_000,
): Promise<void> {
  await expect.poll(async () => ((await check()) ? what : 'not yet'), { timeout, interval: 10 }).toBe(what);
}
