/**
 * Creates the trees of schedules when they are due. Every server does, and the first one creates the tree, so an occurrence is late only if no
 * server runs. It also looks regularly for schedules that others have changed, for queued ones, and for those that failed.
 */
import type { Logger } from 'pino';
import type { Engine } from '../../domain/engine/engine.ts';
import { fireSchedules } from '../../domain/schedules/fire-schedules.ts';
import { Loop, pollMs } from './loop.ts';

export function createScheduler({ engine, logger }: { engine: Engine; logger: Logger }): Loop {
  const look = async (signal: AbortSignal) => {
    const { failed, waitMs } = await fireSchedules(engine, signal);
    return failed ? pollMs : Math.min(pollMs, waitMs);
  };
  return new Loop({ look, logger, failure: 'schedules could not be processed; trying again' });
}
