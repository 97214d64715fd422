/** One socket, on which each operation shows a watch token of its own: what it opens, when it ends, and who can't stay. */

import type { Socket } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { textOf } from '../../src/db/database.ts';
import { revokeTokens } from '../../src/domain/access/watch-tokens.ts';
import { Hub } from '../../src/events/hub.ts';
import { ask } from '../support/api.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { openRaw, type RawSocket } from '../support/raw-socket.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';
import { forge, watchToken } from '../support/watch-tokens.ts';

const watchJob = 'subscription ($id: ID!) { jobProgress(jobId: $id) { percent } }';
const progressOf = 'query ($id: ID!) { job(id: $id) { progress { percent } } }';

const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });
let admin: string;
beforeAll(async () => {
  admin = (await makeKey(db, ['admin'])).key;
});

async function newTree(): Promise<string> {
  const { data } = await ask(
    app.url,
    admin,
    'mutation { createJob(input: { type: "import", items: [{}] }) { ... on CreateJobPayload { job { id } } } }',
  );
  return data.createJob.job.id;
}

async function open(authorization = 'per-operation', url = app.url): Promise<RawSocket> {
  const socket = await openRaw(url, { hello: false });
  onTestFinished(() => socket.socket.terminate());
  socket.send({ type: 'connection_init', payload: { authorization } });
  return socket;
}

let operations = 0;
/** Sends an operation and gives its first answer. */
async function begin(socket: RawSocket, jobId: string, token: string | undefined, query = watchJob) {
  const id = String(++operations);
  const extensions = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  socket.send({ id, type: 'subscribe', payload: { query, variables: { id: jobId }, extensions } });
  const { type, payload } = await socket.until((message) => message.id === id);
  const code = payload?.[0]?.extensions?.code ?? payload?.errors?.[0]?.extensions?.code;
  return { id, type, payload, code };
}

const errorOf = (socket: RawSocket, id: string) =>
  socket.until((message) => message.id === id && message.type === 'error');

describe('an operation with its own token', () => {
  it('opens the tree of its token and nothing else, beside others', async () => {
    const [one, other] = [await newTree(), await newTree()];
    const [ofOne, ofOther] = [await watchToken(app.url, admin, one), await watchToken(app.url, admin, other)];
    const socket = await open();
    for (const [id, token] of [
      [one, ofOne],
      [other, ofOther],
    ] as const)
      for (const query of [watchJob, progressOf]) {
        expect(await begin(socket, id, token, query)).toMatchObject({ type: 'next', code: undefined });
        expect(await begin(socket, id === one ? other : one, token, query)).toMatchObject({
          code: 'NOT_FOUND',
        });
      }
    const forbidden = await begin(socket, one, ofOne, '{ jobs { nodes { id } } }');
    expect(forbidden.code).toBe('FORBIDDEN');
  });

  it('may be one of many that arrive in one piece, together larger than a message may be without a key', async () => {
    const id = await newTree();
    const token = await watchToken(app.url, admin, id);
    const socket = await open();
    await socket.until(({ type }) => type === 'connection_ack');
    const { _socket: connection } = socket.socket as unknown as { _socket: Socket };
    const ids = Array.from({ length: 50 }, (_, i) => `together-${i}`);
    const payload = { query: watchJob, variables: { id }, extensions: { authorization: `Bearer ${token}` } };
    connection.cork();
    for (const id of ids) socket.send({ id, type: 'subscribe', payload });
    connection.uncork();
    for (const id of ids)
      expect(await socket.until((message) => message.id === id)).toMatchObject({ type: 'next' });
  });

  it('shows what its own token allows, even if it shares its source with others', async () => {
    const watched = vi.spyOn(Hub.prototype, 'watchJob');
    onTestFinished(() => watched.mockRestore());
    const id = await newTree();
    const socket = await open();
    const items = 'query ($id: ID!) { job(id: $id) { items { nodes { status } } } }';
    const [less, more] = [
      await watchToken(app.url, admin, id),
      await watchToken(app.url, admin, id, 'ITEMS', 60),
    ];
    expect(await begin(socket, id, more, items)).toMatchObject({ type: 'next', code: undefined });
    expect((await begin(socket, id, less, items)).code).toBe('FORBIDDEN');
    for (const seconds of [10, 900])
      await begin(socket, id, await watchToken(app.url, admin, id, 'PROGRESS', seconds));
    expect(watched).toHaveBeenCalledTimes(1);
    await begin(socket, id, more);
    expect(watched).toHaveBeenCalledTimes(2);
  });

  it('is refused without a token, with another one, or with an invalid one, and the others continue', async () => {
    const id = await newTree();
    const socket = await open();
    const token = await watchToken(app.url, admin, id);
    const watching = await begin(socket, id, token);
    for (const shown of [
      undefined,
      admin,
      'per-operation',
      `${token}x`,
      'x'.repeat(10_000),
      await forge(db, { rootId: id.slice(4), expiresMs: Date.now() - 1_000 }),
    ])
      expect(await begin(socket, id, shown)).toMatchObject({ type: 'error', code: 'UNAUTHENTICATED' });
    socket.send({
      id: 'y',
      type: 'subscribe',
      payload: { query: watchJob, extensions: { authorization: 7 } },
    });
    expect((await errorOf(socket, 'y')).payload[0].extensions.code).toBe('UNAUTHENTICATED');
    expect(socket.messages.filter((message) => message.id === watching.id)).toHaveLength(1);
    expect(await begin(socket, id, token)).toMatchObject({ type: 'next' });
  });

  it('has no token if its connection has one, and none is read without authentication', async () => {
    const id = await newTree();
    const token = await watchToken(app.url, admin, id);
    const socket = await open(bearer(admin).authorization);
    expect(await begin(socket, id, token)).toMatchObject({ type: 'error', code: 'BAD_REQUEST' });
    expect(await begin(socket, id, undefined)).toMatchObject({ type: 'next' });
    const openServer = await startServer(db.url);
    onTestFinished(() => openServer.close());
    const anybodys = await open('per-operation', openServer.url);
    expect(await begin(anybodys, id, 'nonsense')).toMatchObject({ type: 'next', code: undefined });
  });
});

