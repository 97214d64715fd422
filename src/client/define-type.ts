/** One value for a type of work, which producer and handler share: its name, and the types of payload and result. */
import type { ItemSpec, JobPolicies, JobSpec } from './job-spec.ts';
import type { InputOf, StandardSchema } from './standard-schema.ts';

/** What payloads and results of a type look like, as the schemas of Zod or another library. `client.types.register` tells the server. */
export interface DefinedSchemas<
  Payload extends StandardSchema = StandardSchema,
  Result extends StandardSchema = StandardSchema,
> {
  /** Which version of the type this is: 1 to 1,000,000; another one for other schemas. Default: 1. */
  readonly version?: number | undefined;
  /** What payloads meet when they are added. Default: any payload will do. */
  readonly payload?: Payload | undefined;
  /** What results meet when they are reported. Default: any result will do. */
  readonly result?: Result | undefined;
}

/** A job of a defined type; its items are payloads, or made by `item()`. */
export interface TypedJobSpec<Payload> extends Omit<JobSpec, 'type' | 'items'> {
  readonly items?: readonly (Payload | TypedItem<Payload>)[] | undefined;
}

/** An item made by a type's `item()`. */
export class TypedItem<Payload> implements ItemSpec<Payload> {
  readonly payload: Payload;
  readonly dedupeKey?: string | undefined;
  readonly priority?: number | undefined;
  readonly runAt?: Date | string | undefined;
  readonly serializeKey?: string | undefined;
  /** So that the compiler does not take any object with a `payload` for one: it would be stored as the payload. */
  readonly #isItem = true;

  static is<Payload>(item: Payload | TypedItem<Payload>): item is TypedItem<Payload> {
    return typeof item === 'object' && item !== null && #isItem in item;
  }

  constructor(payload: Payload, options: Omit<ItemSpec, 'payload'>) {
    this.payload = payload;
    this.dedupeKey = options.dedupeKey;
    this.priority = options.priority;
    this.runAt = options.runAt;
    this.serializeKey = options.serializeKey;
  }
}

/** A type of work. `Payload` and `Result` are what JSON can carry: what was a Date is text on the other side. */
export interface DefinedType<Payload, Result> {
  /** The name that jobs have and workers claim by. */
  readonly type: string;
  /** The schemas that it was defined with; undefined without. */
  readonly schemas: DefinedSchemas | undefined;
  /** A job of this type, with the policies of the type unless it names its own: for `createJob`, or for `children`. */
  job(spec?: TypedJobSpec<Payload>): JobSpec;
  /** An item with more than its payload: for `items`, `addItems` and `feed`. */
  item(payload: Payload, options?: Omit<ItemSpec, 'payload'>): TypedItem<Payload>;
  /** A handler that must take this payload and give this result; a Worker takes it for this type only. */
  handler(handle: Handler<Payload, Result>): Handler<Payload, Result>;
  /** The same for a handler that gets many items at once. */
  batchHandler(handle: BatchHandler<Payload, Result>): BatchHandler<Payload, Result>;
}

/**
 * Does the work of one item: returns the result, or throws to fail.
 *
 * The result is any JSON; a handler that returns nothing has the result null. What JSON can't carry (a BigInt, a cycle, a function,
 * NaN, half a surrogate pair, …) fails the item for good, with the code `NOT_JSON`. A thrown error is a failure with the
 * error's `code` if that is a string, else its `name`, and its message with those of its causes; a `PermanentError` fails the item for good, a
 * `RetryAfterError` says when to try again, and a `SnoozeError` is no failure: the item is tried again later, at no cost of an attempt.
 *
 * Execution is at least once: use `context.key` to make side effects happen once. A handler that computes for long must
 * let the event loop run, or the heartbeats fall silent.
 */
export type Handler<Payload = unknown, Result = unknown> = (
  payload: Payload,
  context: HandlerContext,
) => Result | Promise<Result>;

/**
 * Does the work of many items at once: returns what came of each, in their order, a result or an `Error`. An `Error` fails its item as if a
 * handler had thrown it, and no other. One that returns nothing has the result null for each; one that throws fails all.
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

/** Takes fields and a message: pino, or the like. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What a handler knows of its item. */
export interface HandlerContext {
  /** Stable for the item, over all its attempts: for idempotent side effects. It is the id of the item. */
  readonly key: string;
  /** Which try this is, from 1. Work that was released, as when a worker stops, does not count. */
  readonly attempt: number;
  /** Whether the item has failed for good if this try fails. */
  readonly lastAttempt: boolean;
  /**
   * Aborts when the work is not wanted any more; the reason is a `AssignmentEndedError` that says why. Stop then, by throwing:
   * the outcome does not count.
   */
  readonly signal: AbortSignal;
  /** The assignment. */
  readonly assignmentId: string;
  readonly itemId: string;
  readonly jobId: string;
  readonly type: string;
  /**
   * Notes how far it is, in place of the note before: `note('page 3 of 10')`. Kept with the item, up to 500 characters. The worker sends what its handlers
   * have noted at most once a second, so it may be seen a second later, and is forgotten if the assignment is lost before.
   */
  note(text: string): void;
  /** Keeps a line with the item, up to 500 characters, in the same way. Of an item there are the last 50 lines of all attempts. */
  log(text: string): void;
  /** Writes to the worker's `logger`, or the console if it has none, with the ids of the item, its type and attempt in each line. */
  readonly logger: Logger;
  /**
   * Names new items for the child job of a type which this job feeds. They are made in the transaction that takes the
   * result; a failure makes none. Up to 1,000 for an attempt. A type without exactly one such child fails the item.
   */
  feed(type: string, ...items: readonly ItemSpec[]): void;
  feed<Payload>(
    type: DefinedType<Payload, unknown>,
    ...items: readonly (Payload | TypedItem<Payload>)[]
  ): void;
}

/**
 * Defines a type of work where its arguments and its handling live together.
 *
 *     export const sendCheck = defineType<{ employee: string }, { sentAt: string }>('sendCheck', { maxFailuresPerItem: 5 });
 *     await client.createJob(sendCheck.job({ items: [{ employee: 'e1' }], sealed: true }));
 *     new Worker({ types: { sendCheck: { concurrency: 10, handler: sendCheck.handler(async ({ employee }) => …) } } });
 *
 * @param type the name, 1 to 200 characters
 * @param policies how jobs of this type treat their items, unless a job says otherwise
 */
export function defineType<Payload, Result = unknown>(
  type: string,
  policies?: JobPolicies,
): DefinedType<Payload, Result>;
/**
 * The same with schemas, of which the types of payload and result are taken.
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
    job: ({ items, ...spec } = {}) => ({
      ...policies,
      ...spec,
      type,
      items: items?.map(toItemSpec),
    }),
    item: (payload, options = {}) => new TypedItem(payload, options),
    handler: (handle) => {
      typesOfHandlers.set(handle, type);
      return handle;
    },
    batchHandler: (handle) => {
      typesOfHandlers.set(handle, type);
      return handle;
    },
  };
}

/** What stands for an item of a defined type, as an item of a job. */
export function toItemSpec(item: unknown): ItemSpec {
  return TypedItem.is(item) ? item : { payload: item };
}

const typesOfHandlers = new WeakMap<object, string>();

/** The type that a handler was made for, if it was made for one. */
export function typeOfHandler(handler: object): string | undefined {
  return typesOfHandlers.get(handler);
}
