/** How large an answer may be, alike over HTTP, server-sent events and WebSocket. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { collectSse, createJob, data, request, subscribe, work } from '../support/api.ts';
import { useServer } from '../support/use-server.ts';

const maximum = 1_000_000;
const { db, app } = useServer({
  JOBTREE_MAX_ANSWER_BYTES: String(maximum),
  JOBTREE_MAX_JSON_BYTES: '2000000',
});
/** 20 items with a payload of 0.1 MB, and results of as much. */
let heavy: string;
/** Two items of 1.2 MB each. */
let huge: string;

beforeAll(async () => {
  const items = (count: number, bytes: number) =>
    Array.from({ length: count }, (_, i) => ({ payload: `${i} ${'x'.repeat(bytes)}` }));
  heavy = await createJob(app.url, { type: 'heavy', sealed: true, items: items(20, 100_000) });
  huge = await createJob(app.url, { type: 'huge', items: items(2, 1_200_000) });
  expect(await work(app.url, 'heavy', 100, 'r'.repeat(100_000))).toBe(20);
});

const overSocket = async (query: string, variables?: Record<string, unknown>) => {
  const watch = subscribe(app.url, query, variables);
  for await (const answer of watch) {
    await watch.close();
    return answer;
  }
};
const transports = [
  (query: string, variables?: Record<string, unknown>) => request(app.url, query, variables),
  async (query: string, variables?: Record<string, unknown>) =>
    (await collectSse(app.url, query, variables))[0],
  overSocket,
];

const page = (list: string, args: string, node: string) =>
  `query ($id: ID!) { job(id: $id) { ${list}(${args}) { nodes { ${node} } } } }`;
const refusal = (fits: number) => ({
  message: expect.stringMatching(
    new RegExp(`^The payloads.* with \`first\`: the first ${fits} fit; the limit is 1,000,000 `),
  ),
  extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes', maximum },
});

