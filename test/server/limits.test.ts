/** What one operation may cost, alike over HTTP, server-sent events and WebSocket, and what the server remembers of operations. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { getIntrospectionQuery } from 'graphql';
import { createClient } from 'graphql-ws';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import * as operations from '../../src/generated/operations.ts';
import { schema } from '../../src/schema/index.ts';
import { exampleTabs } from '../../src/server/http/graphiql.ts';
import { type Answer, collectSse, createJob, data, request } from '../support/api.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

/** One socket for many operations: what closed it fails the operations that follow. */
const open = () =>
  createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
  });

type Socket = ReturnType<typeof open>;
async function overSocket(
  socket: Socket,
  query: string,
  variables?: Record<string, unknown>,
): Promise<Answer> {
  try {
    for await (const answer of socket.iterate({ query, variables: variables ?? null }))
      return answer as Answer;
    throw new Error('There was no answer.');
  } catch (error) {
    if (Array.isArray(error)) return { errors: error };
    throw error;
  }
}

const transports = (socket: Socket) => [
  (query: string, variables?: Record<string, unknown>) => request(app.url, query, variables),
  async (query: string, variables?: Record<string, unknown>): Promise<Answer> =>
    (await collectSse(app.url, query, variables))[0],
  (query: string, variables?: Record<string, unknown>) => overSocket(socket, query, variables),
];

