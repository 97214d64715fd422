/**
 * Input that is made to cost much: it is refused soon and in few words, over HTTP, server-sent events and WebSocket alike, whoever sends it. As each role it
 * comes in one way, by turns; with HOSTILE=long in all of them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { App } from '../../src/server/create-app.ts';
import { type Answer, createJob } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { isLong, makeTokens, notTheirs, roleNames, type Tokens } from '../support/hostile/roles.ts';
import { bearer } from '../support/keys.ts';
import { startServer } from '../support/server.ts';

let db: TestDatabase;
let app: App;
let asking: App;
let tokens: Tokens;
beforeAll(async () => {
  db = await createDatabase();
  app = await startServer(db.url);
  asking = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  const id = await createJob(app.url, { type: 'tree' });
  tokens = await makeTokens(db, asking.url, { id, type: 'tree' });
});
afterAll(async () => {
  await Promise.all([app.close(), asking.close()]);
  await db.drop();
});

/** To whom a request goes, and what it shows. */
interface Target {
  readonly url: string;
  readonly shown: Record<string, string>;
}
const open = (): Target => ({ url: app.url, shown: {} });

interface Request {
  query: string;
  variables?: string;
  operationName?: string;
}

/** The variables are JSON text, since what makes it deep would also end the stack of the test. */
const bodyOf = ({ query, variables = '{}', operationName }: Request) =>
  `{"query":${JSON.stringify(query)},"variables":${variables},"operationName":${JSON.stringify(operationName ?? null)}}`;

async function post(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  { url, shown } = open(),
) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...shown, ...headers },
    body,
  });
  return { status: response.status, text: await response.text() };
}

/** The answer to one operation on a socket that then still works. */
async function overSocket(request: Request, { url, shown }: Target): Promise<string> {
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws', { headers: shown });
  const messages: string[] = [];
  let wake = () => {};
  socket.on('message', (data) => {
    messages.push(String(data));
    wake();
  });
  const closed = new Promise<never>((_, reject) =>
    socket.on('close', (code, reason) => reject(new Error(`closed with ${code} ${reason}`))),
  );
  closed.catch(() => {});
  const next = async () => {
    while (messages.length === 0) {
      await Promise.race([
        closed,
        new Promise<void>((resolve) => {
          wake = resolve;
        }),
      ]);
    }
    return messages.shift() as string;
  };
  await new Promise((resolve) => socket.on('open', resolve));
  socket.send('{"type":"connection_init"}');
  await next();
  socket.send(`{"id":"1","type":"subscribe","payload":${bodyOf(request)}}`);
  const answer = await next();
  if (answer.includes('"type":"next"')) await next();
  socket.send('{"id":"2","type":"subscribe","payload":{"query":"{ __typename }"}}');
  expect(await next()).toContain('Query');
  socket.removeAllListeners('close');
  socket.close();
  return answer;
}

const ways: [string, (request: Request, target: Target) => Promise<string>][] = [
  ['HTTP', async (request, target) => (await post(bodyOf(request), {}, target)).text],
  [
    'Yoga',
    async (request, target) =>
      (await post(bodyOf(request), { 'content-type': 'application/json;charset=utf-8' }, target)).text,
  ],
  [
    'SSE',
    async (request, target) => (await post(bodyOf(request), { accept: 'text/event-stream' }, target)).text,
  ],
  ['WebSocket', overSocket],
];

const add = 'mutation ($input: AddItemsInput!) { addItems(input: $input) { __typename } }';
const watch = 'subscription ($types: [String!]!) { workAvailable(types: $types) { types } }';
const unknownKeys = (count: number) => Array.from({ length: count }, (_, i) => `"key${i}":1`).join(',');
const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
const limit = (name: string) => new RegExp(`"LIMIT_EXCEEDED","limit":"${name}"`);

