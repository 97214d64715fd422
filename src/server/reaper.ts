/**
 * Deletes trees whose retention is over. Every server does it, in small batches and for a part of the time, so that whoever works on other
 * trees hardly feels it: what is marked is in the database, so others go on with what a server that dies was at.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Engine } from '../domain/engine.ts';
import { reapSome } from '../domain/retention.ts';
import { Loop, pollMs } from './loop.ts';

/** Postgres works on it for so much of the time. */
const share = 1 / 8;

export function createReaper({ engine, logger }: { engine: Engine; logger: Logger }): Loop {
  const look = async (signal: AbortSignal) => {
    const rest = (tookMs: number) =>
      delay(tookMs * (1 / share - 1), undefined, { signal }).catch(() => undefined);
    return (await reapSome(engine, rest)) ? 0 : pollMs;
  };
  return new Loop({ look, logger, failure: 'trees could not be reaped; it is tried again' });
}
