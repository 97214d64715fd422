/** What an operation reads of items: whole pages within limits of memory, and large parts on request. */
import type { GraphQLResolveInfo } from 'graphql';
import { FairSemaphore } from '../../concurrency/fair-semaphore.ts';
import { readNotes } from '../../domain/items/item-notes.ts';
import { type Item, readItems } from '../../domain/items/read-items.ts';
import { readPayloadBeginnings, readPayloads, readResults } from '../../domain/items/read-payloads.ts';
import { readGroupIds } from '../../domain/operations/dead-letters.ts';
import type { ItemKey } from '../../domain/values/ids.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import { checkAnswerSize, takesPart } from '../core/answer-size.ts';
import { ByteBudget } from '../core/byte-budget.ts';
import { createGroupLoader, createLoader } from '../core/loader.ts';
import { selectedFields } from '../core/selection.ts';
import type { Services } from '../core/services.ts';

/** The fields that can be shown without reading an item's details. */
const withoutDetails = new Set([
  '__typename',
  'id',
  'job',
  'status',
  'payload',
  'payloadBeginning',
  'result',
  'childItems',
  'cursor',
  'pageInfo',
]);

/**
 * The bytes of all pages that are being read, in all operations of the process. A page takes several times its size until it is
 * an answer, so many at a time would take too much memory.
 */
const pageBytes = new ByteBudget(16_000_000);

/** How many bytes one query reads; for a moment it takes three times as much. */
const batchBytes = 8_000_000;

function toBatches(keys: readonly ItemKey[], sizes: readonly number[]): ItemKey[][] {
  const batches: ItemKey[][] = [];
  let batch: ItemKey[] = [];
  let bytes = 0;
  for (const [i, key] of keys.entries()) {
    const size = sizes[i] ?? 0;
    if (batch.length === 0 || batch.length === maxBatch || bytes + size > batchBytes) {
      batch = [];
      batches.push(batch);
      bytes = 0;
    }
    batch.push(key);
    bytes += size;
  }
  return batches;
}

/** Leaves connections for other reads, however many pages are requested. */
const pageReads = new FairSemaphore(2);

/** Pages of items for the same fields of an operation are measured together, and then read together. */
const pages = createGroupLoader(
  ({ info }: { keys: readonly ItemKey[]; info: GraphQLResolveInfo }) => info.fieldNodes,
  async (requests, services) => {
    const { info } = requests[0];
    const keys = requests.flatMap(({ keys }) => keys);
    const fields = selectedFields(info, ['nodes', 'edges', 'node']);
    const parts = {
      details: [...fields].some((field) => !withoutDetails.has(field)),
      status: fields.has('status'),
      payload: fields.has('payload'),
      result: fields.has('result'),
    };
    const items = await pageReads.run(services.engine, async () => {
      const sizes = await checkAnswerSize(keys, services, info);
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      return pageBytes.run(bytes, async () => {
        const read: (Item | undefined)[] = [];
        for (const batch of toBatches(keys, sizes)) {
          read.push(...(await readItems(services.engine.database, batch, parts)));
        }
        return read;
      });
    });
    let start = 0;
    return requests.map(({ keys }) => {
      const end = start + keys.length;
      const page = items.slice(start, end).flatMap((item) => item ?? []);
      start = end;
      return page;
    });
  },
);

/** The items of these keys, in their order. Items that were deleted meanwhile are left out. */
export async function loadItems(
  keys: readonly ItemKey[],
  context: Services,
  info: GraphQLResolveInfo,
): Promise<Item[]> {
  return keys.length === 0 ? [] : pages(context).load({ keys, info });
}

// Parts of items that were read without them. They may be large, so each is read only on request.

export const payloads = createLoader(async (keys: readonly ItemKey[], context) =>
  (await takesPart(keys, 'payload', context))
    ? readPayloads(context.engine.database, keys)
    : keys.map(() => null),
);
/** For lists, which tell items apart by it. */
export const beginnings = createLoader((keys: readonly ItemKey[], { engine }) =>
  readPayloadBeginnings(engine.database, keys, 200),
);
export const results = createLoader(async (keys: readonly ItemKey[], context) =>
  (await takesPart(keys, 'result', context))
    ? readResults(context.engine.database, keys)
    : keys.map(() => null),
);
export const groupIds = createLoader((keys: readonly ItemKey[], { engine }) =>
  readGroupIds(engine.database, keys),
);

export const notes = createLoader((keys: readonly ItemKey[], { engine }) => readNotes(engine.database, keys));
export const logs = createLoader(async (keys: readonly ItemKey[], context) => {
  if (!(await takesPart(keys, 'log', context))) return keys.map(() => []);
  return (await readNotes(context.engine.database, keys)).map(({ log }) => log);
});
