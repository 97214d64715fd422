/** Operators: what they do with dead letters and pending items stays within their scope, and is known as theirs. */
import { beforeAll, expect, it } from 'vitest';
import { makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

const { db, ask } = useServer({ JOBTREE_AUTH: 'keys' });
let admin: string;
let operator: string;

/** Items of a type, of which each has failed for good. */
async function bury(type: string, items: number): Promise<string> {
  const { data } = await ask(
    admin,
    'mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { job { id } } } }',
    { input: { type, sealed: true, maxFailuresPerItem: 0, items: Array(items).fill({ payload: 1 }) } },
  );
  const claimed = await ask(
    admin,
    'mutation ($type: String!) { claimItems(input: { worker: "w", requests: [{ type: $type, limit: 100 }] }) { ... on ClaimItemsPayload { assignments { id } } } }',
    { type },
  );
  await ask(
    admin,
    'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { __typename } }',
    {
      reports: claimed.data.claimItems.assignments.map(({ id }: { id: string }) => ({
        assignmentId: id,
        outcome: { failure: { code: 'BAD', message: 'It is bad' } },
      })),
    },
  );
  return data.createJob.job.id;
}

const replay = `mutation ($filter: DeadLetterFilter!) { replayDeadLetters(input: { filter: $filter }) {
  ... on ReplayDeadLettersPayload { operation { id total requestedBy } } ... on UserError { code field } } }`;
const discard = `mutation ($filter: DeadLetterFilter!) { discardDeadLetters(input: { filter: $filter }) {
  ... on DiscardDeadLettersPayload { operation { id total } } ... on UserError { code field } } }`;
const count = 'query ($filter: DeadLetterFilter!) { deadLetterCount(filter: $filter) }';
const groups =
  'query ($types: [String!], $codes: [String!], $after: ID, $first: Int) { deadLetterGroups(types: $types, codes: $codes, after: $after, first: $first) { id type count code history(steps: 3, stepMinutes: 60) { count } } }';

beforeAll(async () => {
  admin = (await makeKey(db, ['admin'])).key;
  operator = (await makeKey(db, ['operator'], { name: 'night shift', types: ['mail.*'] })).key;
});

it('an operator with a scope replays what is within it, whatever the filter says besides', async () => {
  await bury('mail.a', 2);
  await bury('bill.a', 3);
  const filter = { codes: ['BAD'] };
  expect((await ask(operator, count, { filter })).data.deadLetterCount).toBe(2);
  expect((await ask(operator, replay, { filter })).data.replayDeadLetters.operation).toMatchObject({
    total: 2,
  });
  expect((await ask(admin, count, { filter: { types: ['bill.a'] } })).data.deadLetterCount).toBe(3);
});

it('an operator with a scope settles nothing outside of it: not by type, job, item or group', async () => {
  const job = await bury('bill.b', 1);
  const { data } = await ask(admin, groups, { types: ['bill.b'] });
  const items = await ask(admin, 'query ($id: ID!) { job(id: $id) { items { nodes { id } } } }', { id: job });
  const { errors } = await ask(operator, discard, { filter: { types: ['bill.b'] } });
  expect(errors?.[0]?.extensions?.code).toBe('FORBIDDEN');
  expect((await ask(operator, discard, { filter: { jobId: job } })).data.discardDeadLetters).toMatchObject({
    code: 'NOT_FOUND',
  });
  for (const filter of [
    { itemIds: [items.data.job.items.nodes[0].id] },
    { groupIds: [data.deadLetterGroups[0].id] },
  ])
    expect((await ask(operator, discard, { filter })).data.discardDeadLetters.operation.total).toBe(0);
  expect((await ask(admin, count, { filter: { types: ['bill.b'] } })).data.deadLetterCount).toBe(1);
});

it('refuses a filter without conditions, although the scope would be one', async () => {
  expect((await ask(operator, replay, { filter: {} })).data.replayDeadLetters).toMatchObject({
    code: 'INVALID_INPUT',
    field: 'filter',
  });
});

it('an operator whose types have no jobs yet replays nothing', async () => {
  const early = (await makeKey(db, ['operator'], { types: ['later.*'] })).key;
  const { data } = await ask(early, replay, { filter: { codes: ['BAD'] } });
  expect(data.replayDeadLetters.operation.total).toBe(0);
});

it('an operation says who asked for it, and is seen and stopped only by those who see its types', async () => {
  await bury('mail.c', 1);
  const started = await ask(operator, replay, { filter: { types: ['mail.c'] } });
  const { id, requestedBy } = started.data.replayDeadLetters.operation;
  expect(requestedBy).toMatch(/night shift/);
  const foreign = (await ask(admin, discard, { filter: { types: ['bill.none'] } })).data.discardDeadLetters
    .operation.id;
  const list = '{ operations { nodes { id requestedBy } } }';
  const seen = (await ask(operator, list)).data.operations.nodes.map((one: { id: string }) => one.id);
  expect(seen).toContain(id);
  expect(seen).not.toContain(foreign);
  const stop =
    'mutation ($id: ID!) { cancelOperation(input: { operationId: $id }) { ... on CancelOperationPayload { operation { id } } ... on UserError { code } } }';
  expect((await ask(operator, stop, { id })).data.cancelOperation).toEqual({ operation: { id } });
  expect((await ask(operator, stop, { id: foreign })).data.cancelOperation).toEqual({ code: 'NOT_FOUND' });
  expect(
    (await ask(operator, 'query ($id: ID!) { node(id: $id) { id } }', { id: foreign })).data.node,
  ).toBeNull();
});

it('an operator administers nothing', async () => {
  const { errors } = await ask(
    operator,
    'mutation { setQueue(input: { type: "mail.a", paused: true }) { __typename } }',
  );
  expect(errors?.[0]?.extensions?.code).toBe('FORBIDDEN');
});

it('pages through groups by count, by code, and with the times at which their items failed', async () => {
  for (const [i, size] of [3, 2, 1].entries()) await bury(`mail.page${i}`, size);
  const types = [0, 1, 2].map((i) => `mail.page${i}`);
  const all = (await ask(operator, groups, { types })).data.deadLetterGroups;
  expect(all.map((group: { count: number }) => group.count)).toEqual([3, 2, 1]);
  expect(all[0].history.map((step: { count: number }) => step.count)).toEqual([0, 0, 3]);
  const rest = (await ask(operator, groups, { types, after: all[0].id, first: 1 })).data.deadLetterGroups;
  expect(rest).toEqual([all[1]]);
  expect((await ask(operator, groups, { types, codes: ['OTHER'] })).data.deadLetterGroups).toEqual([]);
  await ask(admin, discard, { filter: { groupIds: [all[0].id] } });
  const { errors } = await ask(operator, groups, { types, after: all[0].id });
  expect(errors?.[0]?.extensions?.code).toBe('INVALID_INPUT');
});
