/** Part of the client: the items of jobs. */
import type { CancelItemsMutationVariables, ItemStatus } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import {
  type AddItemsResult,
  type AddOptions,
  addInBatches,
  batchesOf,
  checkAddOptions,
  type Items,
} from './add-items.ts';
import { DeadLetterCalls } from './dead-letters.ts';
import { type DefinedType, type TypedItem, toItemSpec } from './define-type.ts';
import { answerOf, payloadOf } from './errors.ts';
import { found } from './found.ts';
import { type ItemSpec, toItemChanges } from './job-spec.ts';
import { callOptions, pageOptions } from './options.ts';
import { asManyAsFit, type Result, readPages, toPage } from './page.ts';
import { sendTraced } from './tracing.ts';
import type { CallOptions, Item, ItemChanges, JobProgress, Operation, Page, PageOptions } from './types.ts';

/** What items are sought by: `path` with `equals`, `text`, or all three. */
export interface SearchOptions extends CallOptions {
  /** Where in the payload `equals` is: keys or list positions, separated by dots, such as `customer.id`. */
  readonly path?: string | undefined;
  /** The value there: a string as it is, anything else as its JSON text, such as `4711`. */
  readonly equals?: string | undefined;
  /** Part of the JSON text of the payload, ignoring case. */
  readonly text?: string | undefined;
  /** Codes, 1 to 1,000, one of which the last failure of the item has. */
  readonly codes?: readonly string[] | undefined;
  /** Dedupe keys, 1 to 1,000, one of which the item has: no others are looked at. */
  readonly dedupeKeys?: readonly string[] | undefined;
  /** Where to begin: `nextFrom` of the call before. Default: the first item. */
  readonly from?: string | undefined;
  /** The maximum number: 1 to 100. Default: 50. */
  readonly first?: number | undefined;
}

/** What one call of a search has found. */
export interface ItemSearch {
  readonly nodes: readonly Item[];
  /** How many items it has looked at. */
  readonly searched: number;
  /** Where to go on; null if there are no more items. */
  readonly nextFrom?: string | null;
}

/** Selects pending items that match everything that is set; at least one thing must be set. Lists have 1 to 1,000 entries. */
export type PendingItemFilter = NonNullable<CancelItemsMutationVariables['input']['filter']>;

const itemsOptions = { ...pageOptions, statuses: true };
const searchOptions = {
  ...callOptions,
  path: true,
  equals: true,
  text: true,
  codes: true,
  dedupeKeys: true,
  from: true,
  first: true,
};
const defaultPageSize = 50;

/** What `Client` has of them. */
export abstract class ItemCalls extends DeadLetterCalls {
  /**
   * Adds any number of items to a job, in their order; more than 1,000 items (or 4 MB) go out in several requests. All payloads of a
   * list are checked before anything is sent; of other iterables, those of a request before it is sent, and at most `concurrency`
   * + 2 requests are in memory. An item that the server refuses on its own is INVALID in `entries` and does not keep others out. A
   * request that fails ends the call: its error says which items went through, and is that of the first such request.
   *
   * @param items a list, or anything that `for await` reads, such as a generator
   * @throws JobtreeError INVALID_INPUT, NOT_FOUND, JOB_SEALED, JOB_FED_BY_PARENT
   */
  async addItems(jobId: string, items: Items<ItemSpec>, options?: AddOptions): Promise<AddItemsResult>;
  /** The same for a job of a defined type: `items` are payloads, or items made by its `item()`. */
  async addItems<Payload>(
    type: DefinedType<Payload, unknown>,
    jobId: string,
    items: Items<Payload | TypedItem<Payload>>,
    options?: AddOptions,
  ): Promise<AddItemsResult>;
  async addItems(
    first: string | DefinedType<unknown, unknown>,
    ...rest: readonly unknown[]
  ): Promise<AddItemsResult> {
    const [jobId, items, options = {}] = (typeof first === 'string' ? [first, ...rest] : rest) as [
      string,
      Items<unknown>,
      AddOptions?,
    ];
    const { seal = false, entries = 'all', concurrency = 1, signal } = checkAddOptions(options);
    const toSpec = typeof first === 'string' ? (item: unknown) => item as ItemSpec : toItemSpec;
    const batches = batchesOf(items, toSpec);
    const of = Array.isArray(items) ? items.length : undefined;
    const result = await sendTraced({ jobId, count: of }, (traceContext) =>
      addInBatches(this.send, jobId, batches, {
        of,
        seal,
        all: entries === 'all',
        concurrency,
        signal,
        traceContext,
      }),
    );
    const { added, duplicates, invalid } = result;
    if (seal && added + duplicates + invalid === 0) await this.sealJob(jobId, { signal });
    return result;
  }

  /**
   * Declares that a job gets no more items, so that it can complete. Sealing twice changes nothing.
   *
   * @returns the progress of the job, with everything that was added before the seal
   * @throws JobtreeError NOT_FOUND, JOB_FED_BY_PARENT
   */
  async sealJob(jobId: string, options: CallOptions = {}): Promise<JobProgress> {
    const data = await this.send(operations.SealJob, { input: { jobId } }, options, true);
    return payloadOf(data.sealJob).job.progress;
  }

