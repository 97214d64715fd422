/** Clients that show who they are, and go on when what they showed is not good any more. */

import { beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createClient, Worker, watchJob } from '../../src/client/index.ts';
import { revokeApiKey } from '../../src/domain/access/api-keys.ts';
import { run } from '../cli/program.ts';
import { lastOf } from '../support/api.ts';
import { makeKey, statementsOf } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';
import { forge, watchToken } from '../support/watch-tokens.ts';

const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });
let admin: string;
beforeAll(async () => {
  admin = (await makeKey(db, ['admin'])).key;
});

const revoke = (id: string) => revokeApiKey(statementsOf(db), id);

it('a token is sent in every way: requests, the socket, uploads, results', async () => {
  const client = createClient({ url: app.url, token: admin });
  const { id: uploadId } = await client.upload(new Blob(['1\n2\n']));
  const { id } = await client.createJob({ type: 'file', file: { uploadId, format: 'NDJSON' } });
  const worker = new Worker({
    client,
    types: { file: { concurrency: 2, handler: async (payload) => payload } },
  });
  await worker.start();
  expect(await lastOf(client.watchJob(id))).toMatchObject({ status: 'COMPLETED', succeeded: 2 });
  const results = [];
  const { lines } = await client.exportResults(id);
  for await (const line of lines) results.push(JSON.parse(line).result);
  expect(results).toEqual([1, 2]);
  await worker.stop();
  await client.close();
});

it('a missing or refused token is UNAUTHENTICATED everywhere', async () => {
  for (const token of [undefined, 'jobtree_nonsense', async () => 'jobtree_nonsense']) {
    const client = createClient({ url: app.url, token, retryMs: 0 });
    const refused = { code: 'UNAUTHENTICATED', outcome: 'NOTHING_DONE' };
    await expect(client.createJob({ type: 'x' })).rejects.toMatchObject(refused);
    await expect(client.upload(new Blob(['x']))).rejects.toMatchObject(refused);
    await expect(client.exportResults('Job:00000000-0000-7000-8000-000000000000')).rejects.toMatchObject(
      refused,
    );
    const watch = client.watchJob('Job:00000000-0000-7000-8000-000000000000');
    const error = await watch.next().catch((refusal) => refusal);
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED' });
    // Those two, and not the event with its socket.
    expect(error.cause).toStrictEqual({ code: 4403, reason: expect.any(String) });
    await client.close();
  }
});

it('what the caller may not do is FORBIDDEN', async () => {
  const { key } = await makeKey(db, ['watcher']);
  const client = createClient({ url: app.url, token: key });
  await expect(client.createJob({ type: 'x' })).rejects.toMatchObject({
    code: 'FORBIDDEN',
    outcome: 'NOTHING_DONE',
  });
  await client.close();
});

it('a watch and a worker whose key is revoked ask for another key and continue without a gap', async () => {
  const first = await makeKey(db, ['worker', 'watcher', 'producer']);
  const second = await makeKey(db, ['worker', 'watcher', 'producer']);
  let current = first.key;
  let asked = 0;
  const token = async () => {
    asked++;
    return current;
  };
  const client = createClient({ url: app.url, token });
  const { id } = await client.createJob({
    type: 'long',
    items: [1, 2, 3, 4].map((payload) => ({ payload })),
    sealed: true,
  });
  const gate = defer();
  const worker = new Worker({
    client,
    types: {
      long: {
        concurrency: 1,
        handler: async (payload) => {
          if (payload === 2) await gate.promise;
          return payload;
        },
      },
    },
  });
  const lost = new Promise((resolve) => worker.on('disconnected', resolve));
  await worker.start();
  const seen: string[] = [];
  let done = 0;
  for await (const progress of watchJob(id, { url: app.url, token })) {
    seen.push(progress.revision);
    done = progress.itemProgress;
    if (progress.itemProgress === 1 && current === first.key) {
      current = second.key;
      await revoke(first.id);
      await lost;
      gate.resolve();
    }
  }
  expect(done).toBe(4);
  expect(seen).toEqual([...new Set(seen)].toSorted());
  expect(asked).toBeLessThanOrEqual(6);
  await worker.stop();
  await client.close();
});

it('several requests with a revoked key wait for the same next key, however long it takes', async () => {
  const first = await makeKey(db, ['watcher']);
  const second = await makeKey(db, ['watcher']);
  const gate = defer();
  let asked = 0;
  const token = async () => {
    asked++;
    if (asked === 1) return first.key;
    await gate.promise;
    return second.key;
  };
  const refused = watchRefusals(3);
  const client = createClient({ url: app.url, token, fetch: refused.fetch });
  await client.jobs();
  await revoke(first.id);
  await expect.poll(() => fetch(app.url, post(first.key)).then(({ status }) => status)).toBe(401);
  refused.begin();
  const answers = Promise.all([client.jobs(), client.jobs(), client.jobs()]);
  // All three are refused before there is another key.
  await refused.all;
  gate.resolve();
  expect(await answers).toHaveLength(3);
  expect(asked).toBe(2);
  await client.close();
});

const post = (key: string) => ({
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: '{"query":"{ __typename }"}',
});

/** A fetch, and what resolves when so many of its requests have been refused. */
function watchRefusals(count: number) {
  const { promise: all, resolve } = defer();
  let left = Number.POSITIVE_INFINITY;
  const watched: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (response.status === 401 && --left === 0) setImmediate(resolve);
    return response;
  };
  return {
    fetch: watched,
    all,
    begin: () => {
      left = count;
    },
  };
}

