/** What a handler is given, and what it may do. */
import type { DefinedType, TypedItem } from '../define-type.ts';
import type { ItemSpec } from '../job-spec.ts';

/**
 * Does the work of one item: returns the result, or throws to fail.
 *
 * The result is any JSON; return null if there is none. What JSON can't carry (undefined, a BigInt, a cycle, a function,
 * NaN, half a surrogate pair, …) fails the item for good, with the code `NOT_JSON`. A thrown error is a failure with the
 * error's `code` if that is a string, else its `name`, and its message; a `PermanentError` fails the item for good.
 *
 * Execution is at least once: use `context.key` to make side effects happen once. A handler that computes for long must
 * let the event loop run, or the heartbeats fall silent.
 */
export type Handler<Payload = unknown, Result = unknown> = (
  payload: Payload,
  context: HandlerContext,
) => Result | Promise<Result>;

/** What a handler knows of its item. */
export interface HandlerContext {
  /** Stable for the item, over all its attempts: for idempotent side effects. It is the id of the item. */
  readonly key: string;
  /** Which try this is, from 1. Work that was released, as when a worker stops, does not count. */
  readonly attempt: number;
  /**
   * Aborts when the work is not wanted any more; the reason is a `HoldEndedError` that says why. Stop then, by throwing:
   * the outcome does not count.
   */
  readonly signal: AbortSignal;
  /** The hold on the item. */
  readonly assignmentId: string;
  readonly itemId: string;
  readonly jobId: string;
  readonly type: string;
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
