/** What a tree results in, read as NDJSON over HTTP. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { request } from '../support/api.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { lockWaiters } from '../support/locks.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();

/** A root whose results feed two jobs, of which one feeds no other: its results and those of the grandchild count. */
async function makeTree() {
  const feed = { source: 'SUCCESSES' } as const;
  const { id } = await server.client.createJob({
    type: 'first',
    items: [1, 2, 3].map((payload) => ({ payload })),
    sealed: true,
    children: [
      { type: 'second', feed },
      { type: 'third', feed, children: [{ type: 'fourth', feed }] },
    ],
  });
  return id;
}

async function workAll(types: readonly string[], result: (payload: unknown) => unknown) {
  for (;;) {
    const items = await server.client.claimItems(
      'w',
      types.map((type) => ({ type, limit: 10 })),
    );
    if (items.length === 0) return;
    await server.client.reportOutcomes(
      items.map((item) => ({ assignmentId: item.id, result: result(item.payload) })),
    );
  }
}

const address = (id: string, query = '') => new URL(`api/jobs/${id}/results${query}`, server.url);

async function read(id: string, query = '') {
  const response = await fetch(address(id, query));
  const text = await response.text();
  return {
    response,
    lines: text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line)),
  };
}

it("the successes of final stages are lines, in the order of the API's pages", async () => {
  const id = await makeTree();
  const early = await read(id);
  expect(early.response.headers.get('jobtree-complete')).toBe('false');
  expect(early.lines).toEqual([]);
  await workAll(['first', 'second', 'third', 'fourth'], (payload) => (payload as number) * 10);
  await expect.poll(async () => (await server.client.job(id)).progress.status).toBe('COMPLETED');
  await expect.poll(async () => (await read(id)).response.headers.get('jobtree-complete')).toBe('true');

  const { response, lines } = await read(id);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
  expect(lines.map(({ payload, result }) => [payload, result])).toEqual([
    [10, 100],
    [20, 200],
    [30, 300],
    [100, 1_000],
    [200, 2_000],
    [300, 3_000],
  ]);
  const paged = [];
  for await (const entry of server.client.results(id)) paged.push(entry);
  expect(lines).toEqual(paged);

  const { root, children } = await server.client.job(id);
  expect(root.id).toBe(id);
  expect((await read(children[0]?.id as string)).lines).toEqual(lines);
  expect((await read(id, `?after=${lines[1].itemId}`)).lines).toEqual(lines.slice(2));
  expect((await read(id, `?after=${lines[5].itemId}`)).lines).toEqual([]);
});

it('large results arrive in parts, whole and in order, compressed if the reader accepts that', async () => {
  const type = 'large';
  const large = 'x'.repeat(300_000);
  const { id } = await server.client.createJob({
    type,
    items: Array.from({ length: 40 }, (_, payload) => ({ payload })),
    sealed: true,
  });
  await workAll([type], (payload) => (payload === 20 ? 'y' : `${payload}${large}`));
  const request = get(address(id), { headers: { 'accept-encoding': 'gzip' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  expect(response.headers['content-encoding']).toBe('gzip');
  const lines = String(gunzipSync(Buffer.concat(chunks)))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ payload }) => payload)).toEqual(Array.from({ length: 40 }, (_, n) => n));
  expect(lines[20].result).toBe('y');
  expect(lines[39].result).toBe(`39${large}`);
});

it('slow readers take of the bytes that their caller may have under way', async () => {
  const { id } = await server.client.createJob({
    type: 'many readers',
    items: Array.from({ length: 20 }, (_, payload) => ({ payload })),
    sealed: true,
  });
  await workAll(['many readers'], () => 'z'.repeat(300_000));
  const narrow = await startServer(server.db.url, { JOBTREE_CALLER_BYTES_UNDER_WAY: '2500000' });
  const { pathname, port } = new URL(`/api/jobs/${id}/results`, narrow.url);
  const open = async () => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(socket, 'readable');
    return socket;
  };
  const sockets = [];
  for (let i = 0; i < 10; i++) sockets.push(await open());
  const statuses = sockets.map((socket) => String(socket.read(12)));
  expect(new Set(statuses)).toEqual(new Set(['HTTP/1.1 200', 'HTTP/1.1 429']));
  expect(statuses.filter((status) => status.endsWith('200')).length).toBeLessThanOrEqual(5);
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}${pathname}`)).status).toBe(200);
  await narrow.close();
});

it('a shutdown does not wait for a reader that does not read', async () => {
  const { id } = await server.client.createJob({ type: 'unread', items: [{}], sealed: true });
  await workAll(['unread'], () => null);
  // More than the buffers between the two take.
  await server.db.query(
    `update jobtree.outcome set result = to_json(repeat('z', 30000000)) where job_id = $1`,
    [id.slice('Job:'.length)],
  );
  const closing = await startServer(server.db.url, { JOBTREE_SHUTDOWN_TIMEOUT_MS: '600000' });
  const { pathname, port } = new URL(`/api/jobs/${id}/results`, closing.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await once(socket, 'readable');
  await closing.close();
  socket.destroy();
});

it('many exports of one caller delay others no longer than one', async () => {
  const id = await makeTree();
  const settings = { JOBTREE_POOL_SIZE: '4', JOBTREE_TRUSTED_PROXIES: '1' };
  const narrow = await startServer(server.db.url, settings);
  const { pathname, port } = new URL(`/api/jobs/${id}/results`, narrow.url);
  const holder = await server.db.connect();
  await holder.query('begin');
  await holder.query('lock table jobtree.outcome in access exclusive mode');
  const sockets = Array.from({ length: 60 }, () => {
    const socket = connect(Number(port), '127.0.0.1').resume();
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n`);
    return socket;
  });
  // Each waits for the lock for a second, two at a time.
  await lockWaiters(server.db, 2);
  const query = '{ jobs(first: 1) { nodes { id } } }';
  const { errors } = await request(narrow.url, query, {}, { 'x-forwarded-for': '10.0.0.2' });
  expect(errors).toBeUndefined();
  for (const socket of sockets) socket.destroy();
  await holder.query('rollback');
  await holder.end();
  await narrow.close();
});

