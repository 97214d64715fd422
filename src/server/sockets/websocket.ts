/**
 * GraphQL over WebSocket (graphql-transport-ws), on the port and path of the HTTP API. Operations run through the same plugins as over HTTP.
 *
 * A socket may carry many operations, so a problem with one never closes it: an operation that can't be parsed, is refused, fails, or is one too
 * many gets an answer of its own. A socket is closed if its client breaks the protocol: with an invalid message (4400), an operation before the
 * connection is acknowledged (4401), a second init (4429), or an id that is in use (4409), since an answer under it would reach the operation
 * that has it. It is also closed if the caller shows no valid key or token, or its right ends (4403).
 *
 * The server reads from a socket no faster than the limits allow, and ends sockets that are dead (no answer to a ping) or not read.
 */
import type { IncomingMessage, Server } from 'node:http';
import { CloseCode, handleProtocols } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Guard } from '../http/origin.ts';
import type { Stalls } from '../limits/stalls.ts';
import { KeepAlive } from './keep-alive.ts';
import { type ConnectionOptions, SocketConnection } from './socket-connection.ts';
import { restart } from './socket-protocol.ts';

const closeTimeoutMs = 1_000;

export interface SocketServerOptions extends Omit<ConnectionOptions, 'pongWithinMs'> {
  readonly server: Server;
  readonly limits: ConnectionOptions['limits'] & { readonly maxMessageBytes: number };
  readonly stalls: Stalls;
  readonly guard: Guard;
  /** How often each socket is pinged, and how long a ping may go unanswered before the socket is ended; checked at each ping. */
  readonly times?: Partial<{ keepAliveMs: number; pongWithinMs: number }> | undefined;
}

export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #connectionOptions: ConnectionOptions;
  readonly #keepAlive: KeepAlive<SocketConnection>;
  readonly #sockets: WebSocketServer;

  /** Handles the server's upgrades from now on. */
  constructor(options: SocketServerOptions) {
    const { server, yoga, limits, times } = options;
    const { keepAliveMs = 10_000, pongWithinMs = 30_000 } = times ?? {};
    this.#options = options;
    this.#connectionOptions = { ...options, pongWithinMs };
    this.#keepAlive = new KeepAlive({ everyMs: keepAliveMs, look: (connection) => connection.keepAlive() });
    this.#sockets = new WebSocketServer({
      server,
      path: yoga.graphqlEndpoint,
      maxPayload: limits.maxMessageBytes,
      // Each fragment of a message costs as much as a kilobyte.
      maxFragments: 1_000,
      perMessageDeflate: false,
      autoPong: false,
      // One message per turn of the event loop: a packet may hold hundreds of operations, and others must not wait for all of them.
      allowSynchronousEvents: false,
      handleProtocols,
      verifyClient: ({ req }: { req: IncomingMessage }, decide) => this.#verify(req, decide),
    });
    // These are errors of the HTTP server, whose owner handles them.
    this.#sockets.on('error', () => {});
    this.#sockets.on('connection', (socket, request) => this.#open(socket, request));
  }

  /** Closes the sockets so that clients reconnect, and cuts those that do not go. */
  async close(): Promise<void> {
    this.#keepAlive.stop();
    const sockets = this.#sockets;
    const closed = new Promise((resolve) => sockets.close(resolve));
    for (const socket of sockets.clients) socket.close(restart, 'The server is shutting down.');
    const cut = setTimeout(() => {
      for (const socket of sockets.clients) socket.terminate();
    }, closeTimeoutMs);
    await closed;
    clearTimeout(cut);
  }

  #verify(
    request: IncomingMessage,
    decide: (isWelcome: boolean, status?: number, reason?: string) => void,
  ): void {
    const { guard, addressOf, quotas } = this.#options;
    const refusal = guard.refusalOf(request);
    if (refusal !== undefined) decide(false, refusal.status, refusal.text);
    // The caller may authenticate only once the socket is open, so only the address is checked.
    else if (quotas.connections.lacks({ account: addressOf(request) }, 1))
      decide(false, 429, 'This address has too many connections.');
    else decide(true);
  }

  #open(socket: WebSocket, request: IncomingMessage): void {
    this.#options.stalls.watch(request.socket);
    let leave = () => {};
    const connection = new SocketConnection(socket, request, () => leave(), this.#connectionOptions);
    leave = this.#keepAlive.enter(connection);
    if (socket.protocol === '')
      socket.close(CloseCode.SubprotocolNotAcceptable, 'Subprotocol not acceptable');
  }
}
