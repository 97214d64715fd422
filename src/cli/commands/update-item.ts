/** `jobtree update-item`: an item that waits is changed. */
import type { ItemChanges } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { print } from '../output.ts';

export interface UpdateItemOptions extends ApiOptions {
  readonly runAt?: Date | 'now';
  readonly priority?: number | 'none';
  readonly payload?: unknown;
}

export async function updateItem(
  id: string,
  { runAt, priority, payload, ...options }: UpdateItemOptions,
): Promise<number> {
  const changes: ItemChanges = {
    runAt: runAt === 'now' ? null : runAt,
    priority: priority === 'none' ? null : priority,
    payload,
  };
  const item = await withClient(options, (client) => client.updateItem(id, changes));
  print(`${options.json ? JSON.stringify(item) : 'Updated.'}\n`);
  return exitCodes.success;
}
