/**
 * GraphQL over WebSocket (graphql-transport-ws), on the port and path of the HTTP API. Operations run through the plugins
 * of the HTTP side.
 *
 * A socket may carry many operations, so what is wrong with one never closes it: a request that can't be parsed, is
 * refused or fails, or is one too many, is answered on its own. What closes it is a client that breaks the protocol: a
 * message that is none (4400), an operation before the connection is acknowledged (4401), a second init (4429), and an id
 * that is in use (4409), since an answer under it would reach the operation that has it. And a caller that shows no key or token which
 * counts, or whose right ends (4403).
 *
 * The server reads no faster from a socket than it may, and ends those that are dead (no answer to a ping) or do not read.
 */
import type { IncomingMessage, Server } from 'node:http';
import { CloseCode, handleProtocols } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';
import { KeepAlive } from './keep-alive.ts';
import type { Guard } from './origin.ts';
import { type ConnectionOptions, SocketConnection } from './socket-connection.ts';
import { restart } from './socket-protocol.ts';
import type { Stalls } from './stalls.ts';

const closeTimeoutMs = 1_000;

export interface SocketServerOptions extends Omit<ConnectionOptions, 'pongWithinMs'> {
  readonly server: Server;
  readonly limits: ConnectionOptions['limits'] & { readonly maxMessageBytes: number };
  readonly stalls: Stalls;
  readonly guard: Guard;
  /** Each socket is pinged so often, and ended when a ping has not been answered for so long, as it is looked at. */
  readonly times?: Partial<{ keepAliveMs: number; pongWithinMs: number }> | undefined;
}

export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #connectionOptions: ConnectionOptions;
  readonly #keepAlive: KeepAlive<SocketConnection>;
  readonly #sockets: WebSocketServer;

  /** Takes the upgrades of the server from now on. */
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
      perMessageDeflate: false,
      autoPong: false,
      // One message in a turn of the event loop: hundreds of operations may come in one packet, and others wait meanwhile.
      allowSynchronousEvents: false,
      handleProtocols,
      verifyClient: ({ req }: { req: IncomingMessage }, decide) => this.#verify(req, decide),
    });
    // Those of the HTTP server, whose owner hears of them itself.
    this.#sockets.on('error', () => {});
    this.#sockets.on('connection', (socket, request) => this.#open(socket, request));
  }

  /** Sends the clients away so that they come again, and cuts those that do not go. */
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
    // Who it is may only be said on it.
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
