/** The client: every operation of the service as a typed call. */
import type {
  AuditFilter,
  HeldItemsQueryVariables,
  ItemStatus,
  JobFilter,
  JobOrder,
  Sees,
  WorkersQueryVariables,
} from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import {
  type AddItemsResult,
  type AddOptions,
  addInBatches,
  batchesOf,
  checkAddOptions,
  type Items,
} from './add-items.ts';
import { Callbacks } from './callbacks.ts';
import { createJob } from './create-job.ts';
import { Credentials, type Token } from './credentials.ts';
import { DeadLetterCalls } from './dead-letters.ts';
import { type DefinedType, type TypedItem, toItemSpec } from './define-type.ts';
import type { Document } from './document.ts';
import { endpoint } from './endpoint.ts';
import { type Enqueued, type EnqueueOptions, jobOfOne, resultOf } from './enqueue.ts';
import { answerOf, JobtreeError, payloadOf } from './errors.ts';
import { found } from './found.ts';
import { Http } from './http.ts';
import { type ItemSpec, type JobSpec, toItemChanges } from './job-spec.ts';
import { callOptions, pageOptions, refuseUnknown, type Send } from './options.ts';
import { toPage } from './page.ts';
import { createPost } from './post.ts';
import { Queues } from './queues.ts';
import { type ExportOptions, exportResults, type ResultLines, type ResultsEndpoint } from './results.ts';
import { Schedules } from './schedules.ts';
import { type Operations, Socket } from './socket.ts';
import { sendTraced } from './tracing.ts';
import { TypeSchemas } from './type-schemas.ts';
import type {
  AuditEntry,
  CallOptions,
  ConnectedWorker,
  FinishedJob,
  HeldItem,
  Item,
  ItemChanges,
  ItemSearch,
  Job,
  JobProgress,
  JobTreeProgress,
  JobWithChildren,
  Operation,
  Page,
  PageOptions,
  PendingItemFilter,
  Result,
  SearchOptions,
  SerializeKey,
  Standstill,
  Tree,
  TreeRetention,
  WatchOptions,
} from './types.ts';
import { type Upload, type UploadEndpoint, type UploadOptions, type UploadSource, upload } from './upload.ts';
import { endedBy } from './watch.ts';
import { watchJob, watchOperation, watchTree, watchWork } from './watches.ts';

/** How to reach the service. */
export interface ClientOptions {
  /**
   * The URL of the endpoint; in a page it may be relative to the page. Default: the environment's `JOBTREE_URL`, else
   * `http://127.0.0.1:4000/graphql`.
   */
  readonly url?: string | undefined;
  /**
   * Shows the server who you are, if it asks: an API key or token, or a function that returns one. The function is called once,
   * and again when the server refuses what it returned (such as a key that was rotated); subscriptions then continue where they
   * were. Default: the environment's `JOBTREE_TOKEN`, if it is set.
   */
  readonly token?: Token | undefined;
  /** Sent with every request and, except in browsers, with the request that opens the WebSocket. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * For how long a request is tried again, in milliseconds, if the server or its Postgres is away or busy, and repeating it is
   * safe. Default: 5,000.
   */
  readonly retryMs?: number | undefined;
  /** Called with the reason before a request is tried again. Default: none. */
  readonly onRetry?: ((error: JobtreeError) => void) | undefined;
  /** How long an answer may take, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** What sends requests. Default: under Node.js `node:http`, with connections that are kept alive; elsewhere the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** The WebSocket class. Default: that of the package `ws`; in browsers, the browser's own. */
  readonly webSocketImpl?: unknown;
}

/**
 * Talks to one service. Queries and mutations go over HTTP; subscriptions and workers share one WebSocket, which is opened when
 * it is first needed. Every refusal is thrown as a `JobtreeError`.
 *
 * A call is repeated, for as long as `retryMs`, when it is known that nothing was done: the server could not be reached or was
 * busy, or its Postgres was away. A call whose answer was lost is repeated only if a second time changes nothing: reads,
 * `sealJob`, `cancelJob`, reports, heartbeats, `createJob` with a dedupe key, `addItems` when all items have one. Any other call
 * then throws `UNREACHABLE` with the `outcome` `UNKNOWN`.
 */
