/** Adds items to a job in as many requests as they need, each within the server's limits. */
import type { AddItemsMutation, AddStatus, ItemInput, TraceContextInput } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { JobtreeError, payloadOf } from './errors.ts';
import { checkList, type ItemSpec, toItemInput } from './job-spec.ts';
import { maxEntries, maxUnits } from './limits.ts';
import { refuseUnknown, type Send } from './options.ts';
import type { CallOptions } from './types.ts';

/** How to add items. */
export interface AddOptions extends CallOptions {
  /** Whether these are the last items, so that the job is then sealed. Default: false. */
  readonly seal?: boolean | undefined;
  /** Which items are answered individually: all, or only those that were not added, which takes less time. Default: `all`. */
  readonly entries?: 'all' | 'notAdded' | undefined;
  /**
   * How many requests may be under way at once: 1 to 16. With more than one, items of different requests may be added in another
   * order; those with a serialize key still are not. Default: 1.
   */
  readonly concurrency?: number | undefined;
}

/** Items for a job, read as they are sent: a list, or anything that `for await` reads. */
export type Items<Item> = Iterable<Item> | AsyncIterable<Item>;

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

interface Options {
  /** How many items the job has got already from the list that these end. Default: 0. */
  readonly start?: number;
  /** The length of that list, if it is known. */
  readonly of: number | undefined;
  readonly seal: boolean;
  readonly all: boolean;
  readonly concurrency: number;
  readonly signal: AbortSignal | undefined;
  readonly traceContext: TraceContextInput | undefined;
}

interface Failure {
  /** The index of the first item of the request. */
  readonly from: number;
  readonly asked: number;
  readonly error: unknown;
}

/** Sends batches with up to `concurrency` at once, and the last one, with the seal, alone. Stops at the first that fails. */
export async function addInBatches(
  send: Send,
  jobId: string,
  batches: Items<ItemInput[]>,
  { start = 0, of, seal, all, concurrency, signal, traceContext }: Options,
): Promise<AddItemsResult> {
  const result = { added: 0, duplicates: 0, invalid: 0, entries: [] as AddedItem[] };
  const underWay = new Set<Promise<void>>();
  let failure: Failure | undefined;
  let [read, wentThrough] = [start, start];

  const sendOne = async (batch: ItemInput[], from: number, seal: boolean) => {
    const input = { jobId, items: batch, seal, ...(traceContext !== undefined && { traceContext }) };
    // If each item has a dedupe key, sending a lost request again adds nothing twice.
    const repeatable = batch.every((item) => item.dedupeKey != null);
    try {
      const data = await send(operations.AddItems, { input, all }, { signal }, repeatable);
      collect(result, payloadOf(data.addItems), from);
      wentThrough += batch.length;
    } catch (error) {
      if (failure === undefined || from < failure.from) failure = { from, asked: batch.length, error };
    }
  };
  const begin = async (batch: ItemInput[], isLast: boolean) => {
    const from = read;
    read += batch.length;
    const isOrdered = isLast || batch.some(({ serializeKey }) => serializeKey != null);
    while (underWay.size >= (isOrdered ? 1 : concurrency)) await Promise.race(underWay);
    if (failure !== undefined) return;
    const sending = sendOne(batch, from, isLast && seal).finally(() => underWay.delete(sending));
    underWay.add(sending);
  };

  try {
    let next: ItemInput[] | undefined;
    for await (const batch of batches) {
      if (next !== undefined) await begin(next, false);
      if (failure !== undefined) break;
      signal?.throwIfAborted();
      next = batch;
    }
    if (next !== undefined && failure === undefined) await begin(next, true);
  } finally {
    await Promise.all(underWay);
  }
  if (failure !== undefined) throw withProgress(failure, wentThrough, of);
  result.entries.sort((a, b) => a.index - b.index);
  return result;
}

/** Collects items until they are as many as fit into one request. */
class Batcher {
  #batch: ItemInput[] = [];
  #units = 0;
  #count = 0;

  /** Returns the batch that is full, if one is. @throws JobtreeError INVALID_INPUT */
  add(item: ItemSpec): ItemInput[] | undefined {
    const { input, size } = toItemInput(item, `items[${this.#count++}]`);
    const isFull = this.#batch.length === maxEntries || this.#units + size > maxUnits;
    const full = isFull && this.#batch.length > 0 ? this.#batch : undefined;
    if (full !== undefined) {
      this.#batch = [];
      this.#units = 0;
    }
    this.#batch.push(input);
    this.#units += size;
    return full;
  }

  get rest(): ItemInput[][] {
    return this.#batch.length === 0 ? [] : [this.#batch];
  }
}

/** Splits items into batches that fit into one request each. @throws JobtreeError INVALID_INPUT */
export function split(items: readonly ItemSpec[]): ItemInput[][] {
  checkList(items, 'items');
  const batcher = new Batcher();
  const full = items.flatMap((item) => {
    const batch = batcher.add(item);
    return batch === undefined ? [] : [batch];
  });
  return [...full, ...batcher.rest];
}

/** The same for any items; those of a list are all checked first. @throws JobtreeError INVALID_INPUT */
export function batchesOf(items: Items<unknown>, toSpec: (item: unknown) => ItemSpec): Items<ItemInput[]> {
  if (Array.isArray(items)) return split(items.map(toSpec));
  const isRead =
    typeof items === 'object' &&
    items !== null &&
    (Symbol.iterator in items || Symbol.asyncIterator in items);
  if (!isRead)
    throw new JobtreeError('INVALID_INPUT', 'items must be a list, or another iterable.', { field: 'items' });
  return splitAsRead(items, toSpec);
}

async function* splitAsRead(
  items: Items<unknown>,
  toSpec: (item: unknown) => ItemSpec,
): AsyncGenerator<ItemInput[], void, undefined> {
  const batcher = new Batcher();
  for await (const item of items) {
    const batch = batcher.add(toSpec(item));
    if (batch !== undefined) yield batch;
  }
  yield* batcher.rest;
}

const addOptions = {
  signal: true,
  seal: true,
  entries: true,
  concurrency: true,
} satisfies Record<keyof AddOptions, true>;

/** @throws JobtreeError INVALID_INPUT, naming the option */
export function checkAddOptions(options: AddOptions): AddOptions {
  refuseUnknown(options, addOptions);
  const { concurrency = 1 } = options;
  if (!(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 16)) {
    const message = `concurrency is ${concurrency}; it must be a whole number from 1 to 16.`;
    throw new JobtreeError('INVALID_INPUT', message, { field: 'concurrency' });
  }
  return options;
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
function withProgress({ error, from, asked }: Failure, wentThrough: number, of: number | undefined): unknown {
  if (!(error instanceof JobtreeError) || (wentThrough === 0 && error.outcome === 'NOTHING_DONE'))
    return error;
  const { code, field, outcome } = error;
  const first = of === undefined ? `${from} items` : `${from} of ${of} items`;
  const soFar = from === 0 ? '' : `The first ${first} went through, then: `;
  const unknown =
    outcome === 'UNKNOWN'
      ? ` Whether items[${from}] to items[${from + asked - 1}] were added is not known.`
      : '';
  const later = wentThrough > from ? ` ${wentThrough - from} items behind them were added.` : '';
  return new JobtreeError(code, `${soFar}${error.message}${unknown}${later}`, {
    field,
    outcome,
    cause: error,
  });
}
