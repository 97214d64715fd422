/** The client: every operation of the service as a typed call. */
import type {
  AuditFilter,
  HeartbeatStatus,
  HeldItemsQueryVariables,
  ItemStatus,
  JobFilter,
  JobOrder,
  ReleaseStatus,
  ReportInput,
  Sees,
  TypedDocumentString,
  WorkersQueryVariables,
} from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { type AddItemsResult, type AddOptions, addInBatches } from './add-items.ts';
import { Callbacks } from './callbacks.ts';
import { newClaimId } from './claim-id.ts';
import { Credentials, type Token } from './credentials.ts';
import { type DefinedType, type TypedItem, toItemSpec } from './define-type.ts';
import { endpoint } from './endpoint.ts';
import { JobtreeError, payloadOf } from './errors.ts';
import { Http } from './http.ts';
import { type ItemSpec, type JobSpec, toItemChanges, toJobInput } from './job-spec.ts';
import { createPost } from './post.ts';
import { Queues } from './queues.ts';
import { type ExportOptions, exportResults, type ResultLines, type ResultsEndpoint } from './results.ts';
import { Schedules } from './schedules.ts';
import { Socket } from './socket.ts';
import { sendTraced } from './tracing.ts';
import { TypeSchemas } from './type-schemas.ts';
import type {
  Assignment,
  AssignmentAnswer,
  AuditEntry,
  CallOptions,
  ConnectedWorker,
  DeadLetterDigestEntry,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGroupWithItems,
  FinishedJob,
  HeldItem,
  Item,
  ItemChanges,
  Job,
  JobProgress,
  JobTreeProgress,
  JobWithChildren,
  Operation,
  Page,
  PageOptions,
  PendingItemFilter,
  Report,
  ReportAnswer,
  Result,
  SerializeKey,
  TreeRetention,
  WatchOptions,
} from './types.ts';
import { type Upload, type UploadEndpoint, type UploadOptions, type UploadSource, upload } from './upload.ts';
import { watchJob, watchOperation, watchTree, watchWork } from './watches.ts';

/** How to reach the service. */
export interface ClientOptions {
  /**
   * The endpoint; in a page it may be relative to it. Default: the environment's `JOBTREE_URL`, else
   * `http://127.0.0.1:4000/graphql`.
   */
  readonly url?: string | undefined;
  /**
   * What shows who you are, where the server asks: the text of an API key, or a function that gives it. The function is asked once,
   * and again when the server refuses what it gave before (a key that was rotated): what is watched then goes on where it was. Default: the
   * environment's `JOBTREE_TOKEN`, if it is set.
   */
  readonly token?: Token | undefined;
  /** Sent with every request and, except in browsers, with the WebSocket's. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * For how long a request is tried again, in milliseconds, if the server or its Postgres is away or busy, and a second time is
   * safe. Default: 5,000.
   */
  readonly retryMs?: number | undefined;
  /** Told why, before a request is tried again. Default: nobody. */
  readonly onRetry?: ((error: JobtreeError) => void) | undefined;
  /** How long an answer may take, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** What sends requests. Default: Node's own `node:http`, with connections that are kept; elsewhere the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** A WebSocket class. Default: that of the package `ws`, in browsers their own. */
  readonly webSocketImpl?: unknown;
}

/**
 * Talks to one service. Queries and mutations go over HTTP, subscriptions and workers share one WebSocket, which is opened
 * when it is needed. Every refusal is a thrown `JobtreeError`.
 *
 * A call is repeated (`retryMs`) when it is known that nothing was done: the server could not be reached, was busy, or its Postgres
 * was away. A call whose answer was lost is repeated if a second time changes nothing: reads, `sealJob`, `cancelJob`,
 * reports, heartbeats, `createJob` with a dedupe key, `addItems` when all items have one. Any other then throws `UNREACHABLE` with
 * the `outcome` UNKNOWN.
 */
export class Client {
  /** The WebSocket, for workers. @internal */
  readonly socket: Socket;
  /** What makes trees of jobs time and again. */
  readonly schedules: Schedules;
  /** The settings of types: pauses, limits, lifetimes, defaults of new jobs. */
  readonly queues: Queues;
  /** What payloads and results of types look like. */
  readonly types: TypeSchemas;
  /** Where callbacks go, and what was sent there. */
  readonly callbacks: Callbacks;
  readonly #http: Http;
  readonly #results: ResultsEndpoint;
  readonly #uploads: UploadEndpoint;
  readonly #closing = new AbortController();

