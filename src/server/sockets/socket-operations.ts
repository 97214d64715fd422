/** Runs the operations of a socket through the plugins that serve HTTP, and ends those that its client has left. */
import type { IncomingMessage } from 'node:http';
import { type ExecutionArgs, type ExecutionResult, GraphQLError, getOperationAST } from 'graphql';
import { largeBytes, largeTurn } from '../../concurrency/large-turns.ts';
import { Semaphore } from '../../concurrency/semaphore.ts';
import type { Caller } from '../../domain/access/rights.ts';
import type { Yoga } from '../http/graphql.ts';
import { takeOrRefuse } from '../limits/busy.ts';
import type { Quota, Share } from '../limits/quota.ts';
import type { Operation, Outcome } from './running-operations.ts';
import type { SocketOwner } from './socket-owner.ts';
import { SocketReader, type SocketWindow } from './socket-reader.ts';

/**
 * Concurrent queries of one socket. The rest wait here, where they are dropped when their client leaves; waiting for a connection to Postgres,
 * they would still be executed, for nobody. Mutations do not wait: concurrent ones share calls.
 */
const queriesAtOnce = 10;

export class SocketOperations {
  readonly #yoga: Yoga;
  readonly #maskError: (error: unknown) => GraphQLError;
  readonly #window: SocketWindow;
  readonly #owner: SocketOwner;
  readonly #opening: IncomingMessage;
  readonly #callerOf: (operation: Operation) => Caller | Promise<Caller>;
  readonly #bytes: Quota;
  #queries: Semaphore | undefined;

  constructor(options: {
    yoga: Yoga;
    maskError: (error: unknown) => GraphQLError;
    window: SocketWindow;
    owner: SocketOwner;
    /** The request that opened the socket. */
    opening: IncomingMessage;
    /** Throws, or rejects with, the refusal. */
    callerOf: (operation: Operation) => Caller | Promise<Caller>;
    bytes: Quota;
  }) {
    this.#yoga = options.yoga;
    this.#maskError = options.maskError;
    this.#window = options.window;
    this.#owner = options.owner;
    this.#opening = options.opening;
    this.#callerOf = options.callerOf;
    this.#bytes = options.bytes;
  }

  /** Never rejects: a refusal or a fault is an outcome like others. */
  readonly run = async (operation: Operation): Promise<Outcome> => {
    let begin: () => Promise<Outcome>;
    try {
      begin = await this.#prepare(operation);
    } catch (error) {
      return { refused: error instanceof Refused ? error.errors : [this.#maskError(error)] };
    }
    try {
      return await begin();
    } catch (error) {
      return { errors: [this.#maskError(error)] };
    }
  };

  /** Rejects operations that must not be executed. */
  async #prepare(operation: Operation): Promise<() => Promise<Outcome>> {
    const { payload, signal, length } = operation;
    const asked = this.#callerOf(operation);
    const caller = asked instanceof Promise ? await asked : asked;
    const owner = this.#owner.current;
    const bytes = this.#bytes.share(owner);
    takeOrRefuse(bytes, length);
    operation.onEnd.push(releaseOf(bytes));
    // What follows takes as long as parsing the message did.
    if (length > largeBytes) await largeTurn(0, owner);
    const reader = new SocketReader(this.#window, operation);
    const { query, variables: variableValues, operationName } = payload;
    const { schema, execute, subscribe, contextFactory, parse, validate } = this.#yoga.getEnveloped({
      params: payload,
      signal,
      announce: (more: number) => takeOrRefuse(bytes, more),
      owner,
      opening: this.#opening,
      caller,
      reader,
      charge: (cost: number) => {
        const end = this.#owner.charge(cost);
        if (end !== undefined) operation.onEnd.push(end);
        return end !== undefined;
      },
      whenEnded: (call: () => void) => operation.onEnd.push(call),
    });
    const document = parse(query);
    const errors = validate(schema, document);
    if (errors.length > 0) throw new Refused(errors);
    const kind = getOperationAST(document, operationName)?.operation;
    if (kind === undefined) throw new GraphQLError('Could not determine what operation to execute.');
    const args: ExecutionArgs = {
      schema,
      document,
      operationName,
      variableValues,
      contextValue: await contextFactory(),
    };
    return async () => {
      if (kind === 'subscription') {
        const results = (await subscribe(args)) as Outcome;
        return reader.hasJoined ? reader : results;
      }
      if (kind === 'mutation') return execute(args) as Promise<Outcome>;
      this.#queries ??= new Semaphore(queriesAtOnce);
      return this.#queries.run(async () => (signal.aborted ? nothing : execute(args)) as Outcome);
    };
  }
}

/**
 * Not an inline closure: that would share its scope with the others there, and keep the operation's context, with the rows of its answer, until
 * the answer is read.
 */
const releaseOf = (share: Share) => () => share.release();

class Refused extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super('The operation is invalid.');
    this.errors = errors;
  }
}

/** The client has gone, so nobody reads it. */
const nothing: ExecutionResult = {};
