import { createServer } from 'node:net';

/**
 * Below those that systems give to whoever asks for any, outgoing connections too: between this look and the moment when a slow
 * program takes its port, nobody is given it.
 */
const lowest = 20_000;
const highest = 32_000;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
