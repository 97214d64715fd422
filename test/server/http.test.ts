/** The service as an HTTP server: conformance, GraphiQL, health, and its way down. */
import { subscribe as subscribeTo, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { auditServer } from 'graphql-http';
import { createClient } from 'graphql-ws';
import { describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { createClient as createJobtreeClient } from '../../src/client/index.ts';
import { type Answer, createJob, data, subscribe } from '../support/api.ts';
import { lockWaiters } from '../support/locks.ts';
import { openRaw } from '../support/raw-socket.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app, client } = useServer();

const at = (path: string, base = app.url) => new URL(path, base).href;

it('passes every audit of GraphQL over HTTP', async () => {
  const results = await auditServer({ url: app.url, fetchFn: fetch });
  expect(results.length).toBeGreaterThan(50);
  const failed = results.filter(({ status }) => status === 'error').map(({ id, name }) => `${id} ${name}`);
  const warned = results.filter(({ status }) => status === 'warn').map(({ id, name }) => `${id} ${name}`);
  console.log(
    `graphql-http audits: ${results.length}, errors ${failed.length}, warnings ${warned.length} ${warned.join('; ')}`,
  );
  expect(failed).toEqual([]);
  expect(warned).toEqual([]);
});

describe('a body in chunks of one byte', () => {
  async function send(body: string): Promise<string> {
    const { hostname, port, pathname } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    const head = `POST ${pathname} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked`;
    const chunks = [...body].map((byte) => `1\r\n${byte}\r\n`);
    socket.write(`${head}\r\n\r\n${chunks.join('')}0\r\n\r\n`);
    let answer = '';
    for await (const text of socket.setEncoding('utf8')) answer += text;
    return answer;
  }
  const query = '{"query":"{ __typename }"}';

  it('is read if they are few', async () => {
    expect(await send(query.padEnd(1_000))).toContain('{"data":{"__typename":"Query"}}');
  });

  it('is refused if they are many', async () => {
    const answer = await send(query.padEnd(1_500));
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('more than 1,000 chunks of less than 16 bytes');
  });

  it('that was refused leaves nothing behind for bodies of other connections', async () => {
    const both = () => Promise.all([send(query.padEnd(5_000)), send(query.padEnd(900))]);
    const answers = await Promise.all(Array.from({ length: 50 }, both));
    for (const [refused, read] of answers) {
      expect(refused).toMatch(/^HTTP\/1.1 400 /);
      expect(read).toContain('{"data":{"__typename":"Query"}}');
    }
  });
});

describe('a POST of JSON', () => {
  const send = async (body: string, headers: Record<string, string>) => {
    const response = await fetch(app.url, { method: 'POST', headers, body });
    // A fault's id is another one each time.
    const text = (await response.text()).replace(/"errorId":"[^"]+"/, '"errorId":"…"');
    return { status: response.status, type: response.headers.get('content-type'), text };
  };
  const requests = {
    'a query': { query: '{ jobs { nodes { id } } }' },
    'variables that are null': { query: '{ __typename }', variables: null, operationName: null },
    'one of several operations': {
      query: 'query A { a: __typename } query B { b: __typename }',
      operationName: 'B',
    },
    'none of several operations': { query: 'query A { a: __typename } query B { b: __typename }' },
    'an unknown operation': { query: 'query A { __typename }', operationName: 'B' },
    'a syntax error': { query: '{' },
    'an unknown field': { query: '{ nothing }' },
    'a variable of the wrong type': {
      query: 'query ($first: Int) { jobs(first: $first) { nodes { id } } }',
      variables: { first: 'x' },
    },
    'a refusal': { query: '{ node(id: "Job:x") { id } }' },
    'a refusal of the whole': { query: 'mutation { sealJob(input: { jobId: "Job:x" }) { __typename } }' },
    'a page that is too large': { query: '{ jobs(first: 5000) { nodes { id } } }' },
    'no query': { variables: {} },
    'a query that is no text': { query: 1 },
    'variables that are a list': { query: '{ __typename }', variables: [] },
    'an unknown member': { query: '{ __typename }', id: 'x' },
    extensions: { query: '{ __typename }', extensions: {} },
    'several requests': [{ query: '{ __typename }' }],
    null: null,
    'a subscription': { query: 'subscription { jobProgress(jobId: "Job:x") { status } }' },
  };
  const bodies: [string, string][] = [
    ...Object.entries(requests).map(([name, body]): [string, string] => [name, JSON.stringify(body)]),
    ['broken JSON', '{"query":'],
    ['nothing', ''],
  ];

  it.each(bodies)('with %s is answered as Yoga answers it', async (_, body) => {
    for (const accept of [
      '*/*',
      'application/json',
      'application/graphql-response+json',
      'application/graphql-response+json, application/json',
      'text/html',
    ]) {
      const ours = await send(body, { accept, 'content-type': 'application/json' });
      // In another spelling the type of the body is out of the ordinary.
      const yogas = await send(body, { accept, 'content-type': 'application/json;charset=UTF-8' });
      expect({ accept, ...ours }).toEqual({ accept, ...yogas });
    }
  });

  it('whose client leaves before the answer is executed and harms nobody', async () => {
    const job = await createJob(app.url, { type: 'left' });
    const holder = await db.connect();
    await holder.query('begin');
    await holder.query('select from jobtree.job where id = $1 for update', [job.slice(4)]);
    const leaving = new AbortController();
    const sealing = fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: `mutation { sealJob(input: { jobId: "${job}" }) { __typename } }` }),
      signal: leaving.signal,
    });
    await lockWaiters(db, 1);
    leaving.abort();
    await expect(sealing).rejects.toThrow();
    await holder.query('commit');
    await holder.end();
    // Waits for the row, and so for the one that was there before.
    const { sealJob } = await data(
      app.url,
      `mutation { sealJob(input: { jobId: "${job}" }) { ... on SealJobPayload { job { sealedAt } } } }`,
    );
    expect(sealJob.job.sealedAt).not.toBeNull();
  });

  it('that breaks off in its body harms nobody', async () => {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    const [started] = await Promise.all([
      nextRequest(),
      once(socket, 'connect').then(() =>
        socket.write(
          'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"query":',
        ),
      ),
    ]);
    const closed = new Promise((resolve) => started.on('close', resolve));
    socket.destroy();
    await closed;
    expect(await data(app.url, '{ __typename }')).toBeDefined();
  });
});

