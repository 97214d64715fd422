/** `jobtree watch-token`: what opens one tree for somebody's browser; or the end of all that there are. */
import type { Sees } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { printOutcome } from '../output.ts';

export interface WatchTokenOptions extends ApiOptions {
  /** In milliseconds. */
  readonly expires: number;
  readonly sees: Lowercase<Sees>;
  readonly revoke?: true;
}

export async function watchToken(id: string, options: WatchTokenOptions): Promise<number> {
  const { expires, sees, revoke, json } = options;
  const [outcome, text] = await withClient(options, async (client) => {
    if (revoke) return [await client.revokeWatchTokens(id), 'Revoked.'] as const;
    const made = await client.createWatchToken(id, {
      expiresInSeconds: Math.round(expires / 1_000),
      sees: sees.toUpperCase() as Sees,
    });
    return [made, made.token] as const;
  });
  printOutcome(json, { jobId: id, ...outcome }, text);
  return exitCodes.success;
}
