/** A client may send requests before earlier ones are answered (pipelining), and leave before any of them is. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { createJob, data, request } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';

const { app } = useServer({
  JOBTREE_MAX_REQUESTS: '20',
  JOBTREE_CALLER_CONNECTIONS: '10',
});

const head = 'Host: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n';

/** Sends an event stream, which never ends, and the others behind it, and leaves once the stream has begun. */
async function leaveBehind(stream: string, others: string): Promise<void> {
  const { hostname, port } = new URL(app.url);
  const client = connect(Number(port), hostname);
  await once(client, 'connect');
  client.write(`GET /graphql?query=${stream} HTTP/1.1\r\n${head}${others}`);
  await once(client, 'data');
  // A round trip, in which the server has read what came behind.
  await data(app.url, '{ __typename }');
  client.destroy();
  await once(client, 'close');
}

it('requests that wait behind another one stop counting once their client has left', async () => {
  const id = await createJob(app.url, { type: 'pipelined', items: [{}] });
  const stream = encodeURIComponent(`subscription { jobProgress(jobId: "${id}") { revision } }`);
  const body = JSON.stringify({ query: '{ __typename }' });
  const post = `POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  for (let i = 0; i < 5; i++) await leaveBehind(stream, post.repeat(5));
  await eventually(async () => {
    expect(await request(app.url, '{ __typename }')).toEqual({ data: { __typename: 'Query' } });
  });
});

it('requests in one packet are all answered, a few at a time, in order', async () => {
  const { hostname, port } = new URL(app.url);
  const client = connect(Number(port), hostname);
  const posts = Array.from({ length: 50 }, (_, i) => {
    const body = JSON.stringify({ query: `{ a${i}: __typename }` });
    return `POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  });
  client.write(posts.join(''));
  let text = '';
  for await (const chunk of client) {
    text += String(chunk);
    if (text.includes('"a49"')) break;
  }
  expect(text.match(/HTTP\/1.1 200/g)).toHaveLength(50);
  expect([...text.matchAll(/"a(\d+)"/g)].map(([, i]) => Number(i))).toEqual(posts.map((_, i) => i));
});

it('a connection with more requests that wait is ended, and those of others are answered', async () => {
  const { hostname, port } = new URL(app.url);
  const client = connect(Number(port), hostname).on('error', () => {});
  const get = 'GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  client.write(get.repeat(51));
  client.resume();
  await once(client, 'close');
  expect(await request(app.url, '{ __typename }')).toEqual({ data: { __typename: 'Query' } });
});

it('event streams that wait behind another one stop counting once their client has left', async () => {
  const id = await createJob(app.url, { type: 'pipelined', items: [{}] });
  const stream = encodeURIComponent(`subscription { jobProgress(jobId: "${id}") { revision } }`);
  const another = `GET /graphql?query=${stream} HTTP/1.1\r\n${head}`;
  for (let i = 0; i < 5; i++) await leaveBehind(stream, another.repeat(2));
  await eventually(async () => {
    const leave = new AbortController();
    const response = await fetch(`${app.url}?query=${stream}`, {
      headers: { accept: 'text/event-stream' },
      signal: leave.signal,
    });
    leave.abort();
    expect(response.status).toBe(200);
  });
});
