/** Readers of event streams, at the end of their connection. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { EncodedEvent } from '../../src/server/execution/encoded-event.ts';
import { StreamReader } from '../../src/server/http/stream-reader.ts';

it('a stream that was ended with the right of its caller is told nothing more while the rest is read', async () => {
  const errors: unknown[] = [];
  const server = createServer((_, response) => {
    response.on('error', (error) => errors.push(error));
    response.writeHead(200);
    server.emit('asked', response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const asked = once(server, 'asked') as Promise<[ServerResponse]>;
  const { port } = server.address() as AddressInfo;
  const answer = fetch(`http://127.0.0.1:${port}`).then((response) => response.text());
  const [response] = await asked;
  const reader = new StreamReader(response);
  reader.open();
  const left: unknown[] = [];
  reader.join({ left: (reader) => left.push(reader), isReady: () => undefined });
  void reader.return();
  // So nothing more is written to it.
  expect(left).toEqual([reader]);
  response.end('event: next\ndata: {"errors":[]}\n\n');
  // What waits for it may end meanwhile.
  reader.end();
  expect(left).toEqual([reader]);
  expect(await answer).toBe(':\n\nevent: next\ndata: {"errors":[]}\n\n');
  const late = new StreamReader(response);
  late.tell(new EncodedEvent({ data: {} }));
  late.open();
  late.end();
  expect(errors).toEqual([]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
