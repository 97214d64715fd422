/** The client: every operation of the service as a typed call. */
import type { AuditEntriesQuery, AuditFilter } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { Callbacks } from './callbacks.ts';
import { Credentials, type Token } from './credentials.ts';
import type { DefinedType } from './define-type.ts';
import { endpoint } from './endpoint.ts';
import { type Enqueued, type EnqueueOptions, jobOfOne, resultOf } from './enqueue.ts';
import { answerOf, JobtreeError } from './errors.ts';
import { Http } from './http.ts';
import type { JobSpec } from './job-spec.ts';
import { type FinishedJob, JobCalls } from './jobs.ts';
import {
  type ClientOptions,
  callOptions,
  clientOptions,
  pageOptions,
  refuseUnknown,
  type Send,
  watchOptions,
} from './options.ts';
import { toPage } from './page.ts';
import { createPost } from './post.ts';
import { Queues } from './queues.ts';
import { type ExportOptions, exportResults, type ResultLines, type ResultsEndpoint } from './results.ts';
import { Schedules } from './schedules.ts';
import { type Operations, Socket } from './socket.ts';
import { type Texts, texts, withTexts } from './texts.ts';
import { TypeSchemas } from './type-schemas.ts';
import type {
  CallOptions,
  JobProgress,
  JobTreeProgress,
  Operation,
  Page,
  PageOptions,
  WatchOptions,
} from './types.ts';
import { type Upload, type UploadEndpoint, type UploadOptions, type UploadSource, upload } from './upload.ts';
import { endedBy } from './watch.ts';
import { watchJob, watchOperation, watchTree, watchWork } from './watches.ts';

/** A restricted action that somebody took or tried. Times are text in ISO 8601. */
export type AuditEntry = NonNullable<AuditEntriesQuery['auditEntries']>['edges'][number]['node'];

const auditOptions = { ...pageOptions, filter: true };

/**
 * Talks to one service. Queries and mutations go over HTTP; subscriptions and workers share one WebSocket, which is opened when
 * it is first needed. Every refusal is thrown as a `JobtreeError`.
 *
 * A call is repeated, for as long as `retryMs`, when it is known that nothing was done: the server could not be reached or was
 * busy, or its Postgres was away. A call whose answer was lost is repeated only if a second time changes nothing: reads,
 * `sealJob`, `cancelJob`, reports, heartbeats, `createJob` with a dedupe key, `addItems` when all items have one. Any other call
 * then throws `UNREACHABLE` with the `outcome` `UNKNOWN`.
 */
export class Client extends JobCalls {
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

  protected readonly send: Send = async (document, variables, options, repeatable, known = callOptions) => {
    refuseUnknown(options, known);
    return this.#http.request(document, variables, { repeatable, signal: options.signal });
  };

  constructor(options: ClientOptions = {}) {
    super();
    refuseUnknown(options, clientOptions);
    const url = endpoint(options.url);
    const { headers = {}, retryMs = 5_000, timeoutMs = 60_000, fetch, webSocketImpl, onRetry } = options;
    const credentials = new Credentials(headers, options.token);
    const { [texts]: own } = options as { readonly [texts]?: Texts };
    const post = own === undefined ? createPost(fetch) : withTexts(createPost(fetch), own.received, own.sent);
    this.#http = new Http({ url, credentials, retryMs, timeoutMs, onRetry, post });
    this.#results = { url, credentials, retryMs, fetch: fetch ?? globalThis.fetch };
    this.#uploads = { ...this.#results, timeoutMs, onRetry };
    this.queues = new Queues(this.send);
    this.types = new TypeSchemas(this.send);
    this.callbacks = new Callbacks(this.send);
    this.schedules = new Schedules(this.send);
    this.socket = new Socket({ url, headers, credentials, webSocketImpl, texts: own });
    this.#tokenSocket = new Socket({ url, headers, credentials: undefined, webSocketImpl, texts: own });
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
