/** The job that an import fills: one of its own, or one that exists. */
import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { Client, JobSpec } from '../../client/index.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';

export interface Target {
  readonly jobId: string;
  /** Whether it was created for this import, and so is cancelled with it. */
  readonly isOurs: boolean;
  /** Whether it takes items. A job found by its dedupe key may be sealed: then the import was done before. */
  readonly isOpen: boolean;
  /**
   * For the keys of its items. In a job of our own that is the same for every import of the file, so that one that was
   * broken off goes on where it ended; in somebody else's job it can't meet the keys of others.
   */
  readonly keyPrefix: string;
}

const answerWithinMs = 5_000;

export const newKeyPrefix = 'line ';

/** Of this import alone; people see it in lists. */
const newKey = (fileName: string) => `${basename(fileName)} ${randomBytes(9).toString('base64url')}`;

export function existingJob(jobId: string, fileName: string): Target {
  return { jobId, isOurs: false, isOpen: true, keyPrefix: `${newKey(fileName)} line ` };
}

export async function newJob(
  client: Client,
  spec: JobSpec,
  fileName: string,
  signal: AbortSignal,
): Promise<Target> {
  // With a key the creation can be repeated when its answer was lost.
  const dedupeKey = spec.dedupeKey ?? newKey(fileName);
  const { id: jobId, created } = await client.createJob(
    { ...spec, dedupeKey },
    { signal: aWhileAfter(signal) },
  );
  const isOurs = created || spec.dedupeKey === undefined;
  if (isOurs) return { jobId, isOurs, isOpen: true, keyPrefix: newKeyPrefix };
  const { sealedAt, cancelledAt } = await client.job(jobId, { signal });
  if (cancelledAt != null) {
    const message = `The job with this dedupe key, ${jobId}, was cancelled or failed: delete it, or use another key.`;
    throw new CommandError(exitCodes.failure, message);
  }
  return { jobId, isOurs, isOpen: sealedAt == null, keyPrefix: newKeyPrefix };
}

/** Aborts after the other signal has: time for an answer, since a job whose id is not known can't be cancelled. */
export function aWhileAfter(signal: AbortSignal): AbortSignal {
  const late = new AbortController();
  const abortLater = () => setTimeout(() => late.abort(signal.reason), answerWithinMs).unref();
  if (signal.aborted) abortLater();
  else signal.addEventListener('abort', abortLater, { once: true });
  return late.signal;
}
