/**
 * Carries out the operations of one socket, and writes their answers.
 *
 * graphql-ws parses the messages, but its server knows an operation only by its id: if one is completed before it has begun and its id is
 * reused, it goes on under that id and counts nowhere. Here each operation is an object of its own, with a signal that aborts when its client
 * completes it or leaves, and it counts until it has ended.
 */
import type { ExecutionResult, GraphQLError } from 'graphql';
import { MessageType, type SubscribePayload } from 'graphql-ws';
import { serialize } from '../../domain/values/json-text.ts';

export interface Operation {
  readonly id: string;
  readonly payload: SubscribePayload;
  /** Aborts when the client has cancelled the operation. */
  readonly signal: AbortSignal;
  /** The length of the message with the operation, in characters. */
  readonly length: number;
  /** Called when the operation no longer uses anything of the server. */
  readonly onEnd: (() => void)[];
  /** Ends the operation with this error as its answer, as if the client had cancelled it. */
  readonly cutOff: (error: GraphQLError) => void;
}

/** Events that are written to the socket without passing through the protocol. */
export interface DirectEvents {
  /** Calls back when no more events will come; not if `return` ended them. */
  whenEnded(call: () => void): void;
  return(): unknown;
}

/** What comes of an operation: one result, a stream of results, events written directly, or the errors of a refusal before it began. */
export type Outcome =
  | ExecutionResult
  | DirectEvents
  | AsyncIterableIterator<ExecutionResult>
  | { readonly refused: readonly GraphQLError[] };

/** What is kept of an operation: little, since many last long. */
interface Running {
  readonly onEnd: readonly (() => void)[];
  /** Called when the client cancels the operation. */
  stop: () => void;
  /** Whether it goes on until somebody ends it; known once it runs. */
  lasting: boolean;
}

interface CarriedOut {
  /** Whether events are still to come. */
  readonly lasts: boolean;
  /** Resolves when the answer is written, or can't be. */
  readonly written?: Promise<void> | undefined;
}

export interface OperationsOptions {
  /** Never rejects. */
  readonly run: (operation: Operation) => Promise<Outcome>;
  /** Resolves when the message is written, or can't be. */
  readonly send: (message: string | Buffer) => Promise<void>;
  readonly maskError: (error: unknown) => GraphQLError;
}

export class RunningOperations {
  readonly #options: OperationsOptions;
  readonly #onAnswered: () => void;
  /** Operations that the client may still hear of, by id. */
  readonly #operations = new Map<string, Running>();
  /** Operations that use something of the server, including completed ones until they have ended. */
  readonly #running = new Set<Running>();
  /** Whether an operation arrived that must go to another server. */
  #isLeaving = false;

  /** `onAnswered` is called when operations must go to another server and only lasting ones are still under way. */
  constructor(options: OperationsOptions, onAnswered: () => void) {
    this.#options = options;
    this.#onAnswered = onAnswered;
  }

