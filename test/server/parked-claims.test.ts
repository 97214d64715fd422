/** Claims that wait at their server: what answers them, and that nothing is leased to those who have left. */
import { type Client, createClient } from 'graphql-ws';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { newClaimId } from '../../src/client/claim-id.ts';
import type { App } from '../../src/server/create-app.ts';
import { ask, createJob, data, request } from '../support/api.ts';
import { claimsWaiting } from '../support/claims-waiting.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { lockWaiters } from '../support/locks.ts';
import { startServer } from '../support/server.ts';

const longMs = 30_000;
const text = `mutation ($claim: ClaimItemsInput!) {
  claimItems(input: $claim) { ... on ClaimItemsPayload { assignments { id itemId } limitedTypes } ... on UserError { code message } }
}`;

interface Claimed {
  readonly assignments: readonly { readonly id: string; readonly itemId: string }[];
  readonly limitedTypes: readonly string[];
}

interface Parked {
  readonly answer: Promise<Claimed>;
  readonly leave: () => void;
}

type Transport = (url: string, claim: object, token?: string) => Parked;

let db: TestDatabase;
let servers: App[];
const clients: Client[] = [];
// No sweep: what comes to a worker comes by a hint.
const start = (env = {}) => startServer(db.url, { JOBTREE_SWEEP_INTERVAL_MS: '60000', ...env });
beforeAll(async () => {
  db = await createDatabase();
  servers = [await start(), await start()];
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.dispose();
  for (const server of [0, 1]) await claimsWaiting(urlOf(server), 0);
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await db.drop();
});

const urlOf = (server: number) => (servers[server] as App).url;

function connect(url: string, token?: string): Client {
  const client = createClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => {},
    ...(token !== undefined && { connectionParams: { authorization: `Bearer ${token}` } }),
  });
  clients.push(client);
  return client;
}

function parkOn(client: Client, claim: object): Parked {
  let leave = () => {};
  const answer = new Promise<Claimed>((resolve, reject) => {
    leave = client.subscribe<{ claimItems: Claimed }>(
      { query: text, variables: { claim } },
      {
        next: ({ data: found, errors }) => (found ? resolve(found.claimItems) : reject(errors)),
        error: reject,
        complete: () => reject(new Error('left')),
      },
    );
  });
  answer.catch(() => {});
  return { answer, leave };
}

const overSocket: Transport = (url, claim, token) => parkOn(connect(url, token), claim);

const overHttp: Transport = (url, claim, token) => {
  const leaving = new AbortController();
  const answer = fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...(token && bearer(token)) },
    body: JSON.stringify({ query: text, variables: { claim } }),
    signal: leaving.signal,
  })
    .then((response) => response.json() as Promise<{ data: { claimItems: Claimed } }>)
    .then(({ data: found }) => found.claimItems);
  answer.catch(() => {});
  return { answer, leave: () => leaving.abort() };
};

const claimOf = (type: string, more: object = {}) => ({
  worker: 'test',
  waitMs: longMs,
  requests: [{ type, limit: 1 }],
  ...more,
});

const add = (type: string, items = 1, server = 0) =>
  createJob(urlOf(server), { type, items: Array.from({ length: items }, () => ({})) });

/** How many items of the type workers hold, and how many leases there ever were. */
async function held(type: string): Promise<{ open: number; leases: number }> {
  const [row] = await db.query<{ open: number; leases: number }>(
    `select count(*)::int as leases, coalesce(sum(bit_count(l.open)), 0)::int as open
     from jobtree.lease l join jobtree.job j on j.id = l.job_id where j.type = $1`,
    [type],
  );
  return row as { open: number; leases: number };
}

/** Holds up the claim with this id in the database until the returned function is called. */
async function holdUp(claimId: string): Promise<() => Promise<void>> {
  const session = await db.connect();
  await session.query('select pg_advisory_lock(hashtextextended($1, 0))', [claimId]);
  return () => session.end();
}

