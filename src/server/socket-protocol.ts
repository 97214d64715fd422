/**
 * The protocol graphql-transport-ws on one socket:
 * https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
 *
 * graphql-ws reads and writes the messages, but its server knows an operation only by its id: one that is completed before
 * it has begun, and whose id is given to another, goes on under that id and counts nowhere. Here each operation is a thing of
 * its own, with a signal that aborts when its client completes it or leaves, and it counts until it has come to its end.
 */
import { type ExecutionResult, GraphQLError } from 'graphql';
import {
  CloseCode,
  type Message,
  MessageType,
  parseMessage,
  type SubscribeMessage,
  type SubscribePayload,
} from 'graphql-ws';
import { serialize } from '../domain/json-text.ts';

/** The registered code for "service restart": come again. */
export const restart = 1012;
/** The registered code for "try again later". */
const tryAgainLater = 1013;
/** Of callers that are not let in. */
const refusalCodes: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: CloseCode.Forbidden,
  TOO_MANY_CONNECTIONS: tryAgainLater,
};
/** Until then a socket has to say who it is. */
export const initTimeoutMs = 3_000;

export interface Operation {
  readonly id: string;
  readonly payload: SubscribePayload;
  /** Aborts when the client does not want it any more. */
  readonly signal: AbortSignal;
  /** The length of the message that it came in. */
  readonly length: number;
  /** What is to be called when it takes nothing of the server any more. */
  readonly onEnd: (() => void)[];
  /** Ends it with this as its answer, as if its client did not want it any more. */
  readonly cutOff: (error: GraphQLError) => void;
}

/** Events that go to the socket by themselves. */
export interface DirectEvents {
  /** Calls it when no more will come; not if they were ended by `return`. */
  whenEnded(call: () => void): void;
  return(): unknown;
}

/** Results of an operation: one, or as they come; or the errors of what was not even begun. */
export type Outcome =
  | ExecutionResult
  | DirectEvents
  | AsyncIterableIterator<ExecutionResult>
  | { readonly refused: readonly GraphQLError[] };

/** What is kept of an operation: of one that goes on for long, little. */
interface Running {
  readonly onEnd: readonly (() => void)[];
  /** Called when its client does not want it any more. */
  stop: () => void;
  /** Whether it is one that goes on until somebody ends it; known once it runs. */
  lasting: boolean;
}

interface CarriedOut {
  /** Whether there are events to come. */
  readonly lasts: boolean;
  /** Resolves when its answer is written, or can't be. */
  readonly written?: Promise<void> | undefined;
}

export interface ProtocolOptions {
  /** Throws, or rejects with, the refusal of a caller, by what it sent first. */
  readonly admit: (payload: Readonly<Record<string, unknown>> | undefined) => void | Promise<void>;
  /** Never rejects. */
  readonly run: (operation: Operation) => Promise<Outcome>;
  /** Resolves when it is written, or can't be. */
  readonly send: (message: string | Buffer) => Promise<void>;
  readonly close: (code: number, reason: string) => void;
  readonly maskError: (error: unknown) => GraphQLError;
  readonly maxOperations: number;
  readonly isClosing: () => boolean;
}

export class SocketProtocol {
  readonly #options: ProtocolOptions;
  /** By id: what the client may still hear of. */
  readonly #operations = new Map<string, Running>();
  /** What takes something of the server: also what its client has completed, until it has come to its end. */
  readonly #running = new Set<Running>();
  #initTimer: NodeJS.Timeout | undefined;
  #isInitialised = false;
  /** The caller is known. */
  #isAcknowledged = false;
  /** An operation came that another server has to carry out. */
  #isLeaving = false;

