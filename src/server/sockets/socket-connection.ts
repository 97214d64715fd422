/** One WebSocket and everything that belongs to it, from its opening to its close. */
import type { IncomingMessage } from 'node:http';
import type { GraphQLError } from 'graphql';
import { CloseCode } from 'graphql-ws';
import type { Logger } from 'pino';
import type { WebSocket } from 'ws';
import type { Charge, SubscriptionCosts } from '../execution/subscription-costs.ts';
import type { Yoga } from '../http/graphql.ts';
import { checkParts } from '../http/request-body.ts';
import { tooManyConnections } from '../limits/busy.ts';
import type { Quotas } from '../limits/quota.ts';
import type { AddressOf } from '../rights/addresses.ts';
import { type Authentication, nobody } from '../rights/authentication.ts';
import { ownerOf } from '../rights/owners.ts';
import type { Right } from '../rights/right.ts';
import { OperationRights } from './operation-rights.ts';
import { SocketBytes } from './socket-bytes.ts';
import { SocketFlow } from './socket-flow.ts';
import { SocketInbox } from './socket-inbox.ts';
import { SocketOperations } from './socket-operations.ts';
import { SocketPings } from './socket-pings.ts';
import { SocketProtocol } from './socket-protocol.ts';
import { SocketWindow } from './socket-reader.ts';

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
    // The owner until the client authenticates.
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
      // The client may have left during the look-up; then nothing must depend on the right.
      if (socket.readyState !== socket.OPEN) return;
      owner = ownerOf(admitted.caller, () => address);
      const itsPlace = quotas.connections.share(owner);
      place.release();
      if (itsPlace.take() !== undefined) throw tooManyConnections();
      place = itsPlace;
      charge = costs.open(owner);
      right = admitted;
      this.#bytes.callerAdmitted();
      leave = admitted.enter(endWith);
    };
    const operationRights = new OperationRights({
      authentication,
      request,
      onNobody: () =>
        socket.close(CloseCode.ConnectionInitialisationTimeout, 'No operation has a valid token'),
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
    // The operations end at once, however long the peer takes to complete the close.
    const endWith = (reason: string) => {
      end();
      socket.close(CloseCode.Forbidden, reason);
      setTimeout(() => socket.terminate(), terminateAfterMs).unref();
    };
    const handle = (message: Buffer) => {
      // Ignores what follows a message that closed the socket.
      if (socket.readyState !== socket.OPEN) return;
      try {
        checkParts(message);
        const text = String(message);
        this.#flow.received(protocol.receive(text) ? text.length : 0);
      } catch (error) {
        // For example a message too deeply nested to be echoed, or with too much to parse in time.
        logger.debug({ err: error }, 'a WebSocket message could not be handled');
        socket.close(CloseCode.BadRequest, 'The message could not be handled');
      }
    };
    const inbox = new SocketInbox({
      handle,
      owner: () => owner,
      onWaiting: (bytes) => {
        this.#bytes.setUnhandled(bytes);
        this.#flow.setBehind(bytes > 0);
      },
    });
    // One listener per event: with thousands of sockets, every listener counts.
    socket.on('ping', (data: Buffer) => {
      this.#bytes.controlCame(data);
      this.#flow.pinged(data);
    });
    socket.on('pong', (data: Buffer) => {
      this.#bytes.controlCame(data);
      this.#pings.answered(data);
    });
    socket.on('message', (data) => {
      this.#bytes.messageCame((data as Buffer).length);
      inbox.receive(data as Buffer);
    });
    // Bad framing and oversized messages end the socket with the close code for it.
    socket.on('error', (error) => logger.debug({ err: error }, 'a WebSocket failed'));
    socket.on('close', () => {
      end();
      this.#bytes.release();
      place.release();
      onClose();
    });
  }

  /** Called regularly: pings the peer, and ends a socket whose peer has not answered for too long. */
  keepAlive(): void {
    const socket = this.#socket;
    // The peer is not to blame if its pongs go unread, or if the ping waits behind data: `stalls.ts` watches whether that moves.
    if (this.#flow.isHeld || socket.bufferedAmount > 0) this.#pings.forgive();
    const isOverdue = this.#pings.overdueMs > this.#pongWithinMs;
    // Must be overdue twice: after this process was busy, the pong may be here unread.
    if ((isOverdue && this.#isSuspected) || this.#bytes.isStuck) socket.terminate();
    this.#isSuspected = isOverdue;
    this.#pings.send();
  }
}