const repeat = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');
const nested = (depth: number, field: string) => `${`${field} { `.repeat(depth)}id${' }'.repeat(depth)}`;

describe('an operation beyond a limit is refused with the name of the limit:', () => {
  it.each<[string, string, string, Record<string, unknown>?]>([
    [
      'many tokens',
      'tokens',
      `{ jobs(filter: { types: "x" }) { nodes { id } } } # ${''}`.replace(
        '"x"',
        `"x", ${repeat(20_000, (i) => `a${i}: 1`)}`,
      ),
    ],
    [
      'aliases of a claim',
      'aliases',
      `mutation { ${repeat(500, (i) => `a${i}: claimItems(input: { worker: "w", requests: [{ type: "x", limit: 1 }] }) { __typename }`)} }`,
    ],
    ['aliases of a list', 'aliases', `{ ${repeat(500, (i) => `a${i}: jobs(first: 1) { nodes { id } }`)} }`],
    [
      'aliases by fragments',
      'aliases',
      `{ ${repeat(20, (i) => `a${i}: jobs { ...J }`)} } fragment J on JobConnection { ${repeat(20, (i) => `b${i}: nodes { id }`)} }`,
    ],
    [
      'aliases of the introspection',
      'aliases',
      `{ ${repeat(200, (i) => `a${i}: __schema { types { name } }`)} }`,
    ],
    ['one field many times', 'fields', `{ ${repeat(5_000, () => '__typename')} }`],
    ['many schemas', 'fields', `{ ${repeat(6, (i) => `a${i}: __schema { types { name } }`)} }`],
    [
      'one list many times',
      'repeats',
      `{ ${repeat(60, () => 'jobs(filter: { types: ["x"] }) { nodes { id } }')} }`,
    ],
    [
      'a field below one list many times, by fragments',
      'repeats',
      `{ ${repeat(10, () => 'jobs { ... on JobConnection { ...F } }')} } fragment F on JobConnection { ${repeat(10, () => 'nodes { id }')} }`,
    ],
    [
      'fragments that spread all others',
      'fields',
      `{ ...F0 } ${repeat(12, (i) => `fragment F${i} on Query { ${repeat(12, (j) => `...F${j}`)} }`)}`,
    ],
    ['a deep selection', 'depth', `{ jobs { nodes { ${nested(30, 'parent')} } } }`],
    [
      'a selection that is deep by fragments',
      'depth',
      `{ jobs { nodes { ...F0 } } } ${repeat(30, (i) => `fragment F${i} on Job { parent { id ${i < 29 ? `...F${i + 1}` : ''} } }`)}`,
    ],
    ['trees of trees', 'cost', '{ jobs { nodes { tree { tree { tree { id } } } } } }'],
    [
      'children and parents in turn',
      'cost',
      '{ jobs { nodes { children { parent { children { parent { children { id } } } } } } } }',
    ],
    [
      'large pages within large pages',
      'cost',
      'query ($n: Int) { jobs(first: $n) { nodes { items(first: $n) { nodes { id } } } } }',
      { n: 1000 },
    ],
    [
      'large pages from the end',
      'cost',
      '{ jobs(last: 1000) { edges { node { results(last: 1000) { edges { node { id } } } } } } }',
    ],
    [
      'trees of a claim',
      'cost',
      'mutation { claimItems(input: { worker: "w", requests: [{ type: "x", limit: 1000 }] }) { ... on ClaimItemsPayload { assignments { item { job { tree { id } } } } } } }',
    ],
    ['a deep list', 'depth', `{ node(id: ${'['.repeat(9_000)}${']'.repeat(9_000)}) { id } }`],
    ['a deep selection beyond the stack', 'depth', `{ ${nested(9_000, 'a')} }`],
  ])('%s', async (_, limit, query, variables) => {
    const socket = open();
    for (const send of transports(socket)) {
      const { errors } = await send(query, variables);
      expect(errors?.[0]).toMatchObject({
        message: expect.stringMatching(/the limit is [\d,]+/),
        extensions: { code: 'LIMIT_EXCEEDED', limit },
      });
    }
    expect((await overSocket(socket, '{ __typename }')).data).toEqual({ __typename: 'Query' });
    await socket.dispose();
  });

  it.each([
    'subscription { jobs(first: 1000) { jobs { tree { id } } } }',
    'subscription ($n: Int) { jobs(first: $n) { jobs { items(first: $n) { nodes { id } } } } }',
    'subscription ($n: Int, $id: ID!) { jobItems(jobId: $id, first: $n) { items { job { tree { id } } } } }',
  ])('%s', async (query) => {
    const id = await createJob(app.url, { type: 'watched', items: [{}] });
    const variables = { n: 1000, id };
    const socket = open();
    const refusal = { extensions: { code: 'LIMIT_EXCEEDED', limit: 'cost' } };
    const overSse = await collectSse(app.url, query, variables);
    expect(overSse).toHaveLength(1);
    expect(overSse[0].errors?.[0]).toMatchObject(refusal);
    const answers: Answer[] = [];
    for await (const answer of socket.iterate({ query, variables })) answers.push(answer as Answer);
    expect(answers).toHaveLength(1);
    expect(answers[0]?.errors?.[0]).toMatchObject(refusal);
    await socket.dispose();
  });

  it('a refused claim claims nothing', async () => {
    await createJob(app.url, { type: 'kept', items: [{}] });
    await request(
      app.url,
      'mutation { claimItems(input: { worker: "w", requests: [{ type: "kept", limit: 999 }] }) { ... on ClaimItemsPayload { assignments { item { job { tree { id } } } } } } }',
    );
    expect(await db.query(`select from jobtree.queue_entry where type = 'kept'`)).toHaveLength(1);
  });

  it('an expensive page is completed in turns, by both executors', async () => {
    const wide = await createJob(app.url, {
      type: 'wide page',
      items: Array.from({ length: 500 }, (_, n) => ({ payload: n })),
    });
    const page = (fields: string) =>
      `query ($id: ID!) { job(id: $id) { items(first: 1000) { nodes { payload ${fields} } edges { node { id } } } } }`;
    const light = await data(app.url, page(''), { id: wide });
    // A compiled operation is one that came often.
    for (let i = 0; i < 22; i++) {
      const { job } = await data(app.url, page(repeat(40, (n) => `a${n}: id`)), { id: wide });
      expect(job.items.edges).toEqual(light.job.items.edges);
      expect(job.items.nodes.map((node: { payload: number }) => node.payload)).toEqual(
        light.job.items.nodes.map((node: { payload: number }) => node.payload),
      );
    }
  });

  it('a long list in the answer of a mutation and in an event is completed in turns, by both executors', async () => {
    const tree = await createJob(app.url, {
      type: 'wide tree',
      children: Array.from({ length: 900 }, (_, n) => ({ type: `wide ${n}` })),
    });
    const assignmentIds = Array.from({ length: 900 }, (_, n) => `no id ${n}`);
    const fields = repeat(40, (n) => `a${n}: status`);
    const release = `mutation ($input: ReleaseAssignmentsInput!) { releaseAssignments(input: $input) { ... on ReleaseAssignmentsPayload { entries { assignmentId ${fields} } } } }`;
    const watch = `subscription ($id: ID!) { jobTreeProgress(rootId: $id) { jobs { job { type } ${repeat(40, (n) => `a${n}: itemCount`)} } } }`;
    const socket = open();
    // A compiled operation is one that came often.
    for (let i = 0; i < 22; i++) {
      const { releaseAssignments } = await data(app.url, release, { input: { assignmentIds } });
      expect(releaseAssignments.entries.map((entry: any) => entry.assignmentId)).toEqual(assignmentIds);
      const { data: event, errors } = await overSocket(socket, watch, { id: tree });
      expect(errors).toBeUndefined();
      expect(event?.jobTreeProgress).toMatchObject({ jobs: { length: 901 } });
    }
    await socket.dispose();
  });

  it('the cost of a query is counted once', async () => {
    const extensions: { complexity?: unknown } = schema.getQueryType()?.getFields().jobs?.extensions ?? {};
    const count = vi.fn(extensions.complexity as (...args: unknown[]) => unknown);
    extensions.complexity = count;
    onTestFinished(() => {
      extensions.complexity = count.getMockImplementation();
    });
    expect(await data(app.url, '{ a: jobs { nodes { id } } }')).toBeDefined();
    expect(count).toHaveBeenCalledTimes(1);
  });

  it('limits are settings', async () => {
    const strict = await startServer(db.url, {
      JOBTREE_MAX_QUERY_COST: '1000',
      JOBTREE_MAX_QUERY_TOKENS: '1000',
    });
    const limitOf = async (query: string) =>
      (await request(strict.url, query)).errors?.[0]?.extensions?.limit;
    expect(await limitOf('{ jobs { nodes { tree { id } } } }')).toBe('cost');
    expect(await limitOf(`{ ${'__typename '.repeat(1_000)} }`)).toBe('tokens');
    expect(await limitOf('{ jobs { nodes { id } } }')).toBeUndefined();
    await strict.close();
  });
});

describe('accepted are:', () => {
  it.each([
    '{ jobs(first: 20) { nodes { id type children { id type children { id type children { id type } } } } } }',
    '{ jobs(first: 20) { nodes { id treeProgress { percent } children { ...J children { ...J children { ...J } } } } } } fragment J on Job { id }',
    'query ($id: ID!) { job(id: $id) { tree { id type children { id children { id } } } } }',
  ])('ordinary trees: %s', async (query) => {
    const id = await createJob(app.url, {
      type: 'grandparent',
      children: [{ type: 'parent', children: [{ type: 'child' }] }],
    });
    expect((await request(app.url, query, { id })).errors).toBeUndefined();
  });

  it('introspection, the examples of GraphiQL, and every operation of the client with the largest pages', async () => {
    const refused = async (query: string, variables?: Record<string, unknown>, operationName?: string) => {
      const response = await fetch(app.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables, operationName }),
      });
      const { errors } = (await response.json()) as Answer;
      return errors?.filter(({ extensions }) => extensions?.code === 'LIMIT_EXCEEDED') ?? [];
    };
    expect(
      (
        await request(
          app.url,
          getIntrospectionQuery({
            descriptions: true,
            inputValueDeprecation: true,
            oneOf: true,
            specifiedByUrl: true,
          }),
        )
      ).errors,
    ).toBeUndefined();
    for (const { query } of exampleTabs) {
      for (const [, name] of query.matchAll(/(?:query|mutation|subscription) (\w+)/g))
        expect(await refused(query, { jobId: 'x', assignmentId: 'x' }, name)).toEqual([]);
    }
    const id = await createJob(app.url, { type: 'client', items: [{}] });
    const variables = {
      id,
      jobId: id,
      rootId: id,
      first: 1000,
      types: ['x'],
      claims: { worker: 'w', requests: [{ type: 'nothing', limit: 1000 }] },
      withClaims: true,
      withReports: false,
      withReleases: false,
    };
    for (const operation of Object.values(operations)) {
      const query = String(operation);
      // The client says that it takes smaller pages.
      variables.first =
        operation === operations.JobsWithTrees ? 200 : operation === operations.Jobs ? 900 : 1000;
      if (/^\s*(query|mutation)/.test(query)) expect(await refused(query, variables)).toEqual([]);
    }
  });

  it('a thousand items in the text of the operation', async () => {
    const id = await createJob(app.url, { type: 'inline' });
    const { addItems } = await data(
      app.url,
      `mutation { addItems(input: { jobId: "${id}", items: [${repeat(1_000, (i) => `{ payload: { n: ${i}, name: "x" } }`)}] }) { ... on AddItemsPayload { added } } }`,
    );
    expect(addItems.added).toBe(1000);
  });
});