  constructor(options: ClientOptions = {}) {
    const url = endpoint(options.url);
    const { headers = {}, retryMs = 5_000, timeoutMs = 60_000, fetch, webSocketImpl, onRetry } = options;
    const credentials = new Credentials(headers, options.token);
    this.#http = new Http({ url, credentials, retryMs, timeoutMs, onRetry, post: createPost(fetch) });
    this.#results = { url, credentials, retryMs, fetch: fetch ?? globalThis.fetch };
    this.#uploads = { ...this.#results, timeoutMs, onRetry };
    this.queues = new Queues(this.#http);
    this.types = new TypeSchemas(this.#http);
    this.callbacks = new Callbacks(this.#http);
    this.socket = new Socket({ url, credentials, webSocketImpl });
    this.schedules = new Schedules((...request) => this.#send(...request));
  }

  /**
   * Creates a whole tree of jobs, with the items that it starts with: all of it, or nothing.
   *
   * @returns the root's id; `created` is false if a job with its dedupe key existed
   * @throws JobtreeError INVALID_INPUT, with the path to what is wrong
   */
  async createJob(job: JobSpec, options: CallOptions = {}): Promise<{ id: string; created: boolean }> {
    const input = toJobInput(job);
    const count = job.items?.length ?? 0;
    return sendTraced({ type: job.type, count }, async (traceContext) => {
      const traced = traceContext === undefined ? input : { ...input, traceContext };
      const variables = { input: traced };
      const data = await this.#send(operations.CreateJob, variables, options, job.dedupeKey !== undefined);
      const payload = payloadOf(data.createJob);
      return { id: payload.job.id, created: payload.created };
    });
  }

  /**
   * Creates a tree of jobs, and waits until all of it is complete. A job that nobody seals never is. Lost connections are replaced, without
   * end, so give it a signal if you want to give up; the tree goes on.
   *
   * @returns the root's id, whether it was created (false if a job with its dedupe key existed), what came of the tree, and its last progress. A tree that
   *   failed is no error: look at `outcome`
   * @throws JobtreeError INVALID_INPUT; NOT_FOUND if it was deleted meanwhile
   */
  async createJobAndWait(job: JobSpec, options: CallOptions = {}): Promise<FinishedJob> {
    const { id, created } = await this.createJob(job, options);
    let progress: JobTreeProgress | undefined;
    for await (const newer of this.watchTree(id, options)) progress = newer;
    options.signal?.throwIfAborted();
    if (progress?.outcome == null) throw new JobtreeError('UNREACHABLE', 'The client was closed.', {});
    return { id, created, outcome: progress.outcome, progress };
  }

  /**
   * Sends a file, of any size, for `file` of a job. What breaks off is taken up where it was, for as long as `retryMs`. It takes 4 MB of memory.
   *
   * @param source a path (under Node.js), a `File` or `Blob`, or a stream of bytes
   * @throws JobtreeError LIMIT_EXCEEDED if it is too large, DIGEST_MISMATCH, UNREACHABLE
   */
  upload(source: UploadSource, options: UploadOptions = {}): Promise<Upload> {
    return upload(this.#uploads, source, options);
  }

  /**
   * Adds items to a job, any number, in their order; more than 1,000 (or 4 MB) go in several requests. Payloads are
   * checked before anything is sent; what the server refuses for itself is INVALID in `entries` and keeps no other out.
   *
   * @throws JobtreeError INVALID_INPUT, NOT_FOUND, JOB_SEALED, JOB_FED_BY_PARENT
   */
  async addItems(jobId: string, items: readonly ItemSpec[], options?: AddOptions): Promise<AddItemsResult>;
  /** The same for a job of a defined type: `items` are its payloads, or made by its `item()`. */
  async addItems<Payload>(
    type: DefinedType<Payload, unknown>,
    jobId: string,
    items: readonly (Payload | TypedItem<Payload>)[],
    options?: AddOptions,
  ): Promise<AddItemsResult>;
  async addItems(
    first: string | DefinedType<unknown, unknown>,
    ...rest: readonly unknown[]
  ): Promise<AddItemsResult> {
    const [jobId, all, options = {}] = (typeof first === 'string' ? [first, ...rest] : rest) as [
      string,
      readonly unknown[],
      AddOptions?,
    ];
    const items = typeof first === 'string' ? (all as readonly ItemSpec[]) : all.map(toItemSpec);
    const { seal = false, entries = 'all', signal } = options;
    if (items.length === 0 && seal) await this.sealJob(jobId, { signal });
    return sendTraced({ jobId, count: items.length }, (traceContext) =>
      addInBatches(this.#http, jobId, items, { seal, all: entries === 'all', signal, traceContext }),
    );
  }

  /**
   * Says that a job gets no more items, so that it can complete. Sealing twice changes nothing.
   *
   * @returns how far the job is, with all that was added and sealed
   * @throws JobtreeError NOT_FOUND, JOB_FED_BY_PARENT
   */
  async sealJob(jobId: string, options: CallOptions = {}): Promise<JobProgress> {
    const data = await this.#send(operations.SealJob, { input: { jobId } }, options, true);
    return payloadOf(data.sealJob).job.progress;
  }

  /**
   * Cancels a job and all below it; what is done stays. Returns once no worker can get any of it; of a large job the rest goes
   * on in the server, and its progress shows how far that is. Cancelling twice changes nothing.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async cancelJob(jobId: string, options: CallOptions = {}): Promise<void> {
    payloadOf((await this.#send(operations.CancelJob, { input: { jobId } }, options, true)).cancelJob);
  }

  /**
   * How many pending items `cancelItems` with this filter would be about.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async pendingItemCount(filter: PendingItemFilter, options: CallOptions = {}): Promise<number> {
    return (await this.#send(operations.PendingItemCount, { filter }, options, true)).pendingItemCount;
  }

  /**
   * Cancels single items that are pending; their jobs go on. What takes longer than about half a second goes on in the server:
   * `operation` says how far it is.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async cancelItems(filter: PendingItemFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.#send(operations.CancelItems, { input: { filter } }, options, false);
    return payloadOf(data.cancelItems).operation;
  }

  /**
   * Changes an item that no worker has, and that is not finished: when it is due, its priority, its payload.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT, ITEM_NOT_UPDATABLE with its `reason`
   */
  async updateItem(itemId: string, changes: ItemChanges, options: CallOptions = {}): Promise<Item> {
    const input = { itemId, ...toItemChanges(changes) };
    return payloadOf((await this.#send(operations.UpdateItem, { input }, options, false)).updateItem).item;
  }

  /**
   * Deletes a whole tree, by its root; what is still at work is cancelled.
   *
   * @returns `deleted` is false while the server still deletes: a large tree goes in the background, and `job` says under
   *   `deletion` how far that is, until it throws NOT_FOUND
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT for a job that is no root
   */
  async deleteJob(jobId: string, options: CallOptions = {}): Promise<{ deleted: boolean }> {
    const data = await this.#send(operations.DeleteJob, { input: { jobId } }, options, false);
    return { deleted: payloadOf(data.deleteJob).deleted };
  }

  /**
   * Changes for how long a tree is kept, by its root; what is left out stays as it is. Of a tree that is complete the retention counts
   * from its completion, so it may be over at once.
   *
   * @throws JobtreeError NOT_FOUND, also for a tree that is being deleted; INVALID_INPUT, also for a job that is no root
   */
  async setRetention(jobId: string, retention: TreeRetention, options: CallOptions = {}): Promise<Job> {
    const input = { ...retention, jobId };
    return payloadOf((await this.#send(operations.SetRetention, { input }, options, true)).setRetention).job;
  }

  /**
   * Makes a watch token: what an application gives to its own users, so that their browsers follow one tree and do nothing else.
   *
   * @param jobId the root of the tree
   * @param options `sees`: PROGRESS, also ITEMS, or also RESULTS; default: PROGRESS. `expiresInSeconds`: for how long it is good, 10 to
   *   86,400; default: 900
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT, also for a job that is no root
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
    const data = await this.#send(operations.CreateWatchToken, { input }, options, true);
    const { token, expiresAt } = payloadOf(data.createWatchToken);
    return { token, expiresAt };
  }

  /**
   * Ends all watch tokens of a tree that were made until now: within five seconds, with the sockets and streams that rest upon them.
   *
   * @param jobId the root of the tree
   * @returns until when those were made that are revoked
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT, also for a job that is no root
   */
  async revokeWatchTokens(jobId: string, options: CallOptions = {}): Promise<{ revokedAt: string }> {
    const data = await this.#send(operations.RevokeWatchTokens, { input: { jobId } }, options, true);
    return { revokedAt: payloadOf(data.revokeWatchTokens).revokedAt };
  }

  /** @throws JobtreeError NOT_FOUND */
  async job(id: string, options: CallOptions = {}): Promise<JobWithChildren> {
    const data = await this.#send(operations.Job, { id }, options, true);
    return found(data.job, id);
  }

  /** The job of a type with a dedupe key; null if there is none (any more). */
  async jobByDedupeKey(type: string, dedupeKey: string, options: CallOptions = {}): Promise<Job | null> {
    const data = await this.#send(operations.JobByDedupeKey, { type, dedupeKey }, options, true);
    return data.jobByDedupeKey ?? null;
  }

  /** Lists jobs, by default the roots of trees, the newest first. */
  async jobs(
    options: PageOptions & { readonly filter?: JobFilter; readonly order?: JobOrder } = {},
  ): Promise<Page<Job>> {
    const { first, after, filter, order } = options;
    return toPage((await this.#send(operations.Jobs, { first, after, filter, order }, options, true)).jobs);
  }

  /**
   * Lists the items of a job in the order in which they were added.
   *
   * @param options `status`: only items of this status
   * @returns fewer than asked for if those are too large for one answer of the server; `hasNextPage` says whether there are more
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
      const data = await this.#send(
        operations.Items,
        { jobId, first, after, statuses: statuses && [...statuses] },
        options,
        true,
      );
      return toPage(found(data.job, jobId).items);
    });
  }

  /**
   * Reads the successes of the final stages of a job's tree, page by page as you read on.
   *
   * @throws JobtreeError NOT_FOUND
   */
  results<Payload = unknown, R = unknown>(
    jobId: string,
    options?: CallOptions,
  ): AsyncGenerator<Result<Payload, R>, void, undefined>;
  /** The same with the payloads and results of a defined type, which all final stages of the tree must have. */
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
    let size = resultsPageSize;
    let after: string | null | undefined;
    do {
      const { nodes, endCursor, hasNextPage } = await asManyAsFit(size, async (first) => {
        const data = await this.#send(operations.Results, { jobId, first, after }, options, true);
        return toPage(found(data.job, jobId).results);
      });
      // What follows may be smaller.
      size = Math.min(2 * nodes.length, resultsPageSize);
      for (const { id, payload, result } of nodes) {
        yield { itemId: id, payload, result };
      }
      after = hasNextPage ? endCursor : undefined;
    } while (after !== undefined);
  }

  /**
   * Exports what a tree results in, as `results` has it: in one request, as lines of JSON that nobody has parsed. What breaks off is
   * taken up where it was, for as long as `retryMs`. While the tree is running it is what has succeeded so far; what succeeds
   * later may belong before the last item that you have.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT if `after` is not the id of an item, UNREACHABLE
   */
  exportResults(jobId: string, options: ExportOptions = {}): Promise<ResultLines> {
    return exportResults(this.#results, jobId, options);
  }

  /** Lists what was done, and refused, that only some may do or that can't be undone: the newest first. For admins. */
  async auditEntries(
    options: PageOptions & { readonly filter?: AuditFilter } = {},
  ): Promise<Page<AuditEntry>> {
    const { first, after, filter } = options;
    const { auditEntries } = await this.#send(
      operations.AuditEntries,
      { first, after, filter },
      options,
      true,
    );
    const { endCursor = null, hasNextPage } = auditEntries.pageInfo;
    return { nodes: auditEntries.edges.map(({ node }) => node), endCursor, hasNextPage };
  }

  /**
   * The serialize keys behind whose head most items wait, the longest line first; or those of `keys` that are in use.
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
    return (await this.#send(operations.SerializeKeys, variables, options, true)).serializeKeys;
  }

  /**
   * Lists what failed for good, in groups of one type, failure code and pattern of messages: the largest first.
   *
   * @param options `types`: only these. `first`: how many, 1 to 1,000; default: 50
   */
  async deadLetterGroups(
    options: CallOptions & { readonly types?: readonly string[]; readonly first?: number } = {},
  ): Promise<DeadLetterGroup[]> {
    const variables = { types: options.types && [...options.types], first: options.first };
    return (await this.#send(operations.DeadLetterGroups, variables, options, true)).deadLetterGroups;
  }

  /**
   * A group, with its items.
   *
   * @param options `first`: how many items, 1 to 1,000; default: 50
   * @throws JobtreeError NOT_FOUND
   */
  async deadLetterGroup(
    id: string,
    options: CallOptions & { readonly first?: number } = {},
  ): Promise<DeadLetterGroupWithItems> {
    const data = await this.#send(operations.DeadLetterGroup, { id, first: options.first }, options, true);
    const { node } = data;
    if (node == null)
      throw new JobtreeError('NOT_FOUND', `There are no dead letters in the group ${id}.`, { field: 'id' });
    return found('pattern' in node ? node : null, id) as DeadLetterGroupWithItems;
  }

  /**
   * What failed for good since a time, by group: those with the most of it, the most first.
   *
   * @param options `types`: only these. `first`: how many groups, 1 to 1,000; default: 50
   */
  async deadLetterDigest(
    since: Date,
    options: CallOptions & { readonly types?: readonly string[]; readonly first?: number } = {},
  ): Promise<DeadLetterDigestEntry[]> {
    const types = options.types && [...options.types];
    const variables = { since: since.toISOString(), types, first: options.first };
    return (await this.#send(operations.DeadLetterDigest, variables, options, true)).deadLetterDigest;
  }

  /**
   * How many dead letters a replay with this filter would be about.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async deadLetterCount(filter: DeadLetterFilter, options: CallOptions = {}): Promise<number> {
    return (await this.#send(operations.DeadLetterCount, { filter }, options, true)).deadLetterCount;
  }

  /**
   * Tries items again that failed for good, as if they were new. What takes longer than about half a second goes on in the server:
   * `operation` says how far it is.
   *
   * @param options `payload`: a corrected payload, for a filter whose `itemIds` names one item
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async replayDeadLetters(
    filter: DeadLetterFilter,
    options: CallOptions & { readonly payload?: unknown } = {},
  ): Promise<Operation> {
    const input = { filter, ...(options.payload !== undefined && { payload: options.payload }) };
    const data = await this.#send(operations.ReplayDeadLetters, { input }, options, false);
    return payloadOf(data.replayDeadLetters).operation;
  }

  /**
   * Settles dead letters: the items stay failed. Goes on in the server as `replayDeadLetters` does.
   *
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async discardDeadLetters(filter: DeadLetterFilter, options: CallOptions = {}): Promise<Operation> {
    const data = await this.#send(operations.DiscardDeadLetters, { input: { filter } }, options, true);
    return payloadOf(data.discardDeadLetters).operation;
  }

  /**
   * Keeps a note on a group of dead letters, in place of an earlier one; null removes it.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async noteDeadLetters(groupId: string, note: string | null, options: CallOptions = {}): Promise<void> {
    const data = await this.#send(operations.NoteDeadLetters, { input: { groupId, note } }, options, true);
    payloadOf(data.noteDeadLetters);
  }

  /** @throws JobtreeError NOT_FOUND */
  async operation(id: string, options: CallOptions = {}): Promise<Operation> {
    const { node } = await this.#send(operations.Operation, { id }, options, true);
    return found(node && 'total' in node ? node : null, id) as Operation;
  }

  /**
   * Ends an operation where it is; what it did stays.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async cancelOperation(operationId: string, options: CallOptions = {}): Promise<Operation> {
    const data = await this.#send(operations.CancelOperation, { input: { operationId } }, options, true);
    return payloadOf(data.cancelOperation).operation;
  }

  /**
   * Follows a job: its state now, then newer ones (a slow reader skips some), at last the final one. Lost connections are
   * replaced, without end, so give it a signal if you want to give up.
   *
   * @throws JobtreeError NOT_FOUND
   */
  watchJob(jobId: string, options: WatchOptions = {}): AsyncGenerator<JobProgress, void, undefined> {
    const { onDisconnected, onConnected } = options;
    return watchJob(this.socket, jobId, this.#untilClosed(options), { onDisconnected, onConnected });
  }

  /**
   * Follows a tree by its root, as `watchJob` does a job. Every value has the newest state of all its jobs.
   *
   * @throws JobtreeError NOT_FOUND
   */
  watchTree(rootId: string, options: WatchOptions = {}): AsyncGenerator<JobTreeProgress, void, undefined> {
    const { onDisconnected, onConnected } = options;
    return watchTree(this.socket, rootId, this.#untilClosed(options), { onDisconnected, onConnected });
  }

  /**
   * Follows an operation, as `watchJob` does a job: until it is finished or cancelled.
   *
   * @throws JobtreeError NOT_FOUND
   */
  watchOperation(operationId: string, options: CallOptions = {}): AsyncGenerator<Operation, void, undefined> {
    return watchOperation(this.socket, operationId, this.#untilClosed(options));
  }

  /**
   * Hints for workers of your own making: yields when work of these types may be there, once at the start and after every
   * reconnection. A hint may be lost or come for nothing, so poll slowly behind it.
   */
  workAvailable(types: readonly string[], options: CallOptions = {}): AsyncGenerator<true, void, undefined> {
    return watchWork(this.socket, types, {}, this.#untilClosed(options));
  }

  /**
   * What workers have, what they have had for longest first: the first 50, or `first` (1 to 1,000). With `slowOnly`, what they have had
   * for far longer than is usual for its type.
   */
  async heldItems({ signal, ...filter }: CallOptions & HeldItemsQueryVariables = {}): Promise<HeldItem[]> {
    return (await this.#send(operations.HeldItems, filter, { signal }, true)).heldItems;
  }

  /** The workers that are connected, or hold items, by name: the first 1,000 behind `after`. */
  async workers({ signal, ...filter }: CallOptions & WorkersQueryVariables = {}): Promise<ConnectedWorker[]> {
    return (await this.#send(operations.Workers, filter, { signal }, true)).workers;
  }

  /**
   * Claims ready items, fewer than asked for if their payloads have more than 32 MB together. A claim whose answer is lost
   * is sent again, and gets the same; if that fails too (`retryMs`) its items wait for their heartbeats to run out.
   *
   * @param requests `limit`: 1 to 1,000 over all types
   * @param worker a name, 1 to 200 characters
   * @throws JobtreeError INVALID_INPUT
   */
  async claimItems(
    worker: string,
    requests: readonly { readonly type: string; readonly limit: number }[],
    options: CallOptions = {},
  ): Promise<Assignment[]> {
    const claims = { worker, requests: [...requests], claimId: newClaimId() };
    const data = await this.#exchange({ withClaims: true, claims }, options, true);
    return payloadOf(data.claimItems).assignments as Assignment[];
  }

  /**
   * Claims one named item, whatever waits before it.
   *
   * @throws JobtreeError NOT_FOUND, ITEM_NOT_CLAIMABLE with its `reason`
   */
  async claimItem(worker: string, itemId: string, options: CallOptions = {}): Promise<Assignment> {
    const data = await this.#send(operations.ClaimItem, { input: { itemId, worker } }, options, false);
    return payloadOf(data.claimItem).assignment as Assignment;
  }

  /**
   * Reports results and failures, 1 to 1,000, each judged alone.
   *
   * @throws JobtreeError INVALID_INPUT for a batch that is empty or too large
   */
  async reportOutcomes(reports: readonly Report[], options: CallOptions = {}): Promise<ReportAnswer[]> {
    const data = await this.#exchange(
      { withReports: true, reports: { reports: reports.map(toReportInput) } },
      options,
      true,
    );
    const answers = reports.map(
      ({ assignmentId }): ReportAnswer => ({ assignmentId, status: 'ACCEPTED', retryAt: null, error: null }),
    );
    for (const { index, status, retryAt = null, error } of payloadOf(data.reportOutcomes).entries) {
      const { assignmentId } = reports[index] ?? { assignmentId: '' };
      answers[index] = { assignmentId, status, retryAt, error: error?.message ?? null };
    }
    return answers;
  }

  /**
   * Keeps assignments alive, 1 to 1,000: the deadline of each moves to three intervals from now.
   *
   * @returns what became of each; stop the work on all that are not HELD
   */
  async heartbeat(
    assignmentIds: readonly string[],
    options: CallOptions = {},
  ): Promise<AssignmentAnswer<HeartbeatStatus>[]> {
    const input = { assignmentIds: [...assignmentIds] };
    const { entries } = payloadOf(
      (await this.#send(operations.Heartbeat, { input }, options, true)).heartbeat,
    );
    return toAssignmentAnswers(assignmentIds, entries);
  }

  /** Gives items back unfinished, 1 to 1,000, for others to claim at once. It costs no attempt. */
  async releaseAssignments(
    assignmentIds: readonly string[],
    options: CallOptions = {},
  ): Promise<AssignmentAnswer<ReleaseStatus>[]> {
    const releases = { assignmentIds: [...assignmentIds] };
    const data = await this.#exchange({ withReleases: true, releases }, options, true);
    const { entries } = payloadOf(data.releaseAssignments);
    return toAssignmentAnswers(assignmentIds, entries);
  }

  /** Ends what is being watched and closes the WebSocket. Stop workers that use this client first. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.socket.close();
  }

  #send<R, V>(
    document: TypedDocumentString<R, V>,
    variables: V,
    { signal }: CallOptions,
    repeatable: boolean,
  ): Promise<R> {
    return this.#http.request(document, variables, { repeatable, signal });
  }

  #exchange(
    part: Partial<operations.ExchangePartsMutationVariables>,
    options: CallOptions,
    repeatable: boolean,
  ) {
    const variables = { withReports: false, withReleases: false, withClaims: false, ...part };
    return this.#send(operations.ExchangeParts, variables, options, repeatable);
  }

  #untilClosed({ signal }: CallOptions): AbortSignal {
    // One of its own for each: Node warns of more than ten listeners to the same signal.
    return AbortSignal.any(signal ? [signal, this.#closing.signal] : [this.#closing.signal]);
  }
}

/** A client of the service; `close()` it when you are done. See `ClientOptions` for the defaults. */
export function createClient(options: ClientOptions = {}): Client {
  return new Client(options);
}

function toReportInput(report: Report): ReportInput {
  const { assignmentId } = report;
  if (report.failure !== undefined) return { assignmentId, outcome: { failure: report.failure } };
  if (report.snoozeMs !== undefined) return { assignmentId, outcome: { snoozeMs: report.snoozeMs } };
  const { result, newItems } = report;
  return { assignmentId, outcome: { success: { result, newItems: newItems && [...newItems] } } };
}

function toAssignmentAnswers<Status>(
  assignmentIds: readonly string[],
  entries: readonly { status: Status; error?: { message: string } | null }[],
): AssignmentAnswer<Status>[] {
  return entries.map(({ status, error }, i) => ({
    assignmentId: assignmentIds[i] ?? '',
    status,
    error: error?.message ?? null,
  }));
}

const defaultPageSize = 50;
const resultsPageSize = 500;

/** Asks for half as many for as long as they are too large for one answer. */
async function asManyAsFit<T>(first: number, read: (first: number) => Promise<Page<T>>): Promise<Page<T>> {
  try {
    return await read(first);
  } catch (error) {
    if (!(error instanceof JobtreeError && error.code === 'LIMIT_EXCEEDED') || first <= 1) throw error;
    return asManyAsFit(Math.floor(first / 2), read);
  }
}

function found<T>(value: T | null | undefined, id: string): T {
  if (value == null) throw new JobtreeError('NOT_FOUND', `There is no ${id}.`, { field: 'id' });
  return value;
}

function toPage<T>(connection: {
  edges: { node: T }[];
  pageInfo: { endCursor?: string | null; hasNextPage: boolean };
}): Page<T> {
  const { endCursor = null, hasNextPage } = connection.pageInfo;
  return { nodes: connection.edges.map((edge) => edge.node), endCursor, hasNextPage };
}
