/** Single creations that a program makes at the same time share requests, and each has its own answer. */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { newType } from '../support/engine.ts';
import { startServer } from '../support/server.ts';

let db: TestDatabase;
let app: App;
beforeAll(async () => {
  db = await createDatabase();
  app = await startServer(db.url);
});
afterAll(async () => {
  await app.close();
  await db.drop();
});

/** A client, and the names of the mutations that it sends. `answer`: instead of the server. */
function spied(answer?: (body: string) => Promise<Response> | undefined) {
  const sent: string[] = [];
  const client = createClient({
    url: app.url,
    fetch: (url, options) => {
      const body = String(options?.body);
      sent.push(/mutation (\w+)/.exec(body)?.[1] ?? '');
      return answer?.(body) ?? fetch(url, options);
    },
  });
  onTestFinished(() => client.close());
  return { client, sent };
}

const jobsOf = (type: string) => db.query('select from jobtree.job where type = $1', [type]);

it('100 calls at once go out in one request, and a wrong one is refused alone; a single call goes as it is', async () => {
  const { client, sent } = spied();
  const type = newType();
  const calls = await Promise.allSettled(
    Array.from({ length: 100 }, (_, n) => client.enqueue(type, { n }, n === 50 ? { priority: 99_999 } : {})),
  );
  const refused = calls.flatMap((call, n) => (call.status === 'rejected' ? [[n, call.reason]] : []));
  expect(refused).toEqual([[50, expect.objectContaining({ code: 'INVALID_INPUT', field: 'priority' })]]);
  expect(new Set(calls.map((call) => call.status === 'fulfilled' && call.value.id)).size).toBe(100);
  expect(await jobsOf(type)).toHaveLength(99);
  await client.enqueue(type, 100);
  expect(sent).toEqual(['CreateJobs', 'CreateJob']);
});

it('a call with a key or a signal goes alone, since it may be held up or given up', async () => {
  const { client, sent } = spied();
  const type = newType();
  await Promise.all([
    ...Array.from({ length: 5 }, (_, n) => client.enqueue(type, n, { dedupeKey: `k${n}` })),
    ...Array.from({ length: 5 }, (_, n) => client.enqueue(type, n, { serializeKey: type })),
    ...Array.from({ length: 5 }, (_, n) => client.enqueue(type, n, { signal: AbortSignal.timeout(60_000) })),
  ]);
  expect(sent).toEqual(Array(15).fill('CreateJob'));
  expect(await jobsOf(type)).toHaveLength(15);
});

it('an older server, which does not know createJobs, gets them one by one', async () => {
  const { client, sent } = spied((body) =>
    body.includes('createJobs')
      ? Promise.resolve(
          Response.json({
            errors: [
              {
                message: 'Cannot query field "createJobs".',
                extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
              },
            ],
          }),
        )
      : undefined,
  );
  const type = newType();
  await Promise.all(Array.from({ length: 20 }, (_, n) => client.enqueue(type, n)));
  expect(await jobsOf(type)).toHaveLength(20);
  expect(sent.filter((name) => name === 'CreateJobs').length).toBeLessThan(3);
});

it('requests without an answer hold up later calls only for a moment', async () => {
  let isHeld = true;
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { client } = spied((body) => (isHeld ? held.then(() => fetch(app.url, init(body))) : undefined));
  const type = newType();
  const first = [client.enqueue(type, 1), client.enqueue(type, 2)];
  isHeld = false;
  await Promise.all(Array.from({ length: 10 }, (_, n) => client.enqueue(type, n)));
  release();
  await Promise.all(first);
  expect(await jobsOf(type)).toHaveLength(12);
});

const init = (body: string) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  body,
});

it('a lost answer leaves the outcome of each open, and nothing is sent again', async () => {
  const { client, sent } = spied((body) =>
    body.includes('CreateJobs') ? Promise.reject(new TypeError('fetch failed')) : undefined,
  );
  const type = newType();
  const calls = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => client.enqueue(type, n)));
  const outcomes = calls.map((call) => call.status === 'rejected' && call.reason.outcome);
  expect(outcomes).toEqual(Array(10).fill('UNKNOWN'));
  expect(sent).toEqual(['CreateJobs']);
});
