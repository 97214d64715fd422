/** A type of work in one value that producer and handler share: its name, and the types of its payload and result. */
import { checkList, type ItemSpec, type JobPolicies, type JobSpec } from './job-spec.ts';
import { refuseUnknown } from './options.ts';
import type { InputOf, StandardSchema } from './standard-schema.ts';

/** The schemas of a type's payloads and results, from Zod or another library. `client.types.register` sends them to the server. */
export interface DefinedSchemas<
  Payload extends StandardSchema = StandardSchema,
  Result extends StandardSchema = StandardSchema,
> {
  /** The version of these schemas: 1 to 1,000,000. Different schemas need another version. Default: 1. */
  readonly version?: number | undefined;
  /** Checked when payloads are added. Default: any payload is valid. */
  readonly payload?: Payload | undefined;
  /** Checked when results are reported. Default: any result is valid. */
  readonly result?: Result | undefined;
}

/** A job of a defined type; its items are payloads, or made by `item()`. */
export interface TypedJobSpec<Payload> extends Omit<JobSpec, 'type' | 'items'> {
  readonly items?: readonly (Payload | TypedItem<Payload>)[] | undefined;
}

const itemOptions = { dedupeKey: true, priority: true, runAt: true, serializeKey: true } satisfies Record<
  Exclude<keyof ItemSpec, 'payload'>,
  true
>;

/** An item made by a type's `item()`. */
export class TypedItem<Payload> implements ItemSpec<Payload> {
  readonly payload: Payload;
  readonly dedupeKey?: string | undefined;
  readonly priority?: number | undefined;
  readonly runAt?: Date | string | undefined;
  readonly serializeKey?: string | undefined;
  /** Keeps the compiler from taking any object with a `payload` for an item: it would be stored as the payload. */
  readonly #isItem = true;

  static is<Payload>(item: Payload | TypedItem<Payload>): item is TypedItem<Payload> {
    return typeof item === 'object' && item !== null && #isItem in item;
  }

  constructor(payload: Payload, options: Omit<ItemSpec, 'payload'>) {
    refuseUnknown(options, itemOptions);
    this.payload = payload;
    this.dedupeKey = options.dedupeKey;
    this.priority = options.priority;
    this.runAt = options.runAt;
    this.serializeKey = options.serializeKey;
  }
}

/** A type of work. `Payload` and `Result` are what JSON can carry: a Date arrives as text. */
export interface DefinedType<Payload, Result> {
  /** The name that jobs carry and workers claim by. */
  readonly type: string;
  /** The schemas that it was defined with, if any. */
  readonly schemas: DefinedSchemas | undefined;
  /** A job of this type, for `createJob` or `children`. It has the policies of the type unless `spec` has its own. */
  job(spec?: TypedJobSpec<Payload>): JobSpec;
  /** An item with more than its payload: for `items`, `addItems` and `feed`. */
  item(payload: Payload, options?: Omit<ItemSpec, 'payload'>): TypedItem<Payload>;
  /** Checks at compile time that a handler takes this payload and returns this result; a worker accepts it for this type only. */
  handler(handle: Handler<Payload, Result>): Handler<Payload, Result>;
  /** The same for a handler that gets many items at once. */
  batchHandler(handle: BatchHandler<Payload, Result>): BatchHandler<Payload, Result>;
}

/**
 * Processes one item: returns the result, or throws to fail.
 *
 * The result is any JSON; a handler that returns nothing has the result null. What JSON can't carry (a BigInt, a cycle, a
 * function, NaN, half a surrogate pair, …) fails the item for good, with the code `NOT_JSON`. A thrown error is a failure with
 * the error's `code` if that is a string, else its `name`, and its message with those of its causes. A `PermanentError` fails the
 * item for good, a `RetryAfterError` says when to try again, and a `SnoozeError` is no failure: the item is tried again later,
 * which costs no attempt.
 *
 * Execution is at least once: use `context.key` to make side effects happen once. A handler that computes for long must let the
 * event loop run, or no heartbeats are sent.
 */
export type Handler<Payload = unknown, Result = unknown> = (
  payload: Payload,
  context: HandlerContext,
) => Result | Promise<Result>;

/**
 * Processes many items at once: returns a result or an `Error` for each, in their order. An `Error` fails only its own item, as
 * if a handler had thrown it. A handler that returns nothing gives each item the result null; one that throws fails them all.
 */
export type BatchHandler<Payload = unknown, Result = unknown> = (
  items: readonly BatchItem<Payload>[],
) => BatchResults<Result> | Promise<BatchResults<Result>>;

