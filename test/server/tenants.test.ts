/** Two tenants with the same names for everything: nothing of one is seen by, counted for, or blocked by the other. */
import { randomUUID } from 'node:crypto';
import { createClient } from 'graphql-ws';
import pg from 'pg';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { newClaimId } from '../../src/client/claim-id.ts';
import type { Answer } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

const {
  db,
  app,
  ask: send,
} = useServer({
  JOBTREE_AUTH: 'keys',
  JOBTREE_CALLBACK_NETWORKS: '127.0.0.0/8',
  // The operations ask for all fields of everything.
  JOBTREE_MAX_QUERY_COST: '500000',
});
/** Admins: of two tenants that know nothing of each other, and of none. */
let acme: Tenant;
let globex: Tenant;
let operator: string;

beforeAll(async () => {
  operator = (await makeKey(db, ['admin'])).key;
  acme = await fill('acme');
  globex = await fill('globex');
});

/** Everything that one of them has said, as it came. */
const heard = new Map<string, string>();

async function ask(key: string, query: string, variables = {}): Promise<Answer> {
  const answer = await send(key, query, variables);
  heard.set(key, (heard.get(key) ?? '') + JSON.stringify(answer));
  return answer;
}

/** What the one root field of an operation gives. */
async function data(key: string, query: string, variables = {}): Promise<any> {
  const answer = await ask(key, query, variables);
  if (answer.errors !== undefined) throw new Error(JSON.stringify(answer.errors));
  const value = Object.values(answer.data)[0] as any;
  if (value?.code !== undefined && value.message !== undefined) throw new Error(JSON.stringify(value));
  return value;
}

const problem = '... on UserError { code message field }';
const create = (key: string, input: object) =>
  data(
    key,
    `mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { created job { id type items { nodes { id } } children { id items { nodes { id } } } } } ${problem} } }`,
    { input },
  );
const claim = (key: string, type: string, limit = 10, worker = 'w') =>
  data(
    key,
    `mutation ($input: ClaimItemsInput!) { claimItems(input: $input) { ... on ClaimItemsPayload { assignments { id type worker itemId } limitedTypes } ${problem} } }`,
    { input: { worker, requests: [{ type, limit }] } },
  );
const report = (key: string, reports: object[]) =>
  data(
    key,
    `mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status error { message field } } } ${problem} } }`,
    { reports },
  );

interface Tenant {
  readonly name: string;
  readonly key: string;
  readonly ids: Readonly<Record<Kind, string>>;
}
type Kind = 'job' | 'item' | 'assignment' | 'group' | 'operation' | 'delivery' | 'upload' | 'apiKey';

/** One of everything, all by the same names. */
async function fill(name: string): Promise<Tenant> {
  const made = await data(
    operator,
    `mutation ($tenant: String!) { createApiKey(input: { name: "first", roles: [ADMIN, WORKER], tenant: $tenant }) { ... on CreateApiKeyPayload { key apiKey { id tenant } } ${problem} } }`,
    { tenant: name },
  );
  const { key } = made;
  const run = (query: string, variables = {}) => data(key, query, variables);
  await run(
    `mutation { putCallbackEndpoint(input: { name: "hook", url: "http://127.0.0.1:9/hook" }) { ... on PutCallbackEndpointPayload { endpoint { id name } } ${problem} } }`,
  );
  await run(
    `mutation { setQueue(input: { type: "mail", paused: false, deadLetterAlert: { endpoint: "hook", count: 1, intervalMs: 3600000 } }) { ... on SetQueuePayload { queue { type deadLetterAlert { endpoint } } } ${problem} } }`,
  );
  await run(
    `mutation { putTypeSchema(input: { type: "mail", version: 1, payload: { type: "object" } }) { ... on PutTypeSchemaPayload { created } ${problem} } }`,
  );
  await run(
    `mutation { putSchedule(input: { name: "nightly", times: { everyMs: 86400000 }, template: { type: "report", sealed: true, callbacks: [{ endpoint: "hook" }], items: [{ serializeKey: "k", payload: {} }] } }) { ... on PutSchedulePayload { created schedule { id name template } } ${problem} } }`,
  );
  await run(
    `mutation { runSchedule(input: { name: "nightly" }) { ... on RunSchedulePayload { job { id occurrence { schedule } } } ${problem} } }`,
  );
  const payload = {};
  const { job } = await create(key, {
    type: 'mail',
    dedupeKey: 'once',
    callbacks: [{ endpoint: 'hook', on: 'JOB' }],
    items: [{ payload }, ...[1, 2, 3].map(() => ({ payload, serializeKey: 'line' }))],
    children: [{ type: 'bill', after: ['mail'], items: [{ payload }] }],
  });
  const [assignment, dead] = (await claim(key, 'mail', 2)).assignments;
  await report(key, [
    { assignmentId: dead.id, outcome: { failure: { code: 'E', message: 'no "mail"', permanent: true } } },
  ]);
  await eventually(async () => {
    expect((await run('{ callbackDeliveries { nodes { id } } }')).nodes).not.toEqual([]);
  });
  const deliveries = await run('{ callbackDeliveries { nodes { id body } } }');
  const [group] = await run('{ deadLetterGroups { id type } }');
  await run(
    `mutation ($id: ID!) { noteDeadLetters(input: { groupId: $id, note: "mine" }) { ... on NoteDeadLettersPayload { group { note } } ${problem} } }`,
    { id: group.id },
  );
  const { operation } = await run(
    `mutation { cancelItems(input: { filter: { types: ["nothing"] } }) { ... on CancelItemsPayload { operation { id total } } ${problem} } }`,
  );
  const upload = await fetch(new URL('api/uploads', app.url), {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', ...bearer(key) },
    body: '{}\n',
  });
  return {
    name,
    key,
    ids: {
      job: job.id,
      item: job.items.nodes[0].id,
      assignment: assignment.id,
      group: group.id,
      operation: operation.id,
      delivery: deliveries.nodes[0].id,
      upload: ((await upload.json()) as { id: string }).id,
      apiKey: made.apiKey.id,
    },
  };
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const withoutIds = (answer: unknown) =>
  JSON.stringify(answer).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}(:\d+)?|item \d+ of/g, '#');