  constructor(options: ProtocolOptions) {
    this.#options = options;
    this.#initTimer = setTimeout(
      () => this.#close(CloseCode.ConnectionInitialisationTimeout, 'Connection initialisation timeout'),
      initTimeoutMs,
    );
  }

  /** Says whether the message is sent back, as one that only asks for a sign of life is. */
  receive(text: string): boolean {
    let message: Message;
    try {
      message = parseMessage(text);
    } catch {
      this.#close(CloseCode.BadRequest, 'Invalid message received');
      return false;
    }
    this.#handle(message, text.length);
    return message.type === MessageType.Ping;
  }

  /** The socket is closed: nobody waits for anything any more. */
  closed(): void {
    this.#clearInitTimer();
    for (const id of [...this.#operations.keys()]) this.#complete(id);
  }

  #handle(message: Message, length: number): void {
    switch (message.type) {
      case MessageType.ConnectionInit:
        this.#init(message.payload);
        break;
      case MessageType.Ping:
        this.#send({ type: MessageType.Pong, ...(message.payload && { payload: message.payload }) });
        break;
      case MessageType.Pong:
        break;
      case MessageType.Subscribe:
        this.#subscribe(message, length);
        break;
      case MessageType.Complete:
        this.#complete(message.id);
        break;
      default:
        this.#close(CloseCode.BadRequest, 'Only a server may send this message');
    }
  }

  #init(payload: Readonly<Record<string, unknown>> | undefined): void {
    if (this.#isInitialised) {
      this.#close(CloseCode.TooManyInitialisationRequests, 'Too many initialisation requests');
      return;
    }
    this.#isInitialised = true;
    this.#clearInitTimer();
    try {
      const admission = this.#options.admit(payload);
      if (admission === undefined) this.#acknowledge();
      else admission.then(() => this.#acknowledge()).catch((error: unknown) => this.#refuse(error));
    } catch (error) {
      this.#refuse(error);
    }
  }

  #acknowledge(): void {
    this.#isAcknowledged = true;
    this.#send({ type: MessageType.ConnectionAck });
  }

  #refuse(error: unknown): void {
    const { message, extensions } = this.#options.maskError(error);
    // Else the client is to come again: what would say who it is can't be asked now.
    this.#close(refusalCodes[String(extensions.code)] ?? restart, cutReason(message));
  }

  #subscribe({ id, payload }: SubscribeMessage, length: number): void {
    const { maxOperations, isClosing } = this.#options;
    if (!this.#isAcknowledged) {
      this.#close(CloseCode.Unauthorized, 'Unauthorized');
    } else if (this.#operations.has(id)) {
      // Without the id, which may be longer than such a reason can be.
      this.#close(CloseCode.SubscriberAlreadyExists, 'Subscriber already exists');
    } else if (this.#isLeaving || isClosing()) {
      // It gets no answer but the end of the socket, which is what clients take for "come again".
      this.#isLeaving = true;
      this.#leaveOnceAnswered();
    } else if (this.#running.size >= maxOperations) {
      const message = `This connection has ${maxOperations} operations under way; no more are taken.`;
      const error = new GraphQLError(message, { extensions: { code: 'TOO_MANY_OPERATIONS' } });
      this.#send({ id, type: MessageType.Error, payload: [error] });
    } else {
      this.#begin(id, payload, length);
    }
  }

  #begin(id: string, payload: SubscribePayload, length: number): void {
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
    this.#complete(id);
    this.#send({ id, type: MessageType.Error, payload: [error] });
  }

  #complete(id: string): void {
    const running = this.#operations.get(id);
    if (running === undefined) return;
    this.#operations.delete(id);
    running.stop();
    // It ends at once; others only when what they wait for has come.
    if (running.lasting) this.#end(running);
  }

  #end(running: Running): void {
    if (this.#running.delete(running)) for (const call of running.onEnd) call();
  }

  /** Never rejects. */
  async #run(operation: Operation, running: Running): Promise<void> {
    const { lasts, written } = await this.#carryOut(operation, running);
    // That may take long. Meanwhile nothing is kept of what it was written from, which is as large.
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
      // Such as an answer that is larger than a text can be.
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
    // With either the client may give the id to another one.
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

  /** Keeps nothing of the operation: there are many thousands of these, and most of the time nothing happens in them. */
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

  /** Throws at once what can't be written. */
  #tell({ id, signal }: Operation, type: MessageType, payload: unknown): Promise<void> | undefined {
    // What stands under the id belongs to another one by now.
    if (signal.aborted) return undefined;
    return this.#options.send(serialize({ id, type, payload }));
  }

  #fail(operation: Operation, errors: readonly GraphQLError[]): void {
    try {
      void this.#tell(operation, MessageType.Error, errors);
    } catch (error) {
      // What the errors say is larger than a text can be.
      void this.#tell(operation, MessageType.Error, [this.#options.maskError(error)]);
    }
  }

  #send(message: object): void {
    void this.#options.send(JSON.stringify(message));
  }

  #leaveOnceAnswered(): void {
    for (const { lasting } of this.#running) if (!lasting) return;
    this.#close(restart, 'The server is shutting down.');
  }

  #clearInitTimer(): void {
    clearTimeout(this.#initTimer);
    this.#initTimer = undefined;
  }

  #close(code: number, reason: string): void {
    this.#options.close(code, reason);
  }
}

function isResults(outcome: object): outcome is AsyncIterableIterator<ExecutionResult> {
  return Symbol.asyncIterator in outcome;
}

/** A reason of a close may have 123 bytes. */
function cutReason(message: string): string {
  return message.length <= 120 ? message : `${message.slice(0, 117)}...`;
}
