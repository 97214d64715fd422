/** GraphQL multipart requests, by the specification that other servers and clients follow: real clients, and raw sockets for what those never send. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { type Answer, data } from '../support/api.ts';
import { closed } from '../support/closed.ts';
import { startServer, startServerProcess } from '../support/server.ts';
import { imported, sha256Of } from '../support/uploads.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer({
  JOBTREE_MAX_UPLOAD_BYTES: '5000000',
  JOBTREE_ALLOWED_ORIGINS: 'https://app.example.com',
});

const createUpload = `mutation ($file: File!) {
  createUpload(input: { file: $file }) {
    ... on CreateUploadPayload { upload { id size sha256 expiresAt } }
    ... on UserError { code message field }
  }
}`;
const createJob = `mutation ($input: JobInput!) {
  createJob(input: $input) {
    ... on CreateJobPayload { created job { id } }
    ... on UserError { code message field }
  }
}`;
const preflight = { 'apollo-require-preflight': 'true' };

/** The parts in their order: texts are fields, and bytes are files. */
type Part = readonly [string, unknown];
type Status = Answer & { status: number };

async function post(
  parts: readonly Part[],
  headers: Record<string, string> = preflight,
  url = server.url,
): Promise<Status> {
  const form = new FormData();
  for (const [name, value] of parts) {
    if (value instanceof Uint8Array) form.append(name, new Blob([value as Uint8Array<ArrayBuffer>]), 'a.csv');
    else form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  const response = await fetch(url, { method: 'POST', body: form, headers });
  const text = await response.text();
  return { status: response.status, ...(text.startsWith('{') ? JSON.parse(text) : { text }) };
}

const one = (bytes: Uint8Array, query = createUpload): Part[] => [
  ['operations', { query, variables: { file: null } }],
  ['map', { 0: ['variables.file'] }],
  ['0', bytes],
];

const uploads = async () =>
  (await server.db.query('select id from jobtree.upload where removed_at is null')).length;

/** What is refused: the code, with nothing left of it. */
async function refused(parts: readonly Part[]): Promise<[number, unknown, string]> {
  const before = await uploads();
  const { status, errors, data: answered } = await post(parts);
  expect(answered ?? null).toBeNull();
  await expect.poll(uploads).toBe(before);
  return [status, errors?.[0]?.extensions?.code, errors?.[0]?.message ?? ''];
}

it('a file is a variable and becomes an upload', async () => {
  const bytes = randomBytes(1_300_000);
  const { data: answered, status } = await post(one(bytes));
  expect(status).toBe(200);
  const { upload } = answered.createUpload;
  expect(upload).toEqual({
    id: expect.stringMatching(/^Upload:[0-9a-f-]{36}$/),
    size: bytes.length,
    sha256: sha256Of(bytes).toString('hex'),
    expiresAt: expect.any(String),
  });
  const asked = await fetch(new URL(`api/uploads/${upload.id}`, server.url));
  expect(await asked.json()).toMatchObject({ size: bytes.length, complete: true });
  expect((await post(one(Buffer.alloc(0)))).data.createUpload.upload).toMatchObject({ size: 0 });
});

it('a job is created from a file in one request', async () => {
  const { data: answered } = await post([
    [
      'operations',
      {
        query: createJob,
        variables: { input: { type: 'multi', file: { source: { file: null }, format: 'CSV' } } },
      },
    ],
    ['map', { a: ['variables.input.file.source.file'] }],
    ['a', Buffer.from('to\nada\nbob\n')],
  ]);
  const { created, job } = answered.createJob;
  expect(created).toBe(true);
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  expect((await imported(client, job.id)).import).toMatchObject({ status: 'COMPLETED', items: 2 });
});

it('files of several jobs can be in lists, and one file can serve two jobs', async () => {
  const file = { source: { file: null }, format: 'LINES' };
  const children = ['b', 'c'].map((type) => ({ type, file }));
  const { data: answered, errors } = await post([
    ['operations', { query: createJob, variables: { input: { type: 'a', file, children } } }],
    [
      'map',
      {
        x: ['variables.input.file.source.file', 'variables.input.children.1.file.source.file'],
        y: ['variables.input.children.0.file.source.file'],
      },
    ],
    ['x', Buffer.from('1\n')],
    ['y', Buffer.from('2\n3\n')],
  ]);
  expect(errors).toBeUndefined();
  const { job } = await data(
    server.url,
    'query ($id: ID!) { job(id: $id) { import { uploadId } children { type import { uploadId } } } }',
    { id: answered.createJob.job.id },
  );
  const byType = new Map(job.children.map((child: any) => [child.type, child.import.uploadId]));
  expect(byType.get('c')).toBe(job.import.uploadId);
  expect(byType.get('b')).not.toBe(job.import.uploadId);
});

it('of several trees, those that are created keep their files', async () => {
  const before = await uploads();
  const input = { type: 'several', file: { source: { file: null }, format: 'LINES' } };
  const { data: answered } = await post([
    [
      'operations',
      {
        query: `mutation ($inputs: [JobInput!]!) {
          createJobs(inputs: $inputs) { ... on CreateJobsPayload { entries { jobId error { code field } } } }
        }`,
        variables: { inputs: [{ ...input, sealed: true }, input] },
      },
    ],
    ['map', { x: ['variables.inputs.0.file.source.file'], y: ['variables.inputs.1.file.source.file'] }],
    ['x', Buffer.from('1\n')],
    ['y', Buffer.from('2\n3\n')],
  ]);
  const [refused, created] = answered.createJobs.entries;
  expect(refused.error).toEqual({ code: 'INVALID_INPUT', field: 'inputs[0].file' });
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  expect((await imported(client, created.jobId)).import).toMatchObject({ status: 'COMPLETED', items: 2 });
  await expect.poll(uploads).toBe(before + 1);
});

it('a file that the operation does not keep leaves nothing', async () => {
  const before = await uploads();
  const input = { type: 'kept', dedupeKey: 'k', file: { source: { file: null }, format: 'CSV' } };
  const parts = (more: object): Part[] => [
    ['operations', { query: createJob, variables: { input: { ...input, ...more } } }],
    ['map', { 0: ['variables.input.file.source.file'] }],
    ['0', Buffer.from('a\n1\n')],
  ];
  const invalid = await post(parts({ sealed: true }));
  expect(invalid.data.createJob).toMatchObject({ code: 'INVALID_INPUT', field: 'file' });
  await expect.poll(uploads).toBe(before);
  expect((await post(parts({}))).data.createJob.created).toBe(true);
  expect((await post(parts({}))).data.createJob.created).toBe(false);
  await expect.poll(uploads).toBe(before + 1);
  const both = await post(parts({ file: { source: { file: null, uploadId: 'Upload:x' }, format: 'CSV' } }));
  expect(both.errors?.[0]?.message).toContain(
    'Exactly one key must be specified for OneOf type "FileSourceInput"',
  );
  await expect.poll(uploads).toBe(before + 1);
});

it("forms of other pages are refused, and so are requests without a header that forms can't send", async () => {
  const before = await uploads();
  expect((await post(one(randomBytes(10)), {})).status).toBe(415);
  expect((await post(one(randomBytes(10)), { origin: 'https://app.example.com' })).status).toBe(415);
  expect((await post(one(randomBytes(10)), { ...preflight, origin: 'https://example.org' })).status).toBe(
    403,
  );
  expect(await uploads()).toBe(before);
  const named = await post(one(randomBytes(10)), { 'x-apollo-operation-name': 'createUpload' });
  expect(named.data.createUpload.upload.size).toBe(10);
});

it('pages of allowed origins may send files', async () => {
  const origin = 'https://app.example.com';
  const asked = await fetch(server.url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'apollo-require-preflight',
    },
  });
  expect(asked.headers.get('access-control-allow-headers')).toContain('apollo-require-preflight');
  const form = new FormData();
  form.append('operations', JSON.stringify({ query: createUpload, variables: { file: null } }));
  form.append('map', '{"0":["variables.file"]}');
  form.append('0', new Blob(['x']), 'x');
  const answered = await fetch(server.url, { method: 'POST', body: form, headers: { ...preflight, origin } });
  expect(answered.headers.get('access-control-allow-origin')).toBe(origin);
  expect(await answered.json()).toMatchObject({ data: { createUpload: { upload: { size: 1 } } } });
});

