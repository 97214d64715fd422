/**
 * Removes uploads that nobody needs any more from the object store. Every server does, in a loop of its own, because the store may be slow or
 * down.
 */
import type { Logger } from 'pino';
import type { Uploads } from '../../domain/files/uploads.ts';
import { Loop } from './loop.ts';

/** How often it looks for some, and how long it waits when the store fails. */
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
