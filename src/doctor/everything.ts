/** What `jobtree doctor` looks at, one thing after the other: it has a connection of its own, and no server has to run. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import {
  betweenLooksMs,
  checkEncryption,
  checkInto,
  checkPostgres,
  checkStuck,
  checkWork,
  findPrefix,
  unreachable,
} from './examine.ts';
import type { Finding, Judgement } from './finding.ts';
import { checkPooler } from './postgres.ts';
import { checkRedis } from './redis.ts';
import { askServer, checkClocks, checkServer } from './server.ts';
import { OwnSession, type Session } from './session.ts';
import { checkOtherStores, checkUploadStore } from './uploads.ts';
import { lookFirst, readWatch } from './work.ts';

export interface Examination {
  readonly config: Config;
  /** Of the database; of the pooler, where there is one. */
  readonly databaseUrl: string;
  readonly apiUrl: string;
  /** Somebody has named that URL. */
  readonly isApiNamed: boolean;
  /** How long a transaction may be open. */
  readonly patienceMs: number;
}

/** Gives what it finds as it finds it. `isReachable` tells whether Postgres could be asked at all. */
export async function examineEverything(
  { config, databaseUrl, apiUrl, isApiNamed, patienceMs }: Examination,
  onFinding: (finding: Finding) => void,
): Promise<{ isReachable: boolean }> {
  const check = checkInto(onFinding);
  const server = await askServer(apiUrl);
  await checkEncryption(check, config);
  const redis = async (options: Parameters<typeof checkRedis>[1]) => {
    const { redis } = config;
    if (redis !== undefined) await check('redis', () => checkRedis(redis, options));
  };
  const uploads = async (asked?: Session) => {
    const { uploadStore } = config;
    if (uploadStore !== undefined) await check('uploads', () => checkUploadStore(uploadStore));
    if (asked !== undefined) await check('uploads', () => checkOtherStores(asked, uploadStore));
  };

  let session: OwnSession;
  try {
    session = await OwnSession.open(config.directDatabaseUrl ?? databaseUrl);
  } catch (error) {
    await check('postgres', () => [unreachable(error)]);
    await check('server', () => checkServer(server, apiUrl, isApiNamed));
    await redis({ prefix: config.redis?.prefix, isWatched: false });
    await uploads();
    return { isReachable: false };
  }
  try {
    const isCurrent = await checkPostgres(check, session, {
      patienceMs,
      showsQueries: true,
      hear: () => session.hear(`jobtree_doctor_${randomUUID()}`, 3_000),
    });
    if (config.directDatabaseUrl !== undefined) await check('pooler', () => withPooler(databaseUrl));
    await check('clocks', () => checkClocks(session, server));
    await check('server', () => checkServer(server, apiUrl, isApiNamed));
    const prefix = config.redis && (await findPrefix(session, config));
    if (!isCurrent) {
      await redis({ prefix, isWatched: false });
      await uploads();
      return { isReachable: true };
    }

    const watch = await readWatch(session, config.sweepIntervalMs);
    const first = await lookFirst(session);
    const lookedAt = performance.now();
    await redis({ prefix, isWatched: watch.isWatched });
    await uploads(session);
    await checkWork(check, session, { config, watch });
    // What was there at the first look has not been there for long; without a server nothing will happen.
    if (watch.isWatched && first.deltas.length + first.keys.length > 0)
      await delay(lookedAt + betweenLooksMs(watch.sweepIntervalMs) - performance.now());
    await checkStuck(check, session, { watch, first });
    return { isReachable: true };
  } finally {
    await session.close();
  }
}

async function withPooler(databaseUrl: string): Promise<Judgement[]> {
  const pooled = await OwnSession.open(databaseUrl);
  try {
    return await checkPooler(pooled);
  } finally {
    await pooled.close();
  }
}
