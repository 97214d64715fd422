/** The attacks. Each says in its title what it does, and throws if the server takes what it must refuse. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RawSocket } from '../raw-socket.ts';
import { type Attacker, bodyOf, type Operation } from './attacker.ts';

export interface Attack {
  readonly title: string;
  run(attacker: Attacker): Promise<unknown>;
}

export const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
export const aliases = (count: number, text: (i: number) => string) => times(count, text).join(' ');
const unknownKeys = (count: number) => times(count, (i) => `"key${i}":1`).join(',');
const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
const noJob = 'Job:00000000-0000-7000-8000-000000000000';

const add =
  'mutation ($input: AddItemsInput!) { addItems(input: $input) { ... on AddItemsPayload { entries { status error { message } } } ... on UserError { message } } }';
const create =
  'mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { job { id } } ... on UserError { message field } } }';
const workAvailable = 'subscription ($types: [String!]!) { workAvailable(types: $types) { types } }';

/** What is refused when it is looked at. */
const refusedOperations: [title: string, make: () => Operation, expected?: RegExp][] = [
  [
    '50 unknown keys beside a text of 5.6 MB',
    () => ({
      query: add,
      variables: `{"input":{"jobId":"x","items":[{"dedupeKey":"${'x'.repeat(5_600_000)}",${unknownKeys(50)}}]}}`,
    }),
  ],
  [
    '300,000 unknown keys',
    () => ({ query: add, variables: `{"input":{"jobId":"x","items":[],${unknownKeys(300_000)}}}` }),
  ],
  ['a field name of 7 MB', () => ({ query: `{ ${'f'.repeat(7_000_000)} }` })],
  [
    'variables of 20,000 levels',
    () => ({ query: create, variables: `{"input":${nested('{"type":"x","children":[', ']}', 20_000)}}` }),
  ],
  [
    'a payload of 4,098 levels',
    () => ({
      query: add,
      variables: `{"input":{"jobId":"${noJob}","items":[{"payload":${nested('[', ']', 4_098)}}]}}`,
    }),
    /more than 256 levels deep|There is no job/,
  ],
  [
    'a mapping of 1,000 levels',
    () => ({
      query: create,
      variables: `{"input":{"type":"x","children":[{"type":"y","feed":{"payload":${'{"a":'.repeat(1_000)}"x"${'}'.repeat(1_000)}}}]}}`,
    }),
    /errors|"message"/,
  ],
  [
    'fragments that double ten times, twenty deep',
    () => ({
      query: `{ jobs { nodes { ...f0 } } } ${aliases(20, (i) => `fragment f${i} on Job { ${aliases(10, (j) => `a${j}: id`)} ...f${i + 1} ... on Job { ...f${i + 1} } }`)} fragment f20 on Job { id }`,
    }),
  ],
  [
    'a chain of 3,000 fragments',
    () => ({
      query: `{ jobs { nodes { ...f0 } } } ${aliases(2_500, (i) => `fragment f${i} on Job { ...f${i + 1} }`)} fragment f2500 on Job { id }`,
    }),
  ],
  [
    'fragments in a circle',
    () => ({ query: '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }' }),
  ],
  [
    'introspection that goes round in circles',
    () => ({
      query: `{ __schema { types { ${'fields { type { '.repeat(7)} name ${'} }'.repeat(7)} } } }`,
    }),
  ],
  ['5,000 variables', () => ({ query: `query (${aliases(3_000, (i) => `$v${i}: Int`)}) { __typename }` })],
  [
    'a thousand unknown types',
    () => ({ query: `query (${aliases(1_000, (i) => `$v${i}: Strin${i}`)}) { __typename }` }),
  ],
  [
    'pages of pages of pages',
    () => ({
      query:
        '{ jobs(first: 1000) { nodes { children { items(first: 1000) { nodes { job { items(first: 1000) { nodes { payload } } } } } } } } }',
    }),
  ],
  [
    'a hundred statistics of all types',
    () => ({ query: `{ ${aliases(101, (i) => `a${i}: queues { type }`)} }` }),
  ],
  [
    'text that Postgres can not store',
    () => ({
      query: create,
      variables: `{"input":{"type":"a\\u0000b","items":[{"payload":"\\u0000"},{"payload":"\\ud800"}],"dedupeKey":"\\u0000"}}`,
    }),
    /errors|"message"/,
  ],
  [
    'names of prototypes',
    () => ({
      query: add,
      variables: `{"input":{"jobId":"x","items":[{"__proto__":{"a":1},"constructor":1,"hasOwnProperty":1,"toString":1}]}}`,
    }),
  ],
  [
    'numbers of a megabyte',
    () => ({
      query: 'query ($n: Int) { jobs(first: $n) { nodes { id } } }',
      variables: `{"n":${'9'.repeat(1_000_000)}}`,
    }),
  ],
  [
    'an id of 7.9 MB',
    () => ({
      query: 'query ($id: ID!) { node(id: $id) { id } }',
      variables: `{"id":"Job:${'0'.repeat(7_900_000)}"}`,
    }),
  ],
  [
    'a cursor of 7.9 MB',
    () => ({
      query: 'query ($after: String) { jobs(after: $after) { nodes { id } } }',
      variables: `{"after":"${'A'.repeat(7_900_000)}"}`,
    }),
  ],
  [
    'a revision of 7.9 MB',
    () => ({
      query: 'subscription ($r: String) { jobProgress(jobId: "x", sinceRevision: $r) { revision } }',
      variables: `{"r":"${'f'.repeat(7_900_000)}"}`,
    }),
  ],
  [
    'a thousand types of 200 characters, a hundred times',
    () => ({
      query: `query ($types: [String!]!) { ${aliases(101, (i) => `a${i}: queues(types: $types) { type }`)} }`,
      variables: `{"types":${JSON.stringify(times(1_000, (i) => `${i}${'t'.repeat(190)}`))}}`,
    }),
  ],
];

