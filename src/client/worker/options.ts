/** What a worker is told, checked and completed. */
import { type Client, createClient } from '../client.ts';
import { typeOfHandler } from '../define-type.ts';
import { JobtreeError } from '../errors.ts';
import type { BatchItem, HandlerContext, Logger } from './handler.ts';
import type { HeldAssignment, Slots } from './held-assignments.ts';
import { loggerOf } from './log.ts';
import { Meters } from './meters.ts';

/** How a worker does one type of work: with a handler for each item, or for many at once. */
export type TypeOptions = HandlerOptions | BatchOptions;

interface CommonOptions {
  /** How many handlers of this type run at once, at most: 1 to 10,000. `setConcurrency` changes it. */
  readonly concurrency: number;
  /**
   * How long a handler may take, in milliseconds: 1 to 86,400,000. Then its signal aborts, and its items have failed, with the code
   * `TIMED_OUT`, to be tried again as after any failure. Default: as long as it likes.
   */
  readonly timeoutMs?: number | undefined;
}

/** One item at a time for each handler. */
export interface HandlerOptions extends CommonOptions {
  /**
   * Whether items may be claimed before a handler is free for them: as many as the handlers will begin within 10 ms, going by
   * how long they took so far, and at most 500, or `concurrency` if that is more. One that then waits for more than 100 ms is
   * given back. A worker that dies loses an attempt of each. Default: true.
   */
  readonly claimAhead?: boolean | undefined;
  /** Does the work; see `Handler`. */
  handler(payload: unknown, context: HandlerContext): unknown;
  readonly batchHandler?: undefined;
}

/** Many items at once for each handler. */
export interface BatchOptions extends CommonOptions {
  /** How many items a handler gets, at most: 1 to 1,000. It gets what there is, and never waits for more. */
  readonly batchSize: number;
  /** Does the work; see `BatchHandler`. */
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
 * Stands around each call of a handler: calls `next()` for the handler, or the next middleware, and returns what that gave, or something else. What it throws
 * fails the items, as if the handler had thrown it.
 */
export type Middleware = (call: HandlerCall, next: () => Promise<unknown>) => unknown;

/** What a worker does, and how. */
export interface WorkerOptions {
  /** The types that it does, by their names: at least one. */
  readonly types: Readonly<Record<string, TypeOptions>>;
  /** A client to share; the worker leaves it open. Default: one of its own, for `url`. */
  readonly client?: Client | undefined;
  /** The endpoint. Default: as for `createClient`. Not together with `client`. */
  readonly url?: string | undefined;
  /** Stands in failures and helps to find who holds what: 1 to 200 characters. Default: host, process id and some letters. */
  readonly name?: string | undefined;
  /** The version of your code, for the list of workers: 1 to 200 characters. Default: none. */
  readonly version?: string | undefined;
  /** How often to look for work without a hint, in milliseconds: 100 or more. Default: 5,000. */
  readonly pollIntervalMs?: number | undefined;
  /** How long `stop()` waits for handlers, in milliseconds: 0 or more. Default: 30,000. */
  readonly stopTimeoutMs?: number | undefined;
  /** The largest result, in bytes of its JSON text; at most what the server takes. Default: 1,000,000. */
  readonly maxResultBytes?: number | undefined;
  /** Stands around every call of a handler, the first outermost. Default: none. */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Told of every start, end and failure; pino or the like. Default: nobody; problems and failures go to the console. */
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

/** How long a handler is thought to take, in milliseconds, until some have shown it. */
const slowMs = 1_000;

/** @throws JobtreeError INVALID_INPUT, naming the option */
export function readOptions(options: WorkerOptions): Settings {
  if (options.client !== undefined && options.url !== undefined) {
    throw invalid('url', 'is given twice: the client has one already');
  }
  const { name = defaultName(), version } = options;
  if (name.length < 1 || name.length > 200) throw invalid('name', 'must have 1 to 200 characters');
  if (version !== undefined && (version.length < 1 || version.length > 200))
    throw invalid('version', 'must have 1 to 200 characters');
  const types = Object.entries(options.types);
  if (types.length === 0) throw invalid('types', 'names no type');
  return {
    slots: types.map(([type, one]) => toSlots(type, one, { ...options, name })),
    name,
    version,
    pollIntervalMs: integer(options.pollIntervalMs ?? 5_000, 'pollIntervalMs', 100, 86_400_000),
    stopTimeoutMs: integer(options.stopTimeoutMs ?? 30_000, 'stopTimeoutMs', 0, 86_400_000),
    maxResultBytes: integer(options.maxResultBytes ?? 1_000_000, 'maxResultBytes', 1, 50_000_000),
    client: options.client ?? createClient({ url: options.url }),
    ownsClient: options.client === undefined,
  };
}

function toSlots(
  type: string,
  options: TypeOptions,
  { name, logger, middleware = [] }: { name: string } & Pick<WorkerOptions, 'logger' | 'middleware'>,
): Slots {
  const field = `types.${type}`;
  const { concurrency, timeoutMs } = options;
  const kind = options.batchHandler === undefined ? 'handler' : 'batchHandler';
  const handler: unknown = options[kind];
  if (typeof handler !== 'function') throw invalid(`${field}.${kind}`, 'must be a function');
  if (options.batchHandler !== undefined) {
    if (options.handler !== undefined) throw invalid(field, 'has both a handler and a batchHandler');
    integer(options.batchSize, `${field}.batchSize`, 1, 1_000);
  }
  const madeFor = typeOfHandler(handler);
  if (madeFor !== undefined && madeFor !== type) throw invalid(`${field}.${kind}`, `was made for ${madeFor}`);
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
  throw invalid(field, `is ${value}; it must be a whole number from ${lowest} to ${highest}`);
}

function invalid(field: string, why: string): JobtreeError {
  return new JobtreeError('INVALID_INPUT', `${field} ${why}.`, { field });
}

function defaultName(): string {
  const host = process.getBuiltinModule('node:os').hostname();
  return `${host}:${process.pid}:${Math.random().toString(36).slice(2, 8)}`.slice(-200);
}