it('a payload of several lines from SQL is one line, with all digits', async () => {
  const { id } = await server.client.createJob({ type: 'sql' });
  const key = id.replace('Job:', '');
  await server.db.query('select count(*) from jobtree.add_items($1, $2, true)', [
    key,
    '[{"payload": {\n  "number": 12345678901234567890,\r\n "text": "a\\nb" }}]',
  ]);
  await workAll(['sql'], () => null);
  const text = await (await fetch(address(id))).text();
  expect(text.trim().split('\n')).toHaveLength(1);
  expect(text).toContain('12345678901234567890');
  expect(JSON.parse(text).payload.text).toBe('a\nb');
});

it('a reader that leaves halfway leaves nothing behind, and a slow one holds no snapshot', async () => {
  const { id } = await server.client.createJob({
    type: 'slow',
    items: Array.from({ length: 60 }, (_, payload) => ({ payload })),
    sealed: true,
  });
  await workAll(['slow'], () => 'z'.repeat(500_000));
  const request = get(address(id));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  await once(response, 'readable');
  response.pause();
  // It has more than the buffers between the two take, and waits.
  const held = async () =>
    (
      await server.db.query(
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and application_name like 'jobtree%' and state like 'idle in transaction%'`,
      )
    )[0];
  await expect.poll(async () => (await held())?.n).toBe(0);
  response.destroy();
  const { lines } = await read(id);
  expect((await read(id, `?after=${lines[58].itemId}`)).lines).toEqual(lines.slice(59));
});

it("what can't be read is refused with a code", async () => {
  const id = await makeTree();
  const refused = async (url: URL, method = 'GET') => {
    const response = await fetch(url, { method });
    const { errors } = (await response.json()) as { errors: { message: string; extensions: unknown }[] };
    expect(errors).toEqual([{ message: expect.any(String), extensions: expect.anything() }]);
    return [response.status, errors[0]?.extensions];
  };
  const unknown = 'Job:01890000-0000-7000-8000-000000000000';
  expect(await refused(address(unknown))).toMatchObject([404, { code: 'NOT_FOUND', field: 'id' }]);
  expect(await refused(address('nonsense'))).toMatchObject([400, { code: 'INVALID_INPUT', field: 'id' }]);
  expect(await refused(address('%E0%A4%A'))).toMatchObject([400, { code: 'INVALID_INPUT', field: 'id' }]);
  expect(await refused(address(id, '?after=1'))).toMatchObject([
    400,
    { code: 'INVALID_INPUT', field: 'after' },
  ]);
  expect(await refused(address(id, '?first=1'))).toMatchObject([
    400,
    { code: 'INVALID_INPUT', field: 'first' },
  ]);
  expect(await refused(address(id), 'DELETE')).toMatchObject([405, { code: 'INVALID_INPUT' }]);
});

it('a page of another site reads nothing', async () => {
  const id = await makeTree();
  const request = get(address(id), { headers: { 'sec-fetch-site': 'cross-site' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(403);
  response.resume();
});

it('the number of listeners for the end of an answer is bounded, with known callers and waiting requests', async () => {
  const warnings: string[] = [];
  const note = ({ name, message }: Error) => {
    if (name === 'MaxListenersExceededWarning') warnings.push(message);
  };
  process.on('warning', note);
  const asked = await startServer(server.db.url, { JOBTREE_AUTH: 'keys' });
  const { key } = await makeKey(server.db, ['admin']);
  const { id } = await server.client.createJob({ type: 'heard', items: [{}] });
  const { pathname, port } = new URL(`/api/jobs/${id}/results`, asked.url);
  const head = `HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nAuthorization: ${bearer(key).authorization}\r\n`;
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `GET ${pathname} ${head}\r\nGET ${pathname} ${head}\r\nGET ${pathname} ${head}Connection: close\r\n\r\n`,
  );
  const answers = (await text(socket)).match(/HTTP\/1.1 200/g);
  expect(answers).toHaveLength(3);
  await asked.close();
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