const refusals: Attack[] = refusedOperations.map(([title, make, expected]) => ({
  title,
  run: (attacker) => attacker.refused(make(), expected),
}));

/** What is answered, so it must be so in time: what it answers is looked at by nobody but the clock and the memory. */
const answers: Attack[] = [
  // What could be too much at all, and what is so only because the mappings are large.
  ...[60, 9].map((count) => ({
    title: `mappings of a tree of 999 jobs under ${count} aliases`,
    run: (attacker: Attacker) =>
      attacker.refused(
        {
          query: `query ($id: ID!) { job(id: $id) { tree { ${aliases(count, (i) => `f${i}: feed { payload }`)} } } }`,
          variables: JSON.stringify({ id: attacker.target.wide }),
        },
        // A scope that has only the root of the tree shows no feed.
        /LIMIT_EXCEEDED|UNAVAILABLE|"tree":\[\{("f\d+":null,?)+\}\]/,
      ),
  })),
  {
    title: 'a stored payload of 4,098 levels, read, watched and claimed',
    run: async (attacker) => {
      const variables = JSON.stringify({ id: attacker.target.deep });
      await attacker.refused(
        { query: 'query ($id: ID!) { job(id: $id) { items { nodes { id payload } } } }', variables },
        /TOO_DEEP/,
      );
      await attacker.run({
        query:
          'mutation { claimItems(input: { worker: "w", requests: [{ type: "deep", limit: 10 }] }) { ... on ClaimItemsPayload { assignments { id payload } } } }',
      });
    },
  },
  {
    title: 'a hundred schemas in one answer',
    run: (attacker) =>
      attacker.repeat(() =>
        attacker.run({
          query: `{ ${aliases(60, (i) => `a${i}: __schema { types { name description fields { name description args { name description } } } }`)} }`,
        }),
      ),
  },
  {
    title: 'a thousand times one field, with long arguments',
    run: (attacker) =>
      attacker.repeat(() =>
        attacker.run({
          query: `{ ${`jobs(filter: { types: ["${'t'.repeat(190)}", "${'u'.repeat(190)}"] }, first: 1) { nodes { id } } `.repeat(330)} }`,
        }),
      ),
  },
  {
    title: 'values of 20,000 tokens in the text',
    run: (attacker) =>
      attacker.repeat(() =>
        attacker.run({
          query: `mutation { addItems(input: { jobId: "${noJob}", items: [${'{},'.repeat(6_000)}] }) { __typename } }`,
        }),
      ),
  },
  {
    title: 'trees of 999 jobs, ten at once',
    run: (attacker) =>
      attacker.repeat(() =>
        Promise.all(
          times(10, () =>
            attacker.run({
              query: create,
              variables: JSON.stringify({
                input: { type: 'many', children: times(998, (i) => ({ type: `t${i}` })) },
              }),
            }),
          ),
        ),
      ),
  },
  {
    title: 'trees of 999 jobs with mappings of 10 kB, many at once',
    run: async (attacker) => {
      const payload = Object.fromEntries(times(85, (i) => [`${i}${'k'.repeat(95)}`, 'result']));
      const children = times(998, (i) => ({ type: `t${i}`, feed: { payload } }));
      const body = bodyOf({
        query: create,
        variables: JSON.stringify({ input: { type: 'many', children } }),
      });
      await attacker.repeat(() => Promise.all(times(attacker.isLong ? 50 : 4, () => attacker.post(body))));
    },
  },
  {
    title: 'a tree of 999 jobs with its mappings, read by several at once',
    run: (attacker) =>
      attacker.repeat(() =>
        Promise.all(
          times(attacker.isLong ? 10 : 3, () =>
            attacker.run({
              query: 'query ($id: ID!) { job(id: $id) { tree { id type feed progress { message } } } }',
              variables: JSON.stringify({ id: attacker.target.wide }),
            }),
          ),
        ),
      ),
  },
  {
    title: 'one tree, cancelled and deleted by fifty at once',
    run: (attacker) =>
      attacker.repeat(async () => {
        const { text } = await attacker.run({
          query: create,
          variables: JSON.stringify({
            input: { type: 'many', children: times(998, (i) => ({ type: `t${i}` })) },
          }),
        });
        const id: unknown = JSON.parse(text || '{}').data?.createJob?.job?.id;
        const ways = ['cancelJob', 'deleteJob'];
        await Promise.all(
          times(50, (i) =>
            attacker.run({ query: `mutation { ${ways[i % 2]}(input: { jobId: "${id}" }) { __typename } }` }),
          ),
        );
      }),
  },
  {
    // More than may wait to go to Postgres together.
    title: 'many times a thousand heartbeats of assignments that nobody has',
    run: (attacker) =>
      attacker.repeat(() =>
        Promise.all(
          times(attacker.isLong ? 100 : 30, () =>
            attacker.run({
              query:
                'mutation ($ids: [ID!]!) { heartbeat(input: { assignmentIds: $ids }) { ... on HeartbeatPayload { entries { status } } } }',
              variables: JSON.stringify({ ids: times(1_000, () => `Assignment:${crypto.randomUUID()}`) }),
            }),
          ),
        ),
      ),
  },
];