  /** How many use something of the server. */
  get count(): number {
    return this.#running.size;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Whether the id is in use. */
  has(id: string): boolean {
    return this.#operations.has(id);
  }

  /** An operation arrived that must go to another server. */
  leave(): void {
    this.#isLeaving = true;
    this.#leaveOnceAnswered();
  }

  completeAll(): void {
    for (const id of [...this.#operations.keys()]) this.complete(id);
  }

  begin(id: string, payload: SubscribePayload, length: number): void {
    const aborting = new AbortController();
    const onEnd: Operation['onEnd'] = [];
    const running = { onEnd, stop: () => aborting.abort(), lasting: false };
    const cutOff = (error: GraphQLError) => this.#cutOff(id, running, error);
    const operation: Operation = { id, payload, signal: aborting.signal, length, onEnd, cutOff };
    this.#operations.set(id, running);
    this.#running.add(running);
    void this.#run(operation, running);
  }

  #cutOff(id: string, running: Running, error: GraphQLError): void {
    if (this.#operations.get(id) !== running) return;
    this.complete(id);
    this.#send({ id, type: MessageType.Error, payload: [error] });
  }

  complete(id: string): void {
    const running = this.#operations.get(id);
    if (running === undefined) return;
    this.#operations.delete(id);
    running.stop();
    // A lasting operation ends at once; the others end when what they are waiting for has arrived.
    if (running.lasting) this.#end(running);
  }

  #end(running: Running): void {
    if (this.#running.delete(running)) for (const call of running.onEnd) call();
  }

  /** Never rejects. */
  async #run(operation: Operation, running: Running): Promise<void> {
    const { lasts, written } = await this.#carryOut(operation, running);
    // Writing may take long. Meanwhile nothing keeps the outcome in memory, which is as large as the answer.
    await written;
    if (!lasts) this.#finish(operation.id, running);
  }

  /** Never rejects. */
  async #carryOut(operation: Operation, running: Running): Promise<CarriedOut> {
    try {
      const outcome = await this.#options.run(operation);
      if (!('whenEnded' in outcome)) return await this.#answer(operation, running, outcome);
      const lasts = !operation.signal.aborted;
      if (lasts) this.#tellDirectly(operation.id, running, outcome);
      else outcome.return();
      return { lasts };
    } catch (error) {
      // For example, the answer is longer than a string can be.
      this.#fail(operation, [this.#options.maskError(error)]);
      return { lasts: false };
    }
  }

  async #answer(
    operation: Operation,
    running: Running,
    outcome: Exclude<Outcome, DirectEvents>,
  ): Promise<CarriedOut> {
    const { id, signal } = operation;
    let written: Promise<void> | undefined;
    if (isResults(outcome)) await this.#tellAll(operation, running, outcome);
    else if (!('refused' in outcome)) written = this.#tell(operation, MessageType.Next, outcome);
    // In the same turn as the answer, so that both are written at once.
    if ('refused' in outcome) this.#fail(operation, outcome.refused);
    else if (!signal.aborted) this.#send({ id, type: MessageType.Complete });
    // From now on the client may reuse the id.
    this.#forget(id, running);
    return { lasts: false, written };
  }

  async #tellAll(
    operation: Operation,
    running: Running,
    results: AsyncIterableIterator<ExecutionResult>,
  ): Promise<void> {
    const { signal } = operation;
    this.#lasts(running);
    const end = () => void results.return?.();
    if (signal.aborted) {
      end();
      return;
    }
    signal.addEventListener('abort', end, { once: true });
    for await (const result of results) await this.#tell(operation, MessageType.Next, result);
  }

  /** Keeps nothing of the operation: there may be many thousands of these, mostly idle. */
  #tellDirectly(id: string, running: Running, events: DirectEvents): void {
    this.#lasts(running);
    running.stop = () => void events.return();
    events.whenEnded(() => {
      this.#send({ id, type: MessageType.Complete });
      this.#finish(id, running);
    });
  }

  #lasts(running: Running): void {
    running.lasting = true;
    if (this.#isLeaving) this.#leaveOnceAnswered();
  }

  #finish(id: string, running: Running): void {
    this.#end(running);
    this.#forget(id, running);
    if (this.#isLeaving) this.#leaveOnceAnswered();
  }

  #forget(id: string, running: Running): void {
    if (this.#operations.get(id) === running) this.#operations.delete(id);
  }

  /** Throws at once if the message can't be serialized. */
  #tell({ id, signal }: Operation, type: MessageType, payload: unknown): Promise<void> | undefined {
    // The id may belong to another operation by now.
    if (signal.aborted) return undefined;
    return this.#options.send(serialize({ id, type, payload }));
  }

  #fail(operation: Operation, errors: readonly GraphQLError[]): void {
    try {
      void this.#tell(operation, MessageType.Error, errors);
    } catch (error) {
      // The text of the errors is longer than a string can be.
      void this.#tell(operation, MessageType.Error, [this.#options.maskError(error)]);
    }
  }

  #send(message: object): void {
    void this.#options.send(JSON.stringify(message));
  }

  #leaveOnceAnswered(): void {
    for (const { lasting } of this.#running) if (!lasting) return;
    this.#onAnswered();
  }
}

function isResults(outcome: object): outcome is AsyncIterableIterator<ExecutionResult> {
  return Symbol.asyncIterator in outcome;
}
