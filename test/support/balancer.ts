/** A load balancer for TCP: each connection goes to the next server that takes it. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Balancer {
  /** The API, at whichever server. */
  readonly url: string;
  /** The ports of the servers, to be changed while they come and go. */
  readonly ports: number[];
  close(): Promise<void>;
}

export async function startBalancer(): Promise<Balancer> {
  const ports: number[] = [];
  const sockets = new Set<Socket>();
  let next = 0;
  const server = createServer((client) => {
    keep(client);
    const attempt = (left: number) => {
      const port = ports[next++ % ports.length];
      if (left === 0 || port === undefined) return void client.destroy();
      const upstream = connect(port, '127.0.0.1');
      const refused = () => attempt(left - 1);
      upstream.once('error', refused).once('connect', () => {
        upstream.off('error', refused);
        keep(upstream);
        upstream.once('close', () => client.destroy());
        client.once('close', () => upstream.destroy());
        client.pipe(upstream).pipe(client);
      });
    };
    attempt(ports.length);
  });
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`,
    ports,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