it('a socket is opened when its token is there, however long that takes', async () => {
  const gate = defer();
  const opened: WebSocket[] = [];
  class Counted extends WebSocket {
    constructor(address: string, protocols: string) {
      super(address, protocols);
      opened.push(this);
    }
  }
  const token = async () => {
    await gate.promise;
    return admin;
  };
  const maker = createClient({ url: app.url, token: admin });
  const { id } = await maker.createJob({ type: 'late', items: [{}] });
  const client = createClient({ url: app.url, token, webSocketImpl: Counted });
  const watch = client.watchJob(id);
  const first = watch.next();
  // What the watch does without its token, it has done when another one has its first event.
  await maker.watchJob(id).next();
  expect(opened).toEqual([]);
  gate.resolve();
  expect((await first).value).toMatchObject({ itemCount: 1 });
  await watch.return();
  await Promise.all([client.close(), maker.close()]);
});

it.each([
  [
    'throws',
    () => {
      throw new Error('It is being replaced.');
    },
  ],
  ['rejects', () => Promise.reject(new Error('It is being replaced.'))],
])('a token function that %s fails what needs the token at that time, and nothing else', async (_, fail) => {
  let isFailing = true;
  const token = () => (isFailing ? fail() : admin);
  const client = createClient({ url: app.url, token, retryMs: 0 });
  await expect(client.createJob({ type: 'token' })).rejects.toThrow();
  const worker = new Worker({ client, types: { token: { concurrency: 1, handler: () => null } } });
  const failed = new Promise((resolve) => worker.once('disconnected', resolve));
  await worker.start();
  expect(await failed).toMatchObject({ code: 'UNREACHABLE' });
  isFailing = false;
  const { id } = await client.createJob({ type: 'token', items: [{}], sealed: true });
  expect(await lastOf(client.watchJob(id))).toMatchObject({ status: 'COMPLETED', succeeded: 1 });
  await worker.stop();
  await client.close();
});

function defer(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

it('the command line reads the token from the environment, and says if it is missing or refused', async () => {
  const jobs = (env: Record<string, string>) => run(['jobs', '--url', app.url], { env });
  expect(await jobs({ JOBTREE_TOKEN: admin })).toMatchObject({ code: 0 });
  expect(await jobs({})).toMatchObject({ code: 1, stderr: expect.stringContaining('set JOBTREE_TOKEN') });
  expect(await jobs({ JOBTREE_TOKEN: 'x' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('refuses the key in JOBTREE_TOKEN'),
  });
  const watch = await run(['watch', 'Job:00000000-0000-7000-8000-000000000000', '--url', app.url], {
    env: {},
  });
  expect(watch).toMatchObject({ code: 1, stderr: expect.stringContaining('set JOBTREE_TOKEN') });
});

it('watches with their own tokens share one WebSocket, and each continues with its next token', async () => {
  const maker = createClient({ url: app.url, token: admin });
  const trees = await Promise.all(
    Array.from({ length: 6 }, () => maker.createJob({ type: 'owned', items: [{}] })),
  );
  const left = trees.pop()?.id ?? '';
  const opened: WebSocket[] = [];
  class Counted extends WebSocket {
    constructor(address: string, protocols: string) {
      super(address, protocols);
      opened.push(this);
    }
  }
  // What shows nothing may ask for nothing.
  const client = createClient({ url: app.url, webSocketImpl: Counted, retryMs: 0 });
  const asked = new Map<string, number>();
  const token = (id: string) => async () => {
    asked.set(id, (asked.get(id) ?? 0) + 1);
    // The first one of the first tree is soon over.
    if (id === trees[0]?.id && asked.get(id) === 1)
      return forge(db, { rootId: id.slice(4), expiresMs: Date.now() + 1_500 });
    return watchToken(app.url, admin, id);
  };
  const first = new Set<string>();
  const watches = trees.map(async ({ id }) => {
    let last: unknown;
    for await (const progress of client.watchJob(id, { token: token(id) })) {
      first.add(id);
      last = progress;
    }
    return last;
  });
  await expect.poll(() => first.size).toBe(5);
  const [one, two] = trees.map(({ id }) => id) as [string, string];
  const stranger = client.watchJob(one, { token: token(two) });
  await expect(stranger.next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const tree = client.watchTree(two, { token: token(two) });
  expect((await tree.next()).value).toMatchObject({ complete: false, jobs: [{ itemCount: 1 }] });
  await tree.return();
  await expect(client.watchJob(one).next()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await expect.poll(() => asked.get(one)).toBe(2);
  for (const { id } of trees) await maker.cancelJob(id);
  for (const last of await Promise.all(watches)) expect(last).toMatchObject({ status: 'CANCELLED' });
  // One for all that show a token, and one that was refused.
  expect(opened).toHaveLength(2);
  const open = client.watchJob(left, { token: token(left) });
  expect((await open.next()).value).toMatchObject({ itemCount: 1 });
  await Promise.all([client.close(), maker.close()]);
  expect(await open.next()).toEqual({ done: true });
  for (const { readyState } of opened) expect([WebSocket.CLOSING, WebSocket.CLOSED]).toContain(readyState);
});

it('a worker takes a token of its own, but not together with a client', async () => {
  const worker = new Worker({
    url: app.url,
    token: admin,
    types: { idle: { concurrency: 1, handler: () => 1 } },
  });
  await worker.runOnce();
  const client = createClient({ url: app.url, token: admin });
  expect(
    () => new Worker({ client, token: admin, types: { idle: { concurrency: 1, handler: () => 1 } } }),
  ).toThrow('token must not be given together with client, which has its own.');
  await client.close();
});
