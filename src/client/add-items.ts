/** Adds items to a job in as many requests as they need: each within the server's limits, one after the other, in order. */
import type { AddItemsMutation, AddStatus, ItemInput, TraceContextInput } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { JobtreeError, payloadOf } from './errors.ts';
import type { Http } from './http.ts';
import { checkList, type ItemSpec, toItemInput } from './job-spec.ts';
import { maxEntries, maxUnits } from './limits.ts';
import type { CallOptions } from './types.ts';

/** How to add items. */
export interface AddOptions extends CallOptions {
  /** Whether these are the last items, so that the job is then sealed. Default: false. */
  readonly seal?: boolean | undefined;
  /** Which items are answered individually: all, or only those that were not added, which takes less time. Default: `all`. */
  readonly entries?: 'all' | 'notAdded' | undefined;
}

/** The answer to one item. */
export interface AddedItem {
  /** The position of the item in the list that was given, from 0. */
  readonly index: number;
  /** `DUPLICATE`: the job already had an item with this dedupe key. `INVALID`: the item breaks a rule. Neither adds anything. */
  readonly status: AddStatus;
  /** The id of the new item, or of the one that has the dedupe key. Null for an invalid item. */
  readonly itemId: string | null;
  /** What is wrong with an invalid item; null for others. */
  readonly error: string | null;
}

/** What became of the items. */
export interface AddItemsResult {
  readonly added: number;
  readonly duplicates: number;
  /** How many items the server refused, each on its own: `entries` says which, and why. */
  readonly invalid: number;
  /** An answer for each item, or only for those that were not added, in their order. */
  readonly entries: readonly AddedItem[];
}

export async function addInBatches(
  http: Http,
  jobId: string,
  items: readonly ItemSpec[],
  {
    seal,
    all,
    signal,
    traceContext,
  }: {
    seal: boolean;
    all: boolean;
    signal: AbortSignal | undefined;
    traceContext: TraceContextInput | undefined;
  },
): Promise<AddItemsResult> {
  const batches = split(items);
  const result = { added: 0, duplicates: 0, invalid: 0, entries: [] as AddedItem[] };
  let done = 0;
  for (const [i, batch] of batches.entries()) {
    const input = {
      jobId,
      items: batch,
      seal: seal && i === batches.length - 1,
      ...(traceContext !== undefined && { traceContext }),
    };
    // If each item has a dedupe key, sending a lost request again adds nothing twice.
    const repeatable = batch.every((item) => item.dedupeKey != null);
    try {
      const data = await http.request(operations.AddItems, { input, all }, { repeatable, signal });
      collect(result, payloadOf(data.addItems), done);
    } catch (error) {
      throw withProgress(error, done, batch.length, items.length);
    }
    done += batch.length;
  }
  return result;
}

/** Splits items into batches that fit into one request each. @throws JobtreeError INVALID_INPUT */
export function split(items: readonly ItemSpec[]): ItemInput[][] {
  checkList(items, 'items');
  const batches: ItemInput[][] = [];
  let batch: ItemInput[] = [];
  let units = 0;
  for (const [i, item] of items.entries()) {
    const { input, size } = toItemInput(item, `items[${i}]`);
    if (batch.length === 0 || batch.length === maxEntries || units + size > maxUnits) {
      batch = [];
      units = 0;
      batches.push(batch);
    }
    batch.push(input);
    units += size;
  }
  return batches;
}

type Payload = Extract<AddItemsMutation['addItems'], { entries: unknown }>;

function collect(
  result: { added: number; duplicates: number; invalid: number; entries: AddedItem[] },
  payload: Payload,
  before: number,
) {
  for (const [i, { index = i, status, itemId, error }] of payload.entries.entries()) {
    // The server counts within its request; the caller counts within all items.
    const message = error?.message.replace(/^items\[(\d+)\]/, (_, n) => `items[${before + Number(n)}]`);
    result.entries.push({ index: before + index, status, itemId: itemId ?? null, error: message ?? null });
  }
  result.added += payload.added;
  result.duplicates += payload.duplicates;
  result.invalid += payload.invalid;
}

/** Adds to the error how far it got, and for which items the outcome is unknown. */
function withProgress(error: unknown, done: number, asked: number, of: number): unknown {
  if (!(error instanceof JobtreeError) || (done === 0 && error.outcome === 'NOTHING_DONE')) return error;
  const { code, field, outcome } = error;
  const soFar = done === 0 ? '' : `The first ${done} of ${of} items went through, then: `;
  const unknown =
    outcome === 'UNKNOWN'
      ? ` Whether items[${done}] to items[${done + asked - 1}] were added is not known.`
      : '';
  return new JobtreeError(code, `${soFar}${error.message}${unknown}`, { field, outcome, cause: error });
}