/** Holds up as many claims as a caller may have under way in Postgres; `ended` resolves when one of them has ended. */
async function fillPlaces(url = urlOf(0), token?: string) {
  const parts: { release: () => Promise<void>; ended: Promise<unknown> }[] = [];
  for (const count of [1, 2]) {
    const claimId = newClaimId();
    const release = await holdUp(claimId);
    const { answer } = overSocket(url, claimOf('held up', { claimId, waitMs: 0 }), token);
    parts.push({ release, ended: answer.catch(() => {}) });
    await lockWaiters(db, count);
  }
  return {
    release: () => Promise.all(parts.map(({ release }) => release())),
    ended: Promise.race(parts.map(({ ended }) => ended)),
  };
}

const setQueue = (type: string, settings: object) =>
  data(
    urlOf(0),
    'mutation ($input: SetQueueInput!) { setQueue(input: $input) { __typename ... on UserError { message } } }',
    { input: { type, ...settings } },
  );

describe.each([
  ['a WebSocket', overSocket],
  ['plain HTTP', overHttp],
])('over %s a claim that waits', (name, park) => {
  const typeOf = (what: string) => `${what} ${name}`;

  it.each([0, 1])('gets what is added on server %i', async (server) => {
    const type = typeOf(`added ${server}`);
    const { answer } = park(urlOf(0), claimOf(type));
    await claimsWaiting(urlOf(0), 1);
    await add(type, 1, server);
    expect((await answer).assignments).toHaveLength(1);
  });

  it('is answered with nothing when its time is over', async () => {
    const { answer } = park(urlOf(0), claimOf(typeOf('late'), { waitMs: 50 }));
    expect(await answer).toEqual({ assignments: [], limitedTypes: [] });
  });

  it('is answered at once if there is something', async () => {
    await add(typeOf('there'));
    expect((await park(urlOf(0), claimOf(typeOf('there'))).answer).assignments).toHaveLength(1);
  });

  it('is given up when its caller leaves, and the next one gets the item', async () => {
    const type = typeOf('left');
    const gone = park(urlOf(0), claimOf(type));
    await claimsWaiting(urlOf(0), 1);
    const next = park(urlOf(0), claimOf(type));
    await claimsWaiting(urlOf(0), 2);
    gone.leave();
    await claimsWaiting(urlOf(0), 1);
    await add(type);
    expect((await next.answer).assignments).toHaveLength(1);
    expect(await held(type)).toEqual({ open: 1, leases: 1 });
  });

  it('gives back what it was given while its caller left', async () => {
    const type = typeOf('crossed');
    const claimId = newClaimId();
    const gone = park(urlOf(0), claimOf(type, { claimId }));
    await claimsWaiting(urlOf(0), 1);
    const release = await holdUp(claimId);
    await add(type);
    await lockWaiters(db, 1);
    gone.leave();
    await claimsWaiting(urlOf(0), 0);
    await release();
    const next = park(urlOf(0), claimOf(type));
    expect((await next.answer).assignments).toHaveLength(1);
    // The first lease has ended with the return of its only item.
    await eventually(async () => expect(await held(type)).toEqual({ open: 1, leases: 2 }));
  });

  it('is answered with nothing when the server stops, which does not wait for it', async () => {
    const server = await start();
    const { answer } = park(server.url, claimOf(typeOf('stop')));
    await claimsWaiting(server.url, 1);
    const stopped = server.close();
    expect((await answer).assignments).toEqual([]);
    await stopped;
  });

  it('ends with the key of its caller', async () => {
    const type = typeOf('revoked');
    const admin = await makeKey(db, ['admin']);
    const worker = await makeKey(db, ['worker']);
    const server = await start({ JOBTREE_AUTH: 'keys' });
    try {
      const { answer } = park(server.url, claimOf(type), worker.key);
      await claimsWaiting(server.url, 1, bearer(admin.key));
      const revoked = await request(
        server.url,
        'mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { __typename } }',
        { id: `ApiKey:${worker.id}` },
        bearer(admin.key),
      );
      expect(revoked.errors).toBeUndefined();
      await claimsWaiting(server.url, 0, bearer(admin.key));
      await add(type);
      await Promise.allSettled([answer]);
      expect(await held(type)).toEqual({ open: 0, leases: 0 });
    } finally {
      await server.close();
    }
  });
});