describe('too large an answer is refused before it is read, and the error says how many items fit:', () => {
  it.each<[string, string, number]>([
    ['payloads', page('items', 'first: 20', 'payload'), 9],
    ['payloads from the end', page('items', 'last: 20', 'payload'), 9],
    ['payloads in edges', `query ($id: ID!) { job(id: $id) { items { edges { node { payload } } } } }`, 9],
    ['payloads and results', page('items', 'first: 20', 'payload result'), 4],
    ['results of the tree', page('results', 'first: 1000', 'payload result'), 4],
    ['a part under aliases', page('items', 'first: 20', 'a: result b: result c: result'), 3],
    [
      'a part in fragments',
      `${page('items', 'first: 20', '...F')} fragment F on JobItem { ... { result } }`,
      9,
    ],
    ['what the assignment shows', page('items', 'first: 20', 'assignment { payload }'), 9],
    [
      'items of a list of jobs',
      '{ jobs(filter: { types: "heavy" }) { nodes { items { nodes { payload } } } } }',
      9,
    ],
  ])('%s', async (_, query, fits) => {
    for (const send of transports) {
      const { errors } = await send(query, { id: heavy });
      expect(errors).toMatchObject([refusal(fits)]);
    }
  });

  it('pages of one operation count together', async () => {
    const two = (first: number) =>
      `query ($id: ID!) { job(id: $id) { a: items(first: 5) { nodes { payload } } b: items(last: ${first}) { nodes { result } } } }`;
    for (const send of transports) {
      expect((await send(two(4), { id: heavy })).errors).toBeUndefined();
      const { errors } = await send(two(5), { id: heavy });
      expect(errors).toMatchObject([refusal(4)]);
      expect(errors[0].message).toContain('beside 500,0');
    }
  });

  it('items under aliases', async () => {
    const ids = (await data(app.url, page('items', 'first: 10', 'id'), { id: heavy })).job.items.nodes.map(
      ({ id }: { id: string }, i: number) => [id, i],
    );
    const each = (field: string) =>
      `{ ${ids.map(([id, i]: [string, number]) => `a${i}: ${field}(id: "${id}") { ... on JobItem { payload } }`).join(' ')} }`;
    for (const field of ['item', 'node']) {
      const { errors } = await request(app.url, each(field));
      expect(errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes' } }]);
    }
  });

  it('an item that many others refer to', async () => {
    const id = await createJob(app.url, {
      type: 'one',
      items: [{ payload: 'x'.repeat(100_000) }],
      children: [{ type: 'many', feed: { forEach: 'result' } }],
    });
    expect(await work(app.url, 'one', 1, Array(20).fill(1))).toBe(1);
    const query = (first: number) =>
      `query ($id: ID!) { job(id: $id) { items { nodes { payload childItems(first: ${first}) { nodes { parentItem { payload } } } } } } }`;
    const { data: shown } = await request(app.url, query(9), { id });
    expect(shown.job.items.nodes[0].childItems.nodes).toHaveLength(9);
    const { errors } = await request(app.url, query(20), { id });
    expect(errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes' } }]);
  });

  it('failures', async () => {
    const id = await createJob(app.url, { type: 'failing', items: [{}, {}] });
    const { claimItems } = await data(
      app.url,
      `mutation { claimItems(input: { worker: "w", requests: [{ type: "failing", limit: 2 }] }) { ... on ClaimItemsPayload { assignments { id } } } }`,
    );
    await data(
      app.url,
      `mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } } }`,
      {
        reports: claimItems.assignments.map((assignment: { id: string }) => ({
          assignmentId: assignment.id,
          outcome: {
            failure: {
              code: 'c',
              message: 'm'.repeat(10_000),
              permanent: true,
              stack: 's'.repeat(4_096),
            },
          },
        })),
      },
    );
    const many = Array.from({ length: 60 }, (_, i) => `m${i}: message`).join(' ');
    const both = [
      ...Array.from({ length: 40 }, (_, i) => `m${i}: message`),
      ...Array.from({ length: 60 }, (_, i) => `s${i}: stack`),
    ].join(' ');
    expect(
      (await request(app.url, page('items', 'first: 2', 'failures { message }'), { id })).data,
    ).toBeDefined();
    expect(
      (await request(app.url, page('items', 'first: 2', `failures { ${many} }`), { id })).errors,
    ).toMatchObject([refusal(1)]);
    expect(
      (await request(app.url, page('items', 'first: 2', `failures { ${both} }`), { id })).errors,
    ).toMatchObject([refusal(1)]);
    expect(
      (await request(app.url, page('items', 'first: 2', `lastFailure { ${many} }`), { id })).errors,
    ).toMatchObject([refusal(1)]);
  });

  it('logs', async () => {
    const id = await createJob(app.url, { type: 'logged', items: Array(20).fill({}) });
    await db.query(
      `insert into jobtree.item_note (job_id, position, noted_at, note, log)
       select job_id, position, now(), 'note', (
         select jsonb_agg(jsonb_build_object('attempt', 1, 'at', now(), 'text', repeat('x', 1900))) from generate_series(1, 50)
       ) from jobtree.job_item where job_id = $1`,
      [id.slice(4)],
    );
    const logs = (first: number) =>
      request(app.url, page('items', `first: ${first}`, 'note log { text }'), { id });
    expect((await logs(20)).errors).toMatchObject([refusal(10)]);
    expect((await logs(10)).data.job.items.nodes[9].log).toHaveLength(50);
  });

  it('stacks of items outside pages', async () => {
    const id = await createJob(app.url, { type: 'stacked', items: [{}, {}] });
    await db.query(
      `insert into jobtree.failure (job_id, position, attempt, lease_id, at, lost, code, message, stack)
       select job_id, position, n, gen_random_uuid(), now(), false, 'E', '', repeat('s', 4000)
       from jobtree.job_item, generate_series(1, 150) n where job_id = $1`,
      [id.slice(4)],
    );
    const { nodes } = (await data(app.url, page('items', 'first: 2', 'id'), { id })).job.items;
    const each = (count: number) =>
      nodes
        .slice(0, count)
        .map((item: { id: string }, i: number) => {
          return `a${i}: node(id: "${item.id}") { ... on JobItem { failures { stack } } }`;
        })
        .join(' ');
    const one = await request(app.url, `{ ${each(1)} }`);
    expect(one.data.a0.failures).toHaveLength(150);
    const { errors } = await request(app.url, `{ ${each(2)} }`);
    expect(errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes' } }]);
  });

  it('a watched page', async () => {
    const watched = (first: number, fields: string) =>
      `subscription ($id: ID!) { jobItems(jobId: $id, first: ${first}) { items { ${fields} } } }`;
    const sse = async (query: string) => (await collectSse(app.url, query, { id: heavy }))[0];
    for (const first of [(query: string) => overSocket(query, { id: heavy }), sse]) {
      expect((await first(watched(20, 'payload'))).errors).toMatchObject([refusal(9)]);
      expect((await first(watched(9, 'payload'))).data.jobItems.items).toHaveLength(9);
      expect((await first(watched(20, 'id status'))).data.jobItems.items).toHaveLength(20);
    }
  });

  it.each(['', '...Apart } fragment Apart on Subscription { '])(
    'a watched page that has grown, once: its stream ends with the error, read as "%s"',
    async (apart) => {
      const id = await createJob(app.url, { type: 'grows', items: [{ payload: 'small' }] });
      const watch = subscribe(
        app.url,
        `subscription ($id: ID!) { ${apart}jobItems(jobId: $id, intervalMs: 100) { items { payload } } }`,
        { id },
      );
      const events = watch[Symbol.asyncIterator]();
      expect((await events.next()).value.data.jobItems.items).toHaveLength(1);
      const items = Array.from({ length: 20 }, () => ({ payload: 'x'.repeat(100_000) }));
      for (const some of [items.slice(10), items.slice(10)])
        await data(app.url, 'mutation ($input: AddItemsInput!) { addItems(input: $input) { __typename } }', {
          input: { jobId: id, items: some },
        });
      let event = await events.next();
      while (event.value?.data != null) event = await events.next();
      expect(event.value.errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED' } }]);
      expect((await events.next()).done).toBe(true);
      await watch.close();
    },
  );
});

describe('accepted are:', () => {
  it('as many items as the error says, and any number of small ones', async () => {
    for (const [first, fields] of [
      [9, 'payload'],
      [4, 'payload result'],
      [20, 'id status failures { message }'],
      [20, 'payload @skip(if: true) result @include(if: false)'],
    ]) {
      const { job } = await data(app.url, page('items', `first: ${first}`, `id ${fields}`), { id: heavy });
      expect(job.items.nodes).toHaveLength(Number(first));
    }
  });

  it('a single item of any size', async () => {
    expect(
      (await data(app.url, page('items', 'first: 1', 'payload'), { id: huge })).job.items.nodes,
    ).toHaveLength(1);
    const [{ id }] = (await data(app.url, page('items', 'first: 1', 'id'), { id: huge })).job.items.nodes;
    const { item } = await data(app.url, 'query ($id: ID!) { item(id: $id) { payload } }', { id });
    expect(JSON.stringify(item.payload).length).toBeGreaterThan(maximum);
    const { errors } = await request(app.url, page('items', 'first: 2', 'payload'), { id: huge });
    expect(errors).toMatchObject([refusal(1)]);
  });
});

it('the client asks for less until it fits', async () => {
  const client = createClient({ url: app.url });
  let count = 0;
  for await (const { payload, result } of client.results<string, string>(heavy)) {
    expect([payload.startsWith(`${count} x`), result.length]).toEqual([true, 100_000]);
    count++;
  }
  expect(count).toBe(20);
  const page = await client.items(heavy, { first: 20 });
  expect([page.nodes.length, page.hasNextPage]).toEqual([2, true]);
  expect((await client.items(huge)).nodes).toHaveLength(1);
  await client.close();
});
