/** Connections that come faster than they are taken wait in the system, which otherwise drops them: their clients try again a second later. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { useServer } from '../support/use-server.ts';

const { app } = useServer();

const count = 1_500;
const retryMs = 1_000;

/** How often a connection was dropped, on the whole machine. */
async function drops(): Promise<number> {
  const lines = (await readFile('/proc/net/netstat', 'utf8')).split('\n');
  const [names = [], values = []] = lines
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('ListenOverflows')]);
}

it.runIf(process.platform === 'linux')(`${count} connections at once are all accepted`, async () => {
  const { hostname, port } = new URL(app.url);
  const before = await drops();
  const startedAt = performance.now();
  // All in one turn of the event loop, in which the server takes none.
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const tookMs = performance.now() - startedAt;
  const dropped = (await drops()) - before;
  await Promise.all(
    sockets.map((socket) => {
      const closed = once(socket, 'close');
      socket.destroy();
      return closed;
    }),
  );
  // Where it took long nothing may have been dropped, and what was dropped was not here if it took no time.
  expect(tookMs < retryMs || dropped === 0, `${dropped} dropped, ${tookMs} ms`).toBe(true);
});
