/**
 * Empties the object store of uploads that nobody needs any more. Every server does it, apart from all else: the store may be slow, or away.
 */
import type { Logger } from 'pino';
import type { Uploads } from '../domain/uploads.ts';
import { Loop } from './loop.ts';

/** So often it looks for some, and so long it waits where the store fails. */
const lookMs = 10_000;

export function createRemover({ uploads, logger }: { uploads: Uploads; logger: Logger }): Loop {
  const look = async (signal: AbortSignal) => ((await uploads.removeObjects(signal)) ? 0 : lookMs);
  return new Loop({
    look,
    logger,
    failure: 'uploads could not be removed from the object store; trying again',
    retryMs: lookMs,
  });
}
