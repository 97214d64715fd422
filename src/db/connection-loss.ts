/** Which errors say that Postgres or the way to it is gone, rather than that a statement is wrong. */

/** operator_intervention, as by a shutdown or pg_terminate_backend; query_canceled (57014) is no such case. */
const lossStates = /^(08...|57P0[1-5]|53300)$/;
const systemCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** pg gives these no code. */
const lossMessages = /^(Connection terminated|Client has encountered a connection error|Query read timeout)/;
/** What Prisma's driver makes of them. */
const driverKinds = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
]);

/**
 * UNSENT: there was no connection, so nothing was done. LOST: a connection broke before the answer, so it may have been.
 * Undefined: it is something else.
 */
export function connectionLoss(error: unknown): 'UNSENT' | 'LOST' | undefined {
  let found = error as Partial<Found> | null | undefined;
  for (let depth = 0; typeof found === 'object' && found !== null && depth < 5; depth++) {
    // Prisma keeps nothing else of it.
    if (found.code === 'UNAVAILABLE') return 'UNSENT';
    if (isLoss(found)) return 'LOST';
    found = (found.meta?.driverAdapterError ?? found.cause) as Partial<Found> | undefined;
  }
  return undefined;
}

interface Found {
  readonly code: unknown;
  readonly kind: unknown;
  readonly message: unknown;
  readonly cause: unknown;
  readonly meta: { readonly driverAdapterError?: unknown } | undefined;
}

function isLoss({ code, kind, message }: Partial<Found>): boolean {
  return (
    (typeof code === 'string' && (systemCodes.has(code) || lossStates.test(code))) ||
    (typeof kind === 'string' && driverKinds.has(kind)) ||
    (typeof message === 'string' && lossMessages.test(message))
  );
}
