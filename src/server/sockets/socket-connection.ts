/** One WebSocket and everything that belongs to it, from its opening to its close. */
import type { IncomingMessage } from 'node:http';
import type { GraphQLError } from 'graphql';
import { CloseCode } from 'graphql-ws';
import type { Logger } from 'pino';
import type { WebSocket } from 'ws';
import type { SubscriptionCosts } from '../execution/subscription-costs.ts';
import type { Yoga } from '../http/graphql.ts';
import type { Quotas } from '../limits/quota.ts';
import type { AddressOf } from '../rights/addresses.ts';
import type { Admission } from '../rights/admission.ts';
import { type Authentication, nobody } from '../rights/authentication.ts';
import { OperationAdmissions } from './operation-admissions.ts';
import { SocketBytes } from './socket-bytes.ts';
import { SocketFlow } from './socket-flow.ts';
import { SocketInbox } from './socket-inbox.ts';
import { SocketOperations } from './socket-operations.ts';
import { SocketOwner } from './socket-owner.ts';
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
    const owner = new SocketOwner(addressOf(request), quotas.connections, costs);
    this.#bytes = new SocketBytes(socket, request.socket, () => quotas.bytes.share(owner.current));
    this.#flow = new SocketFlow(socket, request.socket, {
      messagesPerSecond: limits.maxMessagesPerSecond,
      onWaiting: () => this.#bytes.waitingChanged(),
    });
    const window = new SocketWindow(socket, request.socket, this.#pings, () => this.#bytes.waitingChanged());
    let leave = () => {};
    const enter = (admitted: Admission) => {
      // The client may have left during the look-up; then nothing must depend on the right.
      if (socket.readyState !== socket.OPEN) return;
      owner.become(admitted);
      this.#bytes.callerAdmitted();
      leave = admitted.enter(endWith);
    };
    const operationAdmissions = new OperationAdmissions(authentication, request, () =>
      socket.close(CloseCode.ConnectionInitialisationTimeout, 'No operation has a valid token'),
    );
    const protocol = new SocketProtocol({
      admit: (payload) => {
        if (operationAdmissions.begin(payload)) return owner.openAccount();
        const admitted = authentication.admitSocket(payload, request);
        return admitted instanceof Promise ? admitted.then(enter) : enter(admitted);
      },
      run: new SocketOperations({
        yoga,
        maskError,
        window,
        owner,
        opening: request,
        callerOf: (operation) => operationAdmissions.callerOf(operation) ?? owner.caller ?? nobody,
        bytes: quotas.bytes,
      }).run,
      send: (message) => this.#flow.send(message),
      close: (code, reason) => socket.close(code, reason),
      maskError,
      maxOperations: limits.maxOperations,
      isClosing,
    });
    const end = () => {
      leave();
      operationAdmissions.end();
      protocol.closed();
      for (const reader of window.readers) void reader.return();
    };
    const endWith = (reason: string) => this.#forbid(reason, end);
    this.#listen(protocol, owner, logger, { end, onClose });
  }

  /** The operations end at once, however long the peer takes to complete the close. */
  #forbid(reason: string, end: () => void): void {
    end();
    this.#socket.close(CloseCode.Forbidden, reason);
    setTimeout(() => this.#socket.terminate(), terminateAfterMs).unref();
  }

  #listen(
    protocol: SocketProtocol,
    owner: SocketOwner,
    logger: Logger,
    { end, onClose }: { end: () => void; onClose: () => void },
  ): void {
    const socket = this.#socket;
    const inbox = new SocketInbox({
      handle: (message, bytes) => this.#flow.received(protocol.receive(message, bytes) ? bytes : 0),
      // For example a message too deeply nested to be echoed, or with too much to parse in time.
      refuse: (error) => {
        logger.debug({ err: error }, 'a WebSocket message could not be handled');
        socket.close(CloseCode.BadRequest, 'The message could not be handled');
      },
      isOpen: () => socket.readyState === socket.OPEN,
      owner: () => owner.current,
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
      owner.release();
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
