/**
 * What an answer costs in queries: the same under many jobs as under one, whatever is asked of each. The paths through the graph
 * are taken from the schema, so that a new field is tested, too.
 *
 *     QUERY_PARENTS  how many jobs (8)
 *     QUERY_FIELDS   how many fields in a row are tried in each combination (3); with 10, it is every path
 */
import { type GraphQLObjectType, getNamedType, isLeafType, isObjectType } from 'graphql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { itemStatuses, pendingStatuses } from '../../src/domain/items/item-state.ts';
import { schema } from '../../src/schema/index.ts';
import { data, work } from '../support/api.ts';
import { upkeep } from '../support/upkeep.ts';
import { useServer } from '../support/use-server.ts';

const parents = Number(process.env.QUERY_PARENTS ?? 8);
const lastFields = Number(process.env.QUERY_FIELDS ?? 3);
const query = vi.spyOn(pg.Client.prototype, 'query');
const { db, app } = useServer({
  JOBTREE_MAX_QUERY_COST: '1000000000',
  // It looks for deletions, by itself.
  JOBTREE_SWEEP_INTERVAL_MS: '60000',
});
/** Keeps the deletions from being carried out. */
let deleting: pg.Client;

beforeAll(async () => {
  const create = `mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { job { id } } } }`;
  const input = {
    type: 'parent',
    items: [{ payload: 'succeeds' }, { payload: 'fails' }, { payload: 'is held' }, { payload: 'waits' }],
    children: [{ type: 'child', items: [{}, {}] }],
  };
  await Promise.all(Array.from({ length: parents }, () => data(app.url, create, { input })));
  expect(await work(app.url, 'child', 1_000, { answer: 42 })).toBe(2 * parents);
  const { claimItems } = await data(
    app.url,
    `mutation { claimItems(input: { worker: "w", requests: [{ type: "parent", limit: 1000 }] }) { ... on ClaimItemsPayload { assignments { id payload } } } }`,
  );
  const reports = claimItems.assignments.flatMap(({ id, payload }: { id: string; payload: string }) => {
    if (payload === 'succeeds') return { assignmentId: id, outcome: { success: { result: 'done' } } };
    const failure = { code: 'E', message: 'no', permanent: true };
    return payload === 'fails' ? { assignmentId: id, outcome: { failure } } : [];
  });
  await data(
    app.url,
    `mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } } }`,
    { reports },
  );
  const { releaseAssignments } = await data(
    app.url,
    `mutation ($ids: [ID!]!) { releaseAssignments(input: { assignmentIds: $ids }) { ... on ReleaseAssignmentsPayload { entries { status } } } }`,
    { ids: claimItems.assignments.flatMap((one: any) => (one.payload === 'waits' ? one.id : [])) },
  );
  expect(releaseAssignments.entries).toHaveLength(parents);
  deleting = await db.connect();
  await deleting.query(
    `begin; update jobtree.tree set deletion = 'REQUESTED', deletion_requested_at = now(), item_count = 6; commit;
     begin; select from jobtree.tree for update`,
  );
});
afterAll(async () => {
  query.mockRestore();
  await deleting.end();
});

