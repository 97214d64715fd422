/** Every field of every type, asked for with each kind of watch token: it is shown as the page on security says, and else refused. */
import { readFileSync } from 'node:fs';
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sees, seen, showsAll } from '../../src/domain/rights.ts';
import { schema } from '../../src/schema/index.ts';
import { seenByOf } from '../../src/schema/seen-by.ts';
import type { App } from '../../src/server/create-app.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { ask, watchToken } from '../support/watch-tokens.ts';

interface Step {
  readonly type: GraphQLObjectType;
  readonly field: GraphQLField<unknown, unknown>;
}

/** The first way by which each field can be asked for: those that tokens show are tried first. */
function waysToFields(): Map<string, readonly Step[]> {
  const ways = new Map<string, readonly Step[]>();
  const roots = [schema.getQueryType(), schema.getSubscriptionType(), schema.getMutationType()];
  const visited = new Set<string>();
  const open = roots.map((type) => ({ type: type as GraphQLObjectType, way: [] as readonly Step[] }));
  const isShown = (way: readonly Step[]) => way.every(({ field }) => seenByOf(field) !== undefined);
  for (;;) {
    const index = Math.max(
      0,
      open.findIndex(({ way }) => isShown(way)),
    );
    const [next] = open.splice(index, 1);
    if (next === undefined) return ways;
    if (visited.has(next.type.name)) continue;
    visited.add(next.type.name);
    for (const field of Object.values(next.type.getFields())) {
      const way = [...next.way, { type: next.type, field }];
      ways.set(`${next.type.name}.${field.name}`, way);
      const target = getNamedType(field.type);
      const types = isAbstractType(target)
        ? schema.getPossibleTypes(target)
        : isObjectType(target)
          ? [target]
          : [];
      for (const type of types) open.push({ type, way });
    }
  }
}

const ways = waysToFields();
let db: TestDatabase;
let app: App;
let treeId: string;
let itemId: string;
const tokens = {} as Record<Sees, string>;

beforeAll(async () => {
  db = await createDatabase();
  app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
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
afterAll(async () => {
  await app.close();
  await db.drop();
});

/** The smallest arguments that GraphQL takes, of the tree and its item. */
function toArgs({ args }: GraphQLField<unknown, unknown>, type: string): string {
  const required = args.filter(isRequiredArgument);
  const id =
    type === 'Query' && args.length === 1 && args[0]?.description?.includes('item') ? itemId : treeId;
  return required.length === 0
    ? ''
    : `(${required.map((arg) => `${arg.name}: ${toValue(arg.type, id)}`).join()})`;
}

function toValue(type: GraphQLInputType, id: string): string {
  if (isNonNullType(type)) return toValue(type.ofType, id);
  if (isListType(type)) return `[${toValue(type.ofType, id)}]`;
  if (isEnumType(type)) return type.getValues()[0]?.name ?? '';
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields());
    const required = type.isOneOf ? fields.slice(0, 1) : fields.filter(isRequiredInputField);
    return `{ ${required.map((field) => `${field.name}: ${toValue(field.type, id)}`).join()} }`;
  }
  const values: Record<string, string> = {
    ID: `"${id}"`,
    Boolean: 'true',
    DateTime: '"2030-01-01T00:00:00Z"',
    File: '$file',
  };
  return values[type.name] ?? (['Int', 'Float', 'Count'].includes(type.name) ? '1' : '"x"');
}

function toQuery(way: readonly Step[]): string {
  const inner = way.toReversed().reduce((selection, { type, field }, i) => {
    const rest =
      selection !== '' ? ` { ${selection} }` : isLeafType(getNamedType(field.type)) ? '' : ' { __typename }';
    const asked = `${field.name}${toArgs(field, type.name)}${rest}`;
    return i === way.length - 1 ? asked : `... on ${type.name} { ${asked} }`;
  }, '');
  const kind = way[0]?.type.name.toLowerCase();
  return `${kind}${inner.includes('$file') ? ' ($file: File!)' : ''} { ${inner} }`;
}

async function codesOf(token: string, query: string): Promise<unknown[]> {
  const response = await fetch(app.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: query.startsWith('subscription') ? 'text/event-stream' : 'application/json',
      ...bearer(token),
    },
    body: JSON.stringify({ query }),
  });
  let text = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    if (query.startsWith('subscription') && /^data: \{.*\}$/m.test(text)) break;
  }
  const answer = JSON.parse(/^data: (\{.*\})$/m.exec(text)?.[1] ?? text) as {
    errors?: { extensions?: { code?: unknown } }[];
  };
  return (answer.errors ?? []).map(({ extensions }) => extensions?.code);
}

/** What the page says that a token shows first. */
const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
const documented = new Map<string, Sees>(
  seen.flatMap((sees) => {
    const row = new RegExp(`^\\| \`${sees}\` \\|.*\\|(.*)\\|$`, 'm').exec(page)?.[1] ?? '';
    return [...row.matchAll(/`(\w+\.\w+)`/g)].map(([, field = '']) => [field, sees] as const);
  }),
);

/** What pages are made of, of whatever: the field that leads there decides. */
const isOfPages = (place: string) => /^(\w+Connection|\w+Edge|PageInfo)\./.test(place);
const leastFor = (place: string) => (isOfPages(place) ? 'ITEMS' : documented.get(place));

it('the page on security names every field that a watch token shows', () => {
  const rules = [...ways].flatMap(([place, way]) => {
    const sees = seenByOf(way.at(-1)?.field);
    return sees === undefined || isOfPages(place) ? [] : [[place, sees] as const];
  });
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(rules));
  expect(documented.size).toBeGreaterThan(50);
});

it('every field that a watch token shows can be reached by fields that it shows', () => {
  const hidden = [...ways].filter(([place, way]) => {
    const sees = documented.get(place);
    return sees !== undefined && !way.every(({ field }) => showsAll(sees, seenByOf(field) ?? 'RESULTS'));
  });
  expect(hidden.map(([place]) => place)).toEqual([]);
});

describe.each([...new Set([...ways.keys()].map((place) => place.split('.')[0] as string))])('%s', (type) => {
  it.each(seen)('with a token that shows %s', async (sees) => {
    for (const [place, way] of ways) {
      if (!place.startsWith(`${type}.`)) continue;
      const isShown = way.every(({ type, field }) => {
        const least = leastFor(`${type.name}.${field.name}`);
        return least !== undefined && showsAll(sees, least);
      });
      const query = toQuery(way);
      const codes = await codesOf(tokens[sees], query);
      if (isShown) expect(codes, query).toEqual([]);
      else expect(codes, query).toEqual(['FORBIDDEN']);
    }
  });
});

describe('results over HTTP', () => {
  const results = async (token: string) =>
    fetch(`${app.url.replace('/graphql', '')}/api/jobs/${treeId}/results`, { headers: bearer(token) });

  it('are for tokens that show them, without payloads', async () => {
    const response = await results(tokens.RESULTS);
    expect(response.status).toBe(200);
    expect(JSON.parse(await response.text())).toEqual({ itemId, result: { found: 'cake' } });
    for (const sees of ['PROGRESS', 'ITEMS'] as const) expect((await results(tokens[sees])).status).toBe(403);
  });
});
