/** Looks at everything, one thing after the other: what can't be looked at is a finding too. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { encryptionProblems } from '../../encryption.ts';
import { databasePrefix } from '../../events/redis-channels.ts';
import { checkCallbacks } from './callbacks.ts';
import { type Finding, type Judgement, ok, sick, warning } from './finding.ts';
import { checkMigrations } from './migrations.ts';
import {
  checkConnections,
  checkNotifications,
  checkPooler,
  checkSettings,
  checkVersion,
} from './postgres.ts';
import { checkRedis } from './redis.ts';
import { checkSecrets } from './secrets.ts';
import { askServer, checkClocks, checkServer } from './server.ts';
import { Session } from './session.ts';
import { checkLocks, checkPrepared, checkSlots, checkTransactions } from './snapshots.ts';
import { checkDeadRows, checkTransactionIds } from './tables.ts';
import { checkOtherStores, checkUploadStore } from './uploads.ts';
import {
  checkBackground,
  checkDue,
  checkFolds,
  checkHeartbeats,
  checkIdleTrees,
  checkKeys,
  checkLeases,
  checkServers,
  checkWorkers,
  lookFirst,
  readWatch,
} from './work.ts';

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

/** Between two looks each server sweeps at least twice; with very long intervals the second look may come too early. */
const betweenLooksMs = (sweepIntervalMs: number) => Math.min(15_000, Math.max(3_000, 3 * sweepIntervalMs));

/** Gives what it finds as it finds it. `isReachable` tells whether Postgres could be asked at all. */
export async function examine(
  { config, databaseUrl, apiUrl, isApiNamed, patienceMs }: Examination,
  onFinding: (finding: Finding) => void,
): Promise<{ isReachable: boolean }> {
  const check = async (name: string, look: () => Judgement[] | Promise<Judgement[]>) => {
    for (const judgement of await tried(look)) onFinding({ check: name, ...judgement });
  };
  const server = await askServer(apiUrl);
  for (const problem of encryptionProblems(config))
    await check('encryption', () => [warning(problem, 'Others on the network can read along or interfere.')]);
  const redis = async (options: { prefix: string | undefined; isWatched: boolean }) => {
    if (config.redis !== undefined) await checkRedisOf(config.redis, options);
  };
  const checkRedisOf = (
    redisConfig: NonNullable<Config['redis']>,
    options: Parameters<typeof checkRedis>[1],
  ) => check('redis', () => checkRedis(redisConfig, options));
  const uploads = async (asked?: Session) => {
    const { uploadStore } = config;
    if (uploadStore !== undefined) await check('uploads', () => checkUploadStore(uploadStore));
    if (asked !== undefined) await check('uploads', () => checkOtherStores(asked, uploadStore));
  };

  let session: Session;
  try {
    session = await Session.open(config.directDatabaseUrl ?? databaseUrl);
  } catch (error) {
    const advice = 'Bring it back, or correct DATABASE_URL. Servers wait for it and lose nothing.';
    await check('postgres', () => [sick(`Postgres can't be reached: ${reasonOf(error)}.`, advice)]);
    await check('server', () => checkServer(server, apiUrl, isApiNamed));
    await redis({ prefix: config.redis?.prefix, isWatched: false });
    await uploads();
    return { isReachable: false };
  }
  try {
    await check('postgres', () => checkVersion(session));
    await check('connections', () => checkConnections(session));
    await check('settings', () => checkSettings(session));
    await check('notifications', () => checkNotifications(session, `jobtree_doctor_${randomUUID()}`));
    if (config.directDatabaseUrl !== undefined) await check('pooler', () => withPooler(databaseUrl));
    await check('clocks', () => checkClocks(session, server));
    await check('transactions', () => checkTransactions(session, patienceMs));
    await check('prepared', () => checkPrepared(session, patienceMs));
    await check('slots', () => checkSlots(session));
    await check('locks', () => checkLocks(session, patienceMs));
    await check('transaction-ids', () => checkTransactionIds(session));
    await check('dead-rows', () => checkDeadRows(session));

    let isCurrent = false;
    await check('migrations', async () => {
      const judged = await checkMigrations(session);
      isCurrent = judged.every(({ status }) => status === 'ok');
      return judged;
    });
    await check('server', () => checkServer(server, apiUrl, isApiNamed));
    const prefix = config.redis && (config.redis.prefix ?? (await findPrefix(session)));
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
    await check('servers', () => checkServers(session, watch));
    await check('leases', () => checkLeases(session, watch));
    await check('heartbeats', () => checkHeartbeats(session, watch));
    await check('due', () => checkDue(session, watch));
    await check('workers', () => checkWorkers(session, watch));
    await check('idle-trees', () => checkIdleTrees(session));
    await check('background', () => checkBackground(session, watch));
    await check('callbacks', () => checkCallbacks(session));
    await check('secrets', () => checkSecrets(session, config.secretsKeys));
    // What was there at the first look has not been there for long; without a server nothing will happen.
    if (watch.isWatched && first.deltas.length + first.keys.length > 0)
      await delay(lookedAt + betweenLooksMs(watch.sweepIntervalMs) - performance.now());
    await check('folds', () => checkFolds(session, watch, first));
    await check('keys', () => checkKeys(session, watch, first));
    return { isReachable: true };
  } finally {
    await session.close();
  }
}

async function withPooler(databaseUrl: string): Promise<Judgement[]> {
  const pooled = await Session.open(databaseUrl);
  try {
    return await checkPooler(pooled);
  } finally {
    await pooled.close();
  }
}

/** Some of it may be forbidden to the role; then Redis is asked without it. */
async function findPrefix(session: Session): Promise<string | undefined> {
  return databasePrefix((text, values) => session.query(text, values)).catch(() => undefined);
}

async function tried(look: () => Judgement[] | Promise<Judgement[]>): Promise<Judgement[]> {
  try {
    return await look();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === '57014' || code === '55P03')
      return [
        warning('There was no answer in time.', 'Postgres is busy, or the tables are locked: try again.'),
      ];
    if (code === '42501') return [ok(`not known: ${reasonOf(error)}`)];
    return [warning(`This can't be checked: ${reasonOf(error)}.`, 'Look at the log of Postgres.')];
  }
}

/** Some errors of connections have a code alone, or are several. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  const { message, code } = error as { message?: string; code?: string };
  return (message || code || String(error)).replace(/\.$/, '');
}
