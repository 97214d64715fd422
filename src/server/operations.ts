/**
 * What happens around every GraphQL operation, whichever way it came (HTTP, SSE, WebSocket): its size is checked, it is
 * counted, so that a shutdown can wait for it, and logged, and its faults are masked.
 */
import { randomUUID } from 'node:crypto';
import { type ExecutionArgs, GraphQLError, getOperationAST, validate } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import { asRefusal } from '../db/sqlstate.ts';
import { asTryAgain } from '../db/unavailable.ts';
import { JobtreeError } from '../errors.ts';
import { boundAnswer } from '../schema/answer-text.ts';
import type { Services } from '../schema/builder.ts';
import { createExecute } from './compiled-execution.ts';
import { readDocument } from './documents.ts';
import { refuseVariables } from './variables.ts';

/** Of an invalid document. */
const maxErrors = 10;
const maxMessageLength = 500;

export class Operations {
  readonly #logger: Logger;
  readonly #maxTokens: number;
  readonly #execute = createExecute();
  #active = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: { logger: Logger; maxTokens: number }) {
    this.#logger = options.logger;
    this.#maxTokens = options.maxTokens;
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
    onValidate: ({ setValidationFn }) =>
      setValidationFn((schema, document, rules) => validate(schema, document, rules, { maxErrors }).map(cut)),
    onExecute: ({ args, setExecuteFn }) => {
      setExecuteFn((operation: ExecutionArgs) => {
        const errors = refuseVariables(operation);
        return errors === undefined ? this.#execute(operation) : { errors };
      });
      this.#active++;
      const end = this.#started(args);
      return {
        onExecuteDone: ({ result, setResult }) => {
          if (!isAsyncIterable(result)) {
            const isMutation = getOperationAST(args.document, args.operationName)?.operation === 'mutation';
            const answer = boundAnswer(result, args.contextValue as unknown as Services, isMutation);
            end(answer.errors);
            if (answer !== result) setResult(answer);
          }
          this.#active--;
          if (this.#active === 0) this.#onIdle?.();
        },
      };
    },
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const errors = refuseVariables(args);
      if (errors !== undefined) return setResultAndStopExecution({ errors });
      const end = this.#started(args);
      return {
        onSubscribeResult: ({ result }) => {
          if (!isAsyncIterable(result)) end(result.errors);
          return { onEnd: () => end(undefined) };
        },
      };
    },
  };

  /** Refusals reach the client with their code and field; faults reach the log, and the client gets an id to ask about. */
  readonly maskError = (error: unknown): GraphQLError => {
    const cause = asRefusal(error instanceof GraphQLError ? error.originalError : error);
    const place =
      error instanceof GraphQLError
        ? {
            nodes: error.nodes ?? null,
            source: error.source ?? null,
            positions: error.positions ?? null,
            path: error.path ?? null,
          }
        : {};
    if (cause instanceof JobtreeError) {
      const extensions = { code: cause.code, field: cause.field };
      return new GraphQLError(cause.message, { ...place, extensions });
    }
    // What GraphQL itself has to say of a request: a syntax error, an unknown field, a variable of the wrong type.
    if (error instanceof GraphQLError && (cause === undefined || cause instanceof GraphQLError))
      return cut(error);
    const tryAgain = asTryAgain(cause ?? error);
    if (tryAgain !== undefined) {
      this.#logger.warn({ err: cause ?? error }, 'the database could not answer a request');
      const { code } = tryAgain;
      // Below a field of the root what that did stands already.
      const isBelow = error instanceof GraphQLError && (error.path?.length ?? 0) > 1;
      const maybeDone = tryAgain.maybeDone || isBelow;
      const said = code === 'BUSY' ? 'The database is busy' : 'The database can not be reached';
      return new GraphQLError(
        `${said}: try again.${maybeDone ? ' The operation may have been carried out.' : ''}`,
        { ...place, extensions: { code, ...(maybeDone && { maybeDone }) } },
      );
    }
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

/** GraphQL quotes what it was sent, however long that is. */
function cut(error: GraphQLError): GraphQLError {
  const { message, nodes, source, positions, path, extensions } = error;
  if (message.length <= maxMessageLength) return error;
  return new GraphQLError(`${message.slice(0, maxMessageLength)}…`, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions,
  });
}

/** For the log, where messages may not stand: those of variables quote their values. */
function codeOf({ extensions }: GraphQLError): unknown {
  return extensions.code ?? 'INVALID_REQUEST';
}
