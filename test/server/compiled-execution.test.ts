/** What comes again and again is compiled, and is answered as it was the first time. */
import { getOperationAST, type OperationDefinitionNode, parse } from 'graphql';
import { beforeAll, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import * as operations from '../../src/generated/operations.ts';
import { schema } from '../../src/schema/index.ts';
import { mergesConditions } from '../../src/server/execution/merged-conditions.ts';
import { delicateVariables } from '../../src/server/execution/variable-uses.ts';
import { request, subscribe } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();
let jobId: string;
/** With a payload as older versions took it. */
let deepId: string;

beforeAll(async () => {
  const client = createClient({ url: app.url });
  const items = [{ payload: { a: [1, null] } }, { payload: null }, { payload: 'x' }];
  jobId = (await client.createJob({ type: 'known', items, sealed: true })).id;
  deepId = (await client.createJob({ type: 'deep', items: [{}], sealed: true })).id;
  const payload = '['.repeat(2_000) + ']'.repeat(2_000);
  await db.query('update jobtree.job_item set payload = $2 where job_id = $1', [
    deepId.replace('Job:', ''),
    payload,
  ]);
  await client.close();
  // The fold of its progress comes behind: from here on nothing of it changes by itself.
  const counted = () =>
    request(app.url, 'query ($id: ID!) { job(id: $id) { progress { itemCount } } }', { id: jobId });
  await eventually(async () => expect((await counted()).data.job.progress.itemCount).toBe(3));
});

const more = 25;
const nobodys = 'Assignment:01a1ff75-d8cb-7164-97e0-b363652e3901';

it.each<[string, string, (jobId: string) => Record<string, unknown>]>([
  [
    'fragments, aliases, pages, and JSON of every kind',
    `query ($id: ID!) { one: job(id: $id) { ...F items(first: 2) { edges { cursor node { ... on Node { id } payload } } pageInfo { endCursor } } } }
     fragment F on Job { type root { id type } progress { status percent itemCount revision } createdAt }`,
    (id) => ({ id }),
  ],
  [
    'fields that are left out by a variable',
    'query ($id: ID!, $with: Boolean!) { job(id: $id) { id @skip(if: $with) type @include(if: $with) } }',
    (id) => ({ id, with: true }),
  ],
  [
    'what a directive leaves out of a field that is selected twice',
    `query ($id: ID!, $with: Boolean!) { job(id: $id) { ... @include(if: $with) { root { ...F } } root @include(if: true) { id } } }
     fragment F on Job { type type @include(if: true) }`,
    (id) => ({ id, with: false }),
  ],
  [
    'something that is not there',
    'query { job(id: "Job:01a1ff75-d8cb-7164-97e0-b363652e3901") { id } }',
    () => ({}),
  ],
  [
    'a value that is too deep to be shown',
    'query ($id: ID!) { job(id: $id) { items { nodes { id payload } } } }',
    () => ({ id: deepId }),
  ],
  ['an id that is none', 'query ($id: ID!) { job(id: $id) { id } }', () => ({ id: 'nothing' })],
  ['a variable that is missing', 'query ($id: ID!) { job(id: $id) { id } }', () => ({})],
  [
    'a variable of a wrong type',
    'mutation ($input: ClaimItemsInput!) { claimItems(input: $input) { __typename } }',
    () => ({ input: { worker: 'w', requests: [{ type: 'x', limit: 'many' }] } }),
  ],
  [
    'a field that an input has not',
    'mutation ($input: ClaimItemsInput!) { claimItems(input: $input) { __typename } }',
    () => ({ input: { worker: 'w', requests: [], more: 1 } }),
  ],
  [
    'a refusal that is a type',
    'mutation ($input: ClaimItemsInput!) { claimItems(input: $input) { ... on UserError { code message field } } }',
    () => ({ input: { worker: '', requests: [{ type: 'x', limit: 1 }] } }),
  ],
  [
    'an answer for each entry, with null, and without a result',
    `mutation ($reports: [ReportInput!]!) {
       reportOutcomes(input: { reports: $reports }) {
         ... on ReportOutcomesPayload { entries { index status error { code message field } } }
       }
     }`,
    () => ({
      reports: [
        { assignmentId: nobodys, outcome: { success: { result: null } } },
        { assignmentId: nobodys, outcome: { success: {} } },
        { assignmentId: nobodys, outcome: { failure: { code: '', message: '' } } },
      ],
    }),
  ],
  ...[{}, { success: null }, { success: {}, failure: { code: 'E', message: '' } }].map(
    (outcome): [string, string, () => Record<string, unknown>] => [
      `a choice that is none: ${Object.keys(outcome).join(' and ')}`,
      `mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { __typename } }`,
      () => ({ reports: [{ assignmentId: nobodys, outcome }] }),
    ],
  ),
  ...[{}, { seal: null }, { seal: true }].map(
    (given): [string, string, (jobId: string) => Record<string, unknown>] => [
      `a field with a default: ${JSON.stringify(given)}`,
      'mutation ($input: AddItemsInput!) { addItems(input: $input) { ... on AddItemsPayload { invalid } ... on UserError { code message } } }',
      () => ({ input: { jobId: 'Job:01a1ff75-d8cb-7164-97e0-b363652e3901', items: [{}], ...given } }),
    ],
  ),
  ...[{}, { first: null }, { first: 1 }, { first: 1_001 }].map(
    (given): [string, string, () => Record<string, unknown>] => [
      `an argument with a default: ${JSON.stringify(given)}`,
      'query ($first: Int) { deadLetterGroups(first: $first) { id } }',
      () => given,
    ],
  ),
  [
    'an input that contains itself',
    'mutation ($input: JobInput!) { createJob(input: $input) { ... on UserError { code message field } } }',
    () => ({ input: { type: 'x', children: [{ type: '' }] } }),
  ],
  [
    'a query that is too costly',
    '{ jobs(first: 1000) { nodes { items(first: 1000) { nodes { id failures { code } } } } } }',
    () => ({}),
  ],
])('%s', async (_, query, variables) => {
  const ask = () => request(app.url, query, variables(jobId));
  const first = await ask();
  let last = first;
  for (let i = 0; i < more; i++) last = await ask();
  expect(last).toEqual(first);
});

it('a payload that is written out in the operation has the values of its variables', async () => {
  const create = `mutation ($user: JSON!, $note: String) {
    createJob(input: { type: "written", items: [{ payload: { user: $user, notes: [$note] } }] }) {
      ... on CreateJobPayload { job { items { nodes { payload } } } }
    }
  }`;
  for (let i = 0; i < more; i++) {
    const { data } = await request(app.url, create, { user: { i }, note: 'n' });
    expect(data.createJob.job.items.nodes).toEqual([{ payload: { user: { i }, notes: ['n'] } }]);
  }
});

it('what an input leaves out because a variable is omitted is left out, and not null', async () => {
  const set = `mutation ($type: String!, $concurrency: Int, $paused: Boolean) {
    setQueue(input: { type: $type, concurrency: $concurrency, paused: $paused }) {
      ... on SetQueuePayload { queue { concurrency paused } }
    }
  }`;
  await request(app.url, set, { type: 'kept', concurrency: 7 });
  for (let i = 0; i < more; i++) {
    const { data } = await request(app.url, set, { type: 'kept', paused: i % 2 === 0 });
    expect(data.setQueue.queue).toEqual({ concurrency: 7, paused: i % 2 === 0 });
  }
});

it('a null variable fails the field in whose place with a default it may not be, and that field alone', async () => {
  const both = `mutation ($input: AddItemsInput!, $first: Boolean) {
    one: addItems(input: { jobId: "Job:01a1ff75-d8cb-7164-97e0-b363652e3901", items: [], seal: $first }) { __typename }
    two: addItems(input: $input) { __typename }
  }`;
  const input = { jobId: 'Job:01a1ff75-d8cb-7164-97e0-b363652e3901', items: [] };
  for (let i = 0; i < more; i++) {
    const { data } = await request(app.url, both, { input, first: null });
    expect(data).toEqual({ one: null, two: { __typename: expect.any(String) } });
  }
});

it.each([
  ['AddItems', operations.AddItems],
  ['CreateJob', operations.CreateJob],
  ['Exchange', operations.Exchange],
  ['ExchangeParts', operations.ExchangeParts],
  ['Heartbeat', operations.Heartbeat],
  ['HeartbeatWithNotes', operations.HeartbeatWithNotes],
  ['NoteItems', operations.NoteItems],
] as const)('%s of the client is compiled, whatever it leaves out', (_, text) => {
  const document = parse(String(text));
  const operation = getOperationAST(document) as OperationDefinitionNode;
  expect(mergesConditions(document, operation)).toBe(false);
  expect(delicateVariables(schema, document)?.filter(({ hasDefault }) => !hasDefault)).toEqual([]);
});

it('events are the same after many as before', async () => {
  const client = createClient({ url: app.url });
  const { id } = await client.createJob({ type: 'watched' });
  const watchWith = (name: string) =>
    subscribe(
      app.url,
      `subscription ${name}($id: ID!, $with: Boolean!) { jobProgress(jobId: $id, intervalMs: 20) { ...F } }
       fragment F on JobProgress { jobId status total: itemCount revision message @include(if: $with) percent }`,
      { id, with: true },
    );
  const compiled = watchWith('Compiled');
  const seen: unknown[] = [];
  const all = (async () => {
    for await (const event of compiled) seen.push(event);
  })();
  for (let i = 0; i < more; i++) {
    await client.addItems(id, [{ payload: i }]);
    await eventually(() => expect(seen.at(-1)).toMatchObject({ data: { jobProgress: { total: i + 1 } } }));
  }
  const fresh = watchWith('Fresh');
  const { value } = await fresh[Symbol.asyncIterator]().next();
  expect(seen.at(-1)).toEqual(value);
  // More than are executed before the operation is compiled.
  expect(seen.length).toBeGreaterThan(20);
  await fresh.close();
  await compiled.close();
  await all;
  await client.close();
});