/** What a batch handler returns. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement returns it
export type BatchResults<Result> = readonly (Result | Error)[] | undefined | void;

/** An item of a batch. */
export interface BatchItem<Payload = unknown> extends HandlerContext {
  readonly payload: Payload;
}

/** Takes fields and a message: pino or the like. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What a handler gets besides the payload of its item. */
export interface HandlerContext {
  /** The id of the item, the same for all its attempts: for idempotent side effects. */
  readonly key: string;
  /** Which try this is, from 1. Tries that were given back, as when a worker stops, do not count. */
  readonly attempt: number;
  /** Whether the item fails for good if this try fails. */
  readonly lastAttempt: boolean;
  /**
   * Aborts when the work is no longer wanted; its reason is an `AssignmentEndedError` that says why. Then stop by throwing: the
   * outcome does not count.
   */
  readonly signal: AbortSignal;
  /** The id of the assignment. */
  readonly assignmentId: string;
  readonly itemId: string;
  readonly jobId: string;
  readonly type: string;
  /**
   * Notes how far the item is, in place of the previous note: `note('page 3 of 10')`. Up to 500 characters are kept with the
   * item. The worker sends what its handlers have noted at most once a second, so a note can be read about a second later; it is
   * forgotten if the assignment is lost before that.
   */
  note(text: string): void;
  /** Keeps a line with the item, up to 500 characters, sent in the same way. An item keeps the last 50 lines of all its attempts. */
  log(text: string): void;
  /** Writes to the worker's `logger`, or to the console if it has none, with the ids, type and attempt of the item in each line. */
  readonly logger: Logger;
  /**
   * Adds new items to the child job of a type that this job feeds. They are created in the transaction that accepts the result; a
   * failure creates none. Up to 1,000 for each attempt, since more would need several requests, and then some would remain if the attempt
   * fails. If there is not exactly one such child of that type, the item fails.
   */
  feed(type: string, ...items: readonly ItemSpec[]): void;
  feed<Payload>(
    type: DefinedType<Payload, unknown>,
    ...items: readonly (Payload | TypedItem<Payload>)[]
  ): void;
}

/**
 * Defines a type of work, so that its arguments and its handling live together.
 *
 *     export const sendCheck = defineType<{ employee: string }, { sentAt: string }>('sendCheck', { maxFailuresPerItem: 5 });
 *     await client.createJob(sendCheck.job({ items: [{ employee: 'e1' }], sealed: true }));
 *     new Worker({ types: { sendCheck: { concurrency: 10, handler: sendCheck.handler(async ({ employee }) => …) } } });
 *
 * If its handlers return nothing, the result is null: declare it as `void`.
 *
 * @param type the name, 1 to 200 characters
 * @param policies how jobs of this type treat their items, unless a job has its own policies
 */
export function defineType<Payload, Result = unknown>(
  type: string,
  policies?: JobPolicies,
): DefinedType<Payload, Result>;
/**
 * The same with schemas, which give the types of payload and result.
 *
 *     export const sendCheck = defineType('sendCheck', { schemas: { payload: z.object({ employee: z.string() }) } });
 *     await client.types.register(sendCheck);
 */
export function defineType<Payload extends StandardSchema, Result extends StandardSchema = StandardSchema>(
  type: string,
  options: JobPolicies & { readonly schemas: DefinedSchemas<Payload, Result> },
): DefinedType<InputOf<Payload>, InputOf<Result>>;
export function defineType(
  type: string,
  { schemas, ...policies }: JobPolicies & { readonly schemas?: DefinedSchemas } = {},
): DefinedType<unknown, unknown> {
  return {
    type,
    schemas,
    job: ({ items, ...spec } = {}) => {
      checkList(items, 'items');
      return {
        ...policies,
        ...spec,
        type,
        items: items?.map(toItemSpec),
      };
    },
    item: (payload, options = {}) => new TypedItem(payload, options),
    handler: (handle) => {
      recordType(handle, type);
      return handle;
    },
    batchHandler: (handle) => {
      recordType(handle, type);
      return handle;
    },
  };
}

/** Turns a payload or an item made by `item()` into an item of a job. */
export function toItemSpec(item: unknown): ItemSpec {
  return TypedItem.is(item) ? item : { payload: item };
}

const typesOfHandlers = new WeakMap<object, Set<string>>();

function recordType(handler: object, type: string): void {
  const types = typesOfHandlers.get(handler) ?? new Set();
  typesOfHandlers.set(handler, types.add(type));
}

/** The types that a handler was made for, if any: one function may do for several. */
export function typesOfHandler(handler: object): ReadonlySet<string> | undefined {
  return typesOfHandlers.get(handler);
}
