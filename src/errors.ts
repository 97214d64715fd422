/**
 * The closed set of refusals that a caller can expect. Anything else that goes wrong is ours, is logged, and is masked
 * at the edge. Each has a code, a message for people, and, where one is to blame, the field of the input.
 */
export const errorCodes = [
  'NOT_FOUND',
  'INVALID_INPUT',
  'JOB_SEALED',
  'JOB_FED_BY_PARENT',
  'ITEM_NOT_CLAIMABLE',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

export const notClaimableReasons = ['HELD', 'SCHEDULED', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const;
export type NotClaimableReason = (typeof notClaimableReasons)[number];

export abstract class JobtreeError extends Error {
  abstract readonly code: ErrorCode;
  /** The path of the input field that is to blame: `items[3].runAt`. */
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.name = new.target.name;
    this.field = field;
  }
}

/** What the id names does not exist (any more). */
export class NotFoundError extends JobtreeError {
  readonly code = 'NOT_FOUND' as const;
}

/** The input breaks a rule. */
export class InvalidInputError extends JobtreeError {
  readonly code = 'INVALID_INPUT' as const;
}

/** The job is sealed or cancelled and takes no more items. */
export class JobSealedError extends JobtreeError {
  readonly code = 'JOB_SEALED' as const;
}

/** The job is fed by its parent, whose completion seals it; nobody else does. */
export class JobFedByParentError extends JobtreeError {
  readonly code = 'JOB_FED_BY_PARENT' as const;
}

/** The item is not waiting for a worker. */
export class ItemNotClaimableError extends JobtreeError {
  readonly code = 'ITEM_NOT_CLAIMABLE' as const;
  readonly reason: NotClaimableReason;

  constructor(message: string, field: string | undefined, reason: NotClaimableReason) {
    super(message, field);
    this.reason = reason;
  }
}
