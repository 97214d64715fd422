/** What the subscriptions of a client may cost together: on a connection, and from its address. */
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let app: App;
beforeAll(async () => {
  // A connection may have a quarter.
  app = await startServer(db.url, { JOBTREE_CALLER_SUBSCRIPTION_COST: '40000' });
});
afterAll(async () => {
  await app.close();
});

const refused = 'TOO_MANY_OPERATIONS';
/** Costs 4,001. */
const hints = {
  query: 'subscription ($types: [String!]!) { workAvailable(types: $types) { types } }',
  variables: { types: Array.from({ length: 400 }, (_, i) => `type-${i}`) },
};
/** Costs 3,001 and more: three values of each row. */
const page = { query: 'subscription { jobs(first: 1000) { jobs { id type depth } } }', variables: {} };

interface Open {
  /** The code of the error, or nothing once there was an event. */
  readonly code: unknown;
  end(): void;
}

function connect() {
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
  });
  onTestFinished(() => client.dispose());
  const open = (request: typeof hints | typeof page) =>
    new Promise<Open & { ended: Promise<void> }>((resolve, reject) => {
      let onEnd = () => {};
      const ended = new Promise<void>((done) => {
        onEnd = done;
      });
      const end = client.subscribe(request, {
        next: ({ errors }) => resolve({ code: errors?.[0]?.extensions?.code, end, ended }),
        error: (errors) =>
          Array.isArray(errors)
            ? resolve({ code: errors[0]?.extensions?.code, end: () => {}, ended })
            : reject(errors),
        complete: onEnd,
      });
    });
  return { client, open };
}

async function openSse(request: typeof hints | typeof page): Promise<Open> {
  const abort = new AbortController();
  const response = await fetch(app.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(request),
    signal: abort.signal,
  });
  const reader = response.body?.getReader();
  let text = '';
  while (reader !== undefined && !text.includes('event: next')) {
    const { value, done } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  return { code: text.includes(refused) ? refused : undefined, end: () => abort.abort() };
}

it.each([
  ['hints for many types', hints],
  ['large pages', page],
])('refuses what exceeds the limit of a connection until something has ended: %s', async (_, request) => {
  const { open } = connect();
  const first = await open(request);
  const others = [await open(request)];
  while (others.at(-1)?.code === undefined && others.length < 10) others.push(await open(request));
  expect([first.code, others.at(-1)?.code]).toEqual([undefined, refused]);
  expect(others.length).toBeLessThan(5);
  first.end();
  await expect.poll(async () => (await open(request)).code).toBeUndefined();
});

it('refuses what exceeds the limit of an address, and forgets closed connections', async () => {
  // Five times, so that anything kept would show.
  for (let round = 0; round < 5; round++) {
    const clients = [];
    const streams: Open[] = [];
    let code: unknown;
    while (code === undefined && clients.length < 10) {
      const { client, open } = connect();
      clients.push(client);
      code = (await open(hints)).code ?? (await open(hints)).code;
      if (code !== undefined) break;
      const stream = await openSse(hints);
      streams.push(stream);
      code = stream.code;
    }
    expect(code).toBe(refused);
    for (const { end } of streams) end();
    await Promise.all(clients.map((client) => client.dispose()));
    await expect
      .poll(async () => {
        const stream = await openSse(hints);
        stream.end();
        return stream.code;
      })
      .toBeUndefined();
  }
});
