/** One WebSocket and what belongs to it, from its opening to its close. */
import type { IncomingMessage } from 'node:http';
import type { GraphQLError } from 'graphql';
import { CloseCode } from 'graphql-ws';
import type { Logger } from 'pino';
import type { WebSocket } from 'ws';
import type { AddressOf } from './addresses.ts';
import { type Authentication, nobody } from './authentication.ts';
import { tooManyConnections } from './busy.ts';
import type { Yoga } from './graphql.ts';
import { OperationRights } from './operation-rights.ts';
import { ownerOf } from './owners.ts';
import type { Quotas } from './quota.ts';
import { checkParts } from './request-body.ts';
import type { Right } from './right.ts';
import { SocketBytes } from './socket-bytes.ts';
import { SocketFlow } from './socket-flow.ts';
import { SocketOperations } from './socket-operations.ts';
import { SocketPings } from './socket-pings.ts';
import { SocketProtocol } from './socket-protocol.ts';
import { SocketWindow } from './socket-reader.ts';
import type { Charge, SubscriptionCosts } from './subscription-costs.ts';

const terminateAfterMs = 1_000;

export interface ConnectionOptions {
  readonly yoga: Yoga;
  readonly limits: { readonly maxOperations: number; readonly maxMessagesPerSecond: number };
  readonly authentication: Authentication;
  readonly addressOf: AddressOf;
  readonly quotas: Quotas;
  readonly costs: SubscriptionCosts;
  readonly pongWithinMs: number;
  readonly isClosing: () => boolean;
  readonly maskError: (error: unknown) => GraphQLError;
  readonly logger: Logger;
}

export class SocketConnection {
  readonly #socket: WebSocket;
  readonly #pings: SocketPings;
  readonly #flow: SocketFlow;
  readonly #bytes: SocketBytes;
  readonly #pongWithinMs: number;
  #isSuspected = false;

  constructor(socket: WebSocket, request: IncomingMessage, onClose: () => void, options: ConnectionOptions) {
    const { yoga, limits, authentication, addressOf, quotas, costs, isClosing, maskError, logger } = options;
    this.#socket = socket;
    this.#pongWithinMs = options.pongWithinMs;
    this.#pings = new SocketPings(socket);
    const address = addressOf(request);
    // Until it says who it is.
    let owner = ownerOf(undefined, () => address);
    let place = quotas.connections.share(owner);
    place.set(1);
    this.#bytes = new SocketBytes(socket, request.socket, () => quotas.bytes.share(owner));
    this.#flow = new SocketFlow(socket, request.socket, {
      messagesPerSecond: limits.maxMessagesPerSecond,
      onWaiting: () => this.#bytes.waitingChanged(),
    });
    const window = new SocketWindow(socket, request.socket, this.#pings, () => this.#bytes.waitingChanged());
    let right: Right | undefined;
    let leave = () => {};
    let charge: Charge = () => undefined;
    const takeRight = (admitted: Right) => {
      // Whoever has gone while it was looked up rests upon nothing.
      if (socket.readyState !== socket.OPEN) return;
      owner = ownerOf(admitted.caller, () => address);
      const itsPlace = quotas.connections.share(owner);
      place.release();
      if (itsPlace.take() !== undefined) throw tooManyConnections();
      place = itsPlace;
      charge = costs.open(owner);
      right = admitted;
      leave = admitted.enter(endWith);
    };
    const operationRights = new OperationRights({
      authentication,
      request,
      onNobody: () =>
        socket.close(CloseCode.ConnectionInitialisationTimeout, 'No operation shows a token that is good'),
    });
    const protocol = new SocketProtocol({
      admit: (payload) => {
        if (operationRights.begin(payload)) {
          charge = costs.open(owner);
          return undefined;
        }
        const admitted = authentication.admitSocket(payload, request);
        return admitted instanceof Promise ? admitted.then(takeRight) : takeRight(admitted);
      },
      run: new SocketOperations({
        yoga,
        maskError,
        window,
        owner: () => owner,
        opening: request,
        callerOf: (operation) => operationRights.callerOf(operation) ?? right?.caller ?? nobody,
        bytes: quotas.bytes,
        charge: (cost) => charge(cost),
      }).run,
      send: (message) => this.#flow.send(message),
      close: (code, reason) => socket.close(code, reason),
      maskError,
      maxOperations: limits.maxOperations,
      isClosing,
    });
    const end = () => {
      leave();
      operationRights.end();
      protocol.closed();
      for (const reader of window.readers) void reader.return();
    };
    // What lasts on it ends at once, however long the other side takes to agree to the end.
    const endWith = (reason: string) => {
      end();
      socket.close(CloseCode.Forbidden, reason);
      setTimeout(() => socket.terminate(), terminateAfterMs).unref();
    };
    // One listener for each event: with those of thousands of sockets, each counts.
    socket.on('ping', (data: Buffer) => {
      this.#bytes.controlCame(data);
      this.#flow.pinged(data);
    });
    socket.on('pong', (data: Buffer) => {
      this.#bytes.controlCame(data);
      this.#pings.answered(data);
    });
    socket.on('message', (data) => {
      this.#bytes.messageCame();
      // What comes behind a message that closes the socket is nobody's.
      if (socket.readyState !== socket.OPEN) return;
      try {
        checkParts(data as Buffer);
        const text = String(data);
        this.#flow.received(protocol.receive(text) ? text.length : 0);
      } catch (error) {
        // Such as a ping to be sent back that is nested more deeply than the stack is, or more than can be parsed in time.
        logger.debug({ err: error }, 'a WebSocket message could not be handled');
        socket.close(CloseCode.BadRequest, 'The message can not be handled');
      }
    });
    // What breaks the framing, or is too large, ends the socket with the code for it.
    socket.on('error', (error) => logger.debug({ err: error }, 'a WebSocket failed'));
    socket.on('close', () => {
      end();
      this.#bytes.release();
      place.release();
      onClose();
    });
  }

  /** Called now and then: asks whether the peer is there, and ends the socket of one that has not answered for too long. */
  keepAlive(): void {
    const socket = this.#socket;
    // While it is held its answers are not read. Before a ping that waits behind much else, it counts whether that moves.
    if (this.#flow.isHeld || socket.bufferedAmount > 0) this.#pings.forgive();
    const isOverdue = this.#pings.overdueMs > this.#pongWithinMs;
    // Looked at twice: after this process was busy, its answer may be here unread.
    if ((isOverdue && this.#isSuspected) || this.#bytes.isStuck) socket.terminate();
    this.#isSuspected = isOverdue;
    this.#pings.send();
  }
}