describe('what changes while a claim waits', () => {
  it('a paused type gives it nothing until it is resumed', async () => {
    const { answer } = overSocket(urlOf(0), claimOf('paused'));
    await claimsWaiting(urlOf(0), 1);
    await setQueue('paused', { paused: true });
    await add('paused');
    const other = overSocket(urlOf(0), claimOf('paused', { waitMs: 0 }));
    expect(await other.answer).toEqual({ assignments: [], limitedTypes: ['paused'] });
    expect(await held('paused')).toEqual({ open: 0, leases: 0 });
    await setQueue('paused', { paused: false });
    expect((await answer).assignments).toHaveLength(1);
  });

  it('a limit that was lowered meanwhile holds', async () => {
    const parked = [0, 1].map(() => overSocket(urlOf(0), claimOf('limited')));
    await claimsWaiting(urlOf(0), 2);
    await setQueue('limited', { concurrency: 1 });
    await add('limited', 2);
    const [first] = (await Promise.race(parked.map(({ answer }) => answer))).assignments;
    expect(await held('limited')).toEqual({ open: 1, leases: 1 });
    await data(
      urlOf(0),
      `mutation { reportOutcomes(input: { reports: [{ assignmentId: "${first?.id}", outcome: { success: { result: 1 } } }] }) { __typename } }`,
    );
    for (const { answer } of parked) expect((await answer).assignments).toHaveLength(1);
  });

  it('an item that is cancelled before it is given is not given, and the claim goes on waiting', async () => {
    const claimId = newClaimId();
    const { answer } = overSocket(urlOf(0), claimOf('cancelled', { claimId }));
    await claimsWaiting(urlOf(0), 1);
    const release = await holdUp(claimId);
    const job = await add('cancelled');
    await lockWaiters(db, 1);
    await data(urlOf(0), `mutation { cancelJob(input: { jobId: "${job}" }) { __typename } }`);
    await release();
    const next = await add('cancelled');
    expect((await answer).assignments[0]?.itemId).toContain(next.replace('Job:', ''));
  });
});