  /**
   * Counts the pending items that match a filter: those that `cancelItems` would cancel or, with the statuses RETRYING and SCHEDULED,
   * `promoteItems` would make ready.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async pendingItemCount(filter: PendingItemFilter, options: CallOptions = {}): Promise<number> {
    return answerOf(
      (await this.send(operations.PendingItemCount, { filter }, options, true)).pendingItemCount,
    );
  }

  /**
   * Cancels single pending items; their jobs go on. Whatever takes longer than about half a second continues in the background:
   * `operation` says how far it is.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async cancelItems(filter: PendingItemFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.send(operations.CancelItems, { input: { filter } }, options, false);
    return payloadOf(data.cancelItems).operation;
  }

  /**
   * Makes items ready now that would be due later: by default those that wait for their next attempt after a failure; with the status
   * SCHEDULED in the filter also, or only, those whose first attempt is due later. Whatever takes longer than about half a second
   * continues in the background: `operation` says how far it is.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async promoteItems(filter: PendingItemFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.send(operations.PromoteItems, { input: { filter } }, options, false);
    return payloadOf(data.promoteItems).operation;
  }

  /**
   * Changes when an item is due, its priority or its payload. The item must be unfinished, and no worker may hold it.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT, ITEM_NOT_UPDATABLE with its `reason`
   */
  async updateItem(itemId: string, changes: ItemChanges, options: CallOptions = {}): Promise<Item> {
    const input = { itemId, ...toItemChanges(changes) };
    return payloadOf((await this.send(operations.UpdateItem, { input }, options, false)).updateItem).item;
  }

  /**
   * Lists the items of a job in the order in which they were added.
   *
   * @param options `statuses`: only items of these statuses
   * @returns fewer than asked for if they are too large for one answer of the server; `hasNextPage` says whether there are more
   * @throws JobtreeError NOT_FOUND
   */
  async items(
    jobId: string,
    options: PageOptions & {
      /** Only items of these statuses. Default: all. */
      readonly statuses?: readonly ItemStatus[] | undefined;
    } = {},
  ): Promise<Page<Item>> {
    const { first = defaultPageSize, after, statuses } = options;
    return asManyAsFit(first, async (first) => {
      const data = await this.send(
        operations.Items,
        { jobId, first, after, statuses: statuses && [...statuses] },
        options,
        true,
        itemsOptions,
      );
      return toPage(found(data.job, jobId).items);
    });
  }

  /**
   * Looks for items of a job by their payloads, the codes of their failures or their dedupe keys, from the first one or from `from` on. Only of
   * dedupe keys there is an index: one call looks at up to 10,000 items, so go on with `nextFrom` until that is null.
   *
   * @returns the items that meet all conditions, up to `first` (1 to 100, default 50), and how many it has looked at
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT without a condition
   */
  async searchItems(jobId: string, options: SearchOptions): Promise<ItemSearch> {
    const { first = defaultPageSize, path, equals, text, codes, dedupeKeys, from } = options;
    return asManyAsFit(first, async (first) => {
      const lists = { codes: codes && [...codes], dedupeKeys: dedupeKeys && [...dedupeKeys] };
      const sought = { jobId, first, path, equals, text, from, ...lists };
      const data = await this.send(operations.SearchItems, sought, options, true, searchOptions);
      return found(data.job, jobId).searchItems;
    });
  }

  /**
   * One item.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async item(id: string, options: CallOptions = {}): Promise<Item> {
    return found((await this.send(operations.Item, { id }, options, true)).item, id);
  }

  /**
   * Reads the successes of the final stages of a job's tree, fetching pages as you read on.
   *
   * @throws JobtreeError NOT_FOUND
   */
  results<Payload = unknown, R = unknown>(
    jobId: string,
    options?: CallOptions,
  ): AsyncGenerator<Result<Payload, R>, void, undefined>;
  /** The same with the payloads and results of a defined type, which must be the type of all final stages of the tree. */
  results<Payload, R>(
    type: DefinedType<Payload, R>,
    jobId: string,
    options?: CallOptions,
  ): AsyncGenerator<Result<Payload, R>, void, undefined>;
  async *results(...args: readonly unknown[]): AsyncGenerator<Result<unknown, unknown>, void, undefined> {
    const [jobId, options = {}] = (typeof args[0] === 'string' ? args : args.slice(1)) as [
      string,
      CallOptions?,
    ];
    yield* readPages((first, after) =>
      this.send(operations.Results, { jobId, first, after }, options, true).then(({ job }) =>
        toPage(found(job, jobId).results),
      ),
    );
  }

  /**
   * Reads the successes of one job, whatever its stage, in the order in which its items were added, fetching pages as you read on.
   * A handler whose job waits for others can read their results in this way.
   *
   * @throws JobtreeError NOT_FOUND; FORBIDDEN for a key that has only the role worker
   */
  jobResults<Payload = unknown, R = unknown>(
    jobId: string,
    options?: CallOptions,
  ): AsyncGenerator<Result<Payload, R>, void, undefined>;
  /** The same with the payloads and results of a defined type, which must be the type of the job. */
  jobResults<Payload, R>(
    type: DefinedType<Payload, R>,
    jobId: string,
    options?: CallOptions,
  ): AsyncGenerator<Result<Payload, R>, void, undefined>;
  async *jobResults(...args: readonly unknown[]): AsyncGenerator<Result<unknown, unknown>, void, undefined> {
    const [jobId, options = {}] = (typeof args[0] === 'string' ? args : args.slice(1)) as [
      string,
      CallOptions?,
    ];
    yield* readPages((first, after) =>
      this.send(operations.JobResults, { jobId, first, after }, options, true).then(({ job }) =>
        toPage(found(job, jobId).items),
      ),
    );
  }
}
