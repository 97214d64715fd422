/** Makes the errors of operations fit to be shown: faults are masked, long messages cut, and missing codes added. */
import { randomUUID } from 'node:crypto';
import { GraphQLError, type GraphQLErrorOptions } from 'graphql';
import type { Logger } from 'pino';
import { asRefusal } from '../../db/sqlstate.ts';
import { errorCodes, JobtreeError, UnavailableError } from '../../errors.ts';

/** Limit of the message of an error that an invalid document gets. */
const maxMessageLength = 500;

/** Refusals reach the client with their code and field. Faults are logged, and the client gets an id to ask about. */
export const createMaskError =
  (logger: Logger) =>
  (error: unknown): GraphQLError => {
    const unparsed = error instanceof GraphQLError ? error.originalError : error;
    if (unparsed instanceof UnparsedError) return unparsed.refusal;
    const cause = asRefusal(error instanceof GraphQLError ? error.originalError : error);
    const place = error instanceof GraphQLError ? placeOf(error) : {};
    if (cause instanceof JobtreeError) {
      // A server that is too busy, or whose clients disconnect, is nothing to warn of.
      if (cause.cause !== undefined)
        logger.warn({ err: cause.cause }, 'requests fail because Postgres cannot serve them');
      const extensions = { code: cause.code, field: cause.field };
      return new GraphQLError(cause.message, { ...place, extensions });
    }
    // GraphQL's own errors about a request: a syntax error, an unknown field, a variable of the wrong type.
    if (error instanceof GraphQLError && (cause === undefined || cause instanceof GraphQLError))
      return withCode(cutMessage(error));
    const errorId = randomUUID();
    logger.error({ err: cause ?? error, errorId }, 'request failed');
    return new GraphQLError('Something went wrong in the server.', {
      ...place,
      extensions: { code: 'INTERNAL', errorId },
    });
  };

/** Hides a refusal while parsing: Yoga answers every GraphQLError thrown there with status 400. */
export class UnparsedError extends Error {
  readonly refusal: GraphQLError;

  constructor(refusal: GraphQLError) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** The position in the operation and the path in its answer. */
function placeOf({ nodes, source, positions, path }: GraphQLError): GraphQLErrorOptions {
  return {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
  };
}

/** GraphQL quotes its input, however long that is. */
export function cutMessage(error: GraphQLError): GraphQLError {
  const { message, extensions } = error;
  if (message.length <= maxMessageLength) return error;
  return new GraphQLError(`${message.slice(0, maxMessageLength)}…`, { ...placeOf(error), extensions });
}

/** GraphQL gives no code to errors about variables. */
function withCode(error: GraphQLError): GraphQLError {
  const { message, path, extensions } = error;
  if (extensions.code !== undefined || path !== undefined) return error;
  return new GraphQLError(message, {
    ...placeOf(error),
    extensions: { ...extensions, code: 'INVALID_INPUT' },
  });
}

/** Below its root field a mutation has done its work: only reading what to return has failed. */
export function afterWork(error: GraphQLError): GraphQLError {
  const { path, originalError, extensions } = error;
  const isUnavailable =
    extensions.code === 'UNAVAILABLE' || asRefusal(originalError) instanceof UnavailableError;
  if (!isUnavailable || (path?.length ?? 0) < 2) return error;
  return new GraphQLError(errorCodes.OUTCOME_UNKNOWN, {
    ...placeOf(error),
    extensions: { code: 'OUTCOME_UNKNOWN' },
  });
}

/** The log gets codes only, because messages about variables quote their values. */
export function codeOf({ extensions }: GraphQLError): unknown {
  return extensions.code ?? 'INVALID_REQUEST';
}
