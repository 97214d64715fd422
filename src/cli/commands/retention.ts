/** `jobtree retention`: for how long a tree is kept. */
import type { Job } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { duration, orNull } from '../figures.ts';
import { printOutcome } from '../output.ts';

export interface RetentionOptions extends ApiOptions {
  readonly keep?: number | 'never';
  readonly idleExpiry?: number | 'never';
}

export async function retention(
  id: string,
  { keep, idleExpiry, ...options }: RetentionOptions,
): Promise<number> {
  const change = { retentionSeconds: orNull(keep), idleExpirySeconds: orNull(idleExpiry) };
  const job = await withClient(options, (client) =>
    keep === undefined && idleExpiry === undefined ? client.job(id) : client.setRetention(id, change),
  );
  const { id: jobId, retentionSeconds, reapAt, idleExpirySeconds, idleSince } = job;
  const outcome = { jobId, retentionSeconds, reapAt, idleExpirySeconds, idleSince };
  printOutcome(options.json, outcome, toText(job));
  return exitCodes.success;
}

function toText({ retentionSeconds, reapAt, idleExpirySeconds, idleSince }: Job): string {
  const until = reapAt == null ? '' : `, until ${reapAt}`;
  const kept =
    retentionSeconds == null
      ? 'Kept forever'
      : retentionSeconds === 0
        ? 'Deleted as soon as it is complete'
        : `Kept for ${duration(retentionSeconds * 1_000)} once it is complete${until}`;
  const idle = idleSince == null ? [] : [`Idle since ${idleSince}.`];
  const expiry =
    idleExpirySeconds == null
      ? []
      : [`Cancelled when it has been idle for ${duration(idleExpirySeconds * 1_000)}.`];
  return [`${kept}.`, ...idle, ...expiry].join('\n');
}
