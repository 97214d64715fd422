/** Peers that do not read are cut, slow ones are not; over real connections. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { Stalls } from '../../src/server/limits/stalls.ts';
import { TokenBucket } from '../../src/server/limits/token-bucket.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Both ends of a connection. */
async function pair(): Promise<{ ours: Socket; theirs: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const theirs = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [ours] = (await once(server, 'connection')) as [Socket];
  theirs.on('error', () => {});
  ours.on('error', () => {});
  closers.push(() => {
    server.close();
    ours.destroy();
    theirs.destroy();
  });
  return { ours, theirs };
}

const chunk = Buffer.alloc(1_000_000);

it('a connection that stalls with something to send is ended', async () => {
  const stalls = new Stalls({ afterMs: 150 });
  closers.push(() => stalls.close());
  const { ours, theirs } = await pair();
  theirs.pause();
  stalls.watch(ours);
  for (let i = 0; i < 20; i++) ours.write(chunk);
  await once(ours, 'close');
});

it('a connection with nothing to send, and one that moves, stay', async () => {
  const stalls = new Stalls({ afterMs: 1_000 });
  closers.push(() => stalls.close());
  const quiet = await pair();
  quiet.theirs.pause();
  stalls.watch(quiet.ours);
  const slow = await pair();
  stalls.watch(slow.ours);
  for (let i = 0; i < 20; i++) slow.ours.write(chunk);
  slow.ours.end();
  let read = 0;
  slow.theirs.on('data', (data) => {
    read += data.length;
    slow.theirs.pause();
    setTimeout(() => slow.theirs.resume(), 5);
  });
  await once(slow.theirs, 'end');
  expect(read).toBe(20 * chunk.length);
  expect(quiet.ours.destroyed).toBe(false);
});

it('a rate limit passes a second of messages at once, and then requires pauses', () => {
  const pace = new TokenBucket(10);
  for (let i = 0; i < 10; i++) {
    expect(pace.restMs()).toBe(0);
    pace.take();
  }
  for (let i = 0; i < 20; i++) pace.take();
  expect(pace.restMs()).toBeGreaterThan(1_000);
  expect(pace.restMs()).toBeLessThanOrEqual(2_000);
});
