/**
 * Every field that queries and subscriptions lead to, asked for as each role, over each way to the API: it is shown to those that may ask for the root
 * field, and to nobody else. Those with a rule of their own are named here.
 */

import { beforeAll, expect, it } from 'vitest';
import { type Permission, permissions, type Role, roles } from '../../src/domain/access/rights.ts';
import { schema } from '../../src/schema/index.ts';
import {
  type AnswerError,
  errorsOverEvents,
  errorsOverHttp,
  errorsOverSocket,
  openSocket,
  withEach,
} from '../support/answers.ts';
import { ask } from '../support/api.ts';
import { type Field, permissionOf, type Step, toOperation, waysToFields } from '../support/fields.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

const ways = waysToFields(
  [schema.getQueryType(), schema.getSubscriptionType()],
  // There what they lead to depends on the id.
  ([first]) => !['node', 'nodes'].includes(first?.field.name ?? ''),
);

/** So many fields of a type are asked for at once. */
const atOnce = 10;

interface Asked {
  readonly type: string;
  readonly way: readonly Step[];
  readonly fields: readonly Field[];
}

/** The fields of each type, by one way to it; root fields each alone. */
const typeOf = (way: readonly Step[]) => (way.at(-1) as Step).type.name;
const asked = [...new Set([...ways.values()].map(typeOf))].flatMap((type): Asked[] => {
  const all = [...ways.values()].filter((way) => typeOf(way) === type);
  const most = all[0]?.length === 1 ? 1 : atOnce;
  return Array.from({ length: Math.ceil(all.length / most) }, (_, i) => {
    const some = all.slice(i * most, (i + 1) * most);
    return { type, way: some[0] as readonly Step[], fields: some.map((way) => (way.at(-1) as Step).field) };
  });
});

/** Who may not see a field, though they may see what it belongs to. */
const hidden: Readonly<Record<string, readonly Role[]>> = {
  // By these an item can be finished: they are for admins, and for whoever has the item, who knows them.
  'Assignment.id': ['operator', 'producer', 'watcher'],
};

const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });
let job: string;
let item: string;
const keys = {} as Record<Role, string>;

beforeAll(async () => {
  for (const role of roles) keys[role] = (await makeKey(db, [role])).key;
  const { data } = await ask(
    app.url,
    keys.admin,
    `mutation { createJob(input: { type: "x", items: [{ payload: 1 }] }) {
      ... on CreateJobPayload { job { id items { nodes { id } } } } } }`,
  );
  job = data.createJob.job.id;
  item = data.createJob.job.items.nodes[0].id;
  const claim = `mutation { claimItem(input: { itemId: "${item}", worker: "w" }) { __typename } }`;
  await ask(app.url, keys.admin, claim);
});

/** Which of the fields are refused. */
function refusedOf({ type, way, fields }: Asked, role: Role): string[] {
  const root = (way[0] as Step).field;
  const { roles } = permissions[permissionOf(root) as Permission];
  if (!(roles as readonly Role[]).includes(role)) return [root.name];
  return fields.map(({ name }) => name).filter((name) => hidden[`${type}.${name}`]?.includes(role));
}

/** Of an answer, at whichever place of a list. */
const forbiddenIn = (errors: readonly AnswerError[]): string[] => [
  ...new Set(
    errors
      .filter(({ extensions }) => extensions?.code === 'FORBIDDEN')
      .map(({ path }) => String(path?.findLast((part) => typeof part === 'string'))),
  ),
];

it.each(roles)('a %s sees what its role may, and nothing else', async (role) => {
  const shown = bearer(keys[role]);
  const socket = openSocket(app.url, shown);
  await withEach(asked, async (one) => {
    const query = toOperation(one.way, { job, item }, one.fields);
    const answers = [
      await errorsOverEvents(app.url, query, shown),
      await errorsOverSocket(socket, query),
      ...(query.startsWith('subscription') ? [] : [await errorsOverHttp(app.url, query, shown)]),
    ];
    for (const errors of answers) expect(forbiddenIn(errors), query).toEqual(refusedOf(one, role));
  });
  await socket.dispose();
});