it('violations of the specification are refused and leave nothing', async () => {
  const file = ['0', randomBytes(100)] as const;
  const operations = ['operations', { query: createUpload, variables: { file: null } }] as const;
  const map = (paths: unknown, name = '0') => ['map', { [name]: paths }] as const;
  const right = map(['variables.file']);
  const badRequest = async (parts: readonly Part[], message: string) => {
    const [status, code, text] = await refused(parts);
    expect([status, code]).toEqual([400, 'BAD_REQUEST']);
    expect(text).toContain(message);
  };
  await badRequest([file, operations, right], 'before operations');
  await badRequest([operations, file, right], 'before operations and map');
  await badRequest([right, operations, file], 'first part must be operations');
  await badRequest([operations, operations, right, file], 'first part must be operations');
  await badRequest([operations, right, right, file], 'first part must be operations');
  await badRequest([operations], 'must have the parts');
  await badRequest([operations, right], 'no file "0"');
  await badRequest([operations, right, file, ['1', randomBytes(9)]], 'does not name the part "1"');
  await badRequest([operations, right, file, file], 'came before');
  await badRequest([operations, right, ['0', 'text'], ['more', 'text']], 'does not name the part "more"');
  await badRequest([operations, map(['variables.file', 'variables.file']), file], 'twice');
  await badRequest([operations, map(['variables.other']), file], 'not a variable of the type File');
  await badRequest([operations, map(['variables.file.x']), file], 'not a variable of the type File');
  await badRequest([operations, map(['query']), file], 'not a variable of the type File');
  await badRequest([operations, map(['variables.__proto__.x']), file], 'not a variable of the type File');
  await badRequest([operations, map('variables.file'), file], '1 to 10 paths');
  await badRequest([operations, map([]), file], '1 to 10 paths');
  await badRequest([operations, map([7]), file], 'must be strings');
  await badRequest([operations, ['map', []], file], 'map must be an object');
  await badRequest([operations, ['map', '{'], file], 'not JSON');
  await badRequest([['operations', '{'], right, file], 'not JSON');
  await badRequest([['operations', [operations[1]]], right, file], 'batches');
  await badRequest([['operations', { query: 7 }], right, file], 'must be an object with query');
  const given = ['operations', { query: createUpload, variables: { file: 'x' } }] as const;
  await badRequest([given, right, file], 'must have null');
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [i, [`variables.file${i}`]]));
  await badRequest([operations, ['map', many], file], '11 files');
  const payload = {
    query: createJob,
    variables: { input: { type: 't', items: [{ payload: { a: null } }] } },
  };
  await badRequest(
    [['operations', payload], map(['variables.input.items.0.payload.a']), file],
    'not a variable of the type File',
  );
  const watching = { query: 'subscription { queues { type } }', variables: {} };
  await badRequest(
    [
      ['operations', watching],
      ['map', {}],
    ],
    'Subscriptions',
  );
});