describe('many claims', () => {
  it('are answered in turn, each with its share, by one call', async () => {
    const client = connect(urlOf(0));
    const parked = [];
    for (let i = 1; i <= 4; i++) {
      parked.push(parkOn(client, claimOf('shares', { requests: [{ type: 'shares', limit: 10 }] })));
      await claimsWaiting(urlOf(0), i);
    }
    await add('shares', 1);
    expect((await parked[0]?.answer)?.assignments).toHaveLength(1);
    await add('shares', 6);
    const shares = await Promise.all(parked.slice(1).map(({ answer }) => answer));
    expect(shares.map(({ assignments }) => assignments.length)).toEqual([2, 2, 2]);
    const [row] = await db.query<{ calls: number }>(
      `select count(distinct l.claimed_at)::int as calls from jobtree.lease l
       join jobtree.job j on j.id = l.job_id where j.type = 'shares'`,
    );
    expect(row?.calls).toBe(2);
  });

  it('on two servers get as many items as there are', async () => {
    const parked = [0, 1, 0, 1].map((server) => overSocket(urlOf(server), claimOf('both')));
    for (const server of [0, 1]) await claimsWaiting(urlOf(server), 2);
    await add('both', 4);
    const all = await Promise.all(parked.map(({ answer }) => answer));
    expect(new Set(all.flatMap(({ assignments }) => assignments.map(({ id }) => id))).size).toBe(4);
  });

  it('of a worker that repeats its claim end the first one, and the repeat gets what that got', async () => {
    const claimId = newClaimId();
    const first = overSocket(urlOf(0), claimOf('repeated', { claimId }));
    await claimsWaiting(urlOf(0), 1);
    const release = await holdUp(claimId);
    await add('repeated');
    await lockWaiters(db, 1);
    const second = overSocket(urlOf(0), claimOf('repeated', { claimId }));
    await release();
    const [one, two] = [await first.answer, await second.answer];
    expect(one.assignments).toHaveLength(1);
    expect(two.assignments).toEqual(one.assignments);
    expect(await held('repeated')).toEqual({ open: 1, leases: 1 });
  });

  it('of a worker that repeats its claim while that looks for the first time do not wait on', async () => {
    const claimId = newClaimId();
    const client = connect(urlOf(0));
    const release = await holdUp(claimId);
    const first = parkOn(client, claimOf('early', { claimId }));
    await lockWaiters(db, 1);
    const second = parkOn(client, claimOf('early', { claimId, waitMs: 0 }));
    // What was sent after it is answered, so the server has it.
    await parkOn(client, claimOf('other', { waitMs: 0 })).answer;
    await release();
    expect((await first.answer).assignments).toEqual([]);
    expect((await second.answer).assignments).toEqual([]);
  });

  it('of which one gets again what it got at another server leave the new item to the next one', async () => {
    const claimId = newClaimId();
    const again = [0, 1].map((server) => overSocket(urlOf(server), claimOf('again', { claimId })));
    for (const server of [0, 1]) await claimsWaiting(urlOf(server), 1);
    const next = overSocket(urlOf(0), claimOf('again'));
    await claimsWaiting(urlOf(0), 2);
    await add('again', 1, 1);
    const [first] = (await again[1]?.answer)?.assignments ?? [];
    await claimsWaiting(urlOf(0), 2);
    await add('again');
    expect((await again[0]?.answer)?.assignments).toEqual([first]);
    expect((await next.answer).assignments).toHaveLength(1);
  });

  it('whose time is over while they wait for their turn are answered with nothing', async () => {
    const { answer } = overSocket(urlOf(0), claimOf('turn', { waitMs: 500 }));
    await claimsWaiting(urlOf(0), 1);
    const { release } = await fillPlaces();
    await add('turn');
    await claimsWaiting(urlOf(0), 0);
    await release();
    expect(await answer).toEqual({ assignments: [], limitedTypes: [] });
  });

  it('do not wait for the calls of another caller', async () => {
    const [slow, quick, admin] = [
      await makeKey(db, ['worker']),
      await makeKey(db, ['worker']),
      await makeKey(db, ['admin']),
    ];
    const server = await start({ JOBTREE_AUTH: 'keys' });
    try {
      const parked = [];
      for (const [i, { key }] of [slow, quick].entries()) {
        parked.push(overSocket(server.url, claimOf('callers'), key));
        await claimsWaiting(server.url, i + 1, bearer(admin.key));
      }
      const { release, ended } = await fillPlaces(server.url, slow.key);
      const quickly = Promise.race([parked[1]?.answer, ended.then(() => 'too late')]);
      const created = await ask(
        server.url,
        admin.key,
        'mutation { createJob(input: { type: "callers", items: [{}, {}] }) { __typename } }',
      );
      expect(created.errors).toBeUndefined();
      expect(await quickly).toMatchObject({ assignments: [{}] });
      await release();
      expect((await parked[0]?.answer)?.assignments).toHaveLength(1);
    } finally {
      await server.close();
    }
  });

  it('of a caller beyond its bound are answered at once, and take nothing from others', async () => {
    const [hostile, honest, admin] = [
      await makeKey(db, ['worker']),
      await makeKey(db, ['worker']),
      await makeKey(db, ['admin']),
    ];
    const server = await startServer(db.url, { JOBTREE_AUTH: 'keys' }, { parkedClaims: 100 });
    try {
      const sockets = Array.from({ length: 5 }, () => connect(server.url, hostile.key));
      let empty = 0;
      for (const socket of sockets)
        for (let n = 0; n < 25; n++)
          void parkOn(socket, claimOf('hostile')).answer.then(
            () => empty++,
            () => {},
          );
      await claimsWaiting(server.url, 100, bearer(admin.key));
      await eventually(() => expect(empty).toBe(25));
      const { answer } = overSocket(server.url, claimOf('honest'), honest.key);
      await claimsWaiting(server.url, 101, bearer(admin.key));
      await add('honest');
      expect((await answer).assignments).toHaveLength(1);
      for (const socket of sockets) await socket.dispose();
      await claimsWaiting(server.url, 0, bearer(admin.key));
    } finally {
      await server.close();
    }
  });
});

it('refuses a time that is too long, and one for an exchange', async () => {
  const late = await request(urlOf(0), text, { claim: claimOf('refused', { waitMs: 30_001 }) });
  expect(late.data.claimItems.message).toMatch(/waitMs is 30001; it must be a whole number from 0 to 30000/);
  const exchange = await data(
    urlOf(0),
    `mutation ($claim: ClaimItemsInput!) { exchange(input: { reports: [], claim: $claim }) { __typename ... on UserError { message } } }`,
    { claim: claimOf('refused') },
  );
  expect(exchange.exchange.message).toMatch(/an exchange does not wait/);
});
