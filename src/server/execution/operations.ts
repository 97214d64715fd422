/**
 * Wraps every GraphQL operation, over HTTP, SSE or WebSocket: checks its size, counts it (so that there are not too many, and a shutdown can
 * wait for them), logs it, and masks its faults.
 */
import { randomUUID } from 'node:crypto';
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLErrorOptions,
  getOperationAST,
  Kind,
  OperationTypeNode,
  type Source,
  validate,
} from 'graphql';
import { isAsyncIterable, isPromise, type Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import type { Owner } from '../../concurrency/fair-queue.ts';
import { FairSemaphore, type Request } from '../../concurrency/fair-semaphore.ts';
import { asRefusal } from '../../db/sqlstate.ts';
import { ClientGoneError, errorCodes, JobtreeError, UnavailableError } from '../../errors.ts';
import { boundAnswer } from '../../schema/core/answer-text.ts';
import { checkSeen } from '../../schema/core/seen-by.ts';
import type { Services } from '../../schema/core/services.ts';
import { errorsInWordsOf } from '../../schema/core/tenant-names.ts';
import { AdmissionControl } from '../limits/admission-control.ts';
import { busyError } from '../limits/busy.ts';
import { costOf, tooCostly } from '../limits/cost-of.ts';
import { EventLoopScheduler } from '../limits/event-loop-scheduler.ts';
import { turnToWrite } from '../limits/large-turns.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { createExecute } from './compiled-execution.ts';
import { Documents, maxKnownLength } from './documents.ts';
import { refuseVariables } from './variables.ts';

/** Limits of the errors that an invalid document gets. */
const maxErrors = 10;
const maxMessageLength = 500;
/**
 * Cost above which queries run a few at a time, in turns of their callers; in values that the answer could have, each of which takes up to a
 * kilobyte until it is written.
 */
const heavyCost = 20_000;
const heavyAtOnce = 2;

/** Set on sockets, where results may not be pulled from the iterator, so its end would go unnoticed. */
interface WhenEnded {
  readonly whenEnded?: (call: () => void) => void;
}

export class Operations {
  readonly #logger: Logger;
  readonly #documents: Documents;
  readonly #maxActive: number;
  readonly #rates: RateLimits;
  /** Also used for the events of subscriptions. */
  readonly execute = createExecute();
  readonly #heavy = new FairSemaphore(heavyAtOnce);
  readonly #admission = new AdmissionControl();
  readonly #turns = new EventLoopScheduler();
  #active = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: { logger: Logger; maxTokens: number; maxActive: number; rates: RateLimits }) {
    this.#logger = options.logger;
    this.#documents = new Documents(options.maxTokens);
    this.#maxActive = options.maxActive;
    this.#rates = options.rates;
  }

  /** Resolves once no query or mutation is under way. */
  async idle(): Promise<void> {
    if (this.#active === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /**
   * Lets an operation in: returns a function to call at its end, with whether it was carried out; undefined if it would wait for too long. A
   * transport that calls this and `turn` itself, before it parses, sets `leave` in the context.
   */
  enter(owner: Owner, keepsLeases: () => boolean): ((isDone: boolean) => void) | undefined {
    return this.#admission.enter(owner, keepsLeases);
  }

  /** Resolves at the operation's turn of the event loop; undefined if that is now. */
  turn(request: Request, keepsLeases: () => boolean): Promise<void> | undefined {
    return this.#turns.turn(request, keepsLeases);
  }

  /** A transport has accepted a connection. */
  connected(): void {
    this.#turns.connected();
  }

  readonly plugin: Plugin = {
    onParse: ({ setParseFn, context }) => setParseFn((source) => this.#parse(source, context)),
    onValidate: ({ setValidationFn, context }) =>
      setValidationFn((schema, document, rules) => {
        const found = this.#documents.problems(document, () =>
          validate(schema, document, rules, {
            maxErrors,
            // A suggestion compares all of a wrong value with each name, in a hundred times its memory.
            hideSuggestions: (document.loc?.end ?? 0) > maxKnownLength,
          }).map(cut),
        );
        if (found.length === 0) return found;
        const refusal = this.#rates.refuseOther(context);
        return refusal === undefined ? found : [refusal];
      }),
    onExecute: ({ args, setExecuteFn, setResultAndStopExecution }) => {
      const context = args.contextValue as unknown as Services;
      const hasTurn = context.leave !== undefined;
      const leave = hasTurn ? () => {} : this.enter(engineOf(args), () => keepsLeases(args));
      const refusal =
        leave === undefined || this.#isFull(args)
          ? busyError('server')
          : (this.#refuseUnseen(args) ?? this.#rates.refuse(args));
      if (refusal !== undefined) {
        leave?.(false);
        return setResultAndStopExecution({ errors: [refusal] });
      }
      setExecuteFn((operation: ExecutionArgs) => {
        const turn = hasTurn ? undefined : this.turn(engineOf(operation), () => keepsLeases(operation));
        return turn === undefined ? this.#carryOut(operation) : turn.then(() => this.#carryOut(operation));
      });
      this.#active++;
      this.#countParked(context, leave as () => void);
      const end = this.#started(args);
      return {
        onExecuteDone: ({ result, setResult }) => {
          leave?.(true);
          this.#ended();
          if (isAsyncIterable(result)) return;
          const answer = this.#finish(result, args);
          end(answer.errors);
          if (answer !== result) setResult(answer);
        },
      };
    },
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const unseen = this.#refuseUnseen(args);
      if (unseen !== undefined) return setResultAndStopExecution({ errors: [unseen] });
      const errors = refuseVariables(args);
      if (errors !== undefined) return setResultAndStopExecution({ errors });
      const refusal = this.#rates.refuse(args);
      if (refusal !== undefined) return setResultAndStopExecution({ errors: [refusal] });
      const end = this.#started(args);
      return {
        onSubscribeResult: ({ result }) => {
          if (!isAsyncIterable(result)) return end(result.errors);
          const { whenEnded } = args.contextValue as WhenEnded;
          if (whenEnded === undefined) return { onEnd: () => end(undefined) };
          whenEnded(() => end(undefined));
        },
      };
    },
  };

  /** What waits for work is not under way. */
  #countParked(context: Services, leave: (isDone: boolean) => void): void {
    const { park } = context;
    const parked: Services['park'] = (onGone) => {
      const goOn = park(onGone);
      if (goOn === undefined) return undefined;
      (context.leave ?? leave)(true);
      this.#ended();
      return () => {
        this.#active++;
        goOn();
      };
    };
    Object.assign(context, { park: parked });
  }

  #ended(): void {
    this.#active--;
    if (this.#active === 0) this.#onIdle?.();
  }

  /** Invalid text counts against the rate limits, too, so a client can't get its errors for ever. */
  #parse(source: string | Source, initial: object): DocumentNode {
    const { length } = typeof source === 'string' ? source : source.body;
    // Operations that may still run over the limit (reports and heartbeats) are never this large.
    if (length > maxKnownLength && this.#rates.isUsedUp(initial)) {
      const refusal = this.#rates.refuseOther(initial);
      if (refusal !== undefined) throw new UnparsedError(refusal);
    }
    try {
      return this.#documents.read(source);
    } catch (error) {
      const refusal = this.#rates.refuseOther(initial);
      if (refusal !== undefined) throw new UnparsedError(refusal);
      // Yoga adds the code only over HTTP.
      if (error instanceof GraphQLError) error.extensions.code ??= 'GRAPHQL_PARSE_FAILED';
      throw error;
    }
  }

  /** The refusal of fields that the caller's watch token does not show. */
  #refuseUnseen({ schema, document, contextValue }: ExecutionArgs): GraphQLError | undefined {
    try {
      checkSeen(schema, document, (contextValue as Services).caller);
      return undefined;
    } catch (error) {
      return this.maskError(error);
    }
  }

  #carryOut(operation: ExecutionArgs): ExecutionResult | Promise<ExecutionResult> {
    try {
      // What a worker reports is kept, even if it does not wait for the answer.
      if (engineOf(operation).isGone?.() && !keepsLeases(operation)) throw new ClientGoneError();
      const errors = refuseVariables(operation);
      if (errors !== undefined) return { errors };
      const context = operation.contextValue as Services;
      const cost = costOf(operation) ?? 0;
      if (cost > context.maxQueryCost) return { errors: [tooCostly(cost, context.maxQueryCost)] };
      const isHeavy = cost > heavyCost && isQuery(operation);
      // Long lists of it leave the event loop to others in between.
      if (isHeavy) Object.assign(context, { turns: Math.ceil(cost / heavyCost) });
      const result = isHeavy
        ? this.#heavy.run(engineOf(operation), async () => this.execute(operation))
        : this.execute(operation);
      return isPromise(result) ? result.then((answer) => inTurn(answer, operation), toAnswer) : result;
    } catch (error) {
      return toAnswer(error);
    }
  }

  #finish(
    result: ExecutionResult,
    { document, operationName, contextValue }: ExecutionArgs,
  ): ExecutionResult {
    const isMutation = getOperationAST(document, operationName)?.operation === 'mutation';
    const context = contextValue as Services;
    const answer = boundAnswer(result, context, isMutation);
    if (answer.errors === undefined) return answer;
    const errors = isMutation ? answer.errors.map(afterWork) : answer.errors;
    return { ...answer, errors: this.#inWordsOf(context, errors) };
  }

  /** Masks the errors first, since only then do refusals have their final message. */
  #inWordsOf({ caller }: Services, errors: readonly GraphQLError[]): readonly GraphQLError[] {
    return caller.tenant === null ? errors : errorsInWordsOf(caller.tenant, errors.map(this.maskError));
  }

  /** The last quarter is kept for operations that keep leases alive, so that no other load can cost a worker its items. */
  #isFull(args: ExecutionArgs): boolean {
    if (this.#active < this.#maxActive * 0.75) return false;
    return this.#active >= this.#maxActive || !keepsLeases(args);
  }

  /** Refusals reach the client with their code and field. Faults are logged, and the client gets an id to ask about. */
  readonly maskError = (error: unknown): GraphQLError => {
    const unparsed = error instanceof GraphQLError ? error.originalError : error;
    if (unparsed instanceof UnparsedError) return unparsed.refusal;
    const cause = asRefusal(error instanceof GraphQLError ? error.originalError : error);
    const place = error instanceof GraphQLError ? placeOf(error) : {};
    if (cause instanceof JobtreeError) {
      // A server that is too busy, or whose clients disconnect, is nothing to warn of.
      if (cause.cause !== undefined)
        this.#logger.warn({ err: cause.cause }, 'requests fail because Postgres cannot serve them');
      const extensions = { code: cause.code, field: cause.field };
      return new GraphQLError(cause.message, { ...place, extensions });
    }
    // GraphQL's own errors about a request: a syntax error, an unknown field, a variable of the wrong type.
    if (error instanceof GraphQLError && (cause === undefined || cause instanceof GraphQLError))
      return withCode(cut(error));
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

/** Hides a refusal while parsing: Yoga answers every GraphQLError thrown there with status 400. */
class UnparsedError extends Error {
  readonly refusal: GraphQLError;

  constructor(refusal: GraphQLError) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** Mutations have their own limits. */
const isQuery = ({ document, operationName }: ExecutionArgs) =>
  getOperationAST(document, operationName)?.operation === OperationTypeNode.QUERY;

const engineOf = ({ contextValue }: ExecutionArgs) => (contextValue as Services).engine;

/** Takes a turn before a large answer is limited and written, which happens at once on any transport: so only one is written at a time. */
function inTurn(
  answer: ExecutionResult,
  { contextValue }: ExecutionArgs,
): ExecutionResult | Promise<ExecutionResult> {
  return turnToWrite(contextValue as Services)?.then(() => answer) ?? answer;
}

/** A total failure needs an answer, too, or the operation would count as under way for ever. */
function toAnswer(error: unknown): ExecutionResult {
  const originalError = error instanceof Error ? error : new Error(String(error));
  return { errors: [error instanceof GraphQLError ? error : new GraphQLError('', { originalError })] };
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
function cut(error: GraphQLError): GraphQLError {
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

const leaseFields = new Set(['heartbeat', 'exchange', 'noteItems', 'reportOutcomes', 'releaseAssignments']);
const leaseField = new RegExp(`\\b(${[...leaseFields].join('|')})\\b`);
/** Where the name of a field is in the text of a request, at the latest. */
const headLength = 2_000;

/** Whether a request that is not parsed yet looks like one that keeps leases alive. Callers whose requests only look so gain on nobody else. */
export const looksLikeKeepingLeases = (body: Buffer): boolean =>
  leaseField.test(body.toString('latin1', 0, headLength));

function keepsLeases({ document, operationName }: ExecutionArgs): boolean {
  const operation = getOperationAST(document, operationName);
  return (
    operation?.operation === 'mutation' &&
    operation.selectionSet.selections.every(
      (selection) => selection.kind === Kind.FIELD && leaseFields.has(selection.name.value),
    )
  );
}

/** Below its root field a mutation has done its work: only reading what to return has failed. */
function afterWork(error: GraphQLError): GraphQLError {
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
function codeOf({ extensions }: GraphQLError): unknown {
  return extensions.code ?? 'INVALID_REQUEST';
}
