/** An operation says what it was asked to do. */
import { expect, it } from 'vitest';
import { makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer({ JOBTREE_AUTH: 'keys' });
const { db } = server;

const ask = async (key: string, query: string, variables = {}) => {
  const { data, errors } = await server.ask(key, query, variables);
  expect(errors).toBeUndefined();
  return data;
};

const fields =
  '{ jobId types codes groupIds itemIds itemCount dedupeKeyCount statuses from until hasPayload hasMore }';
const nothing = {
  jobId: null,
  types: [],
  codes: [],
  groupIds: [],
  itemIds: [],
  itemCount: 0,
  dedupeKeyCount: 0,
  statuses: [],
  from: null,
  until: null,
  hasPayload: false,
  hasMore: false,
};
const group = 'DeadLetterGroup:00000000-0000-6000-8000-000000000001';
const times = { from: '2026-01-02T03:04:05.678Z', until: '2026-02-03T00:00:00.000Z' };
const items = (count: number) =>
  Array.from({ length: count }, (_, n) => `JobItem:00000000-0000-7000-8000-000000000000:${n}`);

it.each([
  [
    'replayDeadLetters',
    { groupIds: [group], types: ['mail'], codes: ['A', 'B'], diedFrom: times.from, diedUntil: times.until },
    { groupIds: [group], types: ['mail'], codes: ['A', 'B'], ...times },
  ],
  ['discardDeadLetters', { itemIds: items(30) }, { itemIds: items(20), itemCount: 30 }],
  [
    'cancelItems',
    { dedupeKeys: ['x', 'y'], statuses: ['READY'], addedFrom: times.from },
    { dedupeKeyCount: 2, statuses: ['READY'], from: times.from },
  ],
  [
    'cancelTrees',
    { types: ['mail'], createdFrom: times.from, createdUntil: times.until, statuses: ['WAITING'] },
    { types: ['mail'], statuses: ['WAITING'], ...times },
  ],
  ['deleteTrees', { hasFailures: true, types: ['mail'] }, { types: ['mail'], hasMore: true }],
])(
  '%s: its conditions, of lists the first 20, with names as the caller has them',
  async (name, filter, selection) => {
    for (const options of [{}, { tenant: 'acme' }]) {
      const { key } = await makeKey(db, ['admin'], options);
      const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      const told = await ask(
        key,
        `mutation ($input: ${type}Input!) { ${name}(input: $input) { ... on ${type}Payload { operation { id selection ${fields} } } } }`,
        { input: { filter } },
      );
      expect(told[name].operation.selection).toEqual({ ...nothing, ...selection });
      const { operations } = await ask(key, `{ operations(first: 1) { nodes { id selection ${fields} } } }`);
      expect(operations.nodes).toEqual([told[name].operation]);
    }
  },
);

it('a replay of one item with another payload, and one of a tree', async () => {
  const { key } = await makeKey(db, ['admin']);
  const { createJob } = await ask(
    key,
    'mutation { createJob(input: { type: "one", items: [{}] }) { ... on CreateJobPayload { job { id } } } }',
  );
  const jobId = createJob.job.id;
  const replay = async (input: object) =>
    (
      await ask(
        key,
        `mutation ($input: ReplayDeadLettersInput!) { replayDeadLetters(input: $input) { ... on ReplayDeadLettersPayload { operation { selection ${fields} } } } }`,
        { input },
      )
    ).replayDeadLetters.operation.selection;
  expect(await replay({ filter: { jobId } })).toEqual({ ...nothing, jobId });
  const itemIds = items(1);
  expect(await replay({ filter: { itemIds }, payload: { secret: 1 } })).toEqual({
    ...nothing,
    itemIds,
    itemCount: 1,
    hasPayload: true,
  });
});
