/** Who did what that only some may do: it stands in a table that can only be added to, in one statement with what was done, and in the log. */

import { randomUUID } from 'node:crypto';
import { createClient as connect } from 'graphql-ws';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { createClient } from '../../src/client/index.ts';
import { readConfig } from '../../src/config/config.ts';
import { pruneAudit } from '../../src/domain/access/audit.ts';
import { schema } from '../../src/schema/index.ts';
import { type App, createApp } from '../../src/server/create-app.ts';
import { bearer, makeKey, statementsOf } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();
let app: App;
let admin: { id: string; key: string };
let producer: { id: string; key: string };
let log = '';
beforeAll(async () => {
  admin = await makeKey(db, ['admin']);
  producer = await makeKey(db, ['producer']);
  app = await createApp({
    config: readConfig({ JOBTREE_PORT: '0', JOBTREE_AUTH: 'keys', JOBTREE_TRUSTED_PROXIES: '1' }),
    databaseUrl: db.url,
    logger: pino({ level: 'info' }, { write: (line: string) => (log += line) }),
  });
});
afterAll(async () => {
  await app.close();
});

interface Entry {
  readonly id: string;
  readonly actor: string;
  readonly action: string;
  readonly subjects: string[];
  readonly address: string;
  readonly outcome: string;
}

async function ask(query: string, { key = admin.key, from = '203.0.113.7', variables = {} } = {}) {
  const response = await fetch(app.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from, ...bearer(key) },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as any;
}

const entries = (action: string) =>
  db.query<Entry & { at: Date }>('select * from jobtree.audit_entry where action = $1 order by at', [action]);
const logged = (): Entry[] =>
  log
    .split('\n')
    .filter((line) => line.includes('"msg":"audit"'))
    .map((line) => JSON.parse(line).audit);

const pause = (type: string) =>
  `mutation { setQueue(input: { type: "${type}", paused: true }) { ... on SetQueuePayload { queue { paused } } ... on UserError { code } } }`;

/** Mutations without the permission `administer` that can't be undone, are about many, or send something out. */
const grave = [
  'addCallbacks',
  'cancelJob',
  'deleteJob',
  'setRetention',
  'cancelItems',
  'promoteItems',
  'revokeWatchTokens',
  'createWatchToken',
  'importFile',
];

describe('every mutation', () => {
  const fields = Object.values(schema.getMutationType()?.getFields() ?? {}).map(({ name, extensions }) => ({
    name,
    ...(extensions.pothosOptions as { authScopes: { may: string }; audited?: unknown }),
  }));

  it('that administers or removes something is audited', () => {
    const asked = fields.filter(
      ({ name, authScopes }) => authScopes.may === 'administer' || grave.includes(name),
    );
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.filter(({ audited }) => audited === undefined).map(({ name }) => name)).toEqual([]);
  });
});

