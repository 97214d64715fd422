/** More is asked for than Postgres answers in time: what keeps leases alive goes on, and whoever is refused can try again. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { signal } from '../client/signals.ts';
import { createJob, data, request } from '../support/api.ts';
import { newType } from '../support/engine.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { lockWaiters } from '../support/locks.ts';
import { openRaw } from '../support/raw-socket.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();

it('reads that take all their connections for seconds cost no assignment', async () => {
  const app = await startServer(db.url, { JOBTREE_POOL_SIZE: '4', JOBTREE_SWEEP_INTERVAL_MS: '100' });
  const client = createClient({ url: app.url });
  const lock = await db.connect();
  const over = signal();
  const ended: string[] = [];
  const worker = new Worker({
    url: app.url,
    types: { held: { concurrency: 1, handler: () => over.promise.then(() => null) } },
  });
  worker.on('aborted', (_, code) => ended.push(code));
  worker.on('stale', () => ended.push('STALE'));
  worker.on('error', (error) => ended.push(String(error)));
  const succeeded = once(worker, 'succeeded');
  try {
    const id = await createJob(app.url, {
      type: 'held',
      heartbeatIntervalMs: 2_000,
      items: [{ payload: 1 }],
      sealed: true,
    });
    const claimed = once(worker, 'claimed');
    await worker.start();
    await claimed;

    // Each read waits for a second, and then gets BUSY: so a hundred of them take every connection for long.
    await lock.query('begin');
    await lock.query('lock table jobtree.job_item in access exclusive mode');
    const query = 'query ($id: ID!) { job(id: $id) { items(first: 1) { nodes { payload } } } }';
    let reading = true;
    const reads = Array.from({ length: 100 }, async () => {
      while (reading) await request(app.url, query, { id });
    });
    // Longer than a lease lives without a heartbeat. Meanwhile the server is busy, not out of order.
    const until = performance.now() + 7_000;
    while (performance.now() < until) {
      expect((await fetch(new URL('/readyz', app.url))).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    reading = false;
    await lock.query('rollback');
    await Promise.all(reads);
    expect(ended).toEqual([]);
    over.fire();
    await succeeded;
  } finally {
    await lock.end();
    over.fire();
    await worker.stop();
    await client.close();
    await app.close();
  }
});

/** A role that Postgres gives so many connections, however many others there are. */
async function limitedTo(connections: number): Promise<string> {
  const name = `few_${newType().replaceAll('-', '')}`;
  const url = new URL(db.url);
  await db.query(
    `create role ${name} login password 'x' connection limit ${connections} in role ${url.username}`,
  );
  onTestFinished(async () => {
    await db.query(`drop role ${name}`);
  });
  url.username = name;
  url.password = 'x';
  return url.href;
}

it('servers with hardly a connection to Postgres answer, or say that nothing was done, and lose no assignment', async () => {
  const url = await limitedTo(40);
  const apps: App[] = [];
  const workers: Worker[] = [];
  const ended: string[] = [];
  const over = signal();
  try {
    for (let i = 0; i < 3; i++) apps.push(await startServer(url, { JOBTREE_SWEEP_INTERVAL_MS: '100' }));
    const [first] = apps as [App];
    await createJob(first.url, { type: 'few', heartbeatIntervalMs: 2_000, items: [{}, {}, {}] });
    for (const app of apps) {
      const worker = new Worker({
        url: app.url,
        types: { few: { concurrency: 1, handler: () => over.promise.then(() => null) } },
      });
      workers.push(worker);
      worker.on('aborted', (_, code) => ended.push(code));
      worker.on('stale', () => ended.push('STALE'));
      const claimed = once(worker, 'claimed');
      await worker.start();
      await claimed;
    }
    // Three servers keep five each.
    await db.query(`alter role ${new URL(url).username} connection limit 17`);
    const until = performance.now() + 5_000;
    const codes = new Map<unknown, number>();
    const ids = new Set<string>();
    let created = 0;
    const create = `mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { job { id type progress { itemCount } } } } }`;
    await Promise.all(
      Array.from({ length: 90 }, async (_, i) => {
        const app = apps[i % apps.length] as App;
        while (performance.now() < until) {
          const answer = await request(app.url, create, { input: { type: 'crowd', items: [{}] } });
          const code = answer.errors?.[0]?.extensions?.code;
          codes.set(code, (codes.get(code) ?? 0) + 1);
          if (code === undefined) ids.add(answer.data.createJob.job.id);
          if (code === undefined || code === 'OUTCOME_UNKNOWN') created++;
        }
      }),
    );
    expect(ids.size).toBeGreaterThan(0);
    expect([undefined, 'UNAVAILABLE', 'OUTCOME_UNKNOWN']).toEqual(expect.arrayContaining([...codes.keys()]));
    // UNAVAILABLE means that nothing was done.
    const [row] = await db.query<{ jobs: number }>(
      `select count(*)::int as jobs from jobtree.job where type = 'crowd'`,
    );
    expect(row?.jobs).toBeLessThanOrEqual(created);
    expect(row?.jobs).toBeGreaterThanOrEqual(ids.size);
    expect(ended).toEqual([]);
  } finally {
    over.fire();
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(apps.map((app) => app.close()));
  }
});

