/** Turns what one call of a handler returned or threw into an outcome for each item. */
import { PermanentError } from '../errors.ts';
import type { HeldAssignment } from './held-assignments.ts';

export interface HandlerResults {
  readonly onResult: (held: HeldAssignment, result: unknown) => void;
  readonly onFailure: (held: HeldAssignment, error: unknown) => void;
  /** Called once, after the last item. */
  readonly onEnd: () => void;
}

/** Calls the handler for items of one type. A handler that is not asynchronous has ended when this returns. */
export function callHandler(items: readonly HeldAssignment[], results: HandlerResults): void {
  const [{ slots, trace }] = items as [HeldAssignment];
  const succeed = (value: unknown) => {
    tellResults(items, slots.batchSize === undefined ? [value] : value, results);
    results.onEnd();
  };
  const fail = (error: unknown) => {
    for (const held of items) results.onFailure(held, error);
    results.onEnd();
  };
  let value: unknown;
  try {
    // A batch belongs to the trace of no single item, so its handler runs outside of them all.
    if (slots.batchSize !== undefined) for (const held of items) held.trace?.run(() => {});
    const call = () => slots.call(items);
    value = trace === undefined || slots.batchSize !== undefined ? call() : trace.run(call);
  } catch (error) {
    fail(error);
    return;
  }
  if (isPromiseLike(value)) Promise.resolve(value).then(succeed, fail);
  else succeed(value);
}

function tellResults(items: readonly HeldAssignment[], value: unknown, results: HandlerResults): void {
  const values: readonly unknown[] = value === undefined ? items.map(() => null) : asList(value);
  for (const [i, held] of items.entries()) {
    if (values.length !== items.length) {
      const given = Array.isArray(value) ? `${values.length} results` : 'no list';
      const message = `The batch handler returned ${given} for ${items.length} items.`;
      results.onFailure(held, new PermanentError(message, { code: 'INVALID_RESULT' }));
    } else if (values[i] instanceof Error && held.slots.batchSize !== undefined) {
      results.onFailure(held, values[i]);
    } else {
      results.onResult(held, values[i]);
    }
  }
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
