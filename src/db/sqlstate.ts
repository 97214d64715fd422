/**
 * The one table from SQLSTATE to refusal. The stored functions raise these with the field in the error's column; any other SQLSTATE is a fault,
 * not a refusal.
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
  // statement_too_complex: the JSON parser of Postgres ran out of stack.
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

/** Whether Postgres refused the statement itself, so that nothing of it happened. False for outages, in which any statement fails. */
export function isRolledBack(error: unknown): boolean {
  if (isOutage(error)) return false;
  return error instanceof DatabaseError || error instanceof JobtreeError;
}

/** Whether the error means that Postgres can't serve anybody at the moment. */
export function isOutage(error: unknown): boolean {
  const cause = asRefusal(error);
  return cause instanceof UnavailableError || cause instanceof OutcomeUnknownError;
}

const functionGone = /^cache lookup failed for function/;

/**
 * Whether Postgres undid the statement for reasons of its own, so that it may succeed next time: a deadlock, a serialization failure, or a
 * migration that replaced a function just before the statement called it.
 */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return (
    error.code === '40P01' ||
    error.code === '40001' ||
    (error.code === 'XX000' && functionGone.test(error.message))
  );
}

/**
 * By SQLSTATE: jobtree's own, data, constraints, rollbacks, limits of a program, locks, what a function raises, and the end of a statement's
 * time. Others may come from a session that is ending, or that another one can serve better, such as one of a new primary.
 */
const refusedStatement = /^(JT|22|23|40|54|55|P0|57014)/;

/** Whether Postgres has only refused the statement, so that its session goes on. */
export const leavesSession = (error: unknown): boolean =>
  error instanceof DatabaseError && refusedStatement.test(error.code ?? '');