describe('the end of a token', () => {
  it('ends its operations with a reason, and no others, by expiry and by revocation', async () => {
    const trees = [await newTree(), await newTree(), await newTree()] as const;
    const socket = await open();
    const kept = await begin(socket, trees[0], await watchToken(app.url, admin, trees[0]));
    const revoked = await begin(socket, trees[1], await watchToken(app.url, admin, trees[1]));
    const short = await forge(db, { rootId: trees[2].slice(4), expiresMs: Date.now() + 2_000 });
    const over = await begin(socket, trees[2], short);
    const startedAt = performance.now();
    await db.query(textOf(revokeTokens), [trees[1].slice(4)]);
    for (const [{ id }, message] of [
      [revoked, 'The watch token was revoked.'],
      [over, 'The watch token has expired.'],
    ] as const)
      expect((await errorOf(socket, id)).payload).toEqual([
        { message, extensions: { code: 'UNAUTHENTICATED', ended: true } },
      ]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    // Its id is free, and the one that goes on is told what happens.
    const next = await watchToken(app.url, admin, trees[1]);
    expect(await begin(socket, trees[1], next)).toMatchObject({ type: 'next' });
    await ask(app.url, admin, 'mutation ($id: ID!) { cancelJob(input: { jobId: $id }) { __typename } }', {
      id: trees[0],
    });
    await socket.until(({ id, type }) => id === kept.id && type === 'complete');
  });

  it('leaves nothing of it on the server', async () => {
    const tree = await newTree();
    const socket = await open();
    const left = vi.spyOn(Hub.prototype, 'watchJob');
    onTestFinished(() => left.mockRestore());
    const { id } = await begin(
      socket,
      tree,
      await forge(db, { rootId: tree.slice(4), expiresMs: Date.now() + 1_500 }),
    );
    await errorOf(socket, id);
    // A new execution, since nobody is left on the first one.
    await begin(socket, tree, await watchToken(app.url, admin, tree));
    expect(left).toHaveBeenCalledTimes(2);
  });
});

describe('a socket without a valid token', () => {
  it('is closed, whatever it sends meanwhile', async () => {
    const silent = await open();
    const noisy = await open();
    const sending = setInterval(
      () =>
        noisy.send({
          id: String(++operations),
          type: 'subscribe',
          payload: { query: watchJob, extensions: { authorization: 'Bearer jobtree_watch_x.y.z' } },
        }),
      200,
    );
    onTestFinished(() => clearInterval(sending));
    const startedAt = performance.now();
    expect(await Promise.all([silent.closed, noisy.closed])).toEqual([4408, 4408]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('is closed when its last valid token has ended', async () => {
    const tree = await newTree();
    const socket = await open();
    const { id } = await begin(socket, tree, await watchToken(app.url, admin, tree));
    // For longer than anybody may be there without.
    await expect(Promise.race([socket.closed, new Promise((stay) => setTimeout(stay, 3_500))])).resolves.toBe(
      undefined,
    );
    socket.send({ id, type: 'complete' });
    expect(await socket.closed).toBe(4408);
  });
});