it('shows payloads as stored, with all digits, also beside an error', async () => {
  const digits = '12345678901234567890.123456789';
  const [row] = await db.query<{ job_id: string }>('select job_id from jobtree.create_job($1)', [
    `{"type": "digits", "items": [{"payload": {"number": ${digits}}}]}`,
  ]);
  const page = `job(id: "Job:${row?.job_id}") { items { nodes { payload } } }`;
  const unknown = 'unknown: job(id: "Job:01890000-0000-7000-8000-000000000000") { id }';
  const [item] = (await client.items(`Job:${row?.job_id}`)).nodes;
  const single = `item(id: "${item?.id}") { payload }`;
  for (const query of [`{ ${page} }`, `{ ${page} ${unknown} }`, `{ ${single} }`]) {
    const body = JSON.stringify({ query });
    const post = (headers: Record<string, string>) => fetch(app.url, { method: 'POST', body, headers });
    for (const response of [
      await post({ 'content-type': 'application/json' }),
      await post({ 'content-type': 'application/json;charset=UTF-8' }),
      await post({ 'content-type': 'application/json', accept: 'text/event-stream' }),
      await fetch(`${app.url}?query=${encodeURIComponent(query)}`),
    ]) {
      expect(await response.text()).toContain(`{"number": ${digits}}`);
    }
  }
});