describe('an action', () => {
  it('is recorded with who, what, on what, from where and when, in the table and in the log', async () => {
    await ask(pause('mail.one'));
    const [entry] = await entries('setQueue');
    expect(entry).toMatchObject({
      actor: `key admin (${admin.id})`,
      subjects: ['type mail.one', 'paused true'],
      address: '203.0.113.7',
      outcome: 'OK',
      at: expect.any(Date),
    });
    const { at: _, ...told } = entry as Entry & { at: Date };
    expect(logged()).toContainEqual(told);
  });

  it('is recorded once if it calls several functions, and if it deletes a tree for a producer', async () => {
    const client = createClient({ url: app.url, token: producer.key });
    const { id } = await client.createJob({ type: 'mail', items: [{ payload: 1 }], sealed: true });
    await client.deleteJob(id);
    await client.close();
    expect(await entries('deleteJob')).toMatchObject([
      { actor: `key producer (${producer.id})`, subjects: [id], outcome: 'OK' },
    ]);
  });

  it('that gives access to a tree is recorded with what can be read and for how long, without the token', async () => {
    const client = createClient({ url: app.url, token: producer.key });
    const { id } = await client.createJob({ type: 'shared', items: [{}] });
    await client.close();
    const { data } = await ask(
      `mutation { createWatchToken(input: { jobId: "${id}", sees: RESULTS, expiresInSeconds: 3600 }) { ... on CreateWatchTokenPayload { token } } }`,
      { key: producer.key },
    );
    expect(await entries('createWatchToken')).toMatchObject([
      {
        actor: `key producer (${producer.id})`,
        subjects: [id, 'sees RESULTS', 'expiresInSeconds 3600'],
        outcome: 'OK',
      },
    ]);
    const rows = JSON.stringify(await db.query('select * from jobtree.audit_entry'));
    expect(rows + log).not.toContain(data.createWatchToken.token.split('.').at(-1));
  });

  it('that imports a file is recorded, for a job that exists and for a new tree; other new trees are not', async () => {
    const client = createClient({ url: app.url, token: producer.key });
    const upload = async (text: string) => (await client.upload(new Blob([text]))).id;
    const [first, second] = [await upload('1\n'), await upload('2\n')];
    const make = (input: string) =>
      ask(`mutation { createJob(input: ${input}) { ... on CreateJobPayload { job { id } } } }`, {
        key: producer.key,
      });
    const file = (id: string) => `file: { source: { uploadId: "${id}" }, format: LINES }`;
    const { data } = await make('{ type: "imported" }');
    await client.close();
    const jobId = data.createJob.job.id;
    await ask(`mutation { importFile(input: { jobId: "${jobId}", ${file(first)} }) { __typename } }`, {
      key: producer.key,
    });
    expect(await entries('importFile')).toMatchObject([{ subjects: [jobId, first], outcome: 'OK' }]);
    await make(`{ type: "outer", children: [{ type: "inner", ${file(second)} }] }`);
    expect(await entries('createJob')).toMatchObject([
      { subjects: ['type inner', second], outcome: 'OK', actor: `key producer (${producer.id})` },
    ]);
  });

  it('that creates many trees is recorded for each import, with what became of it', async () => {
    const client = createClient({ url: app.url, token: producer.key });
    const { id } = await client.upload(new Blob(['1\n']));
    await client.close();
    const unknown = 'Upload:00000000-0000-4000-8000-000000000000';
    const file = (upload: string) => `file: { source: { uploadId: "${upload}" }, format: LINES }`;
    const make = (key: string) =>
      ask(
        `mutation { createJobs(inputs: [
          { type: "plain", items: [{}] }, { type: "other", children: [{ type: "below" }] },
          { type: "bad", ${file(unknown)} }, { type: "good", ${file(id)} }
        ]) { __typename } }`,
        { key },
      );
    await make(producer.key);
    expect(await entries('createJobs')).toMatchObject([
      { subjects: ['type bad', unknown], outcome: 'NOT_FOUND' },
      { subjects: ['type good', id], outcome: 'OK', actor: `key producer (${producer.id})` },
    ]);
    const scoped = await makeKey(db, ['producer'], { types: ['plain'] });
    await make(scoped.key);
    const worker = await makeKey(db, ['worker']);
    await make(worker.key);
    expect((await entries('createJobs')).slice(2)).toMatchObject([
      { subjects: ['type bad', unknown], outcome: 'FORBIDDEN' },
      { subjects: ['type good', id], outcome: 'FORBIDDEN' },
      { subjects: ['type bad', unknown, 'type good', id], outcome: 'FORBIDDEN' },
    ]);
  });

  it('without a function is recorded after it', async () => {
    const id = 'DeadLetterGroup:00000000-0000-0000-0000-000000000000';
    await ask(`mutation { noteDeadLetters(input: { groupId: "${id}", note: "x" }) { __typename } }`);
    expect(await entries('noteDeadLetters')).toMatchObject([{ subjects: [id], outcome: 'NOT_FOUND' }]);
    await ask('mutation { syncSchedules(input: { schedules: [] }) { __typename } }');
    expect(await entries('syncSchedules')).toHaveLength(1);
  });

  it('that changes nothing is recorded once, with the refusal; what has an effect is recorded with it', async () => {
    const { id } = await makeKey(db, ['worker']);
    const unknown = 'ApiKey:00000000-0000-4000-8000-000000000000';
    const rotate = 'mutation ($id: ID!) { rotateApiKey(input: { id: $id }) { __typename } }';
    const before = await entries('rotateApiKey');
    for (const one of [unknown, `ApiKey:${id}`]) await ask(rotate, { variables: { id: one } });
    expect((await entries('rotateApiKey')).slice(before.length)).toMatchObject([
      { subjects: [unknown], outcome: 'NOT_FOUND' },
      { subjects: [`ApiKey:${id}`], outcome: 'OK' },
    ]);
  });

  it('over a WebSocket is recorded with the address that opened it', async () => {
    const socket = connect({
      url: app.url.replace('http', 'ws'),
      webSocketImpl: class extends WebSocket {
        constructor(url: string, protocols: string) {
          super(url, protocols, { headers: { 'x-forwarded-for': '2001:db8::1:2' } });
        }
      },
      connectionParams: bearer(admin.key),
    });
    for await (const _ of socket.iterate({ query: pause('mail.socket') }));
    await socket.dispose();
    expect((await entries('setQueue')).at(-1)).toMatchObject({
      subjects: ['type mail.socket', 'paused true'],
      address: '2001:db8::1:2',
    });
  });

  it('that is rolled back is not recorded', async () => {
    await db.query(
      `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = 'JT002'; end $$;
       create trigger refuse before insert on jobtree.queue for each row execute function public.refuse()`,
    );
    const { data } = await ask(pause('mail.undone'));
    await db.query('drop function public.refuse() cascade');
    expect(data.setQueue.code).toBe('INVALID_INPUT');
    const ofIt = (await entries('setQueue')).filter(({ subjects }) => subjects[0] === 'type mail.undone');
    expect(ofIt).toMatchObject([{ outcome: 'INVALID_INPUT' }]);
  });

  it("that can't be recorded is rolled back", async () => {
    const client = createClient({ url: app.url, token: producer.key });
    const { id: job } = await client.createJob({ type: 'mail' });
    await client.close();
    const [group, operation] = [randomUUID(), randomUUID()];
    await db.query(
      `insert into jobtree.dead_letter (job_id, position, type, code, pattern, fingerprint, died_at)
       values ($1, 1, 'mail', 'E', 'no', $2, now())`,
      [job.slice('Job:'.length), group],
    );
    // So that the operation does not finish.
    const holder = await db.connect();
    onTestFinished(() => holder.end());
    await holder.query('begin; select from jobtree.dead_letter for update');
    await db.query(
      `insert into jobtree.operation (id, kind, requested_at, types, before_position, total)
       values ($1, 'DISCARD', now(), '{mail}', 0, 1)`,
      [operation],
    );
    await db.query(
      `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
       create trigger refuse before insert on jobtree.audit_entry for each row execute function public.refuse()`,
    );
    for (const act of [
      `cancelOperation(input: { operationId: "Operation:${operation}" }) { __typename }`,
      `noteDeadLetters(input: { groupId: "DeadLetterGroup:${group}", note: "x" }) { __typename }`,
      pause('mail.unnoted').slice('mutation { '.length, -2),
    ])
      expect((await ask(`mutation { ${act} }`)).errors?.[0].extensions.code, act).toBe('INTERNAL');
    await db.query('drop function public.refuse() cascade');
    expect(await db.query(`select from jobtree.queue where type = 'mail.unnoted'`)).toEqual([]);
    expect(await db.query('select from jobtree.dead_letter_note')).toEqual([]);
    expect(await db.query('select from jobtree.operation where cancelled_at is not null')).toEqual([]);
    // The log has what the table could not take.
    expect(logged().at(-1)).toMatchObject({
      subjects: ['type mail.unnoted', 'paused true'],
      outcome: 'INTERNAL',
    });
  });

  it('without authentication is recorded as by "anybody"', async () => {
    const open = await startServer(db.url);
    await fetch(open.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: pause('mail.open') }),
    });
    await open.close();
    expect((await entries('setQueue')).at(-1)).toMatchObject({ actor: 'anybody', address: '127.0.0.1' });
  });
});

