/** What Node and the system need to write small messages to many connections: a lower bound for any server that notifies its watchers. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startService } from './child.ts';
import type { ReaderMethods } from './children/reader.ts';
import type { ReaderTask } from './task.ts';

/** The size of an event of the measure, with its frame. */
const bytes = 340;
const rounds = 100;
const everyMs = 20;

/** CPU time of one write in microseconds, measured after a warm-up of as many writes to each connection. */
export async function bareWriteCpu(connections: number): Promise<number> {
  const sockets: Socket[] = [];
  const server = createServer({ noDelay: true }, (socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const reader = await startService<ReaderMethods>('reader', { port, connections } satisfies ReaderTask);
  const message = Buffer.alloc(bytes, 'x');
  const course = async () => {
    const before = process.cpuUsage();
    for (let round = 0; round < rounds; round++) {
      for (const socket of sockets) socket.write(message);
      await delay(everyMs);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (rounds * sockets.length);
  };
  await course();
  const perWrite = await course();
  for (const socket of sockets) socket.destroy();
  server.close();
  await reader.stop();
  return perWrite;
}