const held: Attack[] = [
  {
    title: '60 bodies of 8 MB that lack their end',
    run: async (attacker) => {
      const chunk = Buffer.alloc(1_000_000, 'x');
      await Promise.all(
        times(60, async () => {
          const socket = await attacker.connect(attacker.head(8_000_000), { reads: true });
          for (let n = 0; n < 7; n++) socket.write(chunk);
        }),
      );
      await attacker.hold();
    },
  },
  ...['application/json', 'text/event-stream'].map((accept) => ({
    title: `15 answers of 60 MB as ${accept} that nobody reads`,
    run: async (attacker: Attacker) => {
      const body = bodyOf({
        query: 'query ($id: ID!) { job(id: $id) { items(first: 60) { nodes { result } } } }',
        variables: JSON.stringify({ id: attacker.target.large }),
      });
      await Promise.all(
        times(15, () => attacker.connect(attacker.head(body.length, { Accept: accept }) + body)),
      );
      await attacker.hold();
    },
  })),
  {
    title: 'answers of 60 MB on WebSockets that nobody reads',
    run: async (attacker) => {
      for (let i = 0; i < 15; i++) {
        const raw = await attacker.socket();
        raw.socket.pause();
        for (let n = 0; n < 3; n++) {
          raw.send({
            type: 'subscribe',
            id: `${n}`,
            payload: {
              query: `{ job(id: "${attacker.target.large}") { items(first: 60) { nodes { result } } } }`,
            },
          });
        }
      }
      await attacker.hold();
    },
  },
  {
    title: '500 tus uploads of one caller, opened at once, that lack the end of their first part',
    run: async (attacker) => {
      const half = Buffer.alloc(500_000, 'x');
      const tus = { 'Tus-Resumable': '1.0.0' };
      await Promise.all(
        times(500, async () => {
          const { status, location } = await attacker.post('', {
            path: '/api/uploads',
            headers: { ...tus, 'Upload-Length': '100000000' },
          });
          if (status !== 201) return;
          const head = attacker.head(1_000_000, {
            ...tus,
            'Content-Type': 'application/offset+octet-stream',
            'Upload-Offset': '0',
          });
          const socket = await attacker.connect(head.replace('POST /graphql', `PATCH /api/${location}`), {
            reads: true,
          });
          socket.write(half);
        }),
      );
      await attacker.hold();
    },
  },
  {
    title: 'heads of 500 requests that never end',
    run: async (attacker) => {
      await Promise.all(
        times(500, () => attacker.connect('POST /graphql HTTP/1.1\r\nHost: localhost\r\nX: ')),
      );
      await attacker.hold();
    },
  },
  {
    title: 'bodies in chunks of one byte',
    run: async (attacker) => {
      const chunks = '1\r\n \r\n'.repeat(200_000);
      const count = attacker.isLong ? 100 : 1;
      await Promise.all(
        times(count, () => attacker.connect(attacker.head('chunked') + chunks, { reads: true })),
      );
      await attacker.hold();
    },
  },
  {
    title: '2,000 requests in one write, whose answers nobody reads',
    run: async (attacker) => {
      const body = '{"query":"{ jobs(first: 50) { nodes { id type progress { message } } } }"}';
      await attacker.repeat(() => attacker.connect((attacker.head(body.length) + body).repeat(2_000)));
      await attacker.hold();
    },
  },
  {
    title: '1,000 connections that are opened and reset',
    run: (attacker) =>
      attacker.repeat(() =>
        Promise.all(
          times(1_000, async () => (await attacker.connect('GET / HTTP/1.1\r\n')).resetAndDestroy()),
        ),
      ),
  },
  {
    title: '300 event streams whose clients leave at once',
    run: (attacker) =>
      attacker.repeat(() =>
        Promise.all(
          times(300, async () => {
            const body = '{"query":"subscription { jobs(first: 1000) { jobs { id type } } }"}';
            const head = attacker.head(body.length, { Accept: 'text/event-stream' });
            (await attacker.connect(head + body)).resetAndDestroy();
          }),
        ),
      ),
  },
];