it('refuses a body of more numbers than it has time for, and takes as many as a large batch has', async () => {
  const send = async (number: string, count: number) => {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"query": "{ __typename }", "variables": {"n": [${Array(count).fill(number).join(',')}]}}`,
    });
    return { status: response.status, answer: (await response.json()) as Answer };
  };
  for (const [number, count, limit] of [
    ['9007199254740993', 11_000, 'numbers'],
    ['1e-300', 510_000, 'numbers'],
    ['7', 1_600_000, 'entries'],
  ] as const)
    expect(await send(number, count)).toMatchObject({
      status: 400,
      answer: { errors: [{ extensions: { code: 'LIMIT_EXCEEDED', limit } }] },
    });
  for (const [number, count] of [
    ['0.14285714285714285', 250_000],
    ['9007199254740993', 9_900],
    ['7', 1_400_000],
  ] as const)
    expect(await send(number, count)).toMatchObject({
      status: 200,
      answer: { data: { __typename: 'Query' } },
    });
});

it('takes payloads as they are sent, with all digits, whatever they are sent in', async () => {
  const digits = '12345678901234567890.123456789';
  await data(
    app.url,
    `mutation ($schema: JSON) {
      putTypeSchema(input: { type: "exact", version: 1, payload: $schema }) { __typename }
    }`,
    { schema: { type: 'object', properties: { n: { type: 'number', minimum: 1 } } } },
  );
  const add = 'mutation ($input: AddItemsInput!) { addItems(input: $input) { __typename } }';
  const id = await createJob(app.url, { type: 'exact' });
  const post = async (query: string, variables: string) => {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"query": ${JSON.stringify(query)}, "variables": ${variables}}`,
    });
    const text = await response.text();
    expect(text).not.toContain('GRAPHQL_VALIDATION_FAILED');
    return text;
  };
  const stored = () =>
    db.query('select payload::text from jobtree.job_item where job_id = $1', [id.slice(4)]);
  await post(
    add,
    `{"input": {"jobId": "${id}", "items": [{"payload": {"n": ${digits}, "s": "${digits}"}}]}}`,
  );
  expect(await stored()).toEqual([{ payload: `{"n":${digits},"s":"${digits}"}` }]);
  const [item] = (await client.items(id)).nodes;
  const change = (payload: string) =>
    `mutation ${payload.startsWith('$') ? '($payload: JSON) ' : ''}{ updateItem(input: { itemId: "${item?.id}", payload: ${payload} }) { __typename } }`;
  await post(change(`{ n: -${digits} }`), '{}');
  // Its value counts in the schema.
  expect(await stored()).toEqual([{ payload: `{"n":${digits},"s":"${digits}"}` }]);
  await post(change(`{ n: ${digits}, m: 9007199254740993 }`), '{}');
  expect(await stored()).toEqual([{ payload: `{"n":${digits},"m":9007199254740993}` }]);
  await post(change('$payload'), `{"payload": [9007199254740993]}`);
  expect(await stored()).toEqual([{ payload: `{"n":${digits},"m":9007199254740993}` }]);
  await post(change('$payload'), `{"payload": {"n": 9007199254740995}}`);
  expect(await stored()).toEqual([{ payload: '{"n":9007199254740995}' }]);
  const { socket, until } = await openRaw(app.url);
  for (const space of ['', ' '.repeat(1_100_000)]) {
    const number = space === '' ? '9007199254740993' : '9007199254740997';
    const query = JSON.stringify(change('$payload'));
    socket.send(
      `{"type": "subscribe", "id": "${number}", "payload": {"query": ${query}, "variables": {"payload": {"n": ${space}${number}}}}}`,
    );
    await until(({ type, id }) => type === 'complete' && id === number);
    expect(await stored()).toEqual([{ payload: `{"n":${number}}` }]);
  }
  socket.terminate();
  // Elsewhere it is a number that is too large.
  expect(
    await post('query ($first: Int!) { jobs(first: $first) { nodes { id } } }', `{"first": ${digits}}`),
  ).toContain('INVALID_INPUT');
});

