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
  getOperationAST,
  OperationTypeNode,
  type Source,
  validate,
} from 'graphql';
import { isAsyncIterable, isPromise, type Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import type { Owner } from '../../concurrency/fair-queue.ts';
import { FairSemaphore, type Request } from '../../concurrency/fair-semaphore.ts';
import { ClientGoneError } from '../../errors.ts';
import { boundAnswer } from '../../schema/core/answer-text.ts';
import { checkSeen } from '../../schema/core/seen-by.ts';
import type { Services } from '../../schema/core/services.ts';
import { errorsInWordsOf } from '../../schema/core/tenant-names.ts';
import { AdmissionControl } from '../limits/admission-control.ts';
import { busyError } from '../limits/busy.ts';
import { costOf, heavyCost, tooCostly, turnsOf } from '../limits/cost-of.ts';
import { EventLoopScheduler } from '../limits/event-loop-scheduler.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { createExecute } from './compiled-execution.ts';
import { Documents, maxKnownLength } from './documents.ts';
import { keepsLeases } from './lease-mutations.ts';
import { afterWork, codeOf, createMaskError, cutMessage, UnparsedError } from './masked-errors.ts';
import { turnToWrite } from './turn-to-write.ts';
import { refuseVariables } from './variables.ts';

/** How many errors an invalid document gets. */
const maxErrors = 10;
/** How many expensive queries run at a time, in turns of their callers. */
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
  readonly maskError: (error: unknown) => GraphQLError;
  /** Also used for the events of subscriptions. */
  readonly execute = createExecute();
  readonly #heavy = new FairSemaphore(heavyAtOnce);
  readonly #admission = new AdmissionControl();
  readonly #turns = new EventLoopScheduler();
  #active = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: { logger: Logger; maxTokens: number; maxActive: number; rates: RateLimits }) {
    this.#logger = options.logger;
    this.maskError = createMaskError(options.logger);
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
          }).map(cutMessage),
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
      if (cost > heavyCost) Object.assign(context, { turns: turnsOf(cost) });
      const result =
        cost > heavyCost && isQuery(operation)
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
