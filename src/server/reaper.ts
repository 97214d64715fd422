/**
 * Deletes trees whose retention is over, and what is too old in the audit. Every server does it, in small batches and for a part of the time, so that whoever works on other
 * trees hardly feels it: what is marked is in the database, so others go on with what a server that dies was at.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { pruneAudit } from '../domain/audit.ts';
import type { Engine } from '../domain/engine.ts';
import { reapSome } from '../domain/retention.ts';
import { Loop, pollMs } from './loop.ts';

/** Postgres works on it for so much of the time. */
const share = 1 / 8;

const pruneEveryMs = 600_000;

export function createReaper(options: {
  engine: Engine;
  /** Null for ever. */
  auditRetentionSeconds: number | null;
  logger: Logger;
}): Loop {
  const { engine, auditRetentionSeconds, logger } = options;
  let pruneAt = 0;
  const look = async (signal: AbortSignal) => {
    const rest = (tookMs: number) =>
      delay(tookMs * (1 / share - 1), undefined, { signal }).catch(() => undefined);
    if (auditRetentionSeconds !== null && performance.now() >= pruneAt) {
      const isMore = await pruneAudit(engine.database, auditRetentionSeconds);
      if (!isMore) pruneAt = performance.now() + pruneEveryMs;
    }
    return (await reapSome(engine, rest)) ? 0 : pollMs;
  };
  return new Loop({ look, logger, failure: 'trees could not be reaped; trying again' });
}
