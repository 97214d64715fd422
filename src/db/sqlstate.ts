/**
 * The one table from SQLSTATE to refusal. The stored functions raise these with the field in the error's column; whatever
 * is not listed is not a refusal but a fault.
 */
import { DatabaseError } from 'pg';
import {
  InvalidInputError,
  ItemNotClaimableError,
  ItemNotUpdatableError,
  JobFedByParentError,
  JobSealedError,
  JobtreeError,
  type NotClaimableReason,
  NotFoundError,
  type NotUpdatableReason,
  OutcomeUnknownError,
  UnavailableError,
} from '../errors.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { connectionRefusal } from './lost-connection.ts';

const refusals: Readonly<Record<string, (error: DatabaseError) => JobtreeError>> = {
  JT001: (error) => new NotFoundError(error.message, error.column),
  JT002: (error) => new InvalidInputError(error.message, error.column),
  JT003: (error) => new JobSealedError(error.message, error.column),
  JT004: (error) => new JobFedByParentError(error.message, error.column),
  // statement_too_complex: the stack that Postgres gives its JSON parser ended.
  '54001': () => new InvalidInputError('A JSON value is nested too deeply.'),
  JT005: (error) =>
    new ItemNotClaimableError(error.message, error.column, error.detail as NotClaimableReason),
  JT007: (error) =>
    new ItemNotUpdatableError(error.message, error.column, error.detail as NotUpdatableReason),
};

/** What to throw for an error of Postgres: the refusal that it stands for, or the error itself. */
export function asRefusal(error: unknown): unknown {
  // Prisma's "record not found".
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2025') {
    return new NotFoundError('What the id names does not exist.', 'id');
  }
  const refusal = error instanceof DatabaseError && error.code !== undefined && refusals[error.code];
  return refusal ? refusal(error) : (connectionRefusal(error) ?? error);
}

/** Whether Postgres refused a statement for what it says, so that nothing of it happened. Without Postgres none would do better. */
export function isRolledBack(error: unknown): boolean {
  if (isOutage(error)) return false;
  return error instanceof DatabaseError || error instanceof JobtreeError;
}

/** Whether it says that Postgres can't serve anybody at the moment. */
export function isOutage(error: unknown): boolean {
  const cause = asRefusal(error);
  return cause instanceof UnavailableError || cause instanceof OutcomeUnknownError;
}

const functionGone = /^cache lookup failed for function/;

/**
 * Postgres undid the statement for reasons of its own, and it may go through next time: a deadlock, a serialization failure, or a migration that has
 * just made a function anew, which the statement was about to call.
 */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return (
    error.code === '40P01' ||
    error.code === '40001' ||
    (error.code === 'XX000' && functionGone.test(error.message))
  );
}
