/** `jobtree update-item`: an item that waits is changed. */
import type { ItemChanges } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { printOutcome } from '../output.ts';

export interface UpdateItemOptions extends ApiOptions {
  readonly runAt?: Date | 'now';
  readonly priority?: number | 'none';
  readonly payload?: unknown;
}

export async function updateItem(
  id: string,
  { runAt, priority, payload, ...options }: UpdateItemOptions,
): Promise<number> {
  if (runAt === undefined && priority === undefined && payload === undefined)
    throw new CommandError(exitCodes.usage, 'Say what to change: give --run-at, --priority or --payload.');
  const changes: ItemChanges = {
    runAt: runAt === 'now' ? null : runAt,
    priority: priority === 'none' ? null : priority,
    payload,
  };
  const item = await withClient(options, (client) => client.updateItem(id, changes));
  printOutcome(options.json, item, 'Updated.');
  return exitCodes.success;
}
