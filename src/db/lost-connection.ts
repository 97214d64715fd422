/**
 * What is known of a statement whose connection to Postgres failed. One that never went out has changed nothing, and so has one
 * whose session Postgres ended before its transaction did. One whose answer was lost may have been committed.
 */
import { DatabaseError } from 'pg';
import { errorCodes, type JobtreeError, OutcomeUnknownError, UnavailableError } from '../errors.ts';
import { Prisma } from '../generated/prisma/client.ts';

/** Postgres shuts down or starts (57P01 also: somebody ended the session), has no room for a connection, or takes no writes. */
const unavailable = new Set(['57P01', '57P02', '57P03', '53100', '53200', '53300', '53400', '25006']);
/** A pooler lost its own connection to Postgres. */
const connectionException = /^08/;
/** Prisma's codes for a connection that failed. It only reads, so nothing can have changed. */
const unavailableReads = new Set(['P1001', 'P1008', 'P1017', 'P2024', 'P2037']);

/** Messages of pg and its pool, which have no codes. */
const neverSent = [
  'timeout exceeded when trying to connect',
  'Connection terminated due to connection timeout',
  'Cannot use a pool after calling end on the pool',
  'Client has encountered a connection error and is not queryable',
];
const lost = ['Connection terminated', 'Connection terminated unexpectedly', 'Query read timeout'];
const lostCodes = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

const failedToConnect = new WeakSet<Error>();

/** The connection was never made, so no statement has gone over it. */
export function noteFailedConnect(error: Error): void {
  failedToConnect.add(error);
}

/** The refusal for an error of the connection; undefined for any other error. */
export function connectionRefusal(error: unknown): JobtreeError | undefined {
  if (!(error instanceof Error)) return undefined;
  if (failedToConnect.has(error) || neverSent.includes(error.message)) return nothingDone();
  const state = stateOf(error);
  if (state !== undefined) {
    if (unavailable.has(state)) return nothingDone();
    return connectionException.test(state) ? unknown() : undefined;
  }
  if (error instanceof Prisma.PrismaClientKnownRequestError)
    return unavailableReads.has(error.code) ? nothingDone() : undefined;
  const { code } = error as NodeJS.ErrnoException;
  return lost.includes(error.message) || lostCodes.has(code ?? '') ? unknown() : undefined;
}

const nothingDone = () => new UnavailableError(errorCodes.UNAVAILABLE);
const unknown = () => new OutcomeUnknownError(errorCodes.OUTCOME_UNKNOWN);

/** The SQLSTATE, also where Prisma has wrapped it. */
function stateOf(error: Error): string | undefined {
  if (error instanceof DatabaseError) return error.code;
  const { meta, cause } = error as { meta?: { driverAdapterError?: Error }; cause?: unknown };
  const found = (meta?.driverAdapterError?.cause ?? cause) as { originalCode?: unknown } | undefined;
  return typeof found?.originalCode === 'string' ? found.originalCode : undefined;
}
