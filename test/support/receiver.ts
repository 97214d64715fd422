/** A receiver of callbacks: a real HTTP server, whose answers a test decides by path. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As it came. */
  readonly text: string;
  readonly body: any;
}

export interface Receiver {
  readonly port: number;
  readonly received: readonly Received[];
  /** What came to a path. */
  at(path: string): Received[];
  close(): Promise<void>;
}

/** Without an answer of its own a path says 204. */
export async function startReceiver(
  answers: Readonly<Record<string, (response: ServerResponse, nth: number) => void>> = {},
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const path = request.url ?? '';
    received.push({ path, headers: request.headers, text, body: JSON.parse(text) });
    const nth = received.filter((one) => one.path === path).length;
    const answer = answers[path];
    if (answer !== undefined) answer(response, nth);
    else response.writeHead(204).end();
  });
  // Who calls may break it off.
  server.on('connection', (socket) => socket.on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received,
    at: (path) => received.filter((one) => one.path === path),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
