/**
 * Deletes trees whose retention has ended, and audit entries, operations and notes that are too old. Every server does, in small batches and for a fraction of the
 * time, so that work on other trees is hardly slowed. The progress is kept in the database, so others continue where a dying server stopped.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { pruneAudit } from '../../domain/access/audit.ts';
import type { Engine } from '../../domain/engine/engine.ts';
import { pruneNotes } from '../../domain/operations/dead-letter-notes.ts';
import { pruneOperations } from '../../domain/operations/operations.ts';
import { reapSome } from '../../domain/retention/retention.ts';
import { Loop, pollMs } from './loop.ts';

/** The fraction of the time that Postgres spends on it. */
const share = 1 / 8;

const pruneEveryMs = 600_000;

export function createReaper(options: {
  engine: Engine;
  /** Null: kept for ever. */
  auditRetentionSeconds: number | null;
  logger: Logger;
}): Loop {
  const { engine, auditRetentionSeconds, logger } = options;
  const { database } = engine;
  let pruneAt = 0;
  /** The note after which the search for old ones continues; undefined to start over. */
  let notesFrom: string | undefined;
  const prune = async () => {
    notesFrom = await pruneNotes(database, notesFrom);
    const more = [
      notesFrom !== undefined,
      await pruneOperations(database),
      auditRetentionSeconds !== null && (await pruneAudit(database, auditRetentionSeconds)),
    ];
    return more.includes(true);
  };
  const look = async (signal: AbortSignal) => {
    const rest = (tookMs: number) =>
      delay(tookMs * (1 / share - 1), undefined, { signal }).catch(() => undefined);
    if (performance.now() >= pruneAt) {
      // Also if it fails: reaping goes on.
      pruneAt = performance.now() + pruneEveryMs;
      if (await prune()) pruneAt = 0;
    }
    return (await reapSome(engine, rest)) ? 0 : pollMs;
  };
  return new Loop({ look, logger, failure: 'trees could not be reaped; trying again' });
}