it('a start waits while Postgres has no connection, and says so when it gives up', async () => {
  const url = await limitedTo(8);
  const others = new pg.Pool({ connectionString: url, max: 8 });
  const taken = await Promise.all(Array.from({ length: 8 }, () => others.connect()));
  await expect(startServer(url, { JOBTREE_START_TIMEOUT_MS: '300' })).rejects.toMatchObject({
    code: '53300',
  });
  const starting = startServer(url);
  let started = false;
  void starting.then(() => {
    started = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(started).toBe(false);
  for (const client of taken) client.release();
  await others.end();
  const app = await starting;
  expect((await request(app.url, '{ jobs(first: 1) { nodes { id } } }')).errors).toBeUndefined();
  await app.close();
});

/** The next request that a server of this process has begun to read. */
function arrival(): Promise<void> {
  const channel = 'http.server.request.start';
  return new Promise((resolve) => {
    const listener = () => {
      unsubscribe(channel, listener);
      resolve();
    };
    subscribe(channel, listener);
  });
}

/** The head of a request whose body never comes. */
async function begin(app: App, bytes: number): Promise<Socket> {
  const { port, host } = new URL(app.url);
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST /graphql HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n{`,
  );
  await once(socket, 'connect');
  // What this server is asked later, it reads later.
  await fetch(new URL('/healthz', app.url));
  return socket;
}

const post = (app: App, body: string) =>
  fetch(app.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
const small = JSON.stringify({ query: '{ __typename }' });

it('one request too many is refused before it is read, and a client repeats it', async () => {
  const app = await startServer(db.url, { JOBTREE_MAX_REQUESTS: '10' });
  onTestFinished(() => app.close());
  const begun = await Promise.all(Array.from({ length: 10 }, () => begin(app, 100)));
  await expect.poll(async () => (await post(app, small)).status).toBe(429);
  const refused = await post(app, small);
  expect({ status: refused.status, after: refused.headers.get('retry-after') }).toEqual({
    status: 429,
    after: '1',
  });
  expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAVAILABLE' } }] });
  // What is asked for a load balancer is answered.
  expect((await fetch(new URL('/readyz', app.url))).status).toBe(200);

  const client = createClient({ url: app.url });
  const created = client.createJob({ type: 'again', items: [{}] });
  for (const socket of begun) socket.destroy();
  expect((await created).created).toBe(true);
  expect((await post(app, small)).status).toBe(200);
  await client.close();
});

it('bodies are accepted while there is room, and small ones always', async () => {
  const app = await startServer(db.url, {
    JOBTREE_MAX_REQUEST_BYTES: '1000000',
    JOBTREE_MAX_BYTES_UNDER_WAY: '1000000',
  });
  onTestFinished(() => app.close());
  const large = JSON.stringify({
    query: '{ __typename }',
    operationName: null,
    variables: { a: 'x'.repeat(200_000) },
  });
  expect((await post(app, large)).status).toBe(200);
  const begun = await begin(app, 900_000);
  await expect.poll(async () => (await post(app, large).catch(() => undefined))?.status).toBe(503);
  expect((await post(app, small)).status).toBe(200);
  begun.destroy();
  await expect.poll(async () => (await post(app, large)).status).toBe(200);
});

it('too many reads are refused one by one, and leave room for what keeps leases alive', async () => {
  const app = await startServer(db.url, { JOBTREE_MAX_REQUESTS: '16', JOBTREE_POOL_SIZE: '4' });
  onTestFinished(() => app.close());
  const id = await createJob(app.url, { type: 'room', items: [{ payload: 1 }] });
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  await lock.query('lock table jobtree.job_item in access exclusive mode');
  const query = 'query ($id: ID!) { job(id: $id) { items(first: 1) { nodes { payload } } } }';
  const reads = Array.from({ length: 12 }, () => request(app.url, query, { id }));
  await lockWaiters(db, 2);
  const refused = await request(app.url, query, { id });
  expect(refused.errors).toMatchObject([{ extensions: { code: 'UNAVAILABLE' } }]);
  const beat = await request(
    app.url,
    'mutation { heartbeat(input: { assignmentIds: ["Assignment:x"] }) { ... on HeartbeatPayload { entries { status } } } }',
  );
  expect(beat.errors).toBeUndefined();
  await lock.query('rollback');
  await Promise.all(reads);
});

it('queries with possibly very large answers run two at a time, and small ones beside them', async () => {
  const app = await startServer(db.url);
  onTestFinished(() => app.close());
  const id = await createJob(app.url, { type: 'heavy' });
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  await lock.query('lock table jobtree.job in access exclusive mode');
  const fields = Array.from({ length: 30 }, (_, i) => `t${i}: type`).join(' ');
  const query = `query ($id: ID!) { job(id: $id) { tree { ${fields} } } }`;
  const reading = async () => {
    const [row] = await db.query<{ count: number }>(
      `select count(*)::int from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%"jobtree"."job"%'`,
    );
    return row?.count;
  };
  const heavy = Array.from({ length: 6 }, () => request(app.url, query, { id }));
  await expect.poll(reading).toBe(2);
  const small = request(app.url, 'query ($id: ID!) { job(id: $id) { type } }', { id });
  await expect.poll(reading).toBe(3);
  await lock.query('rollback');
  for (const { data } of await Promise.all(heavy)) expect(data?.job.tree).toHaveLength(1);
  expect((await small).data).toEqual({ job: { type: 'heavy' } });
});

