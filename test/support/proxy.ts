/** A TCP proxy before a server, to break the connection as a network would. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** The server's address, through the proxy. */
  readonly url: string;
  /** Breaks every connection and refuses new ones. */
  cut(): void;
  /** Takes connections again, and passes everything on; if the server has a new address, to that one. */
  mend(newUrl?: string): void;
  /** Passes on what clients say, and swallows what the server says from now on. */
  swallowAnswers(): void;
  /** Breaks every connection, as `cut` does, in place of passing on the next answer that has this text; resolves then. */
  cutAt(text: string): Promise<void>;
  /** Passes nothing on any more, not even the end of a connection: a cable that was pulled. `mend` takes new connections. */
  freeze(): void;
  /** How many connections it has refused while it was cut. */
  readonly refused: number;
  /** How many connections it has open. */
  readonly connections: number;
  close(): Promise<void>;
}

export async function startProxy(serverUrl: string): Promise<TcpProxy> {
  let target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let swallows = false;
  let last: { text: string; wasCut: () => void } | undefined;
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const cut = () => {
    isCut = true;
    last?.wasCut();
    last = undefined;
    destroyAll();
  };
  let frozen = false;
  let refused = 0;
  const server = createServer((client) => {
    if (isCut) {
      refused++;
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
        if (frozen) return;
        if (socket === upstream && last !== undefined && chunk.includes(last.text)) cut();
        else if (socket === client || !swallows) other.write(chunk);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(serverUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    get refused() {
      return refused;
    },
    get connections() {
      return sockets.size / 2;
    },
    cut,
    cutAt: (text) =>
      new Promise((wasCut) => {
        last = { text, wasCut };
      }),
    mend: (newUrl) => {
      if (newUrl !== undefined) target = new URL(newUrl);
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