it("an operation that can't be executed is refused before its file is read", async () => {
  const before = await uploads();
  const invalid = await post(one(randomBytes(100), 'mutation ($file: File!) { nothing(file: $file) }'));
  expect(invalid.errors?.[0]?.message).toContain('Cannot query field "nothing"');
  const syntax = await post(one(randomBytes(100), 'mutation {'));
  expect(syntax.errors?.[0]?.message).toContain('Syntax Error');
  expect(await uploads()).toBe(before);
});

it('a File in a request without parts is refused', async () => {
  const ask = (variables: object, query = createUpload) =>
    fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    }).then((response) => response.json() as Promise<Answer>);
  for (const file of ['Upload:x', { upload: { id: 'x' } }, null])
    expect((await ask({ file })).errors?.[0]?.message).toMatch(/multipart request|not be null/);
  const inline = await ask({}, 'mutation { createUpload(input: { file: "x" }) { __typename } }');
  expect(inline.errors?.[0]?.message).toContain('given as a variable');
});

it('too large a file is refused before or during the upload, and leaves nothing', async () => {
  expect(await refused(one(randomBytes(7_000_000)))).toMatchObject([413, 'LIMIT_EXCEEDED', /5000000/]);
  const large = 'x'.repeat(1_100_000);
  const operations = { query: createUpload, variables: { file: null, large } };
  const parts: Part[] = [
    ['operations', operations],
    ['map', { 0: ['variables.file'] }],
    ['0', randomBytes(10)],
  ];
  expect((await refused(parts)).slice(0, 2)).toEqual([413, 'LIMIT_EXCEEDED']);
  // One is within the limit, and the two of them together are more than one may be.
  const file = { source: { file: null }, format: 'LINES' };
  const [first, second] = [randomBytes(3_000_000), randomBytes(5_000_001)];
  expect(
    await refused([
      [
        'operations',
        { query: createJob, variables: { input: { type: 'l', file, children: [{ type: 'm', file }] } } },
      ],
      [
        'map',
        { 0: ['variables.input.file.source.file'], 1: ['variables.input.children.0.file.source.file'] },
      ],
      ['0', first],
      ['1', second],
    ]),
  ).toMatchObject([413, 'LIMIT_EXCEEDED', /5000000/]);
});

const boundary = 'xxxxxxxxxx';
const partHead = (name: string, more = '') =>
  `\r\n--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`;
const start = `${partHead('operations')}${JSON.stringify({ query: createUpload, variables: { file: null } })}${partHead('map')}{"0":["variables.file"]}`;

