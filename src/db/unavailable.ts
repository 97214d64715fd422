/** Tells errors that say "try again" from faults: no connection in time, a connection that broke, Postgres that starts or is full. */
import { DatabaseError } from 'pg';

export interface TryAgain {
  readonly code: 'UNAVAILABLE' | 'BUSY';
  /** Whether the statement may have been carried out all the same. */
  readonly maybeDone: boolean;
}

const noConnection: TryAgain = { code: 'UNAVAILABLE', maybeDone: false };
const broken: TryAgain = { code: 'UNAVAILABLE', maybeDone: true };
const busy: TryAgain = { code: 'BUSY', maybeDone: false };

/** By SQLSTATE: what Postgres refuses, or ends, it has not carried out. */
const byState: Readonly<Record<string, TryAgain>> = {
  '53300': noConnection, // too_many_connections
  '57P01': noConnection, // admin_shutdown
  '57P02': noConnection, // crash_shutdown
  '57P03': noConnection, // cannot_connect_now
  '53100': noConnection, // disk_full
  '25006': noConnection, // read_only_sql_transaction
  '55P03': busy, // lock_not_available
  '57014': busy, // query_canceled: statement_timeout is over
  '40001': busy, // serialization_failure
  '40P01': busy, // deadlock_detected
};

const bySystemCode: Readonly<Record<string, TryAgain>> = {
  ECONNREFUSED: noConnection,
  ENOTFOUND: noConnection,
  EAI_AGAIN: noConnection,
  EHOSTUNREACH: noConnection,
  ENETUNREACH: noConnection,
  ECONNRESET: broken,
  EPIPE: broken,
  ETIMEDOUT: broken,
};

/** Of pg and its pool, which give these no code. */
const byMessage: readonly [RegExp, TryAgain][] = [
  [
    /^timeout exceeded when trying to connect|^Connection terminated due to connection timeout|^timeout expired/,
    noConnection,
  ],
  [/^Connection terminated|^Query read timeout|^Client has encountered a connection error/, broken],
];

/** Of Prisma's adapter, which translates the others. */
const byKind: Readonly<Record<string, TryAgain>> = {
  TooManyConnections: noConnection,
  DatabaseNotReachable: noConnection,
  ConnectionClosed: broken,
  SocketTimeout: broken,
  TransactionWriteConflict: busy,
};

/** What the error means, or one of those that caused it; undefined if it is a fault. */
export function asTryAgain(error: unknown): TryAgain | undefined {
  for (let each: unknown = error, depth = 0; isRecord(each) && depth < 5; each = causeOf(each), depth++) {
    const state = each instanceof DatabaseError ? each.code : each.originalCode;
    const found =
      (typeof state === 'string' && byState[state]) ||
      (typeof each.kind === 'string' && byKind[each.kind]) ||
      (typeof each.code === 'string' && bySystemCode[each.code]) ||
      byMessage.find(([pattern]) => pattern.test(String(isRecord(each) && each.message)))?.[1];
    if (found) return found;
  }
  return undefined;
}

function causeOf(error: Record<string, unknown>): unknown {
  if (Array.isArray(error.errors)) return error.errors[0];
  return error.cause ?? (isRecord(error.meta) ? error.meta.driverAdapterError : undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