/** The next request that reaches a server of this process. */
function nextRequest(): Promise<IncomingMessage> {
  return new Promise((resolve) => {
    const receive = (message: unknown) => {
      unsubscribe('http.server.request.start', receive);
      resolve((message as { request: IncomingMessage }).request);
    };
    subscribeTo('http.server.request.start', receive);
  });
}

it('serves GraphiQL to browsers without external files, and its example operations are valid', async () => {
  const page = await (await fetch(app.url, { headers: { accept: 'text/html' } })).text();
  expect(page).toContain('jobtree');
  expect(page).not.toMatch(/(src|href)="https?:/);
  const { exampleTabs } = await import('../../src/server/http/graphiql.ts');
  const { schema } = await import('../../src/schema/index.ts');
  const { parse, validate } = await import('graphql');
  for (const { query } of exampleTabs) expect(validate(schema, parse(query))).toEqual([]);
  expect((await fetch(at('/'), { redirect: 'manual' })).headers.get('location')).toBe('dashboard/');
});

it('refuses too large a request, and continues', async () => {
  const small = await startServer(db.url, { JOBTREE_MAX_REQUEST_BYTES: '20000' });
  const body = JSON.stringify({ query: '{ jobs { nodes { id } } }', variables: { x: 'x'.repeat(30_000) } });
  // The second one has no length: it comes in chunks.
  for (const sent of [body, new Blob([body]).stream()]) {
    const response = await fetch(small.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: sent,
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
    expect((await response.json()).errors).toEqual([
      {
        message:
          'The request has more than 20,000 bytes, which is the limit (JOBTREE_MAX_REQUEST_BYTES). Split it into several.',
        extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes', maximum: 20_000 },
      },
    ]);
  }
  const producer = createJobtreeClient({ url: small.url });
  await expect(
    producer.createJob({ type: 'large', items: [{ payload: 'x'.repeat(30_000) }] }),
  ).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED', outcome: 'NOTHING_DONE' });
  await producer.close();
  const printed = vi.spyOn(console, 'error');
  const client = createClient({
    url: small.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  });
  await expect(
    client.iterate({ query: `{ jobs { nodes { id } } } # ${'x'.repeat(30_000)}` }).next(),
  ).rejects.toMatchObject({ code: 1009 });
  await client.dispose();
  expect(await data(small.url, '{ jobs { nodes { id } } }')).toBeDefined();
  await small.close();
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
});

describe('web pages', () => {
  const post = (url: string, origin: string) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: '{"query": "{ __typename }"}',
    });
  const open = async (url: string, origin: string) => {
    const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws', { origin });
    const opened = await new Promise<boolean>((resolve) => {
      socket.on('open', () => resolve(true));
      socket.on('error', () => resolve(false));
    });
    socket.terminate();
    return opened;
  };

  it('of other origins are refused, over HTTP and WebSocket, and its own are served', async () => {
    for (const origin of [
      'http://evil.example',
      'null',
      'http://127.0.0.1:1',
      `http://rebound.example:${new URL(app.url).port}`,
    ]) {
      expect((await post(app.url, origin)).status).toBe(403);
      expect(await open(app.url, origin)).toBe(false);
    }
    const own = new URL(app.url).origin;
    expect((await post(app.url, own)).status).toBe(200);
    expect(await open(app.url, own)).toBe(true);
  });

  it('of listed origins are served, with the headers that browsers require', async () => {
    const server = await startServer(db.url, {
      JOBTREE_ALLOWED_ORIGINS: 'https://a.example,https://b.example',
    });
    const response = await post(server.url, 'https://b.example');
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([
      200,
      'https://b.example',
    ]);
    expect(await open(server.url, 'https://a.example')).toBe(true);
    expect((await post(server.url, 'https://c.example')).status).toBe(403);
    await server.close();
  });
});