/** A connection on which a request has begun; what is answered is gathered. */
function begin(url: string, length: number | 'chunked', text = start + partHead('0')) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const answer = { text: '' };
  socket
    .on('error', () => {})
    .on('data', (piece) => {
      answer.text += String(piece);
    });
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: ${hostname}\r\napollo-require-preflight: 1\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: ${length}\r\n\r\n${text}`,
  );
  return { socket, answer };
}

it('a request cut off in the middle of a file leaves nothing', async () => {
  const before = await uploads();
  const { socket } = begin(server.url, 2_000_000);
  socket.write(randomBytes(900_000));
  await expect.poll(uploads).toBe(before + 1);
  socket.destroy();
  await expect.poll(uploads).toBe(before);
});

it('a request that ends in the middle of a file, or has no boundary, is refused', async () => {
  const before = await uploads();
  const text = `${start}${partHead('0')}only a part`;
  const { socket, answer } = begin(server.url, text.length, text);
  await expect.poll(() => answer.text).toMatch(/^HTTP\/1.1 400.*ends early/s);
  socket.destroy();
  const none = await fetch(server.url, {
    method: 'POST',
    headers: { ...preflight, 'content-type': 'multipart/form-data' },
    body: text,
  });
  expect([none.status, await none.json()]).toMatchObject([
    400,
    { errors: [{ extensions: { code: 'BAD_REQUEST' } }] },
  ]);
  expect(await uploads()).toBe(before);
});

it('a request whose client leaves at the last byte of a file is not executed', async () => {
  const before = await uploads();
  const end = `\r\n--${boundary}--`;
  const length = start.length + partHead('0').length + 600_000 + end.length + 1;
  const { socket } = begin(server.url, length);
  socket.write(Buffer.concat([randomBytes(600_000), Buffer.from(end)]));
  await expect.poll(uploads).toBe(before + 1);
  socket.destroy();
  await expect.poll(uploads).toBe(before);
});

it('a dripping part is cut off and leaves nothing', async () => {
  const impatient = await startServer(server.db.url, {}, { times: { stalledAfterMs: 300 } });
  onTestFinished(() => impatient.close());
  const before = await uploads();
  for (const text of [undefined, partHead('operations')]) {
    const { socket } = begin(impatient.url, 10_000, text);
    const drip = setInterval(() => socket.write('x'), 20);
    await closed(socket);
    clearInterval(drip);
  }
  await expect.poll(uploads).toBe(before);
});

it('text between and after the parts is bounded', async () => {
  const noise = Buffer.alloc(100_000, 'x');
  for (const text of ['', `${start}${partHead('0')}abc\r\n--${boundary}--\r\n`]) {
    const { socket, answer } = begin(server.url, 50_000_000, text);
    const more = () => {
      while (answer.text === '' && !socket.destroyed && socket.write(noise));
    };
    socket.on('drain', more);
    more();
    await closed(socket);
    expect(answer.text).toMatch(/^HTTP\/1.1 413.*LIMIT_EXCEEDED/s);
  }
});

it('an address has a limited number of concurrent requests', async () => {
  const strict = await startServer(server.db.url, { JOBTREE_CALLER_BYTES_UNDER_WAY: '5000000' });
  onTestFinished(() => strict.close());
  const before = await uploads();
  const some = `${start}${partHead('0')}${'x'.repeat(100)}`;
  const held = [1, 2].map(() => begin(strict.url, 9_000_000, some));
  await expect.poll(uploads).toBe(before + 2);
  const { socket, answer } = begin(strict.url, 9_000_000, some);
  await closed(socket);
  expect(answer.text).toMatch(/^HTTP\/1.1 429/);
  for (const { socket: one } of held) one.destroy();
  await expect.poll(uploads).toBe(before);
});

it('a request that repeats on one connection is compiled and answered the same way', async () => {
  for (let i = 0; i < 30; i++)
    expect((await post(one(Buffer.from(String(i))))).data.createUpload.upload.size).toBe(String(i).length);
});

it.runIf(process.platform === 'linux')('a large file takes little memory', async () => {
  const process = await startServerProcess(server.db.url, { JOBTREE_MAX_UPLOAD_BYTES: '1000000000' });
  onTestFinished(async () => void (await process.end()));
  const residentMb = async () =>
    Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${process.process.pid}/status`, 'utf8'))?.[1]) / 1024;
  // What the first upload loads.
  expect((await post(one(randomBytes(3_000_000)), preflight, process.url)).status).toBe(200);
  const before = await residentMb();
  const megabyte = randomBytes(1_000_000);
  const pieces = function* () {
    yield Buffer.from(start + partHead('0'));
    for (let i = 0; i < 200; i++) yield megabyte;
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  };
  const response = await fetch(process.url, {
    method: 'POST',
    headers: { ...preflight, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: Readable.toWeb(Readable.from(pieces())) as ReadableStream,
    duplex: 'half',
  } as RequestInit);
  expect(((await response.json()) as Answer).data.createUpload.upload.size).toBe(200_000_000);
  expect((await residentMb()) - before).toBeLessThan(60);
});
