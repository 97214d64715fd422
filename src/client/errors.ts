/** The errors that the client throws, and those that a handler throws to say what becomes of its item. */
import type { ErrorCode, ItemFieldsFragment, NotClaimableReason } from '../generated/operations.ts';

/**
 * Why an operation did not succeed: one of the server's error codes, or
 * - `LIMIT_EXCEEDED`: the operation asks for more than the server does or answers at once; the message says what. Nothing was
 *   done.
 * - `UNREACHABLE`: there was no answer, or the server had none because its Postgres is away. `outcome` says what is known.
 * - `BAD_RESPONSE`: the answer does not come from jobtree, or the server failed; its log says more.
 * - `DIGEST_MISMATCH`: from `upload`: the file that arrived does not have the given SHA-256. Nothing of it is kept.
 * - `INVALID_SIGNATURE`: from `verifyCallback`: the message is not genuine, or too old.
 * - `ITEM_FAILED`: from `run`, and `result()` of `enqueue`: the item failed for good. `failure` says why.
 * - `ITEM_CANCELLED`: from the same: the item was cancelled.
 */
export type ClientErrorCode =
  | RefusalCode
  | 'LIMIT_EXCEEDED'
  | 'UNREACHABLE'
  | 'BAD_RESPONSE'
  | 'DIGEST_MISMATCH'
  | 'INVALID_SIGNATURE'
  | 'ITEM_FAILED'
  | 'ITEM_CANCELLED';
/** The client itself tries again after the excluded codes, and throws UNREACHABLE when it gives up. */
type RefusalCode = Exclude<ErrorCode, 'UNAVAILABLE' | 'OUTCOME_UNKNOWN'>;

/** The only error that the client's operations throw (except `signal.reason`, when you abort one). */
export class JobtreeError extends Error {
  override readonly name = 'JobtreeError';
  /** The kind of error, for programs. */
  readonly code: ClientErrorCode;
  // These are declared, and set only with a value, so that a printed error has no lines of undefined.
  /** The path to the part of the input that is wrong, if the input is to blame: `items[3].runAt`. */
  declare readonly field: string | undefined;
  /** With `ITEM_NOT_CLAIMABLE` and `ITEM_NOT_UPDATABLE`: the state that the item is in instead. */
  declare readonly reason: NotClaimableReason | undefined;
  /** With `ITEM_FAILED`: the item's last failure, with the code and message that its worker reported. */
  declare readonly failure: Failure | undefined;
  /** With `ITEM_FAILED` and `ITEM_CANCELLED`: the id of the item. */
  declare readonly itemId: string | undefined;
  /**
   * What became of the operation: `UNKNOWN` if the server may have carried it out although no answer came; `DONE` with
   * `ITEM_FAILED` and `ITEM_CANCELLED`.
   */
  readonly outcome: 'NOTHING_DONE' | 'DONE' | 'UNKNOWN';

  constructor(code: ClientErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    if (details.field != null) this.field = details.field;
    if (details.reason !== undefined) this.reason = details.reason;
    if (details.failure !== undefined) this.failure = details.failure;
    if (details.itemId !== undefined) this.itemId = details.itemId;
    const mayBeDone = code === 'UNREACHABLE' || code === 'BAD_RESPONSE';
    this.outcome = details.outcome ?? (mayBeDone ? 'UNKNOWN' : 'NOTHING_DONE');
  }
}

type Failure = ItemFieldsFragment['failures'][number];

interface ErrorDetails {
  readonly field?: string | null | undefined;
  readonly reason?: NotClaimableReason | undefined;
  readonly failure?: Failure | undefined;
  readonly itemId?: string | undefined;
  /** Default: `UNKNOWN` for `UNREACHABLE` and `BAD_RESPONSE`, else `NOTHING_DONE`. */
  readonly outcome?: JobtreeError['outcome'] | undefined;
  readonly cause?: unknown;
}

/** Thrown by a handler to fail the item for good, whatever `maxFailuresPerItem` says. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
  /** What kind of failure, for grouping: 1 to 200 characters. Default: `PERMANENT`. */
  readonly code: string;

  constructor(message: string, options: { code?: string; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = options.code ?? 'PERMANENT';
  }
}