const jobFields =
  'id type dedupeKey occurrence { schedule } callbacks { endpoint } deletion { reaped } treeOutcome root { id } tree { id type } children { id } after { id type } parent { id } feed { source payload } progress { revision itemCount } items { nodes { id serializeKey payload failures { code message worker } assignment { type worker } blockedBy { id } } }';
/** All lists and figures. */
const lists: Readonly<Record<string, string>> = {
  jobs: `{ jobs(filter: { rootsOnly: false }) { nodes { ${jobFields} } pageInfo { startCursor } } }`,
  'jobs of a type': `{ jobs(filter: { types: "mail" }) { nodes { ${jobFields} } } }`,
  'jobs of a schedule': `{ jobs(filter: { schedule: "nightly" }) { nodes { ${jobFields} } } }`,
  queues:
    '{ queues { type ready waiting blocked running deadLetterAlert { endpoint } figures { claimed failed dead } history { claimed } slow } }',
  queue: '{ queue(type: "mail") { type ready blocked running figures { claimed failed dead } } }',
  queueTotal:
    '{ queueTotal { typeCount ready waiting blocked running figures { claimed failed dead wait { count } } history(stepMinutes: 60) { claimed } } }',
  'queueTotal of types':
    '{ queueTotal(types: ["mail", "bill"]) { typeCount ready figures { claimed failed dead } } }',
  'queues by a part of their names': '{ queues(nameContains: "AI") { type ready } }',
  'queueTotal by a part of their names':
    '{ queueTotal(nameContains: "ai") { typeCount ready figures { claimed failed dead } } }',
  heldItems: '{ heldItems { item { id } type worker } }',
  'heldItems of a worker': '{ heldItems(workers: ["w"], types: ["mail"]) { item { id } type worker } }',
  workers: '{ workers { name types { type holds } } }',
  deadLetterGroups: '{ deadLetterGroups { id type pattern count note example { id } items { id } } }',
  deadLetterDigest: '{ deadLetterDigest(since: "2020-01-01T00:00:00Z") { count group { id type } } }',
  deadLetterCount: '{ deadLetterCount(filter: { diedFrom: "2020-01-01T00:00:00Z" }) }',
  jobCount: '{ jobCount(filter: { rootsOnly: false, createdFrom: "2020-01-01T00:00:00Z" }) { count since } }',
  pendingItemCount: '{ pendingItemCount(filter: { statuses: [READY, BLOCKED, RUNNING, WAITING] }) }',
  operations: '{ operations { nodes { id kind total } } }',
  schedules:
    '{ schedules { nodes { id name template lastJob { id type } lastFailure { message } } edges { cursor } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }',
  schedule: '{ schedule(name: "nightly") { id name template } }',
  serializeKeys: '{ serializeKeys { key blocked head { id } } }',
  'serializeKeys by name': '{ serializeKeys(keys: ["line", "k"]) { key blocked head { id } } }',
  typeSchemas: '{ typeSchemas(type: "mail") { type version } }',
  typesWithSchemas: '{ typesWithSchemas }',
  callbackEndpoints: '{ callbackEndpoints { id name url } }',
  callbackDeliveries: '{ callbackDeliveries { nodes { id endpoint rootId body } } }',
  'callbackDeliveries of an endpoint':
    '{ callbackDeliveries(filter: { endpoint: "hook" }) { nodes { id body } } }',
  apiKeys: '{ apiKeys { id name tenant types } }',
};

