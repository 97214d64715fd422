/** A worker's options, checked and completed with defaults. */
import { type Client, createClient } from '../client.ts';
import { typesOfHandler } from '../define-type.ts';
import { JobtreeError } from '../errors.ts';

import { type ClientOptions, refuseUnknown } from '../options.ts';
import type { BatchItem, HandlerContext, Logger } from './handler.ts';
import type { HeldAssignment, Slots } from './held-assignments.ts';
import { loggerOf } from './log.ts';
import { Meters } from './meters.ts';

/** How a worker processes a type: with a handler for each item, or with one for many at once. */
export type TypeOptions = HandlerOptions | BatchOptions;

interface CommonOptions {
  /** The most handlers of this type that run at once: 1 to 10,000. `setConcurrency` changes it. */
  readonly concurrency: number;
  /**
   * How long a handler may take, in milliseconds: 1 to 86,400,000. After that its signal aborts and its items fail with the code
   * `TIMED_OUT`, to be tried again as after any failure; those with a serialize key once the handler has ended, since others of
   * the key may begin then. Default: no limit.
   */
  readonly timeoutMs?: number | undefined;
}

/** A handler that gets one item at a time. */
export interface HandlerOptions extends CommonOptions {
  /**
   * Whether to claim items before a handler is free for them: as many as the handlers should begin within 10 ms, going by how
   * long they took so far, and at most 500, or `concurrency` if that is more. An item that waits for more than 100 ms is given
   * back. If the worker dies, each of these items loses an attempt. Default: true.
   */
  readonly claimAhead?: boolean | undefined;
  /** Processes an item; see `Handler`. */
  handler(payload: unknown, context: HandlerContext): unknown;
  readonly batchHandler?: undefined;
}

/** A handler that gets many items at once. */
export interface BatchOptions extends CommonOptions {
  /** The most items that a handler gets at once: 1 to 1,000. It gets what is ready, and never waits for more. */
  readonly batchSize: number;
  /** Processes the items; see `BatchHandler`. */
  batchHandler(items: readonly BatchItem[]): unknown;
  readonly handler?: undefined;
}

/** One call of a handler. */
export interface HandlerCall {
  readonly type: string;
  /** The item, or the items of a batch. */
  readonly items: readonly BatchItem[];
}

/**
 * Wraps each call of a handler. It calls `next()` to run the next middleware or the handler, and returns that result or another
 * one. If it throws, the items fail as if the handler had thrown.
 */
export type Middleware = (call: HandlerCall, next: () => Promise<unknown>) => unknown;

/** The options of a worker. */
export interface WorkerOptions {
  /** The types to process, by name: at least one. */
  readonly types: Readonly<Record<string, TypeOptions>>;
  /** A client to share; the worker does not close it. Default: a client of its own, for `url`. */
  readonly client?: Client | undefined;
  /** The endpoint. Default: as for `createClient`. Not together with `client`. */
  readonly url?: string | undefined;
  /** The API key, as for `createClient`. Default: `JOBTREE_TOKEN` of the environment. Not together with `client`. */
  readonly token?: ClientOptions['token'];
  /** Identifies the worker in failures and in lists of held items: 1 to 200 characters. Default: host, process id and some random characters. */
  readonly name?: string | undefined;
  /** The version of your code, shown in the list of workers: 1 to 200 characters. Default: none. */
  readonly version?: string | undefined;
  /** How often to look for work without a hint, in milliseconds: 100 or more. Default: 5,000. */
  readonly pollIntervalMs?: number | undefined;
  /** How long `stop()` waits for handlers, in milliseconds: 0 or more. Default: 30,000. */
  readonly stopTimeoutMs?: number | undefined;
  /** The largest result, in bytes of its JSON text; at most what the server takes. Default: 1,000,000. */
  readonly maxResultBytes?: number | undefined;
  /** Wraps every call of a handler; the first is the outermost. Default: none. */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Gets a line for every start, end and failure; pino or the like. Default: none; problems and failures go to the console. */
  readonly logger?: Logger | undefined;
}

export interface Settings {
  readonly client: Client;
  readonly ownsClient: boolean;
  readonly name: string;
  readonly version: string | undefined;
  readonly slots: readonly Slots[];
  readonly pollIntervalMs: number;
  readonly stopTimeoutMs: number;
  readonly maxResultBytes: number;
}

/** The assumed duration of a handler, in milliseconds, until some have run. */
const slowMs = 1_000;

const workerOptions = {
  types: true,
  client: true,
  url: true,
  token: true,
  name: true,
  version: true,
  pollIntervalMs: true,
  stopTimeoutMs: true,
  maxResultBytes: true,
  middleware: true,
  logger: true,
} satisfies Record<keyof WorkerOptions, true>;