describe('health', () => {
  it('is alive, and ready while the database answers', async () => {
    expect((await fetch(at('/healthz'))).status).toBe(200);
    expect((await fetch(at('/readyz'))).status).toBe(200);
  });
});

describe('shutdown', () => {
  it('finishes a request in flight, closes subscriptions, and accepts no more', async () => {
    const server = await startServer(db.url);
    const job = await createJob(server.url, { type: 'shutdown' });
    const watch = subscribe(server.url, `subscription { jobProgress(jobId: "${job}") { status } }`);
    const events = watch[Symbol.asyncIterator]();
    await events.next();

    const holder = await db.connect();
    await holder.query('begin');
    await holder.query('select from jobtree.job where id = $1 for update', [job.slice(4)]);
    const sealing = data(server.url, `mutation { sealJob(input: { jobId: "${job}" }) { __typename } }`);
    await lockWaiters(db, 1);
    const closed = server.close();
    await expect(fetch(at('/healthz', server.url))).rejects.toThrow();
    await holder.query('commit');
    await holder.end();
    expect((await sealing).sealJob.__typename).toBe('SealJobPayload');
    await closed;
    await watch.close().catch(() => undefined);
    const [row] = await db.query('select sealed_at from jobtree.job where id = $1', [job.slice(4)]);
    expect(row?.sealed_at).toBeInstanceOf(Date);
  });

  it('refuses new requests on an open connection, and answers earlier ones', async () => {
    const server = await startServer(db.url);
    const job = await createJob(server.url, { type: 'pipelined' });
    const holder = await db.connect();
    await holder.query('begin');
    await holder.query('select from jobtree.job where id = $1 for update', [job.slice(4)]);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const ended = once(socket, 'close');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    const post = (query: string) => {
      const body = JSON.stringify({ query });
      socket.write(
        `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    };
    post(`mutation { sealJob(input: { jobId: "${job}" }) { __typename } }`);
    await lockWaiters(db, 1);
    const closed = server.close();
    const second = nextRequest();
    post('{ __typename }');
    await second;
    await holder.query('commit');
    await holder.end();
    await Promise.all([ended, closed]);
    expect(received.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503']);
    expect(received).toContain('SealJobPayload');
  });

  it('waits for a stuck request only for a limited time', async () => {
    const server = await startServer(db.url, { JOBTREE_SHUTDOWN_TIMEOUT_MS: '50' });
    const job = await createJob(server.url, { type: 'stuck' });
    const holder = await db.connect();
    await holder.query('begin');
    await holder.query('select from jobtree.job where id = $1 for update', [job.slice(4)]);
    const sealing = fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: `mutation { sealJob(input: { jobId: "${job}" }) { __typename } }` }),
    });
    const cut = expect(sealing).rejects.toThrow();
    await lockWaiters(db, 1);
    const closed = server.close();
    await cut;
    await holder.query('rollback');
    await holder.end();
    await closed;
  });
});

describe('the type of a body', () => {
  const post = async (type: string, accept = 'application/json') => {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': type, accept },
      body: '{"query":"{ __typename }"}',
    });
    return [response.status, await response.text()];
  };
  const answer = '{"data":{"__typename":"Query"}}';

  it.each(['APPLICATION/JSON', 'Application/Json; Charset=UTF-8', 'application/json;charset="utf-8"'])(
    'is read whatever its case: %s',
    async (type) => {
      expect(await post(type)).toEqual([200, answer]);
      expect(await post(type, 'application/json;q=0.9, */*')).toEqual([200, answer]);
    },
  );

  it.each(['application/json; charset=utf-16', 'application/json;charset=ISO-8859-1'])(
    'is refused with the reason: %s',
    async (type) => {
      expect(await post(type)).toEqual([415, expect.stringContaining('Bodies must be UTF-8')]);
    },
  );
});