const cases: [string, Request, RegExp][] = [
  [
    '50 unknown keys beside a text of 5.6 MB',
    {
      query: add,
      variables: `{"input":{"jobId":"x","items":[{"dedupeKey":"${'x'.repeat(5_600_000)}",${unknownKeys(50)}}]}}`,
    },
    /Field \\"key0\\" is not defined by type \\"ItemInput\\"/,
  ],
  [
    '50,000 unknown keys',
    { query: add, variables: `{"input":{"jobId":"x","items":[],${unknownKeys(50_000)}}}` },
    /Field \\"key0\\" is not defined by type \\"AddItemsInput\\"/,
  ],
  [
    'an unknown key of 20 MB',
    { query: add, variables: `{"input":{"jobId":"x","items":[],"${'k'.repeat(7_000_000)}":1}}` },
    /Field \\"kkkk/,
  ],
  [
    'unknown keys of a subscription',
    { query: watch, variables: `{"types":{${unknownKeys(50_000)}}}` },
    /invalid value/,
  ],
  [
    'a thousand wrong entries',
    {
      query: watch,
      variables: `{"types":[${Array.from({ length: 1_000 }, () => `{"a":"${'x'.repeat(7_000)}"}`).join(',')}]}`,
    },
    /String cannot represent/,
  ],
  [
    'a long value of a wrong type',
    {
      query: 'query ($n: Int) { jobs(first: $n) { nodes { id } } }',
      variables: `{"n":"${'x'.repeat(5_000_000)}"}`,
    },
    /Int cannot represent/,
  ],
  [
    'a million entries',
    { query: watch, variables: `{"types":[${'"x",'.repeat(1_000_000)}"x"]}` },
    limit('entries'),
  ],
  [
    'trees of 20,000 levels',
    {
      query: 'mutation ($input: JobInput!) { createJob(input: $input) { __typename } }',
      variables: `{"input":${nested('{"type":"x","children":[', ']}', 20_000)}}`,
    },
    limit('depth'),
  ],
  [
    'a list of 20,000 levels',
    { query: watch, variables: `{"types":${nested('[', ']', 20_000)}}` },
    /invalid value/,
  ],
  [
    'a payload of 100,000 levels',
    {
      query:
        'mutation ($input: AddItemsInput!) { addItems(input: $input) { ... on AddItemsPayload { entries { error { message } } } ... on UserError { message } } }',
      variables: `{"input":{"jobId":"Job:00000000-0000-7000-8000-000000000000","items":[{"payload":${nested('[', ']', 100_000)}}]}}`,
    },
    /more than 256 levels deep|There is no job/,
  ],
  ['a field name of 7 MB', { query: `{ ${'f'.repeat(7_000_000)} }` }, limit('length')],
  ['a field name of 200 kB', { query: `{ ${'f'.repeat(200_000)} }` }, limit('names')],
  ['an alias of 300 characters', { query: `{ ${'f'.repeat(300)}: __typename }` }, limit('names')],
  [
    'a wrong value of 200 kB in the text',
    { query: `{ jobs(first: "${'x'.repeat(200_000)}") { nodes { id } } }` },
    /Int cannot represent/,
  ],
  ['an unexpected name of 200 kB', { query: `{ __typename } ${'f'.repeat(200_000)}` }, /Syntax Error/],
  [
    'a thousand unknown fields',
    { query: `{ ${Array.from({ length: 1_000 }, (_, i) => `unknown${i}`).join(' ')} }` },
    /Cannot query field/,
  ],
  [
    'the name of an operation of 5 MB',
    { query: '{ __typename }', operationName: 'o'.repeat(5_000_000) },
    /operation/,
  ],
  [
    'a key of 5 MB in a feed',
    {
      query:
        'mutation ($input: JobInput!) { createJob(input: $input) { ... on UserError { message field } } }',
      variables: `{"input":{"type":"x","children":[{"type":"y","feed":{"payload":{"${'k'.repeat(5_000_000)}":"x"}}}]}}`,
    },
    /must be a path|kkk/,
  ],
];

/** These took up to 46 s, of which all was one turn of the event loop. */
const longestMs = 20_000;

describe.each(ways)('over %s', (_, send) => {
  it.each(cases)('refuses %s', async (_, request, expected) => {
    const startedAt = performance.now();
    const answer = await send(request, open());
    expect(answer.length).toBeLessThan(20_000);
    expect(answer).toMatch(expected);
    expect(answer).not.toContain('INTERNAL');
    expect(performance.now() - startedAt).toBeLessThan(longestMs);
  });
});