describe('a refusal', () => {
  it('is recorded with its code, for rights and for input', async () => {
    await ask(pause('mail.two'), { key: producer.key });
    await ask(pause(''));
    const [forbidden, invalid] = (await entries('setQueue')).slice(-2);
    expect(forbidden).toMatchObject({ actor: `key producer (${producer.id})`, outcome: 'FORBIDDEN' });
    expect(invalid).toMatchObject({ subjects: ['type ', 'paused true'], outcome: 'INVALID_INPUT' });
  });

  it('that repeats is recorded a few times, and others are recorded meanwhile', async () => {
    const watcher = await makeKey(db, ['watcher']);
    const revoke = (key: string, id: string) =>
      ask(`mutation { revokeApiKey(input: { id: "${id}" }) { __typename } }`, { key });
    for (let i = 0; i < 100; i++) await revoke(watcher.key, 'x');
    const id = `ApiKey:${watcher.id}`;
    await revoke(admin.key, id);
    const noted = await entries('revokeApiKey');
    expect(noted.filter(({ outcome }) => outcome === 'FORBIDDEN')).toHaveLength(60);
    expect(noted.at(-1)).toMatchObject({ subjects: [id], outcome: 'OK' });
  });

  it('is recorded with any text, escaped for terminals', async () => {
    const name = `\u0000\u001b[2J\ud800${'x'.repeat(1_000)}`;
    await ask('mutation ($name: String!) { pauseSchedule(input: { name: $name }) { __typename } }', {
      variables: { name },
    });
    const [entry] = await entries('pauseSchedule');
    expect(entry?.subjects[0]).toMatch(/^schedule \ufffd\ufffd\[2J\ufffdx{200,}…$/);
    expect(entry?.subjects[0]?.length).toBeLessThan(400);
  });
});

it('has no payload, no secret and no path of a URL', async () => {
  const url = 'https://hooks.example.com/T0/planted-path?token=planted-token';
  const { data } = await ask(
    'mutation ($url: String!) { putCallbackEndpoint(input: { name: "ops", url: $url }) { ... on PutCallbackEndpointPayload { secret } } }',
    { variables: { url } },
  );
  const made = await ask(
    'mutation { createApiKey(input: { name: "new", roles: [WORKER], types: ["mail.*"] }) { ... on CreateApiKeyPayload { key } } }',
  );
  await ask(
    'mutation { replayDeadLetters(input: { filter: { itemIds: ["JobItem:00000000-0000-7000-8000-000000000000/1"], dedupeKeys: ["planted-dedupe"] }, payload: { card: "planted-payload" } }) { __typename } }',
  );
  await ask(
    'mutation { putSchedule(input: { name: "nightly", times: { cron: { expression: "0 0 * * *" } }, template: { type: "mail", items: [{ payload: "planted-template" }] } }) { __typename } }',
  );
  const rows = JSON.stringify(await db.query('select * from jobtree.audit_entry'));
  expect(rows).toContain('host hooks.example.com');
  expect(rows).toContain('role worker');
  expect(rows).toContain('with a corrected payload');
  const secrets = [data.putCallbackEndpoint.secret, made.data.createApiKey.key, 'planted', admin.key];
  for (const secret of secrets) {
    expect(rows).not.toContain(secret);
    expect(log).not.toContain(secret);
  }
});

it('is listed to admins only, newest first, with pages and filters', async () => {
  const client = createClient({ url: app.url, token: admin.key });
  const all = await client.auditEntries({ first: 1_000 });
  expect(all.nodes.length).toBe((await db.query('select from jobtree.audit_entry')).length);
  expect(all.nodes.map(({ at }) => at)).toEqual(
    all.nodes
      .map(({ at }) => at)
      .sort()
      .reverse(),
  );
  const paged = [];
  for (let after: string | undefined; ; ) {
    const page = await client.auditEntries({ first: 7, after });
    paged.push(...page.nodes);
    if (!page.hasNextPage) break;
    after = page.endCursor ?? undefined;
  }
  expect(paged).toEqual(all.nodes);
  const ofProducer = await client.auditEntries({ filter: { actor: producer.id } });
  expect(new Set(ofProducer.nodes.map(({ action }) => action))).toEqual(
    new Set(['createJob', 'createJobs', 'createWatchToken', 'deleteJob', 'importFile', 'setQueue']),
  );
  const both = { action: 'setQueue', subject: 'type mail.one' };
  expect((await client.auditEntries({ filter: both })).nodes).toHaveLength(1);
  const since = new Date(Date.now() + 60_000).toISOString();
  expect((await client.auditEntries({ filter: { since } })).nodes).toEqual([]);
  await client.close();
  const other = createClient({ url: app.url, token: producer.key });
  await expect(other.auditEntries()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await other.close();
});

describe('the audit table', () => {
  it.each([
    ['update', `update jobtree.audit_entry set outcome = 'OK'`],
    ['delete', 'delete from jobtree.audit_entry'],
    ['truncate', 'truncate jobtree.audit_entry'],
    ['delete as if it pruned', `set jobtree.prunes_audit = 'on'; delete from jobtree.audit_entry`],
  ])('refuses to %s', async (_, statement) => {
    const before = await db.query('select * from jobtree.audit_entry order by id');
    await expect(db.query(statement)).rejects.toMatchObject({ code: '42501' });
    await db.query('reset jobtree.prunes_audit');
    expect(await db.query('select * from jobtree.audit_entry order by id')).toEqual(before);
  });

  it('is pruned by a server after its retention, and never of entries younger than a day', async () => {
    const add = (age: string) =>
      db.query(
        `insert into jobtree.audit_entry (id, at, actor, action, subjects, address, outcome)
         values (gen_random_uuid(), now() - $1::interval, 'a', 'old', '{}', '', 'OK')`,
        [age],
      );
    await Promise.all(['399 days', '401 days', '500 days'].map(add));
    const server = await startServer(db.url);
    await expect.poll(async () => (await entries('old')).length).toBe(1);
    await server.close();
    const count = (await db.query('select from jobtree.audit_entry')).length;
    await pruneAudit(statementsOf(db), 0);
    expect(await db.query('select from jobtree.audit_entry')).toHaveLength(count - 1);
  });
});

it('of a tenant shows the actions of its callers only', async () => {
  const keys = await Promise.all(['acme', 'globex'].map((tenant) => makeKey(db, ['admin'], { tenant })));
  for (const { key } of keys) await ask(pause('mail'), { key });
  const list = '{ auditEntries(filter: { subject: "type mail" }) { edges { node { actor subjects } } } }';
  for (const { id, key } of keys) {
    const { data } = await ask(list, { key });
    const actor = expect.stringContaining(id);
    expect(data.auditEntries.edges).toEqual([{ node: { actor, subjects: ['type mail', 'paused true'] } }]);
    expect(
      (await ask('{ auditEntries { edges { node { actor } } } }', { key })).data.auditEntries.edges,
    ).toEqual([{ node: { actor } }]);
  }
  const stored = (await entries('setQueue')).map(({ subjects: [type] }) => type);
  expect(stored).toEqual(expect.arrayContaining(['type acme//mail', 'type globex//mail']));
});