/** Watches a page of 60 MB, in words that no other watcher shares. */
function watchLarge(raw: RawSocket, attacker: Attacker, number: number): void {
  raw.send({
    type: 'subscribe',
    id: `${number}`,
    payload: {
      query: `subscription { jobItems(jobId: "${attacker.target.large}", first: 60) { items { a${number}: result } } }`,
    },
  });
}

const sockets: Attack[] = [
  {
    title: '900 subscriptions of large pages on a socket that leaves',
    run: (attacker) =>
      attacker.repeat(async () => {
        const raw = await attacker.socket();
        for (let i = 0; i < 900; i++) watchLarge(raw, attacker, i);
        await raw.until(({ type }) => type === 'next' || type === 'error');
        raw.socket.terminate();
      }),
  },
  {
    title: 'watchers of large pages on ten sockets that nobody reads',
    run: async (attacker) => {
      for (let i = 0; i < 10; i++) {
        const raw = await attacker.socket();
        raw.socket.pause();
        for (let n = 0; n < 10; n++) watchLarge(raw, attacker, 10 * i + n);
      }
      await attacker.hold();
    },
  },
  {
    title: 'watchers of large pages that read all and stay',
    run: (attacker) =>
      attacker.repeat(async () => {
        const raw = await attacker.socket();
        const count = 10;
        let told = 0;
        const done = new Promise<void>((resolve) => {
          // They are not parsed, which would take more memory than the server may.
          raw.socket.removeAllListeners('message').on('message', () => {
            if (++told === count) resolve();
          });
        });
        for (let i = 0; i < count; i++) watchLarge(raw, attacker, i);
        await Promise.race([done, raw.closed]);
      }),
  },
  {
    title: 'pings of 16 kB on ten sockets that read no pongs',
    run: async (attacker) => {
      const ping = JSON.stringify({ type: 'ping', payload: { x: 'x'.repeat(16_000) } });
      for (let i = 0; i < 10; i++) {
        const raw = await attacker.socket();
        raw.socket.pause();
        for (let n = 0; n < 2_000; n++) raw.socket.send(ping);
      }
      await attacker.hold();
    },
  },
  {
    title: '100,000 pings of the protocol on a socket that reads no pongs',
    run: async (attacker) => {
      const raw = await attacker.socket();
      raw.socket.pause();
      for (let n = 0; n < 100_000; n++) raw.socket.ping(Buffer.alloc(125, 'x'));
      await attacker.hold();
    },
  },
  {
    title: 'messages of 8 MB on 20 sockets that lack their end',
    run: async (attacker) => {
      const chunk = Buffer.alloc(1_000_000, 'x');
      for (let i = 0; i < 20; i++) {
        const raw = await attacker.socket();
        for (let n = 0; n < 7; n++) raw.socket.send(chunk, { fin: false });
      }
      await attacker.hold();
    },
  },
  {
    title: 'a message in 100,000 frames of nothing',
    run: async (attacker) => {
      const raw = await attacker.socket();
      for (let n = 0; n < 100_000; n++) raw.socket.send('', { fin: false });
      await attacker.hold();
    },
  },
  {
    title: 'an id that is completed and used again 2,400 times',
    run: async (attacker) => {
      const raw = await attacker.socket();
      for (let i = 0; i < 2_400; i++) {
        raw.send({
          type: 'subscribe',
          id: '1',
          payload: { query: `subscription { jobProgress(jobId: "${attacker.target.wide}") { itemCount } }` },
        });
        raw.send({ type: 'complete', id: '1' });
      }
      raw.send({ type: 'subscribe', id: '2', payload: { query: '{ __typename }' } });
      await raw.until(({ id }) => id === '2');
    },
  },
  {
    title: 'a thousand types of 200 characters, watched 900 times',
    run: (attacker) =>
      attacker.repeat(async () => {
        const raw = await attacker.socket();
        const types = times(1_000, (i) => `${i}${'t'.repeat(190)}`);
        const payload = JSON.stringify({ query: workAvailable, variables: { types } });
        for (let i = 0; i < (attacker.isLong ? 900 : 60); i++) {
          raw.socket.send(`{"id":"${i}","type":"subscribe","payload":${payload}}`);
          // The other copies have to say hello in time.
          await nextTurn();
        }
        await raw.until(({ id }) => id === '0').catch(() => {});
        await attacker.hold();
      }),
  },
  {
    title: 'a thousand operations at once, a hundred lists each',
    run: (attacker) =>
      attacker.repeat(async () => {
        const raw = await attacker.socket();
        const query = `{ ${aliases(50, (i) => `a${i}: jobs(first: 50) { nodes { id type } }`)} }`;
        const count = attacker.isLong ? 1_000 : 50;
        for (let i = 0; i < count; i++) raw.send({ type: 'subscribe', id: `${i}`, payload: { query } });
        await raw.until(({ id }) => id === '0').catch(() => {});
        await attacker.hold();
      }),
  },
  {
    title: 'messages that only a server may send, and none at all',
    run: async (attacker) => {
      for (const text of [
        '{"type":"connection_ack"}',
        '{"type":"next","id":"1","payload":{}}',
        '{"type":"complete"}',
        '[]',
        'null',
        '"',
        '{"type":"subscribe","id":"","payload":{}}',
        nested('[', ']', 1_000_000),
      ]) {
        const raw = await attacker.socket();
        raw.socket.send(text);
        if ((await raw.closed) !== 4400)
          throw new Error(`The socket was not closed with 4400 after ${text.slice(0, 50)}`);
      }
    },
  },
  {
    title: 'frames that are none',
    run: async (attacker) => {
      const upgrade = [
        'GET /graphql HTTP/1.1',
        'Host: localhost',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Protocol: graphql-transport-ws',
        'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits',
        '\r\n',
      ].join('\r\n');
      const mask = [0, 0, 0, 0];
      for (const frame of [
        [0x81, 0x05, 1, 2, 3, 4, 5],
        [0xf1, 0x80, ...mask],
        [0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ...mask],
        [0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, ...mask],
        [0x81, 0x82, ...mask, 0xff, 0xc0],
        [0x89, 0xfe, 0x01, 0x00, ...mask],
        [0x80, 0x80, ...mask],
        [0x88, 0x81, ...mask, 0x00],
      ]) {
        await attacker.say(Buffer.concat([Buffer.from(upgrade), Buffer.from(frame)]));
      }
    },
  },
];