/** Thrown by a handler to fail the attempt and have the item due again after this time, instead of after its job's backoff. */
export class RetryAfterError extends Error {
  override readonly name = 'RetryAfterError';
  /** What kind of failure, for grouping: 1 to 200 characters. Default: `RETRY_AFTER`. */
  readonly code: string;
  /** In milliseconds: 0 to 2,147,483,647 (24 days). */
  readonly retryAfterMs: number;

  /** @throws RangeError if `retryAfterMs` is out of bounds */
  constructor(message: string, options: { retryAfterMs: number; code?: string; cause?: unknown }) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = options.code ?? 'RETRY_AFTER';
    this.retryAfterMs = checkMs(options.retryAfterMs, 'retryAfterMs', 0);
  }
}

/**
 * Thrown by a handler when it is too early for this item. The item is given back, and is due again after this time. That is no
 * failure and costs no attempt, however often it happens.
 */
export class SnoozeError extends Error {
  override readonly name = 'SnoozeError';
  /** In milliseconds: 1,000 to 2,147,483,647 (24 days). */
  readonly snoozeMs: number;

  /** @throws RangeError if `snoozeMs` is out of bounds */
  constructor(snoozeMs: number) {
    super(`Not for another ${Math.round(snoozeMs)} ms.`);
    this.snoozeMs = checkMs(snoozeMs, 'snoozeMs', 1_000);
  }
}

const longestMs = 2_147_483_647;

/** Rounds fractions up to whole milliseconds. */
function checkMs(ms: number, name: string, lowest: number): number {
  const whole = Math.ceil(ms);
  if (whole >= lowest && whole <= longestMs) return whole;
  throw new RangeError(
    `${name} is ${ms}; it must be a number of milliseconds from ${lowest} to ${longestMs}.`,
  );
}

/**
 * Why a worker aborted a handler:
 * - `LOST`: the server took the item back; it is or will be processed elsewhere.
 * - `CANCELLED`: the item or its job was cancelled, or the job was deleted.
 * - `FINISHED`: the outcome was reported already.
 * - `HEARTBEATS_FAILED`: two heartbeats in a row got no answer, so the assignment may be lost at any moment.
 * - `STOPPED`: the worker is stopping, and the handler took longer than `stopTimeoutMs`.
 * - `TIMED_OUT`: the handler took longer than `timeoutMs`. The attempt has failed with the same code.
 */
export type AbortCode = 'LOST' | 'CANCELLED' | 'FINISHED' | 'HEARTBEATS_FAILED' | 'STOPPED' | 'TIMED_OUT';

const abortMessages: Record<AbortCode, string> = {
  LOST: 'The assignment was lost.',
  CANCELLED: 'The item was cancelled, or its job.',
  FINISHED: 'The outcome of this attempt was reported already.',
  HEARTBEATS_FAILED: 'Two heartbeats in a row failed.',
  STOPPED: 'The worker stops.',
  TIMED_OUT: 'The handler took too long.',
};

/** The reason of a handler's `signal`: the work is no longer wanted. */
export class AssignmentEndedError extends Error {
  override readonly name = 'AssignmentEndedError';
  readonly code: AbortCode;

  constructor(code: AbortCode) {
    super(abortMessages[code]);
    this.code = code;
  }
}

/** Turns the `errors` of a GraphQL response into one error. */
export function fromGraphqlErrors(errors: readonly unknown[]): JobtreeError {
  const [first] = errors as readonly {
    message?: unknown;
    extensions?: { code?: unknown; field?: unknown; retryAfter?: unknown; ended?: unknown };
  }[];
  const message = typeof first?.message === 'string' ? first.message : 'The server failed.';
  const { code, field, retryAfter, ended } = first?.extensions ?? {};
  if (code === 'RATE_LIMITED')
    return new JobtreeError('UNREACHABLE', message, { outcome: 'NOTHING_DONE', cause: { retryAfter } });
  if (typeof code !== 'string' || !expected.has(code))
    return new JobtreeError('BAD_RESPONSE', message, { cause: errors });
  const details = { field: typeof field === 'string' ? field : undefined };
  return refusal(
    code as ErrorCode,
    ofInput(message),
    ended === true ? { ...details, cause: { ended } } : details,
  );
}