/** What both must have alike, and by which each would see that there is another one. */
const shape = (answer: unknown) =>
  JSON.stringify(answer)
    .replaceAll(uuid, '#')
    .replaceAll(/:\d+"/g, ':#"')
    .replaceAll(/"tenant":"\w+"/g, '"tenant":"#"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '#')
    .replaceAll(/"revision":"[^"]*"|"\w*[cC]ursor":"[^"]*"/g, '#');

describe('of two tenants with the same names', () => {
  it.each(Object.entries(lists))('%s shows each its own, as if it were alone', async (_, query) => {
    const [ours, theirs] = await Promise.all([ask(acme.key, query), ask(globex.key, query)]);
    expect(ours.errors).toBeUndefined();
    expect(shape(ours.data)).not.toMatch(/^\{"\w+":(\[\]|null|0|\{"nodes":\[\].*)\}$/);
    expect(shape(ours.data)).toBe(shape(theirs.data));
    const ids = new Set(JSON.stringify(ours).match(uuid));
    for (const id of JSON.stringify(theirs).match(uuid) ?? []) expect(ids).not.toContain(id);
  });

  it('each has a total that is that of its types, whose names do not contain its own', async () => {
    const total =
      'typeCount ready running figures { claimed failed dead wait { count } processing { count } }';
    const { data } = await ask(
      acme.key,
      `{ all: queueTotal { ${total} } named: queueTotal(types: ["mail", "bill", "report"]) { ${total} }
         none: queues(nameContains: "acme") { type } noTotal: queueTotal(nameContains: "acme") { ${total} } }`,
    );
    expect(data.all.figures.claimed).toBeGreaterThan(0);
    expect(data.named).toEqual(data.all);
    expect(data.none).toEqual([]);
    expect(data.noTotal).toMatchObject({ typeCount: 0, ready: 0, figures: { claimed: 0 } });
  });

  const unknown = '00000000-0000-7000-8000-000000000000';
  const single: [Kind, string][] = [
    ['job', '{ job(id: $id) { id } }'],
    ['item', '{ item(id: $id) { id } }'],
    ...(['job', 'item', 'assignment', 'group', 'operation', 'delivery'] as const).flatMap(
      (kind): [Kind, string][] => [
        [kind, '{ node(id: $id) { id } }'],
        [kind, '{ nodes(ids: [$id]) { id } }'],
      ],
    ),
    ...['sealJob', 'cancelJob', 'deleteJob'].map((field): [Kind, string] => [
      'job',
      `mutation { ${field}(input: { jobId: $id }) { ${problem} } }`,
    ]),
    ['job', `mutation { addItems(input: { jobId: $id, items: [{ payload: {} }] }) { ${problem} } }`],
    [
      'job',
      `mutation { addCallbacks(input: { jobId: $id, callbacks: [{ endpoint: "x" }] }) { ${problem} } }`,
    ],
    [
      'job',
      `mutation { importFile(input: { jobId: $id, file: { source: { uploadId: "Upload:00000000-0000-7000-8000-000000000000" }, format: LINES } }) { ${problem} } }`,
    ],
    ['job', `mutation { setRetention(input: { jobId: $id, retentionSeconds: 1 }) { ${problem} } }`],
    ['job', `mutation { cancelItems(input: { filter: { jobId: $id } }) { ${problem} } }`],
    ['job', `mutation { promoteItems(input: { filter: { jobId: $id } }) { ${problem} } }`],
    ['job', `mutation { replayDeadLetters(input: { filter: { jobId: $id } }) { ${problem} } }`],
    ['job', `mutation { discardDeadLetters(input: { filter: { jobId: $id } }) { ${problem} } }`],
    ['job', '{ deadLetterCount(filter: { jobId: $id }) }'],
    ['job', '{ pendingItemCount(filter: { jobId: $id }) }'],
    ['item', `mutation { updateItem(input: { itemId: $id, priority: 1 }) { ${problem} } }`],
    ['item', `mutation { claimItem(input: { itemId: $id, worker: "w" }) { ${problem} } }`],
    ['group', `mutation { noteDeadLetters(input: { groupId: $id, note: "x" }) { ${problem} } }`],
    ['operation', `mutation { cancelOperation(input: { operationId: $id }) { ${problem} } }`],
    ['delivery', `mutation { retryCallbackDelivery(input: { deliveryId: $id }) { ${problem} } }`],
    ['apiKey', `mutation { revokeApiKey(input: { id: $id }) { ${problem} } }`],
    ['apiKey', `mutation { rotateApiKey(input: { id: $id }) { ${problem} } }`],
    [
      'upload',
      `mutation { createJob(input: { type: "mail", file: { source: { uploadId: $id }, format: NDJSON } }) { ${problem} } }`,
    ],
  ];
  const withId = (query: string) =>
    query.startsWith('mutation')
      ? query.replace('mutation', 'mutation ($id: ID!)')
      : `query ($id: ID!) ${query}`;

  it.each(single)('a %s of the other does not exist: %s', async (kind, query) => {
    const hidden = await ask(acme.key, withId(query), { id: globex.ids[kind] });
    expect(JSON.stringify(hidden)).toMatch(
      /^{ nodes?\(/.test(query) ? /^\{"data":\{"nodes?":(null|\[null\])\}\}$/ : 'NOT_FOUND',
    );
    const none = await ask(acme.key, withId(query), { id: globex.ids[kind].replace(uuid, unknown) });
    expect(withoutIds(hidden)).toBe(withoutIds(none));
  });

  it('a corrected payload is not validated by a schema of the other', async () => {
    const query = `mutation { replayDeadLetters(input: { filter: { itemIds: [$id] }, payload: 1 }) { ${problem} } }`;
    const hidden = await ask(acme.key, withId(query), { id: globex.ids.item });
    const none = await ask(acme.key, withId(query), { id: globex.ids.item.replace(uuid, unknown) });
    expect(withoutIds(hidden)).toBe(withoutIds(none));
  });

  describe('response times reveal nothing of the other: the same statements run, with as many rows, as for unknown ids', () => {
    const workIt = (fields: string) => `mutation { ${fields} { __typename } }`;
    const operations: [Kind, string][] = [
      ...single,
      ['job', '{ job(id: $id) { tree { id } items { nodes { id payload } } } }'],
      ['job', workIt('revokeWatchTokens(input: { jobId: $id })')],
      ['job', workIt('createWatchToken(input: { jobId: $id, sees: RESULTS })')],
      ['item', '{ deadLetterCount(filter: { itemIds: [$id] }) }'],
      ['item', '{ pendingItemCount(filter: { itemIds: [$id] }) }'],
      ['item', workIt('replayDeadLetters(input: { filter: { itemIds: [$id] }, payload: {} })')],
      ['group', '{ node(id: $id) { ... on DeadLetterGroup { count items { id } example { id } } } }'],
      ['group', '{ deadLetterCount(filter: { groupIds: [$id] }) }'],
      ['apiKey', '{ apiKeys(after: $id) { id } }'],
      ['assignment', workIt('heartbeat(input: { assignmentIds: [$id] })')],
      ['assignment', workIt('releaseAssignments(input: { assignmentIds: [$id] })')],
      [
        'assignment',
        workIt(
          'reportOutcomes(input: { reports: [{ assignmentId: $id, outcome: { success: { result: 1 } } }] })',
        ),
      ],
    ];
    const narrow = async (options: object) =>
      (await makeKey(db, ['producer', 'worker'], { tenant: 'acme', ...options })).key;
    const callers: [string, () => string | Promise<string>][] = [
      ['an admin', () => acme.key],
      ['a key for some types', () => narrow({ types: ['other', 'mai*'] })],
      ['a key for a tree', () => narrow({ rootIds: [acme.ids.job.replace('Job:', '')] })],
    ];
    const compare = async (id: string, run: (id: string) => Promise<unknown>) => {
      const none = id.replace(uuid, () => randomUUID());
      // What a server has learned of them by then must be the same, too.
      for (const one of [id, none]) await run(one);
      const [hidden, missing] = [await statementsOf(id, run), await statementsOf(none, run)];
      expect(hidden).toEqual(missing);
      return hidden;
    };

    it.each(
      callers.flatMap(([caller, keyOf]) =>
        operations.map(([kind, query]) => ({ caller, keyOf, kind, query })),
      ),
    )('$caller, $query of a $kind', async ({ keyOf, kind, query }) => {
      const key = await keyOf();
      await compare(globex.ids[kind], (id) => ask(key, withId(query), { id }));
    });

    it.each(callers.slice(1))('%s reads a job outside its scope by dedupe key', async (_, keyOf) => {
      const dedupeKey = randomUUID();
      await create(acme.key, { type: 'bill', dedupeKey });
      const key = await keyOf();
      const statements = await compare(dedupeKey, async (id) => {
        const { data } = await ask(key, `{ jobByDedupeKey(type: "bill", dedupeKey: "${id}") { id } }`);
        expect(data).toEqual({ jobByDedupeKey: null });
      });
      expect(statements).toHaveLength(1);
    });

    it.each([
      ['GET', 'api/uploads/', 'upload', ''],
      ['HEAD', 'api/uploads/', 'upload', ''],
      ['PATCH', 'api/uploads/', 'upload', ''],
      ['DELETE', 'api/uploads/', 'upload', ''],
      ['GET', 'api/jobs/', 'job', '/results'],
    ] as const)('%s %s', async (method, path, kind, end) => {
      const statements = await compare(globex.ids[kind], async (id) => {
        const response = await fetch(new URL(path + id + end, app.url), {
          method,
          headers: { ...bearer(acme.key), 'tus-resumable': '1.0.0' },
        });
        expect(response.status).toBe(404);
        await response.arrayBuffer();
      });
      expect(statements).toHaveLength(1);
    });

    it.each([
      ['jobProgress(jobId: $id) { jobId }', 'job'],
      ['jobTreeProgress(rootId: $id) { rootId }', 'job'],
      ['jobItems(jobId: $id) { items { id } }', 'job'],
      ['operationProgress(operationId: $id) { id }', 'operation'],
    ] as const)('watching %s', async (field, kind) => {
      const query = `subscription ($id: ID!) { ${field} }`;
      await compare(globex.ids[kind], (id) => firstEvents(acme.key, query, { id }));
    });
  });

  it('assignments of the other are unknown', async () => {
    const { assignment } = globex.ids;
    const reported = await report(acme.key, [
      { assignmentId: assignment, outcome: { success: { result: 1 } } },
    ]);
    expect(reported.entries).toMatchObject([{ status: 'STALE' }]);
    const exchanged = await data(
      acme.key,
      `mutation ($id: ID!) { exchange(input: { reports: [{ assignmentId: $id, outcome: { success: { result: 1 } } }], claim: { worker: "w", requests: [{ type: "none", limit: 1 }] } }) { ... on ExchangePayload { reported { entries { status } } assignments { id } claimError { message } } ${problem} } }`,
      { id: assignment },
    );
    expect(exchanged).toEqual({
      reported: { entries: [{ status: 'STALE' }] },
      assignments: [],
      claimError: null,
    });
    for (const [field, type, status] of [
      ['heartbeat', 'HeartbeatPayload', 'LOST'],
      ['releaseAssignments', 'ReleaseAssignmentsPayload', 'STALE'],
    ]) {
      const query = `mutation ($ids: [ID!]!) { ${field}(input: { assignmentIds: $ids }) { ... on ${type} { entries { status error { message } } } } }`;
      const { entries } = await data(acme.key, query, { ids: [assignment, acme.ids.assignment, 'x'] });
      expect(entries).toMatchObject([{ status }, {}, { status: 'INVALID' }]);
      expect(entries[1].status).toBe(field === 'heartbeat' ? 'HELD' : 'RELEASED');
    }
    const kept = await data(
      globex.key,
      'mutation ($ids: [ID!]!) { heartbeat(input: { assignmentIds: $ids }) { ... on HeartbeatPayload { entries { status } } } }',
      { ids: [assignment] },
    );
    expect(kept.entries).toEqual([{ status: 'HELD' }]);
  });

  it('files and results of the other do not exist over HTTP', async () => {
    const get = async (path: string, key: string, method = 'GET') => {
      const response = await fetch(new URL(path, app.url), { method, headers: bearer(key) });
      return { status: response.status, text: (await response.text()).replaceAll(uuid, '#') };
    };
    for (const [path, id] of [
      ['api/uploads/', globex.ids.upload],
      ['api/jobs/', globex.ids.job],
    ] as const) {
      const end = path === 'api/jobs/' ? '/results' : '';
      const hidden = await get(path + id + end, acme.key);
      expect(hidden.status).toBe(404);
      expect(hidden).toEqual(await get(path + id.replace(uuid, unknown) + end, acme.key));
      expect((await get(path + id + end, globex.key)).status).toBe(200);
    }
    expect(await get(`api/uploads/${globex.ids.upload}`, acme.key, 'DELETE')).toMatchObject({ status: 404 });
    expect(await get(`api/uploads/${globex.ids.upload}`, globex.key)).toMatchObject({ status: 200 });
    expect((await get('metrics', acme.key)).status).toBe(403);
    expect((await get('metrics', operator)).status).toBe(200);
  });

  it.each([
    ['jobProgress', 'subscription ($id: ID!) { jobProgress(jobId: $id) { jobId } }', 'job'],
    ['jobTreeProgress', 'subscription ($id: ID!) { jobTreeProgress(rootId: $id) { rootId } }', 'job'],
    ['jobItems', 'subscription ($id: ID!) { jobItems(jobId: $id) { items { id } } }', 'job'],
    [
      'operationProgress',
      'subscription ($id: ID!) { operationProgress(operationId: $id) { id } }',
      'operation',
    ],
  ] as const)('%s of the other does not exist', async (_, query, kind) => {
    const [hidden] = await firstEvents(acme.key, query, { id: globex.ids[kind] });
    expect(JSON.stringify(hidden)).toContain('NOT_FOUND');
    const [none] = await firstEvents(acme.key, query, { id: globex.ids[kind].replace(uuid, unknown) });
    expect(withoutIds(hidden)).toBe(withoutIds(none));
  });

  it('watched lists show each its own', async () => {
    for (const query of [
      'subscription { jobs(filter: { types: "mail" }) { jobs { id type } } }',
      'subscription { queues { type ready running } }',
    ]) {
      const [ours] = await firstEvents(acme.key, query);
      const [theirs] = await firstEvents(globex.key, query);
      expect(JSON.stringify(ours)).toContain('"mail"');
      const ids = new Set(JSON.stringify(ours).match(uuid));
      for (const id of JSON.stringify(theirs).match(uuid) ?? []) expect(ids).not.toContain(id);
      expect(JSON.stringify([ours, theirs])).not.toMatch(/acme|globex/);
    }
  });

  it('a hint of work reaches only the tenant of the work, with its own name for the type', async () => {
    const type = `hint-${randomUUID()}`;
    const hints = { ours: [] as unknown[], theirs: [] as unknown[] };
    const query =
      'subscription ($type: String!) { workAvailable(types: [$type], worker: { name: "w" }) { types } }';
    watch(acme.key, query, { type }, (event) => hints.ours.push(event));
    watch(globex.key, query, { type }, (event) => hints.theirs.push(event));
    const one = { data: { workAvailable: { types: [type] } } };
    await eventually(async () => expect(hints).toEqual({ ours: [one], theirs: [one] }));
    expect(await data(acme.key, '{ workers { name types { type } } }')).toContainEqual({
      name: 'w',
      types: expect.arrayContaining([{ type }]),
    });
    await create(globex.key, { type, items: [{}] });
    await eventually(async () => expect(hints.theirs.length).toBeGreaterThan(1));
    // What was told later has come by then.
    await create(acme.key, { type, items: [{}] });
    await eventually(async () => expect(hints.ours).toHaveLength(2));
  });
});

/** What Postgres is asked meanwhile that names the id, and how many rows it gives. */
async function statementsOf(id: string, run: (id: string) => Promise<unknown>): Promise<[string, number][]> {
  // The last byte of an assignment's id is its place in a lease, whose id has 0 there.
  const key = id.match(uuid)?.[0].slice(0, -2);
  const asked: [string, number][] = [];
  const { query } = pg.Client.prototype;
  const watched = function (this: pg.Client, ...given: any[]) {
    const [statement, values] = given;
    const isOurs =
      JSON.stringify([statement.values ?? [], values ?? []]).includes(key as string) &&
      // A server tries to deliver callbacks whenever they are due.
      !String(statement.name ?? statement.text ?? statement).includes('note_delivery');
    const answer = (query as any).apply(
      this,
      // As pools ask.
      given.map((one) => {
        if (typeof one !== 'function' || !isOurs) return one;
        return (error: { code: string } | null, result?: any) => {
          note(error?.code, result);
          one(error, result);
        };
      }),
    );
    const note = (code: string | undefined, result?: { rowCount: number | null }) =>
      asked.push([`${statement.text ?? statement} ${code ?? ''}`, result?.rowCount ?? 0]);
    if (isOurs && answer instanceof Promise)
      answer.then(
        (result) => note(undefined, result),
        ({ code }) => note(code),
      );
    return answer;
  };
  pg.Client.prototype.query = watched as never;
  try {
    await run(id);
  } finally {
    pg.Client.prototype.query = query;
  }
  return asked;
}

/** What a subscription says first, over a socket. */
async function firstEvents(key: string, query: string, variables = {}): Promise<unknown[]> {
  const events: unknown[] = [];
  watch(key, query, variables, (event) => events.push(event));
  await eventually(async () => expect(events).not.toEqual([]));
  return events;
}

function watch(key: string, query: string, variables: object, onEvent: (event: unknown) => void): void {
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: bearer(key),
  });
  onTestFinished(() => void client.dispose());
  const sink = { next: onEvent, error: onEvent, complete: () => {} };
  client.subscribe({ query, variables: { ...variables } }, sink);
}

describe('tenants do not block each other', () => {
  it('by a serialize key, a dedupe key or a name', async () => {
    const input = {
      type: 'alike',
      dedupeKey: 'same',
      items: [{ serializeKey: 'same' }, { serializeKey: 'same' }],
    };
    const theirs = await create(globex.key, input);
    expect(await create(globex.key, input)).toMatchObject({ created: false, job: { id: theirs.job.id } });
    const ours = await create(acme.key, input);
    expect(ours).toMatchObject({ created: true, job: { type: 'alike' } });
    expect((await claim(globex.key, 'alike')).assignments).toHaveLength(1);
    const { assignments } = await claim(acme.key, 'alike');
    expect(assignments).toEqual([
      { id: expect.anything(), type: 'alike', worker: 'w', itemId: ours.job.items.nodes[0].id },
    ]);
  });

  it('by a claim id', async () => {
    const claimId = newClaimId();
    const again = (key: string) =>
      data(
        key,
        `mutation ($id: String!) { claimItems(input: { worker: "w", claimId: $id, requests: [{ type: "repeated", limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } ${problem} } }`,
        { id: claimId },
      );
    for (const { key } of [acme, globex]) await create(key, { type: 'repeated', items: [{}, {}] });
    const [theirs] = (await again(globex.key)).assignments;
    const [ours] = (await again(acme.key)).assignments;
    expect(ours.id).not.toBe(theirs.id);
    expect((await again(acme.key)).assignments).toEqual([ours]);
    expect((await again(globex.key)).assignments).toEqual([theirs]);
  });

  it('by the settings of a queue, or the schemas of a type', async () => {
    await data(
      globex.key,
      `mutation { setQueue(input: { type: "settings", paused: true }) { ... on SetQueuePayload { queue { type } } ${problem} } }`,
    );
    await data(
      globex.key,
      `mutation { putTypeSchema(input: { type: "settings", version: 1, payload: { type: "string" } }) { ... on PutTypeSchemaPayload { created } ${problem} } }`,
    );
    await create(acme.key, { type: 'settings', items: [{ payload: 1 }] });
    expect((await claim(acme.key, 'settings')).assignments).toHaveLength(1);
    await expect(create(globex.key, { type: 'settings', items: [{ payload: 1 }] })).rejects.toThrow(
      'version 1 of settings',
    );
    await create(globex.key, { type: 'settings', items: [{ payload: 'a' }] });
    expect(await claim(globex.key, 'settings')).toEqual({ assignments: [], limitedTypes: ['settings'] });
  });

  it('by operations without a type', async () => {
    const filter = '{ addedFrom: "2020-01-01T00:00:00Z" }';
    const count = `{ pendingItemCount(filter: ${filter}) }`;
    await create(globex.key, { type: 'swept', items: [{}, {}] });
    const before = await data(globex.key, count);
    expect(before).toBeGreaterThan(0);
    const third = (await makeKey(db, ['admin'], { tenant: 'initech' })).key;
    await create(third, { type: 'swept', items: [{}] });
    const cancelled = await data(
      third,
      `mutation { cancelItems(input: { filter: ${filter} }) { ... on CancelItemsPayload { operation { total done status } } ${problem} } }`,
    );
    expect(cancelled.operation).toEqual({ total: 1, done: 1, status: 'FINISHED' });
    expect(await data(globex.key, count)).toBe(before);
    const dead = `{ deadLetterCount(filter: { diedFrom: "2020-01-01T00:00:00Z" }) }`;
    expect(await data(third, dead)).toBe(0);
    expect(await data(globex.key, dead)).toBeGreaterThan(0);
    await data(
      third,
      `mutation { discardDeadLetters(input: { filter: { codes: ["E"] } }) { ... on DiscardDeadLettersPayload { operation { total } } ${problem} } }`,
    );
    expect(await data(globex.key, dead)).toBeGreaterThan(0);
    // A filter is empty even if the tenant narrows it.
    await expect(
      data(third, `mutation { cancelItems(input: { filter: {} }) { ${problem} } }`),
    ).rejects.toThrow('filter is empty');
  });

  it('promoting without a type makes only its own items ready', async () => {
    const third = (await makeKey(db, ['admin'], { tenant: 'umbrella' })).key;
    const runAt = '2100-01-01T00:00:00Z';
    for (const each of [globex.key, third]) await create(each, { type: 'later', items: [{ runAt }] });
    const promoted = await data(
      third,
      `mutation { promoteItems(input: { filter: { statuses: [SCHEDULED] } }) { ... on PromoteItemsPayload { operation { total done status } } ${problem} } }`,
    );
    expect(promoted.operation).toEqual({ total: 1, done: 1, status: 'FINISHED' });
    expect(await claim(third, 'later')).toMatchObject({ assignments: [{}] });
    expect(await claim(globex.key, 'later')).toMatchObject({ assignments: [] });
  });

  it('by syncing all schedules', async () => {
    const third = (await makeKey(db, ['admin'], { tenant: 'hooli' })).key;
    const sync = (names: string[]) =>
      data(
        third,
        `mutation ($schedules: [ScheduleInput!]!) { syncSchedules(input: { deleteOthers: true, schedules: $schedules }) { ... on SyncSchedulesPayload { created changed deleted } ${problem} } }`,
        {
          schedules: names.map((name) => ({ name, times: { everyMs: 1_000_000 }, template: { type: 'x' } })),
        },
      );
    expect(await sync(['one', 'two'])).toEqual({ created: ['one', 'two'], changed: [], deleted: [] });
    expect(await sync(['one'])).toEqual({ created: [], changed: [], deleted: ['two'] });
    expect(await data(globex.key, '{ schedule(name: "nightly") { name } }')).toEqual({ name: 'nightly' });
    const page = await data(
      third,
      '{ schedules(first: 1) { nodes { name } pageInfo { endCursor hasNextPage } } }',
    );
    expect(page).toMatchObject({ nodes: [{ name: 'one' }], pageInfo: { hasNextPage: false } });
    const { endCursor } = page.pageInfo;
    expect(Buffer.from(endCursor, 'base64').toString()).toBe('schedules:one');
    expect(await data(third, `{ schedules(after: "${endCursor}") { nodes { name } } }`)).toEqual({
      nodes: [],
    });
  });

  it('by keys of fed items', async () => {
    const tree = {
      type: 'parent',
      items: [{ payload: { k: 'fed' } }],
      children: [{ type: 'child', feed: { payload: 'payload', serializeKey: 'payload.k' } }],
    };
    for (const { key } of [globex, acme]) {
      await create(key, tree);
      const { assignments } = await claim(key, 'parent');
      expect(
        (await report(key, [{ assignmentId: assignments[0].id, outcome: { success: { result: 1 } } }]))
          .entries,
      ).toMatchObject([{ status: 'ACCEPTED' }]);
      expect((await claim(key, 'child')).assignments).toHaveLength(1);
    }
    expect(await data(acme.key, '{ serializeKeys(keys: ["fed"]) { key } }')).toEqual([{ key: 'fed' }]);
  });
});

describe('the names of a tenant', () => {
  it('may equal those of another one, and have the full length', async () => {
    const type = `globex//${'x'.repeat(192)}`;
    const created = await create(acme.key, { type, items: [{ serializeKey: `acme//${'k'.repeat(249)}` }] });
    expect(created.job.type).toBe(type);
    expect((await claim(acme.key, type)).assignments).toMatchObject([{ type }]);
    expect((await claim(globex.key, 'x'.repeat(192))).assignments).toEqual([]);
    await expect(create(acme.key, { type: `${type}x` })).rejects.toThrow(
      'type has 201 characters; the limit is 200.',
    );
    await expect(create(acme.key, { type: '' })).rejects.toThrow('type is empty.');
    await expect(create(acme.key, { type: 'a', items: [{ serializeKey: 'k'.repeat(256) }] })).rejects.toThrow(
      'serializeKey has 256 characters; the limit is 255.',
    );
  });

  it('appear in errors as the caller wrote them', async () => {
    const answers = [
      await ask(acme.key, '{ schedule(name: "gone") { name } }'),
      await ask(acme.key, `mutation { pauseSchedule(input: { name: "gone" }) { ${problem} } }`),
      await ask(acme.key, `mutation { deleteCallbackEndpoint(input: { name: "gone" }) { ${problem} } }`),
      await ask(
        acme.key,
        `mutation { createJob(input: { type: "a", callbacks: [{ endpoint: "gone" }] }) { ${problem} } }`,
      ),
      await ask(
        acme.key,
        `mutation { createJob(input: { type: "a", children: [{ type: "gone", after: ["gone"] }] }) { ${problem} } }`,
      ),
    ];
    for (const answer of answers) expect(JSON.stringify(answer)).toContain('gone');
    const [narrow] = [await makeKey(db, ['producer'], { tenant: 'acme', types: ['mail*'] })];
    expect(
      await ask(narrow.key, `mutation { createJob(input: { type: "bill" }) { ${problem} } }`),
    ).toMatchObject({
      errors: [{ message: 'Your scope does not include the type "bill".' }],
    });
  });

  it.each(['Acme', 'ac*', '*', 'a/b', 'a//b', '', 'a b', 'ä', 'x'.repeat(41), 'acme\n'])(
    'are refused if invalid: %j',
    async (tenant) => {
      const { createApiKey } = (
        await ask(
          operator,
          `mutation ($tenant: String!) { createApiKey(input: { name: "x", roles: [ADMIN], tenant: $tenant }) { ${problem} } }`,
          { tenant },
        )
      ).data;
      expect(createApiKey).toMatchObject({ code: 'INVALID_INPUT', field: 'tenant' });
      expect(createApiKey.message).toMatch(/^tenant is .*it must be 1 to 40 of the characters/);
    },
  );

  it('appear in callbacks as the tenant of the endpoint writes them', async () => {
    const callbacks = [{ endpoint: 'hook' }, { endpoint: 'hook', on: 'JOB' }];
    const { job } = await create(acme.key, { type: 'called', sealed: true, callbacks });
    const filter = `filter: { rootId: "${job.id}" }`;
    await eventually(async () => {
      const { nodes } = await data(acme.key, `{ callbackDeliveries(${filter}) { nodes { endpoint body } } }`);
      expect(nodes).toHaveLength(2);
      for (const node of nodes)
        expect(node).toMatchObject({ endpoint: 'hook', body: { data: { type: 'called' } } });
    });
    expect(await data(globex.key, `{ callbackDeliveries(${filter}) { nodes { id } } }`)).toEqual({
      nodes: [],
    });
    await data(
      operator,
      `mutation { putCallbackEndpoint(input: { name: "all", url: "http://127.0.0.1:9/hook" }) { ... on PutCallbackEndpointPayload { endpoint { name } } ${problem} } }`,
    );
    await create(operator, { type: 'acme//called', sealed: true, callbacks: [{ endpoint: 'all' }] });
    await eventually(async () => {
      const { nodes } = await data(
        operator,
        '{ callbackDeliveries(filter: { endpoint: "all" }) { nodes { body } } }',
      );
      expect(nodes).toMatchObject([{ body: { data: { type: 'acme//called' } } }]);
    });
    // An endpoint of the operator is none of a tenant's.
    await expect(create(acme.key, { type: 'a', callbacks: [{ endpoint: 'all' }] })).rejects.toThrow('all');
  });

  it('appear in full to callers without a tenant', async () => {
    expect(
      await data(operator, 'query ($id: ID!) { job(id: $id) { type items { nodes { serializeKey } } } }', {
        id: acme.ids.job,
      }),
    ).toEqual({
      type: 'acme//mail',
      items: { nodes: [null, ...Array(3).fill('acme//line')].map((serializeKey) => ({ serializeKey })) },
    });
    const names = await data(operator, '{ schedules { nodes { id name } } }');
    expect(names.nodes).toContainEqual({ id: 'Schedule:acme//nightly', name: 'acme//nightly' });
    expect(names.nodes).toContainEqual({ id: 'Schedule:globex//nightly', name: 'globex//nightly' });
    expect(await data(operator, '{ queues(types: ["acme//mail"]) { type } }')).toEqual([
      { type: 'acme//mail' },
    ]);
  });

  it('appear nowhere in what its callers get', () => {
    for (const { key } of [acme, globex]) {
      const text = (heard.get(key) ?? '').replaceAll(/"tenant":"\w+"|globex\/\/x+|acme\/\/k+/g, '');
      expect(text.length).toBeGreaterThan(10_000);
      expect(text).not.toMatch(/acme|globex/);
      for (const cursor of text.match(/(?<=[cC]ursor":")[^"]+/g) ?? [])
        expect(Buffer.from(cursor, 'base64').toString()).not.toMatch(/acme|globex/);
    }
  });
});

describe('an admin of a tenant', () => {
  const createKey = (key: string, input: object) =>
    ask(
      key,
      `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeyPayload { key apiKey { id tenant types } } ${problem} } }`,
      { input },
    );

  it('creates and lists only its keys', async () => {
    const { data: made } = await createKey(acme.key, {
      name: 'narrow',
      roles: ['PRODUCER', 'WATCHER'],
      types: ['mail*'],
    });
    expect(made.createApiKey.apiKey).toMatchObject({ tenant: 'acme', types: ['mail*'] });
    const { key, apiKey } = made.createApiKey;
    expect(await create(key, { type: 'mailing' })).toMatchObject({ job: { type: 'mailing' } });
    expect((await ask(key, '{ queue(type: "bill") { type } }')).errors?.[0]?.extensions?.code).toBe(
      'FORBIDDEN',
    );
    for (const tenant of ['globex', 'nobody'])
      expect(await createKey(acme.key, { name: 'x', roles: ['ADMIN'], tenant })).toMatchObject({
        errors: [
          {
            message: 'The key would belong to another tenant than yours.',
            extensions: { code: 'FORBIDDEN' },
          },
        ],
      });
    const ids = async (of: string) =>
      (await data(of, '{ apiKeys { id tenant } }')).map(({ id }: { id: string }) => id);
    expect(await ids(acme.key)).toContain(apiKey.id);
    expect(await ids(globex.key)).not.toContain(apiKey.id);
    expect(await ids(operator)).toEqual(expect.arrayContaining([apiKey.id, globex.ids.apiKey]));
    const behind = await data(acme.key, 'query ($after: ID!) { apiKeys(after: $after) { id } }', {
      after: globex.ids.apiKey,
    });
    expect(behind).toEqual([]);
    await data(
      acme.key,
      `mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { ... on RevokeApiKeyPayload { apiKey { id } } ${problem} } }`,
      { id: apiKey.id },
    );
  });
});
