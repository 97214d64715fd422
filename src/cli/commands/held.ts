/** `jobtree held`: which items workers hold, and for how long. */
import type { HeldItem } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { age } from '../figures.ts';
import { print } from '../output.ts';
import { type Cell, Table } from '../table.ts';

export interface HeldOptions extends ApiOptions {
  readonly type?: string[];
  readonly worker?: string[];
  readonly slow?: true;
  readonly limit: number;
}

export async function listHeldItems(options: HeldOptions): Promise<number> {
  const { type: types, worker: workers, slow: slowOnly = false, limit: first } = options;
  const items = await withClient(options, (client) =>
    client.heldItems({ first, slowOnly, ...(types && { types }), ...(workers && { workers }) }),
  );
  if (options.json) for (const item of items) print(`${JSON.stringify(item)}\n`);
  else new Table(columns, 'No worker holds such items.').print(items.map(toCells));
  return exitCodes.success;
}

/** The id comes first and whole: it is what the other commands take. */
const columns = [
  { title: 'ITEM' },
  { title: 'TYPE', cut: 'middle' },
  { title: 'WORKER', cut: 'middle' },
  { title: 'ATTEMPT', align: 'right', spare: true },
  { title: 'HELD', align: 'right' },
  { title: 'HEARD', align: 'right', spare: true },
] as const;

function toCells({ itemId, type, worker, attempt, claimedAt, heartbeatAt, slow }: HeldItem): Cell[] {
  const held = slow ? { text: `${age(claimedAt)}!`, colour: 'yellow' as const } : age(claimedAt);
  return [itemId, type, worker, String(attempt), held, age(heartbeatAt)];
}