it('reads of clients that have left are not sent', async () => {
  const app = await startServer(db.url, { JOBTREE_POOL_SIZE: '4' });
  onTestFinished(() => app.close());
  const id = await createJob(app.url, { type: 'gone', items: [{ payload: 1 }] });
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  await lock.query('lock table jobtree.job_item in access exclusive mode');
  // Each would wait for a second.
  const query = 'query ($id: ID!) { job(id: $id) { items(first: 1) { nodes { payload } } } }';
  const leaving = new AbortController();
  const reads = Array.from({ length: 100 }, () =>
    fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: { id } }),
      signal: leaving.signal,
    }),
  );
  const left = Promise.allSettled(reads);
  await lockWaiters(db, 2);
  leaving.abort();
  await left;
  // Behind all of them it would wait for longer than a request waits for a connection.
  const answer = await request(app.url, 'query ($id: ID!) { job(id: $id) { progress { itemCount } } }', {
    id,
  });
  expect(answer.data).toEqual({ job: { progress: { itemCount: 1 } } });
  await lock.query('rollback');
});

it('a small read comes before many reads of other clients', async () => {
  const app = await startServer(db.url);
  onTestFinished(() => app.close());
  await createJob(app.url, { type: 'listed' });
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  await lock.query('lock table jobtree.job in access exclusive mode');
  const { socket, send, until } = await openRaw(app.url);
  onTestFinished(() => socket.terminate());
  const lists = Array.from({ length: 90 }, (_, i) => `a${i}: jobs(first: 1) { nodes { id } }`).join(' ');
  for (let i = 0; i < 9; i++)
    send({ type: 'subscribe', id: `large ${i}`, payload: { query: `{ ${lists} }` } });
  send({ type: 'subscribe', id: 'small', payload: { query: '{ jobs(first: 1) { nodes { id } } }' } });
  await lockWaiters(db, 5);
  await lock.query('rollback');
  const first = await until(({ type }) => type === 'next');
  expect(first.id).toBe('small');
});

