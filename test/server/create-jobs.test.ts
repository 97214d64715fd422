/** createJobs over the API and with the client: rights, schemas, limits and lost answers are those of each entry. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createClient, type JobtreeError } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { request, subscribe } from '../support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { newType } from '../support/engine.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startProxy } from '../support/proxy.ts';
import { startServer } from '../support/server.ts';

let db: TestDatabase;
const ends: (() => unknown)[] = [];
beforeAll(async () => {
  db = await createDatabase();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(async () => {
  await db.drop();
});

async function start(env: Record<string, string> = {}, url = db.url): Promise<App> {
  const app = await startServer(url, env);
  ends.push(() => app.close());
  return app;
}

function clientOf(url: string, options: Parameters<typeof createClient>[0] = {}) {
  const client = createClient({ url, retryMs: 0, ...options });
  ends.push(() => client.close());
  return client;
}

const small = (type: string, more = {}) => ({ type, sealed: true, items: [{ payload: { n: 1 } }], ...more });
const shown = ({
  id,
  created,
  error,
}: {
  id?: string | undefined;
  created: boolean;
  error?: JobtreeError | undefined;
}) => (error === undefined ? [id !== undefined, created] : [error.code, error.field, error.outcome]);

const mutation = `mutation ($inputs: [JobInput!]!) {
  createJobs(inputs: $inputs) {
    ... on CreateJobsPayload { entries { index jobId created error { code field message } } }
    ... on UserError { code field message }
  }
}`;

it('the API answers each entry, in order', async () => {
  const app = await start();
  const type = newType();
  const { data, errors } = await request(app.url, mutation, {
    inputs: [small(type), small(''), small(type, { dedupeKey: 'a' }), small(type, { dedupeKey: 'a' })],
  });
  expect(errors).toBeUndefined();
  const { entries } = data.createJobs;
  expect(entries).toEqual([
    { index: 0, jobId: expect.stringMatching(/^Job:/), created: true, error: null },
    {
      index: 1,
      jobId: null,
      created: false,
      error: { code: 'INVALID_INPUT', field: 'inputs[1].type', message: 'inputs[1].type is empty.' },
    },
    { index: 2, jobId: expect.stringMatching(/^Job:/), created: true, error: null },
    { index: 3, jobId: entries[2].jobId, created: false, error: null },
  ]);
  expect((await request(app.url, mutation, { inputs: [] })).data.createJobs).toMatchObject({
    code: 'INVALID_INPUT',
    field: 'inputs',
  });
});

it('a caller gets FORBIDDEN for the entries that its scope or tenant does not cover, and the other jobs', async () => {
  const app = await start({ JOBTREE_AUTH: 'keys' });
  const scoped = await makeKey(db, ['producer'], { types: ['mail.*', 'acme//*'] });
  const tenant = await makeKey(db, ['producer'], { tenant: 'acme' });
  const ask = async (key: string, types: string[]) => {
    const { data } = await request(
      app.url,
      mutation,
      { inputs: types.map((type) => small(type)) },
      bearer(key),
    );
    return data.createJobs.entries.map(({ created, error }: any) =>
      error ? [error.code, error.field] : created,
    );
  };
  expect(await ask(scoped.key, ['mail.send', 'bill', 'globex//x', 'mail.read'])).toEqual([
    true,
    ['FORBIDDEN', 'inputs[1].type'],
    ['FORBIDDEN', null],
    true,
  ]);
  const type = newType();
  expect(await ask(tenant.key, [type, 'globex//x'])).toEqual([true, true]);
  const rows = await db.query<{ type: string }>(
    "select type from jobtree.job where type like 'acme//%' order by type",
  );
  expect(rows.map(({ type }) => type)).toEqual(['acme//globex//x', `acme//${type}`].sort());
});

it('an entry that violates the schema of its type, or for which there is no room, is refused alone', async () => {
  const app = await start({ JOBTREE_AUTH: 'keys', JOBTREE_TENANT_MAX_STORED_ITEMS: '3' });
  const admin = await makeKey(db, ['admin'], { tenant: 'initech' });
  const client = clientOf(app.url, { token: admin.key });
  const type = newType();
  await client.types.register({ type, payload: { type: 'object', required: ['to'] } });
  const answers = await client.createJobs([
    small(type, { items: [{ payload: { to: 1 } }] }),
    small(type),
    small(type, { items: [{ payload: { to: 1 } }, { payload: { to: 2 } }, { payload: { to: 3 } }] }),
    small(newType()),
    small(newType()),
    small(newType()),
  ]);
  expect(answers.map(shown)).toEqual([
    [true, true],
    ['INVALID_INPUT', 'jobs[1].items[0].payload.to', 'NOTHING_DONE'],
    ['STORAGE_LIMIT', undefined, 'NOTHING_DONE'],
    [true, true],
    [true, true],
    ['STORAGE_LIMIT', undefined, 'NOTHING_DONE'],
  ]);
});

it('counts against rate limits as often as it has entries', async () => {
  for (const limit of ['JOBTREE_CALLER_REQUESTS_PER_SECOND', 'JOBTREE_CALLER_COST_PER_SECOND']) {
    const app = await start({ JOBTREE_AUTH: 'keys', [limit]: '1000' });
    const { key } = await makeKey(db, ['producer']);
    const ask = (query: string, variables?: object) =>
      request(app.url, query, variables as never, bearer(key));
    const single =
      'mutation ($inputs: [JobInput!]!) { ...Made } fragment Made on Mutation { createJobs(inputs: $inputs) { __typename } }';
    // At once, so that nothing is earned in between.
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => ask(single, { inputs: Array(900).fill(small(newType())) })),
    );
    const codes = answers.map(({ errors }) => errors?.[0]?.extensions?.code);
    expect(codes).toContain(undefined);
    expect(codes).toContain('RATE_LIMITED');
  }
});

it('also if they are the default of a variable', async () => {
  const app = await start({ JOBTREE_AUTH: 'keys', JOBTREE_CALLER_REQUESTS_PER_SECOND: '1000' });
  const { key } = await makeKey(db, ['producer']);
  const list = `[${Array(900).fill('{ type: "t", items: [{}] }')}]`;
  const query = `mutation ($inputs: [JobInput!]! = ${list}) { createJobs(inputs: $inputs) { __typename } }`;
  const ask = () => request(app.url, query, {}, bearer(key));
  const answers = await Promise.all([ask(), ask(), ask()]);
  const codes = answers.map(({ errors }) => errors?.[0]?.extensions?.code);
  expect(codes).toContain(undefined);
  expect(codes).toContain('RATE_LIMITED');
});

it('the client divides what is too much for a request, and says which entry is to blame', async () => {
  const app = await start();
  const client = clientOf(app.url);
  const type = newType();
  const jobs = [
    ...Array.from({ length: 1_500 }, () => small(type)),
    small(type, { items: Array.from({ length: 1_200 }, (_, n) => ({ payload: n })) }),
    small(type, { priority: 99_999 }),
    small(type, { items: [{ payload: Number.NaN }] }),
    small(type, { items: [{ payload: 'x'.repeat(900_000) }] }),
    small(type, { priority: 99_999, items: Array(1_200).fill({}) }),
  ];
  const answers = await client.createJobs(jobs);
  expect(answers.slice(0, 1_501).every(({ created }) => created)).toBe(true);
  expect(answers.slice(1_501).map(shown)).toEqual([
    ['INVALID_INPUT', 'jobs[1501].priority', 'NOTHING_DONE'],
    ['INVALID_INPUT', 'jobs[1502].items[0].payload', 'NOTHING_DONE'],
    [true, true],
    ['INVALID_INPUT', 'jobs[1504].priority', 'NOTHING_DONE'],
  ]);
  expect(answers[1_504]?.error?.message).toMatch(/^jobs\[1504\]\.priority is 99999;/);
  const [row] = await db.query<{ jobs: number; items: number }>(
    'select count(distinct j.id)::int as jobs, count(*)::int as items from jobtree.job j join jobtree.job_item i on i.job_id = j.id where j.type = $1',
    [type],
  );
  expect(row).toEqual({ jobs: 1_502, items: 2_701 });
});

it('the client divides what has too many jobs or items below the roots', async () => {
  const client = clientOf((await start()).url);
  const [wide, full] = [newType(), newType()];
  const jobs = [
    ...Array(101).fill({ type: wide, children: Array(99).fill({ type: wide }) }),
    ...Array(201).fill({ type: full, children: [{ type: full, items: Array(50).fill({}) }] }),
  ];
  expect((await client.createJobs(jobs)).map(shown)).toEqual(jobs.map(() => [true, true]));
});

it('the client divides what has other letters than Latin, which have up to three times as many bytes', async () => {
  const client = clientOf((await start()).url);
  const item = { payload: '漢'.repeat(300_000) };
  const jobs = Array(12).fill(small(newType(), { items: [item] }));
  expect((await client.createJobs(jobs)).map(shown)).toEqual(jobs.map(() => [true, true]));
  const { id } = await client.createJob({ type: newType() });
  expect(await client.addItems(id, Array(12).fill(item))).toMatchObject({ added: 12 });
});

it('after a lost answer the outcome is unknown, and with dedupe keys the same call continues', async () => {
  const postgres = await startProxy(db.url);
  ends.push(() => postgres.close());
  const app = await start({}, postgres.url);
  const client = clientOf(app.url);
  const type = newType();
  const jobs = Array.from({ length: 20 }, (_, n) => small(type, { dedupeKey: `k${n}` }));
  await client.createJobs([small(newType())]);
  // Only the answer to this has such a column.
  const wasCut = postgres.cutAt('created\0');
  const lost = client.createJobs(jobs);
  lost.catch(() => {});
  await Promise.race([wasCut, lost]);
  await expect
    .poll(async () => (await db.query('select from jobtree.job where type = $1', [type])).length)
    .toBe(20);
  await expect(lost).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'UNKNOWN' });
  postgres.mend();
  await expect.poll(async () => (await request(app.url, '{ jobCount { count } }')).errors).toBeUndefined();
  const patient = clientOf(app.url, { retryMs: 20_000 });
  expect((await patient.createJobs(jobs)).map(({ created }) => created)).toEqual(jobs.map(() => false));
});

it('new jobs appear at once in a list that somebody watches', async () => {
  const app = await start();
  const type = newType();
  const watch = subscribe(
    app.url,
    `subscription { jobs(filter: { types: "${type}" }, intervalMs: 100) { jobs { id } } }`,
  );
  ends.push(() => watch.close());
  const events = watch[Symbol.asyncIterator]();
  expect((await events.next()).value.data.jobs.jobs).toEqual([]);
  // Without a hint each would be read two seconds after the one before; on a busy machine one may well take that long.
  const tookMs: number[] = [];
  for (let i = 0; i < 3; i++) {
    const createdAt = performance.now();
    const [made] = await clientOf(app.url).createJobs([small(type)]);
    const isThere = ({ value }: { value: any }) =>
      value.data.jobs.jobs.some(({ id }: any) => id === made?.id);
    while (!isThere(await events.next()));
    tookMs.push(performance.now() - createdAt);
  }
  expect(Math.min(...tookMs)).toBeLessThan(1_500);
});