it('a stranger sees none of them', async () => {
  await withEach(asked, async ({ way, fields }) => {
    const query = toOperation(way, { job, item }, fields);
    for (const askOver of [errorsOverEvents, errorsOverHttp])
      expect(await askOver(app.url, query, {})).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
  });
});

it.each([
  ['admin', expect.stringMatching(/^Assignment:/)],
  ['producer', null],
  ['watcher', null],
] as const)('held items of a %s have their assignments only for admins', async (role, assignmentId) => {
  const { data } = await ask(app.url, keys[role], '{ heldItems(types: ["x"]) { itemId assignmentId } }');
  expect(data).toEqual({ heldItems: [{ itemId: item, assignmentId }] });
});

const claimed = (selection: string, variables = '') =>
  `mutation${variables} { claimItems(input: { worker: "w", requests: [{ type: "kept", limit: 1 }] }) {
    ... on ClaimItemsPayload { assignments { ${selection} } } } }`;

/** Creates an item for a claim, and returns a function that reads its status. */
async function createKept(): Promise<() => Promise<string>> {
  const made = await ask(
    app.url,
    keys.admin,
    'mutation { createJob(input: { type: "kept", items: [{}] }) { ... on CreateJobPayload { job { items { nodes { id } } } } } }',
  );
  const [{ id }] = made.data.createJob.job.items.nodes;
  return async () => (await ask(app.url, keys.admin, `{ item(id: "${id}") { status } }`)).data.item.status;
}

it.each<[string, string, Record<string, unknown>?]>([
  ['directly', claimed('id job { type }')],
  ['by another name', claimed('id heartbeatIntervalMs: job { type }')],
  ['in a selection that is merged', claimed('id item { id } item { job { type } }')],
  [
    'behind fragments',
    `${claimed('...held')} fragment held on Assignment { item { ... on JobItem { ...work } } } fragment work on JobItem { job { type } }`,
  ],
  ['behind an interface', claimed('item { ... on Node { ... on JobItem { job { type } } } }')],
  ['with a directive that includes it', claimed('id job @include(if: true) { type }')],
  ['with a directive that does not skip it', claimed('id job @skip(if: false) { type }')],
  [
    'with a variable that includes it',
    claimed('id job @include(if: $with) { type }', '($with: Boolean!)'),
    { with: true },
  ],
  [
    'with a default that includes it',
    claimed('id ... @include(if: $with) { job { type } }', '($with: Boolean! = true)'),
  ],
  [
    'in a fragment that is first left out',
    `${claimed('...held @skip(if: true) ... on Assignment { ...held }')} fragment held on Assignment { job { type } }`,
  ],
])('a claim that selects what a worker may not see, %s, claims nothing', async (_, claim, variables) => {
  const statusOf = await createKept();
  // More than the executions after which an operation is compiled.
  for (let n = 0; n < 25; n++) {
    const { data, errors } = await ask(app.url, keys.worker, claim, variables);
    expect({ data, errors }).toMatchObject({
      data: { claimItems: null },
      errors: [{ path: ['claimItems'], extensions: { code: 'FORBIDDEN' } }],
    });
  }
  expect(await statusOf()).toBe('READY');
});

it.each<[string, string, Record<string, unknown>?]>([
  ['a directive', claimed('id job @skip(if: true) { type }')],
  [
    'a variable',
    claimed('id ...held @include(if: $with)', '($with: Boolean = false)') +
      ' fragment held on Assignment { job { type } }',
  ],
])('a claim may have what %s leaves out', async (_, claim, variables) => {
  const statusOf = await createKept();
  for (let n = 0; n < 25; n++) {
    const { data, errors } = await ask(app.url, keys.worker, claim, variables);
    expect({ data, errors }).toMatchObject({
      data: { claimItems: { assignments: expect.any(Array) } },
      errors: undefined,
    });
  }
  expect(await statusOf()).toBe('RUNNING');
});

it('every field outside the payloads of mutations is covered', () => {
  expect(ways.size).toBeGreaterThan(350);
  for (const place of Object.keys(hidden)) expect(ways.has(place), place).toBe(true);
});