it('of the counts of a tenant one runs at a time, while others read and claim', async () => {
  const app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  onTestFinished(() => app.close());
  const [counting, other] = (await Promise.all(
    ['counting', 'other'].map(async (tenant) => (await makeKey(db, ['admin'], { tenant })).key),
  )) as [string, string];
  await request(app.url, createJobs, { type: 'counted' }, bearer(other));
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  // Only counts look at what is blocked.
  await lock.query('lock table jobtree.blocked_item in access exclusive mode');
  const counts = Array.from({ length: 10 }, (_, n) => {
    const aliases = Array.from(
      { length: 30 },
      (_, i) => `a${i}: pendingItemCount(filter: { types: ["${n}-${i}"] })`,
    );
    return request(app.url, `{ ${aliases.join(' ')} }`, {}, bearer(counting));
  });
  await lockWaiters(db, 1);
  const list = await request(app.url, '{ jobs(first: 1) { nodes { type } } }', {}, bearer(other));
  const claimed = await request(
    app.url,
    'mutation { claimItems(input: { worker: "w", requests: [{ type: "counted", limit: 1 }] }) { ... on ClaimItemsPayload { assignments { type } } } }',
    {},
    bearer(other),
  );
  const running = await db.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  await lock.query('rollback');
  expect(list.data).toEqual({ jobs: { nodes: [{ type: 'counted' }] } });
  expect(claimed.data).toEqual({ claimItems: { assignments: [{ type: 'counted' }] } });
  expect(running.length).toBeLessThanOrEqual(1);
  await Promise.all(counts);
});

const createJobs =
  'mutation ($type: String!) { createJob(input: { type: $type, items: [{}] }) { __typename } }';
const addItem = 'mutation ($id: ID!) { addItems(input: { jobId: $id, items: [{}] }) { __typename } }';

it('new jobs and items of clients that have left are not stored', async () => {
  const app = await startServer(db.url, { JOBTREE_POOL_SIZE: '2' });
  onTestFinished(() => app.close());
  const jobs = await Promise.all(Array.from({ length: 20 }, () => createJob(app.url, { type: 'kept' })));
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  // Added items don't write to jobs.
  await lock.query('lock table jobtree.job, jobtree.job_item in exclusive mode');
  const leaving = new AbortController();
  const send = (query: string, variables: object) =>
    fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal: leaving.signal,
    });
  const left = Promise.allSettled([
    ...jobs.map(() => send(createJobs, { type: 'left' })),
    ...jobs.map((id) => send(addItem, { id })),
  ]);
  await lockWaiters(db, 2);
  leaving.abort();
  await left;
  // What this server is asked later, it reads later.
  await fetch(new URL('/healthz', app.url));
  await lock.query('rollback');
  await createJob(app.url, { type: 'last' });
  const [row] = await db.query<{ jobs: number; items: number }>(
    `select (select count(*)::int from jobtree.job where type = 'left') as jobs,
       (select count(*)::int from jobtree.job_item i join jobtree.job j on j.id = i.job_id where j.type = 'kept') as items`,
  );
  // Two statements at a time had been sent; new jobs that came together share one.
  expect(row?.items).toBeLessThanOrEqual(2);
  expect(row?.jobs).toBeLessThan(jobs.length);
});

