/** A TCP proxy before a server, to break the connection as a network would. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** The server's address, through the proxy. */
  readonly url: string;
  /** Breaks every connection and refuses new ones. */
  cut(): void;
  /** Takes connections again, and passes everything on. */
  mend(): void;
  /** Passes on what clients say, and swallows what the server says from now on. */
  swallowAnswers(): void;
  /** Passes nothing on any more, not even the end of a connection: a cable that was pulled. `mend` takes new connections. */
  freeze(): void;
  close(): Promise<void>;
}

export async function startProxy(serverUrl: string): Promise<TcpProxy> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let swallows = false;
  let frozen = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    if (frozen) {
      sockets.add(client);
      client.on('error', () => {});
      client.on('close', () => sockets.delete(client));
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        if (!frozen) other.destroy();
      });
      socket.on('data', (chunk) => {
        if (!frozen && (socket === client || !swallows)) other.write(chunk);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(serverUrl);
  url.port = String((server.address() as AddressInfo).port);
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut: () => {
      isCut = true;
      destroyAll();
    },
    mend: () => {
      isCut = false;
      swallows = false;
      frozen = false;
    },
    swallowAnswers: () => {
      swallows = true;
    },
    freeze: () => {
      frozen = true;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      destroyAll();
      await closed;
    },
  };
}
