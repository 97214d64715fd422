/** Two servers behind nginx with the configuration that deploy/ has, one Redis and one Postgres. */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import { collect, createJob, data, request, subscribe, work } from '../support/api.ts';
import { startNginx, withoutNginx } from '../support/nginx.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { until } from '../support/transport.ts';
import { useDatabase } from '../support/use-server.ts';

const watcherCount = 50;
const itemsBetween = 150;
const progress = 'subscription ($id: ID!) { jobProgress(jobId: $id) { status succeeded itemCount } }';

describe.skipIf(withoutNginx || inject('redisUrl') === undefined)('behind nginx', () => {
  const db = useDatabase();
  let balancer: Awaited<ReturnType<typeof startNginx>>;
  const servers: ServerProcess[] = [];
  const start = (port?: string) =>
    startServerProcess(db.url, {
      REDIS_URL: inject('redisUrl') as string,
      JOBTREE_TRUSTED_PROXIES: '1',
      JOBTREE_CALLER_CONNECTIONS: '200',
      JOBTREE_SHUTDOWN_DELAY_MS: '500',
      JOBTREE_LOG_LEVEL: 'warn',
      ...(port === undefined ? {} : { JOBTREE_PORT: port }),
    });
  beforeAll(async () => {
    servers.push(...(await Promise.all([start(), start()])));
    balancer = await startNginx(servers.map(({ url }) => url));
  });
  afterAll(async () => {
    await balancer.stop();
    await Promise.all(servers.map((server) => server.end()));
  });

  it('queries, WebSockets and large requests pass', async () => {
    const id = await createJob(balancer.url, { type: 'passed', items: [{}], sealed: true });
    const events = collect(subscribe(balancer.url, progress, { id }));
    expect(await work(balancer.url, 'passed', 1)).toBe(1);
    expect((await events).at(-1).data.jobProgress).toEqual({
      status: 'COMPLETED',
      succeeded: 1,
      itemCount: 1,
    });
    const large = await request(balancer.url, '{ __typename }', { padding: 'x'.repeat(7_000_000) });
    expect(large.data).toEqual({ __typename: 'Query' });
    const upload = await fetch(new URL('/api/uploads', balancer.url), {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(30_000_000),
    });
    expect([upload.status, (await upload.json()).size]).toEqual([201, 30_000_000]);
    const form = new FormData();
    const query =
      'mutation ($file: File!) { createUpload(input: { file: $file }) { ... on CreateUploadPayload { upload { size } } } }';
    form.set('operations', JSON.stringify({ query, variables: { file: null } }));
    form.set('map', JSON.stringify({ 0: ['variables.file'] }));
    form.set('0', new Blob([new Uint8Array(30_000_000)]));
    const multipart = await fetch(balancer.url, {
      method: 'POST',
      headers: { 'apollo-require-preflight': 'true' },
      body: form,
    });
    expect(await multipart.json()).toEqual({ data: { createUpload: { upload: { size: 30_000_000 } } } });
  });

  it('the servers, not nginx, refuse what is too large', async () => {
    const answer = await fetch(balancer.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ __typename }', variables: { padding: 'x'.repeat(26_000_000) } }),
    });
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: expect.any(String) } }] });
  });

  it('an event stream arrives as it happens', async () => {
    const id = await createJob(balancer.url, { type: 'streamed', items: [{}, {}] });
    const query = new URLSearchParams({ query: progress, variables: JSON.stringify({ id }) });
    const response = await fetch(`${balancer.url}?${query}`, { headers: { accept: 'text/event-stream' } });
    let text = '';
    const reading = (async () => {
      for await (const chunk of response.body as ReadableStream<Uint8Array>) text += Buffer.from(chunk);
    })();
    await until('the state', () => text.includes('"succeeded":0'));
    await work(balancer.url, 'streamed', 1);
    await until('the first', () => text.includes('"succeeded":1'));
    await work(balancer.url, 'streamed', 1);
    await data(balancer.url, 'mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }', { id });
    await reading;
    expect(text).toContain('event: complete');
  });

  it('servers see the addresses of clients', async () => {
    const events = (forwardedFor: string) =>
      fetch(balancer.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'text/event-stream',
          'x-forwarded-for': forwardedFor,
        },
        body: JSON.stringify({ query: 'subscription { workAvailable(types: ["none"]) { types } }' }),
      });
    const ending: (() => Promise<void> | undefined)[] = [];
    // Two servers take 200 each from 127.0.0.1, whatever clients claim to be.
    const answers = await Promise.all(Array.from({ length: 401 }, (_, i) => events(`10.0.0.${i % 250}`)));
    for (const { body } of answers) ending.push(() => body?.cancel());
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(10);
    await Promise.all(ending.map((end) => end()));
  });

  it('no request or event is lost when a server is killed or shut down', async () => {
    // One server may still be starting while the other goes.
    const producer = createClient({ url: balancer.url, retryMs: 60_000 });
    const { id } = await producer.createJob({
      type: 'lasting',
      heartbeatIntervalMs: 2_000,
      maxFailuresPerItem: 100,
    });
    const worker = new Worker({
      url: balancer.url,
      types: { lasting: { concurrency: 10, handler: async () => null } },
    });
    await worker.start();
    const known = Array.from({ length: watcherCount }, () => 0);
    const clients = known.map(() => createClient({ url: balancer.url }));
    const watching = clients.map(async (client, i) => {
      let last: unknown;
      for await (const state of client.watchJob(id)) {
        expect(state.succeeded).toBeGreaterThanOrEqual(known[i] as number);
        known[i] = state.succeeded;
        last = state;
      }
      return last;
    });

    let added = 0;
    const add = async (count: number) => {
      for (const end = added + count; added < end; ) {
        // Repeated by the client if its server is gone.
        await producer.addItems(id, [{ payload: added, dedupeKey: String(added) }]);
        added++;
      }
    };
    const everybodyKnows = () =>
      until('everybody knows', () => known.every((succeeded) => succeeded === added));
    await add(itemsBetween);
    await everybodyKnows();
    for (const [i, signal] of [
      [0, 'SIGKILL'],
      [1, 'SIGTERM'],
    ] as const) {
      const server = servers[i] as ServerProcess;
      const adding = add(itemsBetween);
      await server.end(signal);
      await adding;
      await everybodyKnows();
      servers[i] = await start(new URL(server.url).port);
    }
    await add(itemsBetween);
    await producer.sealJob(id);
    for (const last of await Promise.all(watching))
      expect(last).toMatchObject({ status: 'COMPLETED', succeeded: added, itemCount: added, failed: 0 });
    await worker.stop();
    await Promise.all([producer, ...clients].map((client) => client.close()));
  }, 300_000);

  it('a server that is removed before its shutdown fails no request', async () => {
    let over = false;
    const asking = Array.from({ length: 8 }, async () => {
      while (!over) expect(await ask(balancer.url)).toBe(200);
    });
    const [server] = servers as [ServerProcess];
    await balancer.drain(server.url);
    await Promise.race([server.end(), Promise.all(asking)]);
    over = true;
    await Promise.all(asking);
  });
});

/** On a connection of its own. */
function ask(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const call = httpRequest(url, { method: 'POST', headers, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    call.once('error', reject).end(JSON.stringify({ query: '{ __typename }' }));
  });
}