const typeOptions = {
  concurrency: true,
  timeoutMs: true,
  claimAhead: true,
  handler: true,
  batchSize: true,
  batchHandler: true,
} satisfies Record<keyof HandlerOptions | keyof BatchOptions, true>;

/** @throws JobtreeError INVALID_INPUT, naming the option */
export function readOptions(options: WorkerOptions): Settings {
  refuseUnknown(options, workerOptions);
  for (const name of ['url', 'token'] as const)
    if (options.client !== undefined && options[name] !== undefined)
      throw invalid(name, 'must not be given together with client, which has its own');
  const { name = defaultName(), version } = options;
  if (name.length < 1 || name.length > 200) throw invalid('name', 'must have 1 to 200 characters');
  if (version !== undefined && (version.length < 1 || version.length > 200))
    throw invalid('version', 'must have 1 to 200 characters');
  const types = Object.entries(options.types ?? {});
  if (types.length === 0) throw invalid('types', 'must name at least one type');
  return {
    slots: types.map(([type, one]) => toSlots(type, one, { ...options, name })),
    name,
    version,
    pollIntervalMs: integer(options.pollIntervalMs ?? 5_000, 'pollIntervalMs', 100, 86_400_000),
    stopTimeoutMs: integer(options.stopTimeoutMs ?? 30_000, 'stopTimeoutMs', 0, 86_400_000),
    maxResultBytes: integer(options.maxResultBytes ?? 1_000_000, 'maxResultBytes', 1, 50_000_000),
    client: options.client ?? createClient({ url: options.url, token: options.token }),
    ownsClient: options.client === undefined,
  };
}

function toSlots(
  type: string,
  options: TypeOptions,
  { name, logger, middleware = [] }: { name: string } & Pick<WorkerOptions, 'logger' | 'middleware'>,
): Slots {
  const field = `types.${type}`;
  refuseUnknown(options, typeOptions, `${field}.`);
  const { concurrency, timeoutMs } = options;
  const kind = options.batchHandler === undefined ? 'handler' : 'batchHandler';
  const handler: unknown = options[kind];
  if (typeof handler !== 'function') throw invalid(`${field}.${kind}`, 'must be a function');
  if (options.batchHandler !== undefined) {
    if (options.handler !== undefined) throw invalid(field, 'has both a handler and a batchHandler');
    integer(options.batchSize, `${field}.batchSize`, 1, 1_000);
  }
  const madeFor = typesOfHandler(handler);
  if (madeFor !== undefined && !madeFor.has(type))
    throw invalid(`${field}.${kind}`, `was made for ${[...madeFor].join(', ')}`);
  if (timeoutMs !== undefined) integer(timeoutMs, `${field}.timeoutMs`, 1, 86_400_000);
  return {
    type,
    concurrency: checkConcurrency(concurrency, `${field}.concurrency`),
    batchSize: options.batchHandler === undefined ? undefined : options.batchSize,
    timeoutMs,
    call: withMiddleware(type, options, middleware),
    meters: new Meters(type),
    loggerOf: (assignment) => loggerOf(name, assignment, logger),
    claimsAhead: options.batchHandler === undefined && (options.claimAhead ?? true),
    running: 0,
    waiting: [],
    meanMs: slowMs,
    asked: 0,
    parked: 0,
    hints: 0,
    dry: false,
    follows: false,
    limited: false,
  };
}

function withMiddleware(
  type: string,
  { handler, batchHandler }: TypeOptions,
  middleware: readonly Middleware[],
): (items: readonly HeldAssignment[]) => unknown {
  const call = (items: readonly HeldAssignment[]) => {
    if (handler === undefined) return batchHandler(items);
    const [item] = items as [HeldAssignment];
    return handler(item.payload, item);
  };
  return middleware.reduceRight(
    (next, one) => (items) => one({ type, items }, async () => next(items)),
    call,
  );
}

/** @throws JobtreeError INVALID_INPUT */
export function checkConcurrency(concurrency: number, field = 'concurrency'): number {
  return integer(concurrency, field, 1, 10_000);
}

function integer(value: number, field: string, lowest: number, highest: number): number {
  if (Number.isInteger(value) && value >= lowest && value <= highest) return value;
  // Callers without types pass texts, too.
  const found = value === undefined ? 'missing' : (JSON.stringify(value) ?? typeof value);
  throw invalid(field, `is ${found}; it must be a whole number from ${lowest} to ${highest}`);
}

function invalid(field: string, why: string): JobtreeError {
  return new JobtreeError('INVALID_INPUT', `${field} ${why}.`, { field });
}

function defaultName(): string {
  const host = process.getBuiltinModule('node:os').hostname();
  return `${host}:${process.pid}:${Math.random().toString(36).slice(2, 8)}`.slice(-200);
}