/** What GraphQL says of a value that has no place in the input, without the value: `children[0]: Field "typ" is not defined by type "JobInput".` */
function ofInput(message: string): string {
  const [, path, what] =
    /^Variable "\$\w+" got invalid value .*?(?: at "\w+\.?([^"]*)")?; (.*)$/s.exec(message) ?? [];
  if (what === undefined) return message;
  return path === undefined || path === '' ? what : `${path}: ${what}`;
}

const codes: Record<ErrorCode, true> = {
  NOT_FOUND: true,
  INVALID_INPUT: true,
  JOB_SEALED: true,
  JOB_FED_BY_PARENT: true,
  ITEM_NOT_CLAIMABLE: true,
  ITEM_NOT_UPDATABLE: true,
  STORAGE_LIMIT: true,
  UNAUTHENTICATED: true,
  FORBIDDEN: true,
  BUSY: true,
  UNAVAILABLE: true,
  OUTCOME_UNKNOWN: true,
};
const expected = new Set([...Object.keys(codes), 'LIMIT_EXCEEDED', 'DIGEST_MISMATCH']);

/** A refusal by the server, with one of its codes. */
export function refusal(code: ErrorCode, message: string, details: ErrorDetails = {}): JobtreeError {
  if (code === 'UNAVAILABLE')
    return new JobtreeError('UNREACHABLE', message, { ...details, outcome: 'NOTHING_DONE' });
  return new JobtreeError(code === 'OUTCOME_UNKNOWN' ? 'UNREACHABLE' : code, message, details);
}

/** Whether the server refused the token that it was shown. */
export function isRefusal(error: unknown): boolean {
  return error instanceof JobtreeError && error.code === 'UNAUTHENTICATED';
}

/** Whether that token was valid at first, and ended while the operation was under way. */
export function wasAdmitted({ cause }: JobtreeError): boolean {
  return (cause as { ended?: unknown } | undefined)?.ended === true;
}

/** Whether the same operation may well succeed a little later. */
export function isTransient({ code }: JobtreeError): boolean {
  return code === 'UNREACHABLE' || code === 'BUSY';
}

/** How long the server, or a proxy before it, asks the client to wait, in milliseconds. */
export function retryAfterMs({ cause }: JobtreeError): number {
  const seconds = Number((cause as { retryAfter?: unknown } | undefined)?.retryAfter ?? 0);
  return Number.isFinite(seconds) ? seconds * 1_000 : 0;
}

/** Whether the server is older and does not know something that the operation uses. */
export function isNotUnderstood({ code, cause }: JobtreeError): boolean {
  const [first] = Array.isArray(cause) ? (cause as { extensions?: { code?: unknown } }[]) : [];
  return code === 'BAD_RESPONSE' && first?.extensions?.code === 'GRAPHQL_VALIDATION_FAILED';
}

interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly field?: string | null;
  readonly reason?: NotClaimableReason;
}

/**
 * The data of a response. If only some of its fields failed, the error of each takes the place of its value, for `answerOf`
 * to throw, so that the values of the others are not lost.
 */
export function dataOf(data: unknown, errors: readonly unknown[] | undefined): unknown {
  if (errors === undefined || errors.length === 0) return data;
  const roots = Object.entries(data ?? {});
  const failed = new Map<unknown, JobtreeError>();
  for (const error of errors) {
    const [root] = (error as { path?: readonly unknown[] }).path ?? [];
    if (!failed.has(root)) failed.set(root, fromGraphqlErrors([error]));
  }
  const isPartial =
    roots.some(([, value]) => value !== null) &&
    [...failed.keys()].every((root) => roots.some(([name, value]) => name === root && value === null));
  if (!isPartial) throw fromGraphqlErrors(errors);
  return Object.fromEntries(roots.map(([name, value]) => [name, failed.get(name) ?? value]));
}

/** Returns the payload of a mutation's result union, and throws a refusal. */
export function payloadOf<T extends object>(result: T | Refusal | null | undefined): Exclude<T, Refusal> {
  const answer = answerOf(result);
  if ('code' in answer && 'message' in answer) {
    throw refusal(answer.code, answer.message, { field: answer.field, reason: answer.reason });
  }
  return answer as Exclude<T, Refusal>;
}

/** What a field of the response has; an error in its place is thrown. */
export function answerOf<T>(value: T | null | undefined): NonNullable<T> {
  if (value instanceof JobtreeError) throw value;
  if (value == null) throw new JobtreeError('BAD_RESPONSE', 'The answer of the server lacks a result.');
  return value;
}
