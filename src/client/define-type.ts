/** One value for a type of work, which producer and handler share: its name, and the types of payload and result. */
import type { ItemSpec, JobPolicies, JobSpec } from './job-spec.ts';
import type { Handler } from './worker/handler.ts';

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

  constructor(payload: Payload, options: Omit<ItemSpec, 'payload'>) {
    this.payload = payload;
    this.dedupeKey = options.dedupeKey;
    this.priority = options.priority;
    this.runAt = options.runAt;
  }
}

/** A type of work. `Payload` and `Result` are what JSON can carry: what was a Date is text on the other side. */
export interface DefinedType<Payload, Result> {
  /** The name that jobs have and workers claim by. */
  readonly type: string;
  /** A job of this type, with the policies of the type unless it names its own: for `createJob`, or for `children`. */
  job(spec?: TypedJobSpec<Payload>): JobSpec;
  /** An item with more than its payload: for `items`, `addItems` and `feed`. */
  item(payload: Payload, options?: Omit<ItemSpec, 'payload'>): TypedItem<Payload>;
  /** A handler that must take this payload and give this result; a Worker takes it for this type only. */
  handler(handle: Handler<Payload, Result>): Handler<Payload, Result>;
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
  policies: JobPolicies = {},
): DefinedType<Payload, Result> {
  return {
    type,
    job: ({ items, ...spec } = {}) => ({
      ...policies,
      ...spec,
      type,
      items: items?.map((item) => (item instanceof TypedItem ? item : { payload: item })),
    }),
    item: (payload, options = {}) => new TypedItem(payload, options),
    handler: (handle) => {
      typesOfHandlers.set(handle, type);
      return handle;
    },
  };
}

const typesOfHandlers = new WeakMap<object, string>();

/** The type that a handler was made for, if it was made for one. */
export function typeOfHandler(handler: object): string | undefined {
  return typesOfHandlers.get(handler);
}
