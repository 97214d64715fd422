/**
 * Every field of every type, asked for with each kind of watch token, over each way to the API: it is shown as the page on watch tokens says, and else refused.
 */

import { assertObjectType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Sees, seen, showsAll } from '../../src/domain/access/rights.ts';
import { seenByOf } from '../../src/schema/core/seen-by.ts';
import { schema } from '../../src/schema/index.ts';
import {
  codesOf,
  errorsOverEvents,
  errorsOverHttp,
  errorsOverSocket,
  openSocket,
  withEach,
} from '../support/answers.ts';
import { ask } from '../support/api.ts';
import { toOperation, waysToFields } from '../support/fields.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';
import { watchToken } from '../support/watch-tokens.ts';

// Mutations are refused, whatever they say: so each may be asked for.
const ways = waysToFields(
  [schema.getQueryType(), schema.getSubscriptionType(), schema.getMutationType()],
  (way) => way.every(({ field }) => seenByOf(field) !== undefined),
);
const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });
let treeId: string;
let itemId: string;
const tokens = {} as Record<Sees, string>;

beforeAll(async () => {
  const { key } = await makeKey(db, ['admin']);
  const { data } = await ask(
    app.url,
    key,
    `mutation { createJob(input: { type: "x", sealed: true, items: [{ payload: { secret: "pie" } }], finalStage: true }) {
      ... on CreateJobPayload { job { id items { nodes { id } } } } } }`,
  );
  treeId = data.createJob.job.id;
  itemId = data.createJob.job.items.nodes[0].id;
  const claim = `mutation { claimItem(input: { itemId: "${itemId}", worker: "w" }) { ... on ClaimItemPayload { assignment { id } } } }`;
  const claimed = await ask(app.url, key, claim);
  const assignmentId = claimed.data.claimItem.assignment.id;
  await ask(
    app.url,
    key,
    `mutation { reportOutcomes(input: { reports: [{ assignmentId: "${assignmentId}", outcome: { success: { result: { found: "cake" } } } }] }) { __typename } }`,
  );
  for (const sees of seen) tokens[sees] = await watchToken(app.url, key, treeId, sees);
});

/** Progress is what the least token is for. */
const every = (type: string) => Object.keys(assertObjectType(schema.getType(type)).getFields()).join(' ');

/** What a token shows first, by types: whoever shows a further field decides here that a browser may see it. */
const shownFirst: Readonly<Record<Sees, Readonly<Record<string, string>>>> = {
  PROGRESS: {
    CreateWatchTicketPayload: 'ticket',
    Job: 'cancelReason cancelledAt children createdAt failedAt id parent progress root sealedAt tree treeOutcome treeProgress type',
    JobProgress: every('JobProgress'),
    JobTreeProgress: every('JobTreeProgress'),
    Mutation: 'createWatchTicket',
    Query: 'job',
    Subscription: 'jobProgress jobTreeProgress',
    TreeProgress: every('TreeProgress'),
  },
  ITEMS: {
    ItemFailure: 'at attempt code',
    Job: 'items',
    JobItem: 'createdAt failureCount failures finishedAt id job retryAt runAt status',
    JobItemsChange: 'goneIds items',
    Query: 'item',
    Subscription: 'jobItems',
  },
  RESULTS: {
    Job: 'results',
    JobItem: 'result',
  },
};
const expected = new Map<string, Sees>(
  seen.flatMap((sees) =>
    Object.entries(shownFirst[sees]).flatMap(([type, fields]) =>
      fields.split(' ').map((field) => [`${type}.${field}`, sees] as const),
    ),
  ),
);

/** What pages are made of, of whatever: the field that leads there decides. */
const isOfPages = (place: string) => /^(\w+Connection|\w+Edge|PageInfo)\./.test(place);
const leastFor = (place: string) => (isOfPages(place) ? 'ITEMS' : expected.get(place));

it('a watch token shows these fields and no others', () => {
  const rules = [...ways].flatMap(([place, way]) => {
    const sees = seenByOf(way.at(-1)?.field);
    return sees === undefined || isOfPages(place) ? [] : [[place, sees] as const];
  });
  expect(Object.fromEntries(expected)).toEqual(Object.fromEntries(rules));
  expect(expected.size).toBeGreaterThan(50);
});

it('every field that a watch token shows can be reached through fields that it shows', () => {
  const hidden = [...ways].filter(([place, way]) => {
    const sees = expected.get(place);
    return sees !== undefined && !way.every(({ field }) => showsAll(sees, seenByOf(field) ?? 'RESULTS'));
  });
  expect(hidden.map(([place]) => place)).toEqual([]);
});

describe.each([...new Set([...ways.keys()].map((place) => place.split('.')[0] as string))])('%s', (type) => {
  it.each(seen)('with a token that shows %s', async (sees) => {
    const shown = bearer(tokens[sees]);
    const socket = openSocket(app.url, shown);
    const own = [...ways].filter(([place]) => place.startsWith(`${type}.`));
    await withEach(own, async ([, way]) => {
      const isShown = way.every(({ type, field }) => {
        const least = leastFor(`${type.name}.${field.name}`);
        return least !== undefined && showsAll(sees, least);
      });
      const query = toOperation(way, { job: treeId, item: itemId });
      const answers = [await errorsOverEvents(app.url, query, shown), await errorsOverSocket(socket, query)];
      if (!query.startsWith('subscription')) answers.push(await errorsOverHttp(app.url, query, shown));
      for (const errors of answers) expect(codesOf(errors), query).toEqual(isShown ? [] : ['FORBIDDEN']);
    });
    await socket.dispose();
  });
});

describe('results over HTTP', () => {
  const results = async (token: string) =>
    fetch(`${app.url.replace('/graphql', '')}/api/jobs/${treeId}/results`, { headers: bearer(token) });

  it('require a token that shows them, and omit payloads', async () => {
    const response = await results(tokens.RESULTS);
    expect(response.status).toBe(200);
    expect(JSON.parse(await response.text())).toEqual({ itemId, result: { found: 'cake' } });
    for (const sees of ['PROGRESS', 'ITEMS'] as const) expect((await results(tokens[sees])).status).toBe(403);
  });
});