const expectStatus = (what: string, status: number, expected: readonly number[]) => {
  if (!expected.includes(status)) throw new Error(`${what} was answered with ${status}.`);
};

const requests: Attack[] = [
  {
    title: 'a page of another site, under a rebound name and with a form',
    run: async (attacker) => {
      const path = `/graphql?query=${encodeURIComponent('{ jobs { nodes { id } } }')}`;
      const evil = { host: 'evil.example' };
      const elsewhere = { 'sec-fetch-site': 'cross-site' };
      for (const headers of [
        evil,
        elsewhere,
        { origin: 'http://evil.example' },
        { ...evil, accept: 'text/event-stream' },
      ]) {
        expectStatus('a GET', (await attacker.post('', { method: 'GET', path, headers })).status, [403]);
        expectStatus(
          'a POST',
          (await attacker.post('{"query":"{ __typename }"}', { headers })).status,
          [403],
        );
      }
      const mutation = `query=${encodeURIComponent('mutation { cancelJob(input: { jobId: "x" }) { __typename } }')}`;
      for (const type of [
        'application/x-www-form-urlencoded',
        'text/plain',
        'multipart/form-data; boundary=x',
      ]) {
        const { status } = await attacker.post(mutation, { headers: { 'content-type': type } });
        expectStatus(type, status, [400, 415]);
      }
    },
  },
  {
    title: 'requests that are no requests',
    run: async (attacker) => {
      for (const [text, status] of [
        ['GET http://evil.example/graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', '400'],
        ['OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', '400'],
        ['GET //[::1/graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', ''],
        ['GET /%ff%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', ''],
        ['CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n', ''],
        ['TRACE /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', ''],
        ['GET /graphql HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', '400'],
        [
          'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
          '400',
        ],
        ['POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n', '400'],
        [`GET /graphql HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(1_000_000)}\r\n\r\n`, '431'],
        [`GET /${'x'.repeat(1_000_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, '431'],
        ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', ''],
        ['GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n', ''],
        [
          'GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
          '400',
        ],
      ] as const) {
        let answer = await attacker.say(text, 12);
        // While more comes than it reads, the server closes, and the system may drop an answer that was not read yet.
        for (let i = 0; answer === '' && text.length > 100_000 && i < 20; i++)
          answer = await attacker.say(text, 12);
        if (!answer.includes(status))
          throw new Error(`${text.slice(0, 100)} was answered with ${answer.slice(0, 100)}`);
        if (answer.includes(' at ')) throw new Error(`There is a stack: ${answer}`);
      }
    },
  },
  {
    title: 'bodies that can not be read',
    run: async (attacker) => {
      // Of a stranger nothing is read, and a large body is cut off.
      const status = async (body: string | Buffer, headers: Record<string, string> = {}) => {
        const answer = await attacker.post(body, { headers });
        return attacker.isStranger && [0, 401].includes(answer.status) ? 400 : answer.status;
      };
      const query = '{"query":"{ __typename }"}';
      expectStatus('an encoding', await status(query, { 'content-encoding': 'zstd' }), [415]);
      expectStatus('gzip', await status(query, { 'content-encoding': 'gzip' }), [415]);
      expectStatus('no UTF-8', await status(Buffer.from('{"query":"\xff\xc0"}', 'latin1')), [400]);
      expectStatus('broken', await status('{"query":'), [400]);
      expectStatus('a list', await status(`[${query},${query}]`), [400]);
      expectStatus('null', await status('null'), [400]);
      expectStatus('a number for a query', await status('{"query":1}'), [400]);
      expectStatus(
        'extensions',
        await status('{"query":"{ __typename }","extensions":{"persistedQuery":{"version":1}}}'),
        [200, 400],
      );
      expectStatus(
        'a million lists',
        await status(`{"query":"{ __typename }","variables":{"a":[${'[],'.repeat(2_000_000)}1]}}`),
        [200, 400],
      );
      expectStatus(
        'levels',
        await status(`{"query":"{ __typename }","variables":${nested('[', ']', 3_000_000)}}`),
        [200, 400],
      );
      expectStatus('brackets alone', await status('['.repeat(7_000_000)), [400]);
    },
  },
  {
    title: 'values of headers as long as they may be, 20 at once each',
    run: async (attacker) => {
      const long = 'x'.repeat(15_000);
      for (const header of [
        { authorization: `Bearer ${long}` },
        { authorization: `Bearer jobtree_watch_${long}.${long.slice(0, 43)}`.slice(0, 15_000) },
        { cookie: 'a=b;'.repeat(3_750) },
        { accept: 'a/b;q=0.1,'.repeat(1_500) },
        { 'accept-encoding': 'gzip;q=0,'.repeat(1_600) },
        { 'content-type': `application/json;${'a=b;'.repeat(3_700)}` },
        { 'if-none-match': `"${long}"` },
        { origin: `http://${long}` },
        { traceparent: long },
        { 'x-forwarded-for': '10.0.0.1,'.repeat(1_600) },
      ] satisfies Record<string, string>[]) {
        const body = '{"query":"{ __typename }"}';
        const answers = await Promise.all(times(20, () => attacker.post(body, { headers: header })));
        for (const { status, text } of answers) {
          expectStatus(Object.keys(header).join(), status, [0, 200, 400, 401, 403, 406, 415, 429, 431, 503]);
          if (text.length > 2_000)
            throw new Error(`${Object.keys(header)} was answered at length: ${text.slice(0, 200)}`);
        }
      }
      for (const headers of [
        { 'repr-digest': `sha-256=:${long}:` },
        { 'upload-length': '9'.repeat(15_000) },
        { 'upload-metadata': `name ${long}`, 'upload-length': '1' },
      ]) {
        const answers = await Promise.all(
          times(20, () =>
            attacker.post('', { path: '/api/uploads', headers: { 'tus-resumable': '1.0.0', ...headers } }),
          ),
        );
        for (const { status } of answers)
          expectStatus(Object.keys(headers).join(), status, [0, 201, 400, 401, 403, 413, 429, 503]);
      }
    },
  },
  {
    title: 'large parameters of a GET',
    run: async (attacker) => {
      const ask = (path: string) => attacker.post('', { method: 'GET', path });
      await ask(`/graphql?query=${'x'.repeat(15_000)}`);
      await ask(`/graphql?${'a=b&'.repeat(3_500)}`);
      await ask('/graphql?query=%');
      await ask('/graphql?query={__typename}&variables=%5B%5B');
    },
  },
];

/** Those that are over as soon as they are answered. */
export const shortAttacks: ReadonlySet<Attack> = new Set([...refusals, ...requests]);
export const attacks: readonly Attack[] = [...refusals, ...answers, ...held, ...sockets, ...requests];
