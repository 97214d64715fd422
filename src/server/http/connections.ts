/** The connections of an HTTP server, and the requests on each that are not answered yet: at a shutdown, nobody waits for requests that do not arrive. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** At a shutdown, at least so much of a request has to arrive in the time, unless it has arrived in full. */
const leastBytes = 16_000;
const everyMs = 2_000;

/** Whether nobody can get an answer on it: Node ends its side, too, when the client has ended its own. */
export const hasLeft = ({ destroyed, readableEnded }: Socket): boolean => destroyed || readableEnded;

interface Connection {
  readonly socket: Socket;
  readonly requests: Set<IncomingMessage>;
  bytesRead: number;
}

export class Connections {
  readonly #open = new Map<Socket, Connection>();
  /** The newest of each address: only that tells on which one a TLS connection shook hands. */
  readonly #newest = new Map<string, Socket>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => this.#enter(socket));
    server.on('secureConnection', (socket: Socket) => {
      const below = this.#newest.get(nameOf(socket));
      if (below !== undefined) this.#open.delete(below);
      this.#enter(socket);
    });
  }

  /** Called with each request once its head has arrived. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    const requests = this.#open.get(request.socket)?.requests;
    requests?.add(request);
    response.once('close', () => requests?.delete(request));
  }

  /** Ends connections on which a request was begun, or nothing yet, and hardly anything arrives; until the returned function is called. */
  endStalled(): () => void {
    const look = () => {
      for (const connection of this.#open.values()) {
        const { socket, bytesRead } = connection;
        if (owesRequest(connection) && socket.bytesRead - bytesRead < leastBytes) socket.destroy();
        connection.bytesRead = socket.bytesRead;
      }
    };
    for (const connection of this.#open.values()) connection.bytesRead = connection.socket.bytesRead;
    // What came while this process was busy is read first.
    const timer = setInterval(() => setImmediate(look), everyMs);
    return () => clearInterval(timer);
  }

  endAll(): void {
    for (const { socket } of this.#open.values()) socket.destroy();
  }

  #enter(socket: Socket): void {
    const name = nameOf(socket);
    this.#open.set(socket, { socket, requests: new Set(), bytesRead: 0 });
    this.#newest.set(name, socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#newest.get(name) === socket) this.#newest.delete(name);
    });
  }
}

/** The same for a TLS connection and for the one below it. */
function nameOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}

/** While reading is paused the client is not to blame. */
function owesRequest({ requests }: Connection): boolean {
  for (const request of requests) if (request.complete || request.isPaused()) return false;
  return true;
}