describe('what the server caches about operations', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const heap = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const unknown = 'Job:00000000-0000-7000-8000-000000000000';
  const large = (n: string, items: number) =>
    `mutation { addItems(input: { jobId: "${unknown}", items: [${repeat(items, (i) => `{ payload: { n: "${n}", i: ${i}, name: "x" } }`)}] }) { __typename } }`;

  it.each(['HTTP', 'WebSocket'])('is small, over %s', async (transport) => {
    const socket = open();
    const send = (query: string) =>
      transport === 'HTTP' ? request(app.url, query) : overSocket(socket, query);
    await send(large(transport, 900));
    const before = heap();
    for (let n = 1; n <= 6; n++) {
      expect((await send(large(`${transport} ${n}`, 900))).data.addItems.__typename).toBe('NotFoundError');
      // What can't be parsed is remembered too.
      expect((await send(`${large(`${transport} ${n}`, 900)} }`)).errors).toBeDefined();
    }
    // All of them would take 30 MB.
    expect((heap() - before) / 1e6).toBeLessThan(15);
    // These are remembered, but no more than 50 or so of them, at 0.35 MB each.
    for (let n = 1; n <= 130; n++) await send(large(`${transport} ${n}`, 80));
    expect((heap() - before) / 1e6).toBeLessThan(28);
    await socket.dispose();
  });
});
