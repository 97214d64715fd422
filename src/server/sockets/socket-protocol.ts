/**
 * The graphql-transport-ws protocol on one socket:
 * https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
 */
import { GraphQLError } from 'graphql';
import {
  CloseCode,
  type Message,
  MessageType,
  type PingMessage,
  parseMessage,
  type SubscribeMessage,
} from 'graphql-ws';
import { type OperationsOptions, RunningOperations } from './running-operations.ts';
import { strangerBytes } from './socket-bytes.ts';

/** The registered close code "service restart": the client should reconnect. */
export const restart = 1012;
/** The registered close code "try again later". */
const tryAgainLater = 1013;
/** Close codes for callers that are refused. */
const refusalCodes: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: CloseCode.Forbidden,
  TOO_MANY_CONNECTIONS: tryAgainLater,
};
/** How long a socket has to authenticate. */
export const initTimeoutMs = 3_000;

export interface ProtocolOptions extends OperationsOptions {
  /** Judges a caller by its first message. Throws, or rejects with, the refusal. */
  readonly admit: (payload: Readonly<Record<string, unknown>> | undefined) => void | Promise<void>;
  readonly close: (code: number, reason: string) => void;
  readonly maxOperations: number;
  readonly isClosing: () => boolean;
}

export class SocketProtocol {
  readonly #options: ProtocolOptions;
  readonly #operations: RunningOperations;
  #initTimer: NodeJS.Timeout | undefined;
  #isInitialised = false;
  /** Whether the caller has been admitted. */
  #isAcknowledged = false;

  constructor(options: ProtocolOptions) {
    this.#options = options;
    this.#operations = new RunningOperations(options, () =>
      this.#close(restart, 'The server is shutting down.'),
    );
    this.#initTimer = setTimeout(
      () => this.#close(CloseCode.ConnectionInitialisationTimeout, 'Connection initialisation timeout'),
      initTimeoutMs,
    );
  }

  /** Returns whether the message is echoed, as a ping is. */
  receive(value: unknown, bytes: number): boolean {
    let message: Message;
    try {
      message = parseMessage(value);
    } catch {
      this.#close(CloseCode.BadRequest, 'Invalid message received');
      return false;
    }
    this.#handle(message, bytes);
    return message.type === MessageType.Ping;
  }

  /** Called when the socket has closed: cancels everything. */
  closed(): void {
    this.#clearInitTimer();
    this.#operations.completeAll();
  }

  #handle(message: Message, length: number): void {
    switch (message.type) {
      case MessageType.ConnectionInit:
        this.#init(message.payload);
        break;
      case MessageType.Ping:
        this.#pong(message.payload, length);
        break;
      case MessageType.Pong:
        break;
      case MessageType.Subscribe:
        this.#subscribe(message, length);
        break;
      case MessageType.Complete:
        this.#operations.complete(message.id);
        break;
      default:
        this.#close(CloseCode.BadRequest, 'Only a server may send this message');
    }
  }

  #pong(payload: PingMessage['payload'], length: number): void {
    if (length > strangerBytes)
      this.#close(CloseCode.BadRequest, `A ping may have up to ${strangerBytes} bytes`);
    else this.#send({ type: MessageType.Pong, ...(payload && { payload }) });
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
    // Any other refusal means that the caller can't be checked now, so the client should reconnect.
    this.#close(refusalCodes[String(extensions.code)] ?? restart, cutReason(message));
  }

  #subscribe({ id, payload }: SubscribeMessage, length: number): void {
    const { maxOperations, isClosing } = this.#options;
    if (!this.#isAcknowledged) {
      this.#close(CloseCode.Unauthorized, 'Unauthorized');
    } else if (this.#operations.has(id)) {
      // Without the id, which may be too long for a close reason.
      this.#close(CloseCode.SubscriberAlreadyExists, 'Subscriber already exists');
    } else if (this.#operations.isLeaving || isClosing()) {
      // Its only answer is the close of the socket, which makes clients reconnect.
      this.#operations.leave();
    } else if (this.#operations.count >= maxOperations) {
      const message = `This connection has ${maxOperations} operations under way; it may not have more.`;
      const error = new GraphQLError(message, { extensions: { code: 'TOO_MANY_OPERATIONS' } });
      this.#send({ id, type: MessageType.Error, payload: [error] });
    } else {
      this.#operations.begin(id, payload, length);
    }
  }

  #send(message: object): void {
    void this.#options.send(JSON.stringify(message));
  }

  #clearInitTimer(): void {
    clearTimeout(this.#initTimer);
    this.#initTimer = undefined;
  }

  #close(code: number, reason: string): void {
    this.#options.close(code, reason);
  }
}

/** A close reason may have up to 123 bytes. */
function cutReason(message: string): string {
  return message.length <= 120 ? message : `${message.slice(0, 117)}...`;
}
