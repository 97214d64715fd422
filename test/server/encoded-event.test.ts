/** Frames that are made past ws are what a WebSocket client reads, and chunks past Node what an HTTP client reads, of every length. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { JsonText } from '../../src/domain/values/json-text.ts';
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

it('streams of events of all lengths, as chunks and for clients of HTTP/1.0', async () => {
  const events = lengths.map((length) => new EncodedEvent({ data: { text: 'é'.padEnd(length, 'x') } }));
  const server = createServer((_request, response) => {
    response.writeHead(200).write(':\n\n');
    for (const event of events) event.writeToStream(response);
    response.end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const expected = events.map(({ result }) => `event: next\ndata: ${result.stringify()}\n\n`);
  const body = `:\n\n${expected.join('')}`;
  const chunked = await fetch(`http://127.0.0.1:${port}`);
  expect(chunked.headers.get('transfer-encoding')).toBe('chunked');
  expect(await chunked.text()).toBe(body);
  const old = connect(port, '127.0.0.1');
  old.write('GET / HTTP/1.0\r\n\r\n');
  const [, unchunked] = (await text(old)).split('\r\n\r\n');
  expect(unchunked).toBe(body);
});

it.each([10, 1_100_000])('JSON of %i bytes with line breaks is one line of a stream', async (length) => {
  const json = `[\r\n1,\n"${'x'.repeat(length)}"]`;
  const server = createServer((_request, response) => {
    response.writeHead(200).write(':\n\n');
    new EncodedEvent({ data: { payload: new JsonText(json) } }).writeToStream(response);
    response.end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const lines = (await answer.text()).split(/\r\n|\r|\n/);
  expect(lines).toHaveLength(6);
  expect(JSON.parse(lines[3]?.slice('data: '.length) ?? '')).toEqual({ data: { payload: JSON.parse(json) } });
});