it('a caller that leaves with its first request gets nothing done but its reports', async () => {
  const app = await startServer(db.url);
  onTestFinished(() => app.close());
  const { pathname, host, hostname, port } = new URL(app.url);
  const sendAndLeave = async (query: string, variables: object) => {
    const body = JSON.stringify({ query, variables });
    const head = `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`${head}\r\n\r\n${body}`);
    socket.destroy();
  };
  const type = newType('left');
  const jobId = await createJob(app.url, { type, items: [{}], sealed: true });
  const { claimItems } = await data(
    app.url,
    `mutation ($type: String!) {
      claimItems(input: { worker: "test", requests: [{ type: $type, limit: 1 }] }) {
        ... on ClaimItemsPayload { assignments { id } }
      }
    }`,
    { type },
  );
  for (let turn = 0; turn < 20; turn++) await sendAndLeave(createJobs, { type });
  await sendAndLeave(
    `mutation ($id: ID!) {
      reportOutcomes(input: { reports: [{ assignmentId: $id, outcome: { success: {} } }] }) { __typename }
    }`,
    { id: claimItems.assignments[0].id },
  );
  const query = 'query ($id: ID!) { job(id: $id) { progress { succeeded } } }';
  await expect
    .poll(() => data(app.url, query, { id: jobId }))
    .toEqual({ job: { progress: { succeeded: 1 } } });
  const [row] = await db.query<{ jobs: number }>(
    'select count(*)::int as jobs from jobtree.job where type = $1',
    [type],
  );
  expect(row?.jobs).toBe(1);
});

it('items that one caller adds to many jobs do not keep those of another waiting', async () => {
  const app = await startServer(db.url, { JOBTREE_POOL_SIZE: '2', JOBTREE_AUTH: 'keys' });
  onTestFinished(() => app.close());
  const [many, few] = (await Promise.all(
    ['many', 'few'].map(async (tenant) => (await makeKey(db, ['producer'], { tenant })).key),
  )) as [string, string];
  const send = async (key: string, query: string, variables: object) => {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(key) },
      body: JSON.stringify({ query, variables }),
    });
    return (await response.json()) as any;
  };
  const newJob = async (key: string) =>
    (
      await send(
        key,
        'mutation { createJob(input: { type: "fair" }) { ... on CreateJobPayload { job { id } } } }',
        {},
      )
    ).data.createJob.job.id as string;
  const jobs = await Promise.all(Array.from({ length: 30 }, () => newJob(many)));
  const own = await newJob(few);
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  await lock.query('lock table jobtree.job_item in exclusive mode');
  const answered: string[] = [];
  const adds = jobs.map((id) => send(many, addItem, { id }).then(() => answered.push('many')));
  await lockWaiters(db, 2);
  const arrived = arrival();
  adds.push(send(few, addItem, { id: own }).then(() => answered.push('few')));
  await arrived;
  // What this server is asked later, it reads later.
  await fetch(new URL('/healthz', app.url));
  await lock.query('rollback');
  await Promise.all(adds);
  expect(answered.indexOf('few')).toBeLessThan(10);
});

it('uploads that one caller begins do not keep the new jobs of another waiting', async () => {
  const app = await startServer(db.url, { JOBTREE_POOL_SIZE: '2', JOBTREE_AUTH: 'keys' });
  onTestFinished(() => app.close());
  const [many, few] = (await Promise.all(
    ['uploads', 'jobs'].map(async (tenant) => (await makeKey(db, ['producer'], { tenant })).key),
  )) as [string, string];
  // From here on the keys are known and each connection has its plans: all that later work waits for is a turn.
  for (const key of [many, few])
    await Promise.all(
      Array.from({ length: 4 }, () => request(app.url, createJobs, { type: 'first' }, bearer(key))),
    );
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  await lock.query('lock table jobtree.upload, jobtree.job in exclusive mode');
  const answered: string[] = [];
  const begun = Array.from({ length: 30 }, async () => {
    await fetch(new URL('/api/uploads', app.url), {
      method: 'POST',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '10', ...bearer(many) },
    });
    answered.push('upload');
  });
  await lockWaiters(db, 2);
  const arrived = arrival();
  const job = request(app.url, createJobs, { type: 'beside' }, bearer(few)).then(() => answered.push('job'));
  await arrived;
  // What this server is asked later, it reads later.
  await fetch(new URL('/healthz', app.url));
  await lock.query('rollback');
  await Promise.all([...begun, job]);
  expect(answered.indexOf('job')).toBeLessThan(10);
});

it('what would only wait is refused at once, and heartbeats of the same caller are not', async () => {
  const app = await startServer(db.url, { JOBTREE_POOL_SIZE: '2' });
  onTestFinished(() => app.close());
  const lock = await db.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin');
  // Added items don't write to jobs.
  await lock.query('lock table jobtree.job, jobtree.job_item in exclusive mode');
  const leaving = new AbortController();
  const send = (query: string, signal?: AbortSignal) =>
    fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: { type: 'refused' } }),
      ...(signal && { signal }),
    });
  const adds: Promise<unknown>[] = [];
  for (let i = 0; i < 400; i++) adds.push(send(createJobs, leaving.signal));
  const left = Promise.allSettled(adds);
  // It is refused once it is known how little is carried out; until then it waits, and is given up.
  const tryOnce = () => send(createJobs, AbortSignal.timeout(200)).catch(() => undefined);
  await expect.poll(async () => (await tryOnce())?.status, { timeout: 30_000 }).toBe(503);
  const refused = await send(createJobs);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAVAILABLE' } }] });
  const beat = await send(
    'mutation { heartbeat(input: { assignmentIds: ["Assignment:x"] }) { ... on HeartbeatPayload { entries { status } } } }',
  );
  expect(beat.status).toBe(200);
  expect(await beat.json()).toMatchObject({ data: { heartbeat: {} } });
  leaving.abort();
  await left;
  await lock.query('rollback');
});