export class Client extends DeadLetterCalls {
  /** The WebSocket, for workers. @internal */
  readonly socket: Socket;
  /** Schedules, which create trees of jobs again and again. */
  readonly schedules: Schedules;
  /** The settings of types: pauses, limits, lifetimes, defaults of new jobs. */
  readonly queues: Queues;
  /** The schemas of the payloads and results of types. */
  readonly types: TypeSchemas;
  /** Where callbacks go, and what was sent there. */
  readonly callbacks: Callbacks;
  readonly #tokenSocket: Socket;
  readonly #http: Http;
  readonly #results: ResultsEndpoint;
  readonly #uploads: UploadEndpoint;
  readonly #closing = new AbortController();

  constructor(options: ClientOptions = {}) {
    super();
    refuseUnknown(options, clientOptions);
    const url = endpoint(options.url);
    const { headers = {}, retryMs = 5_000, timeoutMs = 60_000, fetch, webSocketImpl, onRetry } = options;
    const credentials = new Credentials(headers, options.token);
    this.#http = new Http({ url, credentials, retryMs, timeoutMs, onRetry, post: createPost(fetch) });
    this.#results = { url, credentials, retryMs, fetch: fetch ?? globalThis.fetch };
    this.#uploads = { ...this.#results, timeoutMs, onRetry };
    const send: Send = (...request) => this.send(...request);
    this.queues = new Queues(send);
    this.types = new TypeSchemas(send);
    this.callbacks = new Callbacks(send);
    this.schedules = new Schedules(send);
    this.socket = new Socket({ url, headers, credentials, webSocketImpl });
    this.#tokenSocket = new Socket({ url, headers, credentials: undefined, webSocketImpl });
  }

