/** `jobtree items`: the items of a job, in their order. */
import type { Item, ItemStatus } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { colourOf } from '../colours.ts';
import { exitCodes } from '../exit-codes.ts';
import { print } from '../output.ts';
import { type Cell, Table } from '../table.ts';

export interface ItemsOptions extends ApiOptions {
  readonly status?: readonly Lowercase<ItemStatus>[];
  readonly limit: number;
}

const pageSize = 1_000;
export async function listItems(jobId: string, options: ItemsOptions): Promise<number> {
  const statuses = options.status?.map((status) => status.toUpperCase() as ItemStatus);
  const table = new Table(columns);
  await withClient(options, async (client) => {
    let left = options.limit;
    let after: string | undefined;
    do {
      const page = await client.items(jobId, {
        first: Math.min(left, pageSize),
        after,
        statuses,
      });
      if (options.json) for (const item of page.nodes) print(`${JSON.stringify(item)}\n`);
      else table.print(page.nodes.map(toCells));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

/** The id comes first and whole: it is what the other commands take. */
const columns = [
  { title: 'ID' },
  { title: 'STATUS' },
  { title: 'FAILURES', align: 'right' },
  { title: 'PAYLOAD', cut: 'end' },
] as const;

function toCells(item: Item): Cell[] {
  const word = item.status.toLowerCase();
  return [item.id, { text: word, colour: colourOf(word) }, String(item.failureCount), textOf(item)];
}

/** What failed says why, and what is worked on what its worker noted; of others the payload shows which it is. */
function textOf({ status, failures, note, payload, finishedAt, retryAt }: Item): string {
  const last = failures.at(-1);
  const reason = last && `${last.code}: ${last.message}`;
  if (status === 'FAILED' && reason !== undefined) return reason;
  const shown = JSON.stringify(payload);
  if (finishedAt !== null) return shown;
  const again = reason !== undefined && retryAt !== null ? `again at ${retryAt} after ${reason}` : undefined;
  return [note ?? again, shown].filter((text) => text !== undefined).join(' · ');
}
