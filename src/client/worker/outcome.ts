/** Turns what a handler returned or threw into the report for the server. */
import type { FailureInput, ReportInput } from '../../generated/operations.ts';
import { PermanentError, RetryAfterError, SnoozeError } from '../errors.ts';
import { checkJson, jsonBytes } from '../json.ts';
import type { NewItems } from './new-items.ts';
import { chainOf, stackOf } from './stack.ts';
import { textOf } from './text-of.ts';

/** A report, and its rough size in units of JSON text. */
export interface Outcome {
  readonly report: ReportInput;
  readonly size: number;
  /** What the handler threw. */
  readonly error?: unknown;
}

const maxCodeLength = 200;
const maxMessageLength = 10_000;
/** A unit of text takes at most six bytes when it is escaped. */
const bytesPerUnit = 6;

/** A success, unless the result can't be sent: then the item fails for good, since another try would most likely return the same. */
export function succeeded(
  assignmentId: string,
  returned: unknown,
  newItems: NewItems | undefined,
  maxResultBytes: number,
): Outcome {
  // A handler may return nothing.
  const result = returned === undefined ? null : returned;
  let size: number;
  try {
    size = checkJson(result, 'result');
  } catch (error) {
    return permanent(
      assignmentId,
      'NOT_JSON',
      error instanceof Error ? error.message : 'result could not be read',
    );
  }
  if (size * bytesPerUnit > maxResultBytes) {
    const bytes = jsonBytes(result);
    if (bytes > maxResultBytes) {
      const message = `result has ${bytes} bytes of JSON; the limit is ${maxResultBytes}. Store it elsewhere and return a reference.`;
      return permanent(assignmentId, 'INVALID_RESULT', message);
    }
  }
  if (newItems === undefined) return { report: { assignmentId, outcome: { success: { result } } }, size };
  const success = { result, newItems: newItems.items };
  return { report: { assignmentId, outcome: { success } }, size: size + newItems.size };
}

/** A failure, or a snooze, as the handler threw it. */
export function failed(assignmentId: string, error: unknown): Outcome {
  if (error instanceof SnoozeError)
    return { report: { assignmentId, outcome: { snoozeMs: error.snoozeMs } }, size: 0 };
  const { code, name, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<
    string,
    unknown
  >;
  const word = [code, name].find((value) => typeof value === 'string' && value !== '') as string | undefined;
  const isObject = typeof error === 'object' && error !== null;
  const thrown = isObject
    ? `The handler threw something that is not an error: ${textOf(error)}`
    : textOf(error);
  const stack = stackOf(error);
  const said = failure(assignmentId, {
    code: word ?? 'Error',
    message: typeof message === 'string' ? withCauses(message, error) : thrown,
    permanent: error instanceof PermanentError,
    ...(error instanceof RetryAfterError && { retryAfterMs: error.retryAfterMs }),
    ...(stack !== undefined && { stack }),
  });
  return { ...said, error };
}

/** A failure of a handler that threw nothing: it has taken too long. */
export function timedOut(assignmentId: string, timeoutMs = 0): Outcome {
  const message = `The handler took longer than ${Math.round(timeoutMs)} ms.`;
  return failure(assignmentId, { code: 'TIMED_OUT', message, permanent: false });
}

/** The message, with the messages of its causes unless it contains them already: "fetch failed" alone does not say why. */
function withCauses(message: string, error: unknown): string {
  let text = message;
  for (const cause of chainOf(error).slice(1) as (Error & { code?: unknown })[]) {
    const why = cause.message || cause.code;
    if (typeof why === 'string' && !text.includes(why)) text += `: ${why}`;
  }
  return text;
}

/** A failure that another try would not change. */
export function permanent(assignmentId: string, code: string, message: string): Outcome {
  return failure(assignmentId, { code, message, permanent: true });
}

function failure(assignmentId: string, { code, message, ...more }: FailureInput): Outcome {
  const shorten = (text: string, length: number) =>
    text.replaceAll('\0', '\uFFFD').slice(0, length).toWellFormed();
  const fitting = {
    code: shorten(code, maxCodeLength),
    message: shorten(message, maxMessageLength),
    ...more,
  };
  return {
    report: { assignmentId, outcome: { failure: fitting } },
    size: fitting.message.length + fitting.code.length + (fitting.stack?.length ?? 0),
  };
}