  /**
   * Creates a whole tree of jobs with its first items: all of it, or nothing. The root can have any number of items: more than 1,000
   * (or 4 MB) go out in several requests, and the job is sealed after the last one. Then items without a dedupe key get one, their
   * place in the list, so that the same call continues after an error or a crash if the job has a `dedupeKey`.
   *
   * @returns the root's id; `created` is false if a job with its dedupe key existed
   * @throws JobtreeError INVALID_INPUT, with the path to what is wrong
   */
  async createJob(job: JobSpec, options: CallOptions = {}): Promise<{ id: string; created: boolean }> {
    refuseUnknown(options, callOptions);
    return createJob(this.#http, job, options);
  }

  /**
   * Creates a tree of jobs and waits until all of it is complete. A job that is never sealed never completes. Lost connections
   * are replaced without limit, so pass a signal if you want to give up; the tree goes on.
   *
   * @returns the root's id, whether it was created (false if a job with its dedupe key existed), the outcome of the tree, and its
   *   last progress. A tree that failed is no error: check `outcome`
   * @throws JobtreeError INVALID_INPUT; NOT_FOUND if the tree was deleted meanwhile
   */
  async createJobAndWait(job: JobSpec, options: CallOptions = {}): Promise<FinishedJob> {
    const { id, created } = await this.createJob(job, options);
    const progress = await this.#completion(id, options);
    return { id, created, outcome: progress.outcome, progress };
  }

  /**
   * Enqueues one piece of work: a sealed job with a single item, in one request. A worker of the type processes it; once it is done
   * it is kept as long as any tree (`retentionSeconds`). `result()` of what it returns waits for the outcome.
   *
   *     const { text } = await (await client.enqueue(greet, { name: 'Ada' })).result();
   *
   * @param type a defined type, or its name
   * @param options policies and other options of the job. With a `dedupeKey`, a second call with the same key returns the same
   *   work, also after a crash, for as long as its job is kept
   * @throws JobtreeError INVALID_INPUT, with the path to what is wrong
   */
  enqueue<Payload, R>(
    type: DefinedType<Payload, R>,
    payload: Payload,
    options?: EnqueueOptions,
  ): Promise<Enqueued<R>>;
  enqueue<R = unknown>(type: string, payload?: unknown, options?: EnqueueOptions): Promise<Enqueued<R>>;
  async enqueue(
    type: DefinedType<unknown, unknown> | string,
    payload?: unknown,
    options: EnqueueOptions = {},
  ): Promise<Enqueued<unknown>> {
    const { signal } = options;
    const { id, created } = await this.createJob(jobOfOne(type, payload, options), { signal });
    return { id, created, result: (options = {}) => this.#resultOfOne(id, options) };
  }

  /**
   * Enqueues one piece of work, waits until it is done, and returns its result: `enqueue` and `result()` in one call. `signal` ends
   * the wait, and the work goes on.
   *
   * @throws JobtreeError as `enqueue` and `result()` do
   */
  run<Payload, R>(type: DefinedType<Payload, R>, payload: Payload, options?: EnqueueOptions): Promise<R>;
  run<R = unknown>(type: string, payload?: unknown, options?: EnqueueOptions): Promise<R>;
  async run(
    type: DefinedType<unknown, unknown> | string,
    payload?: unknown,
    options: EnqueueOptions = {},
  ): Promise<unknown> {
    const { result } = await this.enqueue(type as string, payload, options);
    return result({ signal: options.signal });
  }

  /**
   * Uploads a file of any size, for `file` of a job. An interrupted upload resumes where it stopped, for as long as `retryMs`. It
   * takes 4 MB of memory.
   *
   * @param source a path (under Node.js), a `File` or `Blob`, or a stream of bytes
   * @throws JobtreeError LIMIT_EXCEEDED if it is too large, DIGEST_MISMATCH, UNREACHABLE
   */
  upload(source: UploadSource, options: UploadOptions = {}): Promise<Upload> {
    return upload(this.#uploads, source, options);
  }

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
      addInBatches(this.#http, jobId, batches, {
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
   * Cancels a job and everything below it; what is finished stays. Returns once no worker can get any of its items. The rest of a
   * large job is cancelled in the background, and its progress shows how far that is. Cancelling twice changes nothing.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async cancelJob(jobId: string, options: CallOptions = {}): Promise<void> {
    payloadOf((await this.send(operations.CancelJob, { input: { jobId } }, options, true)).cancelJob);
  }

  /**
   * Cancels all trees that match a filter and are not complete, as `cancelJob` cancels one. At least one condition must be set; they are
   * those of whole trees, as with `wholeTrees`. Trees that are created meanwhile are left alone. Whatever takes longer than about half a
   * second continues in the background: `operation` says how far it is, and `total` and `done` count trees.
   *
   * @throws JobtreeError INVALID_INPUT
   */
  async cancelTrees(filter: JobFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.send(operations.CancelTrees, { input: { filter } }, options, false);
    return payloadOf(data.cancelTrees).operation;
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
   * Deletes a whole tree, by its root; work in progress is cancelled.
   *
   * @returns `deleted` is false while the server is still deleting: a large tree is deleted in the background, and `job` says
   *   under `deletion` how far that is, until it throws NOT_FOUND
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT for a job that is not a root
   */
  async deleteJob(jobId: string, options: CallOptions = {}): Promise<{ deleted: boolean }> {
    const data = await this.send(operations.DeleteJob, { input: { jobId } }, options, false);
    return { deleted: payloadOf(data.deleteJob).deleted };
  }

  /**
   * Deletes all trees that match a filter, as `deleteJob` deletes one, and in the way of `cancelTrees`. A tree counts as done when its
   * deletion has begun; small complete ones are gone by then.
   *
   * @throws JobtreeError INVALID_INPUT
   */
  async deleteTrees(filter: JobFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.send(operations.DeleteTrees, { input: { filter } }, options, false);
    return payloadOf(data.deleteTrees).operation;
  }

  /**
   * Changes how long a tree is kept, by its root; what is left out stays as it is. The retention of a complete tree counts from
   * its completion, so it may be over at once.
   *
   * @throws JobtreeError NOT_FOUND, also for a tree that is being deleted; INVALID_INPUT, also for a job that is not a root
   */
  async setRetention(jobId: string, retention: TreeRetention, options: CallOptions = {}): Promise<Job> {
    const input = { ...retention, jobId };
    return payloadOf((await this.send(operations.SetRetention, { input }, options, true)).setRetention).job;
  }

  /**
   * Creates a watch token. An application gives it to its own users, whose browsers can then follow one tree and do nothing else.
   *
   * @param jobId the root of the tree
   * @param options `sees`: PROGRESS, also ITEMS, or also RESULTS; default: PROGRESS. `expiresInSeconds`: how long the token is
   *   valid, 10 to 86,400; default: 900
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT, also for a job that is not a root
   */
  async createWatchToken(
    jobId: string,
    options: CallOptions & {
      readonly expiresInSeconds?: number | undefined;
      readonly sees?: Sees | undefined;
    } = {},
  ): Promise<{ token: string; expiresAt: string }> {
    const { expiresInSeconds, sees = 'PROGRESS' } = options;
    const input = { jobId, sees, ...(expiresInSeconds !== undefined && { expiresInSeconds }) };
    const data = await this.send(operations.CreateWatchToken, { input }, options, true, watchTokenOptions);
    const { token, expiresAt } = payloadOf(data.createWatchToken);
    return { token, expiresAt };
  }

  /**
   * Revokes all watch tokens of a tree that were created until now: within five seconds they end, with the sockets and streams
   * that use them.
   *
   * @param jobId the root of the tree
   * @returns tokens created up to `revokedAt` are revoked
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT, also for a job that is not a root
   */
  async revokeWatchTokens(jobId: string, options: CallOptions = {}): Promise<{ revokedAt: string }> {
    const data = await this.send(operations.RevokeWatchTokens, { input: { jobId } }, options, true);
    return { revokedAt: payloadOf(data.revokeWatchTokens).revokedAt };
  }

  /** @throws JobtreeError NOT_FOUND */
  async job(id: string, options: CallOptions = {}): Promise<JobWithChildren> {
    const data = await this.send(operations.Job, { id }, options, true);
    return found(data.job, id);
  }

  /** The job of a type with this dedupe key; null if there is none, or none any more. */
  async jobByDedupeKey(type: string, dedupeKey: string, options: CallOptions = {}): Promise<Job | null> {
    const data = await this.send(operations.JobByDedupeKey, { type, dedupeKey }, options, true);
    return data.jobByDedupeKey ?? null;
  }

  /**
   * Counts jobs, by default the roots of trees.
   *
   * @param options `filter`: which; with `wholeTrees`, its conditions are those of whole trees
   * @returns how many there are; with `since`, there were too many to look at, and those that were created from then on were counted
   */
  async jobCount(
    options: CallOptions & { readonly filter?: JobFilter } = {},
  ): Promise<{ readonly count: number; readonly since?: string | null }> {
    const { filter } = options;
    return answerOf(
      (await this.send(operations.JobCount, { filter }, options, true, jobCountOptions)).jobCount,
    );
  }

  /**
   * Lists jobs, by default the roots of trees, the newest first. A page of more than 900 is refused with LIMIT_EXCEEDED, unless the server
   * allows more.
   */
  async jobs(
    options: PageOptions & { readonly filter?: JobFilter; readonly order?: JobOrder } = {},
  ): Promise<Page<Job>> {
    const { first, after, filter, order } = options;
    const data = await this.send(
      operations.Jobs,
      { first, after, filter, order },
      options,
      true,
      jobsOptions,
    );
    return toPage(answerOf(data.jobs));
  }

  /**
   * Lists the roots of trees as `jobs` does, each with the progress of its whole tree: null for callers whose scope does not include
   * all of it. `status` and `outcome` of the filter are those of whole trees, unless it says otherwise. A page of more than 200 is
   * refused with LIMIT_EXCEEDED, unless the server allows more.
   */
  async trees(
    options: PageOptions & {
      readonly filter?: Omit<JobFilter, 'rootsOnly'>;
      readonly order?: JobOrder;
    } = {},
  ): Promise<Page<Tree>> {
    const { first, after, order } = options;
    const filter = { wholeTrees: true, ...options.filter };
    const data = await this.send(
      operations.JobsWithTrees,
      { first, after, filter, order },
      options,
      true,
      jobsOptions,
    );
    return toPage(answerOf(data.jobs));
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
   * Looks for items of a job by their payloads, from the first one or from `from` on. There is no index of payloads: one call looks at up to 10,000
   * items, so go on with `nextFrom` until that is null.
   *
   * @returns the items that meet all conditions, up to `first` (1 to 100, default 50), and how many it has looked at
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT without a condition
   */
  async searchItems(jobId: string, options: SearchOptions): Promise<ItemSearch> {
    const { first = defaultPageSize, path, equals, text, from } = options;
    return asManyAsFit(first, async (first) => {
      const sought = { jobId, first, path, equals, text, from };
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
   * Why an item or a job is not running, and for the root of a tree the whole tree: what most needs somebody first. Empty while it runs. For a type:
   * `queues.standstills()`.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async standstills(id: string, options: CallOptions = {}): Promise<Standstill[]> {
    const node = found((await this.send(operations.Standstills, { id }, options, true)).node, id);
    if ('standstills' in node) return node.standstills;
    if (!('ofJob' in node)) throw new JobtreeError('NOT_FOUND', `There is no job or item ${id}.`);
    return (node.parent == null ? node.ofTree : null) ?? node.ofJob;
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

  /**
   * Exports the results of a tree, the same that `results` reads, in one request: as lines of JSON that nobody has parsed. An
   * interrupted export resumes where it stopped, for as long as `retryMs`. While the tree is running, it has what has succeeded
   * so far; items that succeed later may belong before the last item that you have.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT if `after` is not the id of an item, UNREACHABLE
   */
  exportResults(jobId: string, options: ExportOptions = {}): Promise<ResultLines> {
    return exportResults(this.#results, jobId, options);
  }

  /** Lists audited actions, done or refused, newest first: those that only some may do, and those that can't be undone. For admins. */
  async auditEntries(
    options: PageOptions & { readonly filter?: AuditFilter } = {},
  ): Promise<Page<AuditEntry>> {
    const { first, after, filter } = options;
    const data = await this.send(
      operations.AuditEntries,
      { first, after, filter },
      options,
      true,
      auditOptions,
    );
    return toPage(answerOf(data.auditEntries));
  }

  /**
   * The serialize keys with the most items waiting behind their head, longest line first; or those of `keys` that are in use.
   *
   * @param options `first`: how many, 1 to 1,000; default: 50
   */
  async serializeKeys(
    options: CallOptions & {
      readonly first?: number | undefined;
      readonly keys?: readonly string[] | undefined;
    } = {},
  ): Promise<SerializeKey[]> {
    const variables = { first: options.first, keys: options.keys && [...options.keys] };
    return answerOf(
      (await this.send(operations.SerializeKeys, variables, options, true, serializeKeyOptions))
        .serializeKeys,
    );
  }

  /**
   * Follows a job: yields its current state, then newer ones (a slow reader skips some), and the final one last. Lost connections
   * are replaced without limit, so pass a signal if you want to give up: aborting it throws its reason, which shows that the loop
   * did not end because the job is complete.
   *
   * @throws JobtreeError NOT_FOUND
   */
  watchJob(jobId: string, options: WatchOptions = {}): AsyncGenerator<JobProgress, void, undefined> {
    refuseUnknown(options, watchOptions);
    const { token, onDisconnected, onConnected } = options;
    const hooks = { onDisconnected, onConnected };
    return this.#untilClosed(options, (signal) => watchJob(this.#showing(token), jobId, signal, hooks));
  }

  /**
   * Follows a tree by its root, as `watchJob` follows a job. Every value has the newest state of all its jobs.
   *
   * @throws JobtreeError NOT_FOUND
   */
  watchTree(rootId: string, options: WatchOptions = {}): AsyncGenerator<JobTreeProgress, void, undefined> {
    refuseUnknown(options, watchOptions);
    const { token, onDisconnected, onConnected } = options;
    const hooks = { onDisconnected, onConnected };
    return this.#untilClosed(options, (signal) => watchTree(this.#showing(token), rootId, signal, hooks));
  }

  /**
   * Follows an operation, as `watchJob` follows a job, until it is finished or cancelled.
   *
   * @throws JobtreeError NOT_FOUND
   */
  watchOperation(operationId: string, options: CallOptions = {}): AsyncGenerator<Operation, void, undefined> {
    refuseUnknown(options, callOptions);
    return this.#untilClosed(options, (signal) => watchOperation(this.socket, operationId, signal));
  }

  /**
   * Hints for workers that you write yourself: yields when there may be work of these types, once at the start and after every
   * reconnection. A hint may be lost or come for nothing, so also poll slowly.
   */
  workAvailable(types: readonly string[], options: CallOptions = {}): AsyncGenerator<true, void, undefined> {
    refuseUnknown(options, callOptions);
    return this.#untilClosed(options, (signal) => watchWork(this.socket, types, {}, signal));
  }

  /**
   * The items that workers hold, those held longest first: the first 50, or `first` (1 to 1,000). With `slowOnly`, only items
   * held far longer than is usual for their type.
   */
  async heldItems({ signal, ...filter }: CallOptions & HeldItemsQueryVariables = {}): Promise<HeldItem[]> {
    refuseUnknown(filter, heldItemsOptions);
    return answerOf((await this.send(operations.HeldItems, filter, { signal }, true)).heldItems);
  }

  /** The workers that are connected or hold items, by name: the first 1,000 after `after`. */
  async workers({ signal, ...filter }: CallOptions & WorkersQueryVariables = {}): Promise<ConnectedWorker[]> {
    refuseUnknown(filter, workersOptions);
    return answerOf((await this.send(operations.Workers, filter, { signal }, true)).workers);
  }

  /** Ends all watches and closes the WebSocket. Stop workers that use this client first. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.socket.close(), this.#tokenSocket.close()]);
  }

  /** @returns the last progress of the tree */
  async #completion(rootId: string, options: CallOptions) {
    let progress: JobTreeProgress | undefined;
    for await (const newer of this.watchTree(rootId, options)) progress = newer;
    if (progress?.outcome == null) throw new JobtreeError('UNREACHABLE', 'The client was closed.', {});
    return { ...progress, outcome: progress.outcome };
  }

  async #resultOfOne(jobId: string, options: CallOptions): Promise<unknown> {
    refuseUnknown(options, callOptions);
    const { signal } = options;
    await this.#completion(jobId, { signal });
    return resultOf((await this.items(jobId, { first: 1, signal })).nodes[0], jobId);
  }

  /** What begins a watch: the client's socket, or the one on which each watch shows a token of its own. */
  #showing(token: Token | undefined): Operations {
    return token === undefined ? this.socket : this.#tokenSocket.as(new Credentials({}, token));
  }

  protected async send<R, V>(
    document: Document<R, V>,
    variables: V,
    options: CallOptions,
    repeatable: boolean,
    known: object = callOptions,
  ): Promise<R> {
    refuseUnknown(options, known);
    return this.#http.request(document, variables, { repeatable, signal: options.signal });
  }

  /** The caller's signal ends a watch with its reason, and `close()` without an error. */
  #untilClosed<T>(
    { signal }: CallOptions,
    watch: (signal: AbortSignal) => AsyncGenerator<T, void, undefined>,
  ): AsyncGenerator<T, void, undefined> {
    const closing = this.#closing.signal;
    // A new signal for each call: Node warns about more than ten listeners on one signal.
    return endedBy(closing, watch(AbortSignal.any(signal ? [signal, closing] : [closing])));
  }
}

/** Creates a client of the service; `close()` it when you are done. See `ClientOptions` for the defaults. */
export function createClient(options: ClientOptions = {}): Client {
  return new Client(options);
}

const clientOptions = {
  url: true,
  token: true,
  headers: true,
  retryMs: true,
  onRetry: true,
  timeoutMs: true,
  fetch: true,
  webSocketImpl: true,
} satisfies Record<keyof ClientOptions, true>;
const watchOptions = {
  ...callOptions,
  token: true,
  onDisconnected: true,
  onConnected: true,
} satisfies Record<keyof WatchOptions, true>;
const auditOptions = { ...pageOptions, filter: true };
const jobCountOptions = { ...callOptions, filter: true };
const jobsOptions = { ...pageOptions, filter: true, order: true };
const itemsOptions = { ...pageOptions, statuses: true };
const searchOptions = { ...callOptions, path: true, equals: true, text: true, from: true, first: true };
const watchTokenOptions = { ...callOptions, expiresInSeconds: true, sees: true };
const serializeKeyOptions = { ...callOptions, first: true, keys: true };
const heldItemsOptions = {
  types: true,
  workers: true,
  slowOnly: true,
  first: true,
} satisfies Record<keyof HeldItemsQueryVariables, true>;
const workersOptions = { types: true, first: true, after: true } satisfies Record<
  keyof WorkersQueryVariables,
  true
>;
const defaultPageSize = 50;
const resultsPageSize = 500;

/** Halves the number for as long as so many items are too large for one answer. */
async function asManyAsFit<P>(first: number, read: (first: number) => Promise<P>): Promise<P> {
  try {
    return await read(first);
  } catch (error) {
    if (!(error instanceof JobtreeError && error.code === 'LIMIT_EXCEEDED') || first <= 1) throw error;
    return asManyAsFit(Math.floor(first / 2), read);
  }
}

/** Reads page after page, each as large as fits into one answer. */
async function* readPages(
  read: (
    first: number,
    after: string | undefined,
  ) => Promise<Page<{ id: string; payload?: unknown; result?: unknown }>>,
): AsyncGenerator<Result<unknown, unknown>, void, undefined> {
  let size = resultsPageSize;
  let after: string | undefined;
  do {
    const { nodes, endCursor, hasNextPage } = await asManyAsFit(size, (first) => read(first, after));
    // The items that follow may be smaller.
    size = Math.min(2 * nodes.length, resultsPageSize);
    for (const { id, payload, result } of nodes) yield { itemId: id, payload, result };
    after = hasNextPage ? (endCursor ?? undefined) : undefined;
  } while (after !== undefined);
}
