/** `jobtree items`: the items of a job, in their order. */
import type { Item, ItemStatus } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { oneLine, print } from '../output.ts';

export interface ItemsOptions extends ApiOptions {
  readonly status?: Lowercase<ItemStatus>;
  readonly limit: number;
}

const pageSize = 1_000;
/** Where nobody says how wide the terminal is. */
const usualWidth = 120;
const idWidth = 47;
const statusWidth = 9;

export async function listItems(jobId: string, options: ItemsOptions): Promise<number> {
  const status = options.status?.toUpperCase() as ItemStatus | undefined;
  await withClient(options, async (client) => {
    let left = options.limit;
    let after: string | undefined;
    if (!options.json) print(line('ID', 'STATUS', 'FAILURES', 'PAYLOAD'));
    do {
      const page = await client.items(jobId, {
        first: Math.min(left, pageSize),
        after,
        ...(status && { status }),
      });
      for (const item of page.nodes) print(options.json ? `${JSON.stringify(item)}\n` : toLine(item));
      left -= page.nodes.length;
      after = page.hasNextPage && left > 0 ? (page.endCursor ?? undefined) : undefined;
    } while (after !== undefined);
  });
  return exitCodes.success;
}

/** An item that failed says why; of others the payload shows which it is. */
function toLine({ id, status, failureCount, failures, payload }: Item): string {
  const last = failures.at(-1);
  const text =
    status === 'FAILED' && last !== undefined ? `${last.code}: ${last.message}` : JSON.stringify(payload);
  return line(id, status.toLowerCase(), String(failureCount), oneLine(text));
}

/** The id comes first and whole: it is what the other commands want. */
function line(id: string, status: string, failures: string, text: string): string {
  const start = `${id.padEnd(idWidth)}  ${status.padEnd(statusWidth)}  ${failures.padStart(8)}  `;
  const width = Math.max(20, (process.stdout.columns ?? usualWidth) - start.length);
  return `${start}${text.length > width ? `${text.slice(0, width - 1)}…` : text}\n`;
}
