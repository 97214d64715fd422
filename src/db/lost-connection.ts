/**
 * What became of a statement that Postgres could not serve. One that was never sent has changed nothing, and neither has one whose session
 * Postgres ended before its transaction. One whose answer was lost may have been committed.
 */
import { DatabaseError } from 'pg';
import { BusyError, errorCodes, JobtreeError, OutcomeUnknownError, UnavailableError } from '../errors.ts';

type Refusal = (cause: unknown) => JobtreeError;

const unavailable =
  (reason: string): Refusal =>
  (cause) =>
    new UnavailableError(reason, { cause });
const noConnection = unavailable('There is no connection to Postgres.');
const unknown: Refusal = (cause) => new OutcomeUnknownError(errorCodes.OUTCOME_UNKNOWN, { cause });
const busy: Refusal = () => new BusyError(errorCodes.BUSY);

/** By SQLSTATE: Postgres has not executed what it refuses or aborts. */
const byState: Readonly<Record<string, Refusal>> = {
  '53300': noConnection, // too_many_connections
  '53400': noConnection, // configuration_limit_exceeded
  '57P01': noConnection, // admin_shutdown; also: somebody ended the session
  '57P02': noConnection, // crash_shutdown
  '57P03': noConnection, // cannot_connect_now
  '53100': unavailable('The disk of Postgres is full.'),
  '53200': unavailable('Postgres has no memory left.'),
  '25006': unavailable('Postgres is read-only.'),
  '55P03': busy, // lock_not_available: lock_timeout is over
  '57014': busy, // query_canceled: statement_timeout is over
  '40001': busy, // serialization_failure
  '40P01': busy, // deadlock_detected
};
/** A pooler lost its connection to Postgres. */
const connectionException = /^08/;

const byCode: Readonly<Record<string, Refusal>> = {
  ECONNREFUSED: noConnection,
  ENOTFOUND: noConnection,
  EAI_AGAIN: noConnection,
  ECONNRESET: unknown,
  EPIPE: unknown,
  ETIMEDOUT: unknown,
  EHOSTUNREACH: unknown,
  ENETUNREACH: unknown,
  // The only part of our own error that Prisma keeps.
  UNAVAILABLE: noConnection,
  // Prisma's codes for a failed connection. Prisma only reads, so nothing can have changed.
  P1001: noConnection,
  P1008: noConnection,
  P1017: noConnection,
  P2024: noConnection,
  P2037: noConnection,
};

/** Kinds of errors of Prisma's adapter. */
const byKind: Readonly<Record<string, Refusal>> = {
  TooManyConnections: noConnection,
  DatabaseNotReachable: noConnection,
  ConnectionClosed: noConnection,
  SocketTimeout: noConnection,
  TransactionWriteConflict: busy,
};

/** Errors of pg and its pool that have no code. */
const byMessage: readonly [RegExp, Refusal][] = [
  [/^timeout exceeded when trying to connect|^Connection terminated due to connection timeout/, noConnection],
  [/^Cannot use a pool after calling end|^Client has encountered a connection error/, noConnection],
  [/^Connection terminated|^Query read timeout/, unknown],
];

/** The refusal for a connection error, or for an error caused by one; undefined for any other error. */
export function connectionRefusal(error: unknown): JobtreeError | undefined {
  for (let each: unknown = error, depth = 0; isRecord(each) && depth < 5; each = causeOf(each), depth++) {
    if (each instanceof JobtreeError) return each;
    const refusal = refusalOf(each);
    if (refusal !== undefined) return refusal(error);
  }
  return undefined;
}

function refusalOf(error: Record<string, unknown>): Refusal | undefined {
  const { code, kind, message } = error;
  const state = error instanceof DatabaseError ? code : error.originalCode;
  if (typeof state === 'string')
    return byState[state] ?? (connectionException.test(state) ? unknown : undefined);
  const found =
    (typeof kind === 'string' ? byKind[kind] : undefined) ??
    (typeof code === 'string' ? byCode[code] : undefined);
  return found ?? byMessage.find(([pattern]) => typeof message === 'string' && pattern.test(message))?.[1];
}

function causeOf(error: Record<string, unknown>): unknown {
  if (Array.isArray(error.errors)) return error.errors[0];
  return (isRecord(error.meta) ? error.meta.driverAdapterError : undefined) ?? error.cause;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
