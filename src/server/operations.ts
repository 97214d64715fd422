/**
 * What happens around every GraphQL operation, whichever way it came (HTTP, SSE, WebSocket): its size is checked, it is
 * counted, so that there are not too many and a shutdown can wait for them, and logged, and its faults are masked.
 */
import { randomUUID } from 'node:crypto';
import {
  type ExecutionArgs,
  execute,
  GraphQLError,
  type GraphQLErrorOptions,
  getOperationAST,
  Kind,
} from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import { connectionLoss } from '../db/connection-loss.ts';
import { asRefusal } from '../db/sqlstate.ts';
import { JobtreeError, UnavailableError } from '../errors.ts';
import { readDocument } from './documents.ts';

export class Operations {
  readonly #logger: Logger;
  readonly #maxTokens: number;
  readonly #maxActive: number;
  #active = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: { logger: Logger; maxTokens: number; maxActive: number }) {
    this.#logger = options.logger;
    this.#maxTokens = options.maxTokens;
    this.#maxActive = options.maxActive;
  }

  /** Resolves once no query or mutation is under way. */
  async idle(): Promise<void> {
    if (this.#active === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  readonly plugin: Plugin = {
    onParse: ({ setParseFn }) => setParseFn((source) => readDocument(source, this.#maxTokens)),
    onExecute: ({ args, setExecuteFn, setResultAndStopExecution }) => {
      if (this.#isFull(args)) {
        setResultAndStopExecution({ errors: [unavailable(busy, {})] });
        return;
      }
      // The reference implementation: its executor costs half of what the one of Yoga does, for each field.
      setExecuteFn(execute);
      this.#active++;
      const end = this.#started(args);
      return {
        onExecuteDone: ({ result, setResult }) => {
          end(isAsyncIterable(result) ? undefined : result.errors);
          if (!isAsyncIterable(result) && result.errors !== undefined && isMutation(args))
            setResult({ ...result, errors: result.errors.map(afterWork) });
          this.#active--;
          if (this.#active === 0) this.#onIdle?.();
        },
      };
    },
    onSubscribe: ({ args }) => {
      const end = this.#started(args);
      return {
        onSubscribeResult: ({ result }) => {
          if (!isAsyncIterable(result)) end(result.errors);
          return { onEnd: () => end(undefined) };
        },
      };
    },
  };

  /** The last quarter is for what keeps holds alive, so that nothing else can take a worker its items. */
  #isFull(args: ExecutionArgs): boolean {
    if (this.#active < this.#maxActive * 0.75) return false;
    return this.#active >= this.#maxActive || !keepsHolds(args);
  }

  /** Refusals reach the client with their code and field; faults reach the log, and the client gets an id to ask about. */
  readonly maskError = (error: unknown): GraphQLError => {
    const cause = asRefusal(error instanceof GraphQLError ? error.originalError : error);
    const place =
      error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
    if (cause instanceof JobtreeError) {
      const extensions = { code: cause.code, field: cause.field };
      return new GraphQLError(cause.message, { ...place, extensions });
    }
    const loss = connectionLoss(cause);
    if (loss !== undefined) {
      const reason = cause instanceof UnavailableError ? cause : noConnection;
      // A server that is too busy, or whose clients leave, has nothing to warn of.
      if (reason.cause !== undefined || reason === noConnection)
        this.#logger.warn({ err: cause }, 'requests fail, since Postgres can not serve them');
      return loss === 'UNSENT' ? unavailable(reason, place) : connectionLost(place);
    }
    // What GraphQL itself has to say of a request: a syntax error, an unknown field, a variable of the wrong type.
    if (error instanceof GraphQLError && (cause === undefined || cause instanceof GraphQLError)) return error;
    const errorId = randomUUID();
    this.#logger.error({ err: cause ?? error, errorId }, 'request failed');
    return new GraphQLError('Something went wrong in the server.', {
      ...place,
      extensions: { code: 'INTERNAL', errorId },
    });
  };

  #started(args: ExecutionArgs): (errors: readonly GraphQLError[] | undefined) => void {
    if (!this.#logger.isLevelEnabled('debug')) return () => {};
    const requestId = randomUUID();
    const operation = args.operationName ?? 'anonymous';
    const startedAt = performance.now();
    this.#logger.debug({ requestId, operation }, 'request started');
    return (errors) => {
      const ms = Math.round(performance.now() - startedAt);
      if (errors === undefined) this.#logger.debug({ requestId, operation, ms }, 'request ended');
      else this.#logger.debug({ requestId, operation, ms, codes: errors.map(codeOf) }, 'request failed');
    };
  }
}

const busy = new UnavailableError('The server has as much to do as it takes.');
const noConnection = new UnavailableError('There is no connection to Postgres.');

type Place = Pick<GraphQLErrorOptions, 'nodes' | 'path'>;

function unavailable({ message }: UnavailableError, place: Place): GraphQLError {
  return new GraphQLError(message, { ...place, extensions: { code: 'UNAVAILABLE' } });
}

function connectionLost(place: Place): GraphQLError {
  return new GraphQLError(
    'The connection to Postgres broke. What the operation changes may have been changed or not: try again if twice does no harm.',
    { ...place, extensions: { code: 'CONNECTION_LOST' } },
  );
}

const holdsFields = new Set(['heartbeat', 'exchange', 'reportOutcomes', 'releaseAssignments']);

function keepsHolds({ document, operationName }: ExecutionArgs): boolean {
  const operation = getOperationAST(document, operationName);
  return (
    operation?.operation === 'mutation' &&
    operation.selectionSet.selections.every(
      (selection) => selection.kind === Kind.FIELD && holdsFields.has(selection.name.value),
    )
  );
}

function isMutation({ document, operationName }: ExecutionArgs): boolean {
  return getOperationAST(document, operationName)?.operation === 'mutation';
}

/** Below its root, a mutation has done its work, and only what is to be shown of it could not be read. */
function afterWork(error: GraphQLError): GraphQLError {
  const isAfter = (error.path?.length ?? 0) > 1 && connectionLoss(error.originalError ?? error.extensions);
  return isAfter ? connectionLost({ nodes: error.nodes ?? null, path: error.path ?? null }) : error;
}

/** For the log, where messages may not stand: those of variables quote their values. */
function codeOf({ extensions }: GraphQLError): unknown {
  return extensions.code ?? 'INVALID_REQUEST';
}