describe.each(roleNames)('from: %s', (role) => {
  const turns = cases.flatMap(([what, request, expected], turn) =>
    ways.flatMap(([way, send], i) => {
      const isItsTurn = turn % roleNames.length === roleNames.indexOf(role);
      const isItsWay = (turn + Math.floor(turn / roleNames.length)) % ways.length === i;
      return isLong || (isItsTurn && isItsWay) ? [[what, way, send, request, expected] as const] : [];
    }),
  );

  it.each(turns)('refuses %s over %s', async (_, __, send, request, expected) => {
    const token = tokens[role];
    const startedAt = performance.now();
    const sent = send(request, { url: asking.url, shown: token === undefined ? {} : bearer(token) });
    if (token === undefined) {
      // Nothing of its body is read, so it may be cut off before it has read why.
      const answer = await sent.catch((error: Error) => error.message);
      expect(answer).toMatch(/"UNAUTHENTICATED"|fetch failed|closed with 4403/);
    } else {
      const answer = await sent;
      expect(answer.length).toBeLessThan(20_000);
      expect(answer).toSatisfy(
        (text: string) => expected.test(text) || (role !== 'admin' && notTheirs.test(text)),
      );
      expect(answer).not.toContain('INTERNAL');
    }
    expect(performance.now() - startedAt).toBeLessThan(longestMs);
  });
});

describe('an unreadable body', () => {
  const yoga = { 'content-type': 'application/json;charset=utf-8' };

  it('is 400 and not repeated', async () => {
    for (const headers of [{}, yoga, { accept: 'text/event-stream' }]) {
      const { status, text } = await post('{"query": secret }', headers);
      expect([status, text]).toEqual([400, expect.stringContaining('"BAD_REQUEST"')]);
      expect(text).not.toContain('secret');
    }
  });

  it('is 400 if it is not UTF-8', async () => {
    const body = Uint8Array.from(
      Buffer.concat([
        Buffer.from('{"query":"{ __typename } # '),
        Buffer.from([0xff, 0xc0]),
        Buffer.from('"}'),
      ]),
    );
    for (const headers of [yoga, { accept: 'text/event-stream' }]) {
      expect((await post(body, headers)).status).toBe(400);
    }
  });

  it('is refused unread if it has too many parts', async () => {
    for (const part of ['{},', '[],', '{"a":1},']) {
      const body = `{"query":"{ __typename }","variables":{"a":[${part.repeat(2_500_000)}1]}}`;
      const { errors } = JSON.parse((await post(body.slice(0, 7_900_000), yoga)).text) as Answer;
      expect(errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit: 'parts' } }]);
    }
  });

  it('is refused unread if it is nested too deeply', async () => {
    const body = bodyOf({ query: add, variables: nested('{"a":[', ']}', 200_000) });
    expect((await post(body, yoga)).text).toMatch(limit('depth'));
  });

  it('is refused unread if it has too many different keys, in one object or many', async () => {
    const one = `{${unknownKeys(300_000)}}`;
    const many = Array.from(
      { length: 300 },
      (_, i) => `{${unknownKeys(1_000).replaceAll('key', `${i}key`)}}`,
    );
    for (const items of [one, many.join(',')]) {
      const body = bodyOf({ query: add, variables: `{"input":{"jobId":"x","items":[${items}]}}` });
      for (const headers of [{}, yoga, { accept: 'text/event-stream' }]) {
        expect((await post(body, headers)).text).toMatch(limit('keys'));
      }
    }
  });

  it('is read if it has many equal keys', async () => {
    const items = Array.from({ length: 1_000 }, () => ({
      payload: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`key${i}`, i])),
    }));
    const variables = JSON.stringify({ input: { jobId: 'Job:00000000-0000-7000-8000-000000000000', items } });
    expect((await post(bodyOf({ query: add, variables }))).text).toContain('NotFoundError');
  });

  it('as a form is executed as before, with 400 for invalid variables', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(app.url).origin };
    const query = encodeURIComponent('query ($n: Int) { jobs(first: $n) { nodes { id } } }');
    expect((await post(`query=${query}&variables=%7B%22n%22%3A1%7D`, form)).text).toContain('"nodes"');
    expect((await post(`query=${query}&variables=%7Bsecret`, form)).status).toBe(400);
  });
});
