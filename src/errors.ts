/**
 * The closed set of refusals that a caller can expect, each with a code, a message for people and, if an input is to blame, its
 * field. Any other error is a bug or a failure of the server: it is logged, and masked at the edge.
 */
export const errorCodes = {
  NOT_FOUND: 'The object with this id does not exist, or no longer exists.',
  INVALID_INPUT: 'The input breaks a rule; `field` says where.',
  JOB_SEALED: 'The job is sealed or cancelled, and accepts no more items.',
  JOB_FED_BY_PARENT: "The job is fed by its parent, whose completion seals it; it can't be sealed by hand.",
  ITEM_NOT_CLAIMABLE: 'The item is not waiting for a worker.',
  ITEM_NOT_UPDATABLE: 'A worker holds the item, or it is finished.',
  STORAGE_LIMIT: 'The tenant would store more items or bytes than it may. Nothing was done.',
  UNAUTHENTICATED: 'The request has no key or token, or one that is unknown, revoked or expired.',
  FORBIDDEN: 'Your roles and scopes do not allow it.',
  BUSY: 'Another transaction has locked rows that the operation needs. Nothing has changed: try again.',
  UNAVAILABLE:
    "The server can't do it now, usually because Postgres does not answer. Nothing has changed: try again.",
  OUTCOME_UNKNOWN:
    'The connection to Postgres was lost before its answer arrived, so the operation may or may not have been carried out.',
} as const;
export type ErrorCode = keyof typeof errorCodes;

export const notClaimableReasons = {
  RUNNING: 'A worker holds it.',
  SCHEDULED:
    'It has not failed yet, and is due later: its `runAt`, or the end of a snooze, is in the future.',
  RETRYING: 'It has failed, and its next attempt is due later.',
  WAITING: 'Its job waits for other jobs of its tree.',
  BLOCKED: 'Another item with its serialize key is before it.',
  SUCCEEDED: 'It has a result.',
  FAILED: 'It failed for good.',
  CANCELLED: 'It was cancelled.',
  PAUSED: 'The queue of its type is paused.',
  LIMITED: 'The queue of its type is at its limit of concurrency or rate.',
} as const;
export type NotClaimableReason = keyof typeof notClaimableReasons;

export const notUpdatableReasons = {
  RUNNING: notClaimableReasons.RUNNING,
  SUCCEEDED: notClaimableReasons.SUCCEEDED,
  FAILED: notClaimableReasons.FAILED,
  CANCELLED: notClaimableReasons.CANCELLED,
} as const;
export type NotUpdatableReason = keyof typeof notUpdatableReasons;

const prefixes: Readonly<Record<string, string>> = {
  job: 'Job',
  upload: 'Upload',
  operation: 'Operation',
  group: 'DeadLetterGroup',
};
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const items = new RegExp(`\\b(item) (\\d+) of job (${uuid})`, 'gi');
const others = new RegExp(`\\b(job|upload|operation|group) (${uuid})`, 'gi');

/** The functions of the database know keys, and callers ids, which they copy from messages: `job Job:019a…`. */
function withPrefixes(message: string): string {
  return message
    .replace(items, (_, noun: string, position: string, id: string) => `${noun} JobItem:${id}:${position}`)
    .replace(others, (_, noun: string, id: string) => `${noun} ${prefixes[noun.toLowerCase()]}:${id}`);
}

export abstract class JobtreeError extends Error {
  abstract readonly code: ErrorCode;
  /** The path of the input field that is to blame: `items[3].runAt`. */
  readonly field: string | undefined;

  constructor(message: string, field?: string, options?: ErrorOptions) {
    super(withPrefixes(cut(message, 1_000)), options);
    this.name = new.target.name;
    this.field = field && cut(field, 500);
  }
}

/** Messages and fields quote what was sent, which may be large. */
function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

export class NotFoundError extends JobtreeError {
  readonly code = 'NOT_FOUND' as const;
}

export class InvalidInputError extends JobtreeError {
  readonly code = 'INVALID_INPUT' as const;
}

export class JobSealedError extends JobtreeError {
  readonly code = 'JOB_SEALED' as const;
}

export class JobFedByParentError extends JobtreeError {
  readonly code = 'JOB_FED_BY_PARENT' as const;
}

export class ItemNotClaimableError extends JobtreeError {
  readonly code = 'ITEM_NOT_CLAIMABLE' as const;
  readonly reason: NotClaimableReason;

  constructor(message: string, field: string | undefined, reason: NotClaimableReason) {
    super(message, field);
    this.reason = reason;
  }
}

export class ItemNotUpdatableError extends JobtreeError {
  readonly code = 'ITEM_NOT_UPDATABLE' as const;
  readonly reason: NotUpdatableReason;

  constructor(message: string, field: string | undefined, reason: NotUpdatableReason) {
    super(message, field);
    this.reason = reason;
  }
}

/** For the limits of a tenant and of a single key. */
export class StorageLimitError extends JobtreeError {
  readonly code = 'STORAGE_LIMIT' as const;
  readonly limit: 'ITEMS' | 'BYTES';
  readonly maximum: number;
  readonly stored: number;

  constructor(
    what: 'items' | 'bytes',
    { stored, more, maximum }: Record<'stored' | 'more' | 'maximum', number>,
  ) {
    const [are, would, may] = [stored, more, maximum].map((count) => count.toLocaleString('en'));
    super(
      `${are} ${what} are stored, and ${would} more would be beyond the limit of ${may}. Nothing was done. What is deleted, or whose retention is over, makes room.`,
    );
    this.limit = what === 'items' ? 'ITEMS' : 'BYTES';
    this.maximum = maximum;
    this.stored = stored;
  }
}

export class UnauthenticatedError extends JobtreeError {
  readonly code = 'UNAUTHENTICATED' as const;
}

export class ForbiddenError extends JobtreeError {
  readonly code = 'FORBIDDEN' as const;
}

export class BusyError extends JobtreeError {
  readonly code = 'BUSY' as const;
}

/** The operation can't be done at the moment, and no part of it was done. */
export class UnavailableError extends JobtreeError {
  readonly code = 'UNAVAILABLE' as const;

  constructor(reason: string, options?: ErrorOptions) {
    super(`${reason} Nothing was done: try again.`, undefined, options);
  }
}

/** Nobody waits for the answer any more, so work that had not begun was not started. */
export class ClientGoneError extends UnavailableError {
  constructor() {
    super('The client has gone.');
  }
}

export class OutcomeUnknownError extends JobtreeError {
  readonly code = 'OUTCOME_UNKNOWN' as const;

  constructor(message: string, options?: ErrorOptions) {
    super(message, undefined, options);
  }
}
