/**
 * The checks, in the order in which they are reported: what can't be looked at is a finding too. The command and servers have these in common;
 * what only one of them can look at is in everything.ts and examiner.ts.
 */
import type { Config } from '../config/config.ts';
import { encryptionProblems } from '../config/encryption.ts';
import { databasePrefix } from '../events/redis-channels.ts';
import { checkCallbacks } from './callbacks.ts';
import { type Finding, type Judgement, ok, sick, warning } from './finding.ts';
import { checkHeartbeats, checkLeases } from './leases.ts';
import { checkMigrations } from './migrations.ts';
import { checkConnections, checkNotifications, checkSettings, checkVersion } from './postgres.ts';
import { checkSecrets } from './secrets.ts';
import type { Session } from './session.ts';
import { checkLocks, checkPrepared, checkSlots, checkTransactions } from './snapshots.ts';
import { checkDeadRows, checkTransactionIds } from './tables.ts';
import {
  checkBackground,
  checkDue,
  checkFolds,
  checkIdleTrees,
  checkKeys,
  checkServers,
  checkWorkers,
  type FirstLook,
  type Watch,
} from './work.ts';

/** Looks, and reports what comes of it under this name. */
export type Check = (name: string, look: () => Judgement[] | Promise<Judgement[]>) => Promise<void>;

export const checkInto =
  (onFinding: (finding: Finding) => void): Check =>
  async (name, look) => {
    for (const judgement of await tried(look)) onFinding({ check: name, ...judgement });
  };

export async function checkEncryption(check: Check, config: Config): Promise<void> {
  for (const problem of encryptionProblems(config))
    await check('encryption', () => [warning(problem, 'Others on the network can read along or interfere.')]);
}

export const unreachable = (error: unknown) =>
  sick(
    `Postgres can't be reached: ${reasonOf(error)}.`,
    'Bring it back, or correct DATABASE_URL. Servers wait for it and lose nothing.',
  );

/** Whether it has the tables of this version, so that the work can be looked at. */
export async function checkPostgres(
  check: Check,
  session: Session,
  options: { patienceMs: number; showsQueries: boolean; hear?: () => Promise<number | undefined> },
): Promise<boolean> {
  const { patienceMs, showsQueries, hear } = options;
  await check('postgres', () => checkVersion(session));
  await check('connections', () => checkConnections(session));
  await check('settings', () => checkSettings(session));
  await check('notifications', () => checkNotifications(session, hear));
  await check('transactions', () => checkTransactions(session, patienceMs, showsQueries));
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
  return isCurrent;
}

export async function checkWork(
  check: Check,
  session: Session,
  { config, watch }: { config: Config; watch: Watch },
): Promise<void> {
  await check('servers', () => checkServers(session, watch));
  await check('leases', () => checkLeases(session, watch));
  await check('heartbeats', () => checkHeartbeats(session, watch));
  await check('due', () => checkDue(session, watch));
  await check('workers', () => checkWorkers(session, watch));
  await check('idle-trees', () => checkIdleTrees(session));
  await check('background', () => checkBackground(session, watch));
  await check('callbacks', () => checkCallbacks(session));
  await check('secrets', () => checkSecrets(session, config.secretsKeys));
}

/** What was there at the first look, and is still there. */
export async function checkStuck(
  check: Check,
  session: Session,
  { watch, first }: { watch: Watch; first: FirstLook },
): Promise<void> {
  await check('folds', () => checkFolds(session, watch, first));
  await check('keys', () => checkKeys(session, watch, first));
}

/** Between two looks each server sweeps at least twice; with very long intervals the second look may come too early. */
export const betweenLooksMs = (sweepIntervalMs: number) =>
  Math.min(15_000, Math.max(3_000, 3 * sweepIntervalMs));

/** Some of it may be forbidden to the role; then Redis is asked without it. */
export async function findPrefix(session: Session, { redis }: Config): Promise<string | undefined> {
  return (
    redis?.prefix ?? databasePrefix((text, values) => session.query(text, values)).catch(() => undefined)
  );
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
