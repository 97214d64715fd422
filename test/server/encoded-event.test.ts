/** Frames that are made past ws are what a WebSocket client reads, of every length. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { EncodedEvent } from '../../src/server/execution/encoded-event.ts';
import { writeAtEndOfTurn } from '../../src/server/limits/turn-writes.ts';

const heads = ['{"id":"1","payload":', '{"id":"ä","payload":', '{"id":"1","payload":'];
/** Around the lengths at which the header of a frame is another one, and at which text is no longer copied. */
const lengths = [
  0, 80, 90, 100, 4_080, 4_100, 65_480, 65_490, 65_500, 65_510, 65_520, 65_536, 200_000, 1_100_000,
];

it.each([false, true])('events of all lengths, at the end of the turn: %s', async (atEnd) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const events = lengths.map((length) => new EncodedEvent({ data: { text: 'é'.padEnd(length, 'x') } }));
  server.on('connection', (socket, request) => {
    for (const event of events) {
      for (const head of heads) {
        if (atEnd) writeAtEndOfTurn(request.socket);
        const written = event.writeFrame(request.socket, Buffer.from(head));
        expect(written).toBe(Buffer.byteLength(`${head}${event.result.stringify()}}`));
      }
    }
    socket.close();
  });
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const received: string[] = [];
  client.on('message', (data) => received.push(String(data)));
  await once(client, 'close');
  const texts = events.map(({ result }) => result.stringify());
  expect(texts).toEqual(lengths.map((length) => `{"data":{"text":"${'é'.padEnd(length, 'x')}"}}`));
  expect(received).toEqual(texts.flatMap((text) => heads.map((head) => `${head}${text}}`)));
});