/** What is called for many answers at once, and what is asked for once a minute. */
const shared = /from jobtree\.\w+\(|jobtree\.figure/;

/** How many queries an answer for so many jobs takes. */
async function queriesOf(selection: string, first: number): Promise<number> {
  query.mockClear();
  const { jobs } = await data(
    app.url,
    `{ jobs(first: ${first}, filter: { types: "parent" }) { nodes { ${selection} } } }`,
  );
  expect(jobs.nodes).toHaveLength(first);
  const texts = query.mock.calls.map(([statement]: unknown[]) =>
    typeof statement === 'string' ? statement : (statement as { text: string }).text,
  );
  return texts.filter((text) => /jobtree/.test(text) && !upkeep.test(text) && !shared.test(text)).length;
}

const variants: Readonly<Record<string, readonly string[]>> = {
  'Job.items': [
    ...[pendingStatuses, ...itemStatuses.slice(pendingStatuses.length - 2)].map(
      (statuses) => `(first: 4, statuses: [${statuses}])`,
    ),
    '(last: 1)',
    '(first: 1)',
  ],
  'Job.results': ['(first: 1)', '(last: 1)'],
};

/** Queries of their own, at a cost that allows a few in a request. */
const single = new Set(['Job.searchItems', 'Job.itemRanges']);

/** What is asked for, and the fields that lead there. */
interface Selection {
  readonly path: readonly string[];
  readonly text: string;
}

/** Selections that reach each field, no type more than twice: those of values together, any other alone. */
function selectionsOf(type: GraphQLObjectType, above: readonly string[]): Selection[] {
  const fields = Object.values(type.getFields());
  const values = fields.filter((field) => isLeafType(getNamedType(field.type))).map(({ name }) => name);
  const types = [...above, type.name];
  const nested = fields.flatMap((field): Selection[] => {
    const inner = getNamedType(field.type);
    if (single.has(`${type.name}.${field.name}`)) return [];
    if (!isObjectType(inner) || types.filter((name) => name === inner.name).length > 1) return [];
    // In edges there is the same, with cursors.
    if (inner.name.endsWith('Edge'))
      return [{ path: [field.name], text: `${field.name} { cursor node { id payload } }` }];
    return (variants[`${type.name}.${field.name}`] ?? ['']).slice(above.length > 0 ? -1 : 0).flatMap((args) =>
      selectionsOf(inner, types).map(({ path, text }) => ({
        path: [field.name + args, ...path],
        text: `${field.name}${args} { ${text} }`,
      })),
    );
  });
  return values.length === 0 ? nested : [{ path: [], text: values.join(' ') }, ...nested];
}

/** Of the selections whose last fields are the same, the shortest: how a field is read depends on those just above it. */
function distinct(all: readonly Selection[]): string[] {
  const byEnd = new Map<string, Selection>();
  for (const selection of all.toSorted((a, b) => a.path.length - b.path.length)) {
    const end = selection.path.slice(-lastFields).join(' ');
    if (!byEnd.has(end)) byEnd.set(end, selection);
  }
  return [...byEnd.values()].map(({ text }) => text);
}

const selections = distinct(selectionsOf(schema.getType('Job') as GraphQLObjectType, []));

describe('under many jobs it costs as many queries as under one', () => {
  it('to ask for any field', async () => {
    expect(selections.length).toBeGreaterThan(400);
    const dear: string[] = [];
    for (const selection of selections) {
      const [one, many] = [await queriesOf(selection, 1), await queriesOf(selection, parents)];
      if (one !== many) dear.push(`${one} -> ${many}: ${selection}`);
    }
    expect(dear).toEqual([]);
  }, 240_000);

  it('to ask for the same under aliases', async () => {
    const selection = `a: items(first: 1) { nodes { payload } } b: items(last: 1) { nodes { id payload } }
      c: items(first: 1, statuses: [FAILED]) { nodes { failures { message } } } d: tree { id } e: tree { type children { id } }`;
    expect(await queriesOf(selection, parents)).toBe(await queriesOf(selection, 1));
  });

  it('and each part of the answer belongs to its job', async () => {
    const { jobs } = await data(
      app.url,
      `{ jobs(first: ${parents}, filter: { types: "parent" }) { nodes {
        id
        items { nodes { id payload status job { id } } }
        children { id items(first: 1) { nodes { id } } }
        tree { id root { id } }
        results { nodes { id job { root { id } } } }
      } } }`,
    );
    for (const { id, items, children, tree, results } of jobs.nodes) {
      expect(items.nodes.map((item: any) => [item.payload, item.status, item.job.id])).toEqual([
        ['succeeds', 'SUCCEEDED', id],
        ['fails', 'FAILED', id],
        ['is held', 'RUNNING', id],
        ['waits', 'READY', id],
      ]);
      const [child] = children;
      expect(child.items.nodes[0].id).toContain(child.id.slice(4));
      expect(tree).toEqual([
        { id, root: { id } },
        { id: child.id, root: { id } },
      ]);
      expect(results.nodes).toEqual([{ id: expect.any(String), job: { root: { id } } }, expect.anything()]);
    }
  });
});
