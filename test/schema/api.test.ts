/** The API: what it answers, what SQL that costs, and how it refuses. */
import { assertObjectType, isNonNullType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { schema } from '../../src/schema/index.ts';
import { collect, createJob, data, request, subscribe, work } from '../support/api.ts';
import { upkeep } from '../support/upkeep.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

const unknown = '00000000-0000-7000-8000-000000000000';

describe('a time that is none', () => {
  const refused = '__typename ... on UserError { code field }';
  it.each([
    ['mutation', 'cancelItems', 'addedFrom'],
    ['mutation', 'promoteItems', 'addedUntil'],
    ['mutation', 'replayDeadLetters', 'diedFrom'],
    ['mutation', 'discardDeadLetters', 'diedUntil'],
    ['query', 'pendingItemCount', 'addedFrom'],
    ['query', 'deadLetterCount', 'diedFrom'],
    ['query', 'jobs', 'idleSince'],
    ['subscription', 'jobs', 'idleSince'],
    ['query', 'auditEntries', 'since'],
  ])('is refused by name: %s %s %s', async (kind, field, condition) => {
    const filter = `filter: { ${condition}: "2026-02-31T00:00:00Z" }`;
    const args = kind === 'mutation' ? `input: { ${filter} }` : filter;
    const selected = field.endsWith('Count') ? '' : `{ ${kind === 'mutation' ? refused : '__typename'} }`;
    const operation = `${kind} { ${field}(${args}) ${selected} }`;
    const [answer] =
      kind === 'subscription'
        ? await collect(subscribe(app.url, operation))
        : [await request(app.url, operation, {})];
    const problem = { code: 'INVALID_INPUT', field: `filter.${condition}` };
    if (kind === 'mutation') expect(answer.data[field]).toMatchObject(problem);
    else expect(answer.errors).toMatchObject([{ extensions: problem }]);
  });
});

describe('reads', () => {
  it('shows a tree with its items and results', async () => {
    const id = await createJob(app.url, {
      type: 'parent',
      sealed: true,
      items: [{ payload: { n: 1 } }, { payload: null, priority: 3 }],
      children: [{ type: 'child', feed: {} }],
    });
    await work(app.url, 'parent', 9, { made: true });
    await work(app.url, 'child', 9, 'final');
    const { job } = await data(
      app.url,
      `query ($id: ID!) {
        job(id: $id) {
          type finalStage depth
          tree { type depth finalStage parent { type } root { id } progress { succeeded } }
          children { type }
          items(statuses: [SUCCEEDED]) { nodes { status payload result failures { code } priority job { type } assignment { worker attempt } } }
          results { nodes { payload result job { type } } }
        }
      }`,
      { id },
    );
    expect(job).toMatchObject({
      type: 'parent',
      finalStage: false,
      tree: [
        { type: 'parent', depth: 0, parent: null, root: { id } },
        { type: 'child', depth: 1, finalStage: true, parent: { type: 'parent' }, root: { id } },
      ],
      children: [{ type: 'child' }],
      items: {
        nodes: [
          {
            status: 'SUCCEEDED',
            payload: { n: 1 },
            result: { made: true },
            failures: [],
            priority: 0,
            job: { type: 'parent' },
            assignment: { worker: 'test', attempt: 1 },
          },
          { status: 'SUCCEEDED', payload: null, priority: 3 },
        ],
      },
      results: {
        nodes: [{ payload: { made: true }, result: 'final', job: { type: 'child' } }, { result: 'final' }],
      },
    });
  });

  it('shows the results of final stages: leaves, unless a job says otherwise', async () => {
    const id = await createJob(app.url, {
      type: 'stage',
      items: [{ payload: 1 }],
      finalStage: true,
      children: [
        { type: 'stage', items: [{ payload: 2 }], finalStage: false },
        { type: 'stage', items: [{ payload: 3 }], children: [{ type: 'stage', items: [{ payload: 4 }] }] },
      ],
    });
    await work(app.url, 'stage', 9, 'done');
    const { job } = await data(
      app.url,
      'query ($id: ID!) { job(id: $id) { results { nodes { payload } } } }',
      { id },
    );
    const payloads = job.results.nodes.map(({ payload }: { payload: number }) => payload);
    expect(payloads.toSorted()).toEqual([1, 4]);
  });

  it('pages items by cursor, forwards and backwards, and by status', async () => {
    const id = await createJob(app.url, {
      type: 'paged',
      items: Array.from({ length: 7 }, (_, i) => ({ payload: i })),
    });
    await work(app.url, 'paged', 2);
    const page = async (args: string) =>
      (
        await data(
          app.url,
          `query ($id: ID!) { job(id: $id) { items(${args}) { nodes { payload } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`,
          { id },
        )
      ).job.items;
    const payloads = (items: { nodes: { payload: number }[] }) => items.nodes.map(({ payload }) => payload);
    const first = await page('first: 3');
    expect([payloads(first), first.pageInfo.hasNextPage]).toEqual([[0, 1, 2], true]);
    const second = await page(`first: 9, after: "${first.pageInfo.endCursor}"`);
    expect([payloads(second), second.pageInfo.hasNextPage]).toEqual([[3, 4, 5, 6], false]);
    const back = await page(`last: 2, before: "${second.pageInfo.startCursor}"`);
    expect(payloads(back)).toEqual([1, 2]);
    expect(payloads(await page('statuses: [READY, RUNNING], first: 3'))).toEqual([2, 3, 4]);
    expect(payloads(await page('statuses: SUCCEEDED'))).toEqual([0, 1]);
  });

  it('lists jobs by type, status and order', async () => {
    const type = 'listed';
    const done = await createJob(app.url, { type, sealed: true, items: [{}] });
    await work(app.url, type, 1);
    const waiting = await createJob(app.url, { type, items: [{}], children: [{ type }] });
    const cancelled = await createJob(app.url, { type });
    await data(app.url, 'mutation ($id: ID!) { cancelJob(input: { jobId: $id }) { __typename } }', {
      id: cancelled,
    });
    const list = async (filter: string, order = 'OLDEST_FIRST') =>
      (
        await data(
          app.url,
          `{ jobs(filter: { types: "${type}", ${filter} }, order: ${order}) { nodes { id } } }`,
        )
      ).jobs.nodes.map(({ id }: { id: string }) => id);
    expect(await list('')).toEqual([done, waiting, cancelled]);
    expect(await list('', 'NEWEST_FIRST')).toEqual([cancelled, waiting, done]);
    await expect.poll(() => list('statuses: CANCELLED')).toEqual([cancelled]);
    await expect.poll(() => list('statuses: COMPLETED')).toEqual([done]);
    expect(await list('statuses: WAITING')).toEqual([waiting]);
    expect(await list('statuses: RUNNING')).toEqual([]);
    expect(await list('rootsOnly: false')).toHaveLength(4);
  });

  it('lists trees by the state of all their jobs', async () => {
    const type = 'whole trees';
    const open = await createJob(app.url, {
      type,
      sealed: true,
      children: [{ type: 'cancelled' }, { type: 'open below' }],
    });
    const done = await createJob(app.url, { type, sealed: true });
    const waiting = await createJob(app.url, { type, items: [{}] });
    const cancelled = await createJob(app.url, { type, sealed: true, children: [{ type: 'cancelled' }] });
    for (const id of [open, cancelled]) {
      const { job } = await data(app.url, 'query ($id: ID!) { job(id: $id) { children { id } } }', { id });
      await data(
        app.url,
        'mutation ($id: ID!) { cancelJob(input: { jobId: $id }) { ... on CancelJobPayload { job { id progress { outcome } } } } }',
        { id: job.children[0].id },
      );
    }
    const list = async (filter: string, ofType = `types: "${type}", `) =>
      (
        await data(app.url, `{ jobs(filter: { ${ofType}wholeTrees: true, ${filter} }) { nodes { id } } }`)
      ).jobs.nodes.map(({ id }: { id: string }) => id);
    await expect.poll(() => list('statuses: CANCELLED')).toEqual([cancelled]);
    for (const [id, outcome] of [
      [open, null],
      [cancelled, 'CANCELLED'],
    ]) {
      const query = 'query ($id: ID!) { job(id: $id) { treeOutcome treeProgress { outcome } } }';
      expect((await data(app.url, query, { id })).job).toEqual({
        treeOutcome: outcome,
        treeProgress: { outcome },
      });
    }
    for (const ofType of [undefined, '']) {
      expect(await list('statuses: RUNNING', ofType)).toContain(open);
      expect(await list('statuses: COMPLETED', ofType)).not.toContain(open);
      expect(await list('outcomes: SUCCEEDED', ofType)).toContain(done);
      expect(await list('outcomes: SUCCEEDED', ofType)).not.toContain(cancelled);
      expect(await list('outcomes: SUCCEEDED', ofType)).not.toContain(open);
      expect(await list('outcomes: CANCELLED', ofType)).toContain(cancelled);
      expect(await list('outcomes: CANCELLED', ofType)).not.toContain(open);
      expect(await list('statuses: CANCELLED', ofType)).not.toContain(open);
      expect(await list('statuses: WAITING', ofType)).toContain(waiting);
    }
    expect(await list('statuses: RUNNING')).toEqual([open]);
    expect(await list('statuses: COMPLETED')).toEqual([done]);
    for (const [wholeTrees, running] of [
      [false, []],
      [true, [open]],
    ]) {
      const filter = `types: "${type}", wholeTrees: ${wholeTrees}, statuses: RUNNING`;
      const { jobs } = await data(app.url, `{ jobs(filter: { ${filter} }) { nodes { id } } }`);
      expect(jobs.nodes.map(({ id }: { id: string }) => id)).toEqual(running);
    }
    const answer = await request(
      app.url,
      '{ jobs(filter: { wholeTrees: true, rootsOnly: false }) { nodes { id } } }',
    );
    expect(answer.errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'filter.wholeTrees',
    });
  });

  it('shows the progress of a tree with what the mutation did', async () => {
    const jobId = await createJob(app.url, { type: 'grows', items: [{}] });
    for (let itemCount = 2; itemCount <= 10; itemCount++) {
      const { addItems } = await data(
        app.url,
        `mutation ($id: ID!) { addItems(input: { jobId: $id, items: [{ payload: 1 }] }) {
          ... on AddItemsPayload { job { id treeProgress { itemCount } } } } }`,
        { id: jobId },
      );
      expect(addItems.job).toEqual({ id: jobId, treeProgress: { itemCount } });
    }
  });

  it('leads from the progress of a job to the job, and from that of a tree to its root', async () => {
    const id = await createJob(app.url, {
      type: 'led',
      items: [{}],
      children: [{ type: 'led-below', items: [{}] }],
    });
    const { job } = await data(
      app.url,
      `query ($id: ID!) { job(id: $id) { tree { progress { jobId job { id type } } } treeProgress { root { id } } } }`,
      { id },
    );
    expect(job.tree.map(({ progress }: any) => progress.job.type).toSorted()).toEqual(['led', 'led-below']);
    for (const { progress } of job.tree) expect(progress.job.id).toBe(progress.jobId);
    expect(job.treeProgress.root.id).toBe(id);
    const watch = subscribe(
      app.url,
      `subscription { jobTreeProgress(rootId: "${id}") { root { id } jobs { job { id } } } }`,
    );
    for await (const { data: event } of watch) {
      expect(event.jobTreeProgress.root.id).toBe(id);
      expect(event.jobTreeProgress.jobs.map((one: any) => one.job.id)).toContain(id);
      break;
    }
    await watch.close();
  });

  it('finds any node by its id', async () => {
    const id = await createJob(app.url, { type: 'nodes', items: [{}] });
    const { job } = await data(app.url, `query ($id: ID!) { job(id: $id) { items { nodes { id } } } }`, {
      id,
    });
    const claimed = await data(
      app.url,
      `mutation ($id: ID!) { claimItem(input: { itemId: $id, worker: "w" }) { ... on ClaimItemPayload { assignment { id } } } }`,
      { id: job.items.nodes[0].id },
    );
    for (const node of [id, job.items.nodes[0].id, claimed.claimItem.assignment.id]) {
      expect(
        (await data(app.url, `query ($id: ID!) { node(id: $id) { id __typename } }`, { id: node })).node,
      ).toEqual({ id: node, __typename: node.split(':')[0] });
    }
    const absent = [
      `Job:${unknown}`,
      `JobItem:${unknown}:7`,
      `Assignment:${unknown}`,
      'Schedule:none',
      `DeadLetterGroup:${unknown}`,
      `Operation:${unknown}`,
      'CallbackEndpoint:none',
      `CallbackDelivery:${unknown}`,
    ];
    const node = async (nodeId: string) =>
      request(app.url, `query ($id: ID!) { node(id: $id) { id } }`, { id: nodeId });
    for (const id of absent) expect(await node(id)).toEqual({ data: { node: null } });
    const nodes = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const ids = [...absent.slice(0, 2), id, absent[2], job.items.nodes[0].id, id];
    expect(await request(app.url, nodes, { ids })).toEqual({
      data: { nodes: [null, null, { id }, null, { id: job.items.nodes[0].id }, { id }] },
    });
    expect(await request(app.url, nodes, { ids: [] })).toEqual({ data: { nodes: [] } });
    expect((await request(app.url, nodes, { ids: Array(101).fill(id) })).errors).toMatchObject([
      {
        message: 'ids has 101 entries; the limit is 100.',
        extensions: { code: 'INVALID_INPUT', field: 'ids' },
      },
    ]);
    expect((await request(app.url, nodes, { ids: [id, 'Job:7'] })).errors).toMatchObject([
      { extensions: { code: 'INVALID_INPUT', field: 'ids[1]' } },
    ]);
    for (const bad of [
      // These have ids, and are no nodes.
      `Upload:${unknown}`,
      `ApiKey:${unknown}`,
      'Job:7',
      `JobItem:${unknown}`,
      `JobItem:${unknown}:`,
      `JobItem:${unknown}:-1`,
      `JobItem:${unknown}:01`,
      `JobItem:${unknown}:1:1`,
      `JobItem:${unknown}:${'9'.repeat(16)}`,
      'Nothing:1',
      'x',
      '',
      `toString:${unknown}`,
      `constructor:${unknown}`,
      `__proto__:${unknown}`,
    ])
      expect((await node(bad)).errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', field: 'id' });
  });

  it('has null as a result, and no result for a pending item', async () => {
    const id = await createJob(app.url, { type: 'nulls', items: [{}, {}] });
    await work(app.url, 'nulls', 1, null);
    const { job } = await data(
      app.url,
      `query ($id: ID!) { job(id: $id) { items { nodes { status result } } } }`,
      { id },
    );
    expect(job.items.nodes).toEqual([
      { status: 'SUCCEEDED', result: null },
      { status: 'READY', result: null },
    ]);
  });

  it('returns the first and the last failures, and their number', async () => {
    const id = await createJob(app.url, { type: 'failures', items: [{}] });
    const { job } = await data(
      app.url,
      `query ($id: ID!) { job(id: $id) { items { nodes { failureCount failures { attempt } assignment { id } } } } }`,
      { id },
    );
    expect(job.items.nodes).toEqual([{ failureCount: 0, failures: [], assignment: null }]);
    await db.query(
      `insert into jobtree.failure
       select job_id, position, attempt, gen_random_uuid(), now(), null, false, 'E', 'no', 'w'
       from jobtree.job_item, unnest(array[1, 2, 49, 50]) attempt where job_id = $1`,
      [id.slice(4)],
    );
    const { job: later } = await data(
      app.url,
      `query ($id: ID!) { job(id: $id) { items { nodes { failureCount failures { attempt message } } } } }`,
      { id },
    );
    expect(later.items.nodes).toEqual([
      { failureCount: 50, failures: [1, 2, 49, 50].map((attempt) => ({ attempt, message: 'no' })) },
    ]);
  });

  it('returns JSON unchanged', async () => {
    const payload = {
      text: 'ü 𝒳 \\ " \n',
      list: [1, 2.5, -0.001, 1e100, true, null, [], {}],
      nested: { a: { b: [{ c: '' }] } },
    };
    const id = await createJob(app.url, { type: 'json', items: [{ payload }] });
    const { job } = await data(app.url, `query ($id: ID!) { job(id: $id) { items { nodes { payload } } } }`, {
      id,
    });
    expect(JSON.stringify(job.items.nodes[0].payload)).toBe(JSON.stringify(payload));
  });
});

/** The statements that the server sends while something happens, without those. */
async function statementsOf(action: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  const { Client } = (await import('pg')).default;
  const original = Client.prototype.query;
  Client.prototype.query = function (this: object, ...args: unknown[]) {
    const [query] = args as [string | { text: string }];
    seen.push(typeof query === 'string' ? query : query.text);
    return original.apply(this as never, args as never);
  } as typeof original;
  try {
    await action();
  } finally {
    Client.prototype.query = original;
  }
  return seen.filter((text) => !upkeep.test(text));
}

describe('the SQL behind a query', () => {
  it('counts once what is asked under many aliases', async () => {
    const id = await createJob(app.url, { type: 'aliases', items: [{}, {}] });
    const fields = Array.from({ length: 30 }, (_, i) => `a${i}: pendingItemCount(filter: { jobId: $id })`);
    let answer = {};
    const statements = await statementsOf(async () => {
      answer = await data(app.url, `query ($id: ID!) { ${fields.join(' ')} }`, { id });
    });
    expect(new Set(Object.values(answer))).toEqual(new Set([2]));
    expect(statements.filter((text) => text.includes('operation_of'))).toHaveLength(1);
  });

  it('reads queues once that are asked under many aliases, and shows all of them', async () => {
    const types = Array.from({ length: 1_000 }, (_, i) => `aliased ${i}`);
    await db.query(`select jobtree.set_queue(type, '{"paused": true}') from unnest($1::text[]) type`, [
      types,
    ]);
    const fields = Array.from({ length: 30 }, (_, i) => `a${i}: queues(types: $types) { type }`);
    let answer = {};
    const statements = await statementsOf(async () => {
      answer = await data(app.url, `query ($types: [String!]!) { ${fields.join(' ')} }`, { types });
    });
    const all = types.toSorted().map((type) => ({ type }));
    expect(Object.values(answer)).toEqual(fields.map(() => all));
    expect(statements.filter((text) => text.includes('queue_depths'))).toHaveLength(1);
    // So many take turns with the counts of the tenant.
    expect(statements).toContainEqual(expect.stringContaining('set local statement_timeout'));
  });

  it('does not grow with the number of rows', async () => {
    const query = `query ($id: ID!) {
      job(id: $id) {
        tree { id progress { itemCount } parent { id } children { id } }
        items(first: 100) { nodes { status result job { type root { id } } assignment { worker item { id } } } }
        results { nodes { id result } }
      }
    }`;
    const count = async (items: number, children: number) => {
      const id = await createJob(app.url, {
        type: `sql-${items}`,
        items: Array.from({ length: items }, () => ({})),
        children: Array.from({ length: children }, () => ({ type: 'sql-child' })),
      });
      await work(app.url, `sql-${items}`, items);
      await data(app.url, query, { id });
      return statementsOf(() => data(app.url, query, { id }));
    };
    // One for each list of the query. Lists that are known at the same moment share their reads, so it may be one or two less.
    expect((await count(2, 1)).length).toBeLessThanOrEqual(15);
    expect((await count(50, 20)).length).toBeLessThanOrEqual(15);
  });

  it('is one call of a function for each hot operation', async () => {
    const id = await createJob(app.url, { type: 'hot' });
    const items = Array.from({ length: 100 }, (_, i) => ({ payload: i }));
    const add = `mutation ($id: ID!, $items: [ItemInput!]!) { addItems(input: { jobId: $id, items: $items }) { ... on AddItemsPayload { added } } }`;
    expect(await statementsOf(() => data(app.url, add, { id, items }))).toEqual([
      expect.stringContaining('jobtree.add_payloads'),
    ]);
    const exchange = await statementsOf(() => work(app.url, 'hot', 100));
    expect(exchange).toEqual([
      expect.stringContaining('jobtree.claim_items'),
      expect.stringContaining('jobtree.report_results'),
    ]);
  });

  it('reads no more items than a page shows, also within a list of jobs', async () => {
    for (let i = 0; i < 3; i++) await createJob(app.url, { type: 'bounded', items: [{}, {}, {}, {}, {}] });
    const statements = await statementsOf(() =>
      data(
        app.url,
        '{ jobs(filter: { types: "bounded" }) { nodes { items(first: 2) { nodes { payload } } } } }',
      ),
    );
    const reads = statements.filter((text) => /jobtree\.job_item/.test(text));
    expect(reads.length).toBeGreaterThan(0);
    // By place in the list, and then by their keys.
    for (const read of reads) expect(read).toMatch(/limit u\.take|from unnest\(\$1::uuid\[\]/);
  });

  it('reads a page by the index over job and position', async () => {
    const id = await createJob(app.url, { type: 'page-sql' });
    const items = Array.from({ length: 1000 }, (_, i) => ({ payload: i }));
    const add = `mutation ($id: ID!, $items: [ItemInput!]!) { addItems(input: { jobId: $id, items: $items }) { __typename } }`;
    for (let i = 0; i < 5; i++) await data(app.url, add, { id, items });
    await db.query('analyze');
    const page = async (args: string) =>
      data(
        app.url,
        `query ($id: ID!) { job(id: $id) { items(first: 10${args}) { nodes { id } pageInfo { endCursor } } } }`,
        { id },
      );
    const { job } = await page('');
    const statements = await statementsOf(() => page(`, after: "${job.items.pageInfo.endCursor}"`));
    const read = statements.find((text) => /from jobtree\.job_item i\s+where/.test(text)) ?? '';
    const parameters = [...new Set(read.match(/\$\d+/g) ?? [])].length;
    const client = await db.connect();
    try {
      await client.query('set plan_cache_mode = force_generic_plan');
      await client.query(`prepare page as ${read}`);
      const types = await client.query(
        `select parameter_types::text[] as types from pg_prepared_statements where name = 'page'`,
      );
      const values = (types.rows[0].types as string[]).map((type) =>
        type === 'uuid[]' ? `'{${unknown}}'` : `'{10}'`,
      );
      expect(values).toHaveLength(parameters);
      const plan = await client.query(`explain execute page(${values.join(', ')})`);
      expect(JSON.stringify(plan.rows)).toContain('job_item_pkey');
    } finally {
      await client.end();
    }
  });
});

describe('refusals', () => {
  const mutation = (field: string, input: unknown) =>
    request(
      app.url,
      `mutation ($input: ${field[0]?.toUpperCase()}${field.slice(1)}Input!) { ${field}(input: $input) { __typename ... on UserError { code field message } } }`,
      { input },
    );
  const refusal = async (field: string, input: unknown) => (await mutation(field, input)).data?.[field];

  it.each<[string, string, unknown, Record<string, unknown>]>([
    [
      'an unknown job',
      'addItems',
      { jobId: `Job:${unknown}`, items: [{}] },
      { code: 'NOT_FOUND', field: 'jobId' },
    ],
    [
      'an unknown job, with bad items only',
      'addItems',
      { jobId: `Job:${unknown}`, items: [{ payload: '\0' }] },
      { code: 'NOT_FOUND', field: 'jobId' },
    ],
    [
      'an id of another type',
      'sealJob',
      { jobId: `JobItem:${unknown}` },
      { code: 'INVALID_INPUT', field: 'jobId' },
    ],
    ['an id that is none', 'cancelJob', { jobId: 'Job:7' }, { code: 'INVALID_INPUT', field: 'jobId' }],
    ['an unknown tree', 'deleteJob', { jobId: `Job:${unknown}` }, { code: 'NOT_FOUND', field: 'jobId' }],
    [
      'an unknown item',
      'claimItem',
      { itemId: `JobItem:${unknown}:7`, worker: 'w' },
      { code: 'NOT_FOUND', field: 'itemId' },
    ],
    [
      'an empty batch of items',
      'addItems',
      { jobId: `Job:${unknown}`, items: [] },
      { code: 'INVALID_INPUT', field: 'items' },
    ],
    [
      'a batch above the limit',
      'addItems',
      { jobId: `Job:${unknown}`, items: Array.from({ length: 1001 }, () => ({})) },
      { code: 'INVALID_INPUT', field: 'items' },
    ],
    [
      'an empty batch of reports',
      'reportOutcomes',
      { reports: [] },
      { code: 'INVALID_INPUT', field: 'reports' },
    ],
    [
      'no requests',
      'claimItems',
      { worker: 'w', requests: [] },
      { code: 'INVALID_INPUT', field: 'requests' },
    ],
    [
      'a negative limit',
      'claimItems',
      { worker: 'w', requests: [{ type: 'x', limit: -1 }] },
      { code: 'INVALID_INPUT', field: 'requests[0].limit' },
    ],
    [
      'too much at once',
      'claimItems',
      {
        worker: 'w',
        requests: [
          { type: 'x', limit: 1000 },
          { type: 'y', limit: 1 },
        ],
      },
      { code: 'INVALID_INPUT', field: 'requests' },
    ],
    [
      'a worker without a name',
      'claimItems',
      { worker: '', requests: [{ type: 'x', limit: 1 }] },
      { code: 'INVALID_INPUT', field: 'worker' },
    ],
    [
      'an empty batch of heartbeats',
      'heartbeat',
      { assignmentIds: [] },
      { code: 'INVALID_INPUT', field: 'assignmentIds' },
    ],
  ])('%s: %s', async (_, field, input, expected) => {
    expect(await refusal(field, input)).toMatchObject({ ...expected, message: expect.any(String) });
  });

  it.each([[[]], [[1]], [[{}]]])('a list where an object belongs: %j', async (filter) => {
    const text = 'query ($filter: JobFilter) { jobs(filter: $filter) { nodes { id } } }';
    const { data, errors } = await request(app.url, text, { filter });
    expect(data).toBeUndefined();
    expect(errors?.[0]?.message).toMatch('Expected type "JobFilter" to be an object.');
  });

  it('a sealed job accepts no items', async () => {
    const id = await createJob(app.url, { type: 'sealed', sealed: true });
    expect(await refusal('addItems', { jobId: id, items: [{}] })).toMatchObject({
      __typename: 'JobSealedError',
      code: 'JOB_SEALED',
      field: 'jobId',
    });
  });

  it('a fed job is sealed only by its parent', async () => {
    const id = await createJob(app.url, { type: 'p', children: [{ type: 'c', feed: {} }] });
    const feeds = 'query ($id: ID!) { job(id: $id) { feed { source } children { feed { source } } } }';
    expect((await data(app.url, feeds, { id })).job).toEqual({
      feed: null,
      children: [{ feed: { source: 'SUCCESSES' } }],
    });
    const { job } = await data(app.url, `query ($id: ID!) { job(id: $id) { children { id } } }`, { id });
    expect(await refusal('sealJob', { jobId: job.children[0].id })).toMatchObject({
      code: 'JOB_FED_BY_PARENT',
    });
  });

  it('a held item is refused with the reason', async () => {
    const id = await createJob(app.url, { type: 'held', items: [{}] });
    const { job } = await data(app.url, `query ($id: ID!) { job(id: $id) { items { nodes { id } } } }`, {
      id,
    });
    const claim = { itemId: job.items.nodes[0].id, worker: 'w' };
    expect(await refusal('claimItem', claim)).toEqual({ __typename: 'ClaimItemPayload' });
    const again = await request(
      app.url,
      `mutation ($input: ClaimItemInput!) { claimItem(input: $input) { ... on ItemNotClaimableError { reason code field } } }`,
      { input: claim },
    );
    expect(again.data.claimItem).toEqual({ reason: 'RUNNING', code: 'ITEM_NOT_CLAIMABLE', field: 'itemId' });
  });

  it("text that can't be stored is refused everywhere", async () => {
    for (const text of ['a\u0000', '\ud800']) {
      const jobs = await request(
        app.url,
        'query ($t: [String!]) { jobs(filter: { types: $t }) { nodes { id } } }',
        { t: text },
      );
      expect(jobs.errors?.[0]?.extensions).toEqual({ code: 'INVALID_INPUT', field: 'filter.types[0]' });
      const created = await request(
        app.url,
        'mutation ($t: String!) { createJob(input: { type: $t }) { ... on UserError { code field } } }',
        { t: text },
      );
      expect(created.data.createJob).toEqual({ code: 'INVALID_INPUT', field: 'type' });
      expect(
        await refusal('claimItems', { worker: text, requests: [{ type: 'x', limit: 1 }] }),
      ).toMatchObject({
        field: 'worker',
      });
      expect(
        await refusal('claimItems', { worker: 'w', requests: [{ type: text, limit: 1 }] }),
      ).toMatchObject({
        field: 'requests[0].type',
      });
      expect(await refusal('claimItem', { itemId: `JobItem:${unknown}:7`, worker: text })).toMatchObject({
        field: 'worker',
      });
      expect(await refusal('sealJob', { jobId: `Job:${text}` })).toMatchObject({ field: 'jobId' });
    }
  });

  it('a number beyond the range of JavaScript is refused, and null is not', async () => {
    const id = await createJob(app.url, { type: 'numbers' });
    const add = async (payload: string) => {
      const response = await fetch(app.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"query": "mutation($id: ID!, $p: JSON) { addItems(input: {jobId: $id, items: [{payload: $p}]}) { ... on AddItemsPayload { entries { status error { field } } } } }", "variables": {"id": "${id}", "p": ${payload}}}`,
      });
      return ((await response.json()) as any).data.addItems.entries[0];
    };
    expect(await add('1e400')).toEqual({ status: 'INVALID', error: { field: 'items[0].payload' } });
    expect(await add('{"a": [null, "null", {"b": -1e999}]}')).toMatchObject({
      error: { field: 'items[0].payload.a[2].b' },
    });
    expect(await add('{"a": [null, "null", 1e308]}')).toMatchObject({ status: 'ADDED' });
    const inline = await data(
      app.url,
      `mutation { addItems(input: { jobId: "${id}", items: [{ payload: 1e400 }] }) { ... on AddItemsPayload { entries { error { field } } } } }`,
    );
    expect(inline.addItems.entries).toEqual([{ error: { field: 'items[0].payload' } }]);
  });

  it('a day that does not exist is refused', async () => {
    const id = await createJob(app.url, { type: 'days' });
    const days = ['2026-02-31', '2026-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00'];
    const items = [...days, '2028-02-29'].map((day) => ({ runAt: `${day}T09:00:00+05:00` }));
    const { addItems } = await data(
      app.url,
      `mutation ($id: ID!, $items: [ItemInput!]!) { addItems(input: { jobId: $id, items: $items }) { ... on AddItemsPayload { entries { status error { field } } } } }`,
      { id, items },
    );
    expect(addItems.entries).toEqual([
      ...days.map((_, i) => ({ status: 'INVALID', error: { field: `items[${i}].runAt` } })),
      { status: 'ADDED', error: null },
    ]);
  });

  it('a failure that is reported again returns the same due time', async () => {
    await createJob(app.url, {
      type: 'again',
      items: [{}, {}],
      backoffMs: [5, 60_000],
      maxFailuresPerItem: 2,
    });
    const claim = async () =>
      (
        await data(
          app.url,
          'mutation { claimItems(input: { worker: "w", requests: [{ type: "again", limit: 2 }] }) { ... on ClaimItemsPayload { assignments { id } } } }',
        )
      ).claimItems.assignments.map(({ id }: { id: string }) => id);
    const report = async (reports: unknown[]) =>
      (
        await data(
          app.url,
          'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status retryAt } } } }',
          { reports },
        )
      ).reportOutcomes.entries;
    const failure = { code: 'E', message: 'no' };
    const held = await claim();
    const reports = [
      { assignmentId: held[0], outcome: { failure } },
      { assignmentId: held[1], outcome: { failure: { ...failure, permanent: true } } },
    ];
    const first = await report([reports[0], reports[0], reports[1]]);
    expect(first).toEqual([
      { status: 'ACCEPTED', retryAt: expect.any(String) },
      { status: 'DUPLICATE', retryAt: first[0].retryAt },
      { status: 'ACCEPTED', retryAt: null },
    ]);
    const again = [
      { status: 'DUPLICATE', retryAt: first[0].retryAt },
      { status: 'DUPLICATE', retryAt: null },
    ];
    expect(await report(reports)).toEqual(again);
    // Also when the item has long been claimed again, and has failed a second time.
    let second: string[] = [];
    while (second.length === 0) second = await claim();
    expect(await report(reports)).toEqual(again);
    const [later] = await report([{ assignmentId: second[0], outcome: { failure } }]);
    expect(later.retryAt > first[0].retryAt).toBe(true);
    expect(await report(reports)).toEqual(again);
  });

  it('one bad entry does not fail its batch', async () => {
    const id = await createJob(app.url, { type: 'batch' });
    const items = [
      { payload: 1, dedupeKey: 'a' },
      { payload: 'x'.repeat(1_000_001) },
      { payload: 2, dedupeKey: 'a' },
      { payload: 3, runAt: '+020000-01-01T00:00:00Z' },
      { payload: 3, runAt: 'tomorrow' },
      { payload: { deep: ['a\u0000'] } },
      { payload: 4, priority: 99_999 },
      { payload: 5, dedupeKey: '' },
      { payload: null },
    ];
    const { addItems } = await data(
      app.url,
      `mutation ($id: ID!, $items: [ItemInput!]!) {
        addItems(input: { jobId: $id, items: $items }) {
          ... on AddItemsPayload { added duplicates invalid job { progress { itemCount } } entries { status itemId error { code field message } } notAdded: entries(all: false) { index } }
        }
      }`,
      { id, items },
    );
    expect(addItems).toMatchObject({
      added: 2,
      duplicates: 1,
      invalid: 6,
      job: { progress: { itemCount: 2 } },
    });
    expect(addItems.entries.map((entry: any) => entry.error?.field ?? entry.status)).toEqual([
      'ADDED',
      'items[1].payload',
      'DUPLICATE',
      'items[3].runAt',
      'items[4].runAt',
      'items[5].payload.deep[0]',
      'items[6].priority',
      'items[7].dedupeKey',
      'ADDED',
    ]);
    expect(addItems.entries[2].itemId).toBe(addItems.entries[0].itemId);
    expect(addItems.notAdded.map((entry: any) => entry.index)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  const report = `mutation ($reports: [ReportInput!]!) {
    reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { assignmentId status error { field } } rest: entries(all: false) { index } } }
  }`;

  it('one bad report does not fail its batch', async () => {
    await createJob(app.url, { type: 'reports', items: [{}, {}, {}] });
    const claimed = await data(
      app.url,
      `mutation { claimItems(input: { worker: "w", requests: [{ type: "reports", limit: 3 }] }) { ... on ClaimItemsPayload { assignments { id } } } }`,
    );
    const [a, b, c] = claimed.claimItems.assignments.map(({ id }: { id: string }) => id);
    const reports = [
      { assignmentId: 'nonsense', outcome: { success: { result: 1 } } },
      { assignmentId: b, outcome: { success: { result: 'x'.repeat(1_000_001) } } },
      { assignmentId: c, outcome: { failure: { code: '', message: 'no' } } },
      { assignmentId: c, outcome: { failure: { code: 'E', message: 'no', retryAfterMs: -1 } } },
      {
        assignmentId: c,
        outcome: { failure: { code: 'E', message: 'no', permanent: true, retryAfterMs: 1 } },
      },
      { assignmentId: c, outcome: { snoozeMs: 999 } },
      { assignmentId: c, outcome: { failure: { code: 'E', message: 'no', stack: 'at f \0' } } },
      { assignmentId: c, outcome: { failure: { code: 'E', message: 'no', stack: 'x'.repeat(4_097) } } },
      { assignmentId: `Assignment:${unknown}`, outcome: { success: { result: 1 } } },
      { assignmentId: a, outcome: { success: {} } },
    ];
    const { reportOutcomes } = await data(app.url, report, { reports });
    expect(reportOutcomes.entries.map((entry: any) => [entry.status, entry.error?.field ?? null])).toEqual([
      ['INVALID', 'reports[0].assignmentId'],
      ['INVALID', 'reports[1].outcome.success.result'],
      ['INVALID', 'reports[2].outcome.failure.code'],
      ['INVALID', 'reports[3].outcome.failure.retryAfterMs'],
      ['INVALID', 'reports[4].outcome.failure.retryAfterMs'],
      ['INVALID', 'reports[5].outcome.snoozeMs'],
      ['INVALID', 'reports[6].outcome.failure.stack'],
      ['INVALID', 'reports[7].outcome.failure.stack'],
      ['STALE', null],
      ['ACCEPTED', null],
    ]);
    expect(reportOutcomes.rest.map((entry: any) => entry.index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it.each([
    ['no outcome', {}],
    ['an outcome that is null', { success: null }],
    ['two outcomes', { success: { result: 1 }, failure: { code: 'E', message: 'no' } }],
  ])('refuses a report with %s', async (_, outcome) => {
    const reports = [{ assignmentId: `Assignment:${unknown}`, outcome }];
    const { data, errors } = await request(app.url, report, { reports });
    expect(data).toBeUndefined();
    expect(errors).toMatchObject([{ message: expect.stringContaining('at "reports[0].outcome') }]);
  });

  it.each([
    ['heartbeat', 'HeartbeatInput', 'HELD'],
    ['releaseAssignments', 'ReleaseAssignmentsInput', 'RELEASED'],
  ])('one bad id does not fail its batch: %s', async (field, input, good) => {
    await createJob(app.url, { type: field, items: [{}] });
    const claimed = await data(
      app.url,
      `mutation { claimItems(input: { worker: "w", requests: [{ type: "${field}", limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } } }`,
    );
    const [{ id }] = claimed.claimItems.assignments;
    const send = async (assignmentIds: string[]) =>
      (
        await data(
          app.url,
          `mutation ($input: ${input}!) { answer: ${field}(input: $input) { ... on ${field[0]?.toUpperCase()}${field.slice(1)}Payload { entries { assignmentId status error { code field } } } } }`,
          { input: { assignmentIds } },
        )
      ).answer.entries;
    const invalid = (assignmentId: string, i: number) => ({
      assignmentId,
      status: 'INVALID',
      error: { code: 'INVALID_INPUT', field: `assignmentIds[${i}]` },
    });
    expect(await send(['x', id, `Job:${unknown}`])).toEqual([
      invalid('x', 0),
      { assignmentId: id, status: good, error: null },
      invalid(`Job:${unknown}`, 2),
    ]);
    expect(await send(['x'])).toEqual([invalid('x', 0)]);
  });

  it('JSON with extreme nesting is refused, alone', async () => {
    const id = await createJob(app.url, { type: 'deep' });
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"query":"mutation($id: ID!, $p: JSON){addItems(input:{jobId:$id,items:[{payload:$p}]}){__typename ... on AddItemsPayload {entries{status error{message}}} ... on UserError{code message}}}","variables":{"id":"${id}","p":${deep}}}`,
    });
    expect(await response.text()).toMatch(/nested more than 256 levels/);
  });

  it('malformed JSON, an unknown field, and a variable of the wrong type are GraphQL errors', async () => {
    const post = async (body: string) => {
      const response = await fetch(app.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      return { status: response.status, body: (await response.json()) as { errors: { message: string }[] } };
    };
    expect(await post('{"query": "{ jobs')).toMatchObject({
      status: 400,
      body: { errors: [{ message: expect.stringMatching(/JSON/i) }] },
    });
    for (const parameter of ['variables', 'extensions']) {
      const get = await fetch(`${app.url}?query={__typename}&${parameter}=x`);
      const form = await fetch(app.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          origin: new URL(app.url).origin,
        },
        body: `query={__typename}&${parameter}=%00`,
      });
      for (const response of [get, form]) {
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({
          errors: [{ message: expect.stringMatching(/JSON/), extensions: { code: 'BAD_REQUEST' } }],
        });
      }
    }
    expect((await request(app.url, '{ nothing }')).errors?.[0]?.message).toContain(
      'Cannot query field "nothing"',
    );
    const wrong = await request(
      app.url,
      'mutation ($input: JobInput!) { createJob(input: $input) { __typename } }',
      { input: { type: 'x', maxFailuresPerItem: 'many' } },
    );
    expect(wrong.errors?.[0]?.message).toContain('input.maxFailuresPerItem');
  });

  it.each([
    'first: -1',
    'last: -5',
    'first: 2, last: 2, after: "junk"',
    'after: "junk"',
    'first: 3, after: "bm9uc2Vuc2U="',
  ])('an invalid page is refused: %s', async (args) => {
    const id = await createJob(app.url, { type: 'pages', items: [{}] });
    for (const query of [
      `{ jobs(${args}) { nodes { id } } }`,
      `{ job(id: "${id}") { items(${args}) { nodes { id } } } }`,
      `{ job(id: "${id}") { results(${args}) { nodes { id } } } }`,
    ]) {
      expect((await request(app.url, query)).errors?.[0]?.extensions?.code).toBe('INVALID_INPUT');
    }
  });

  it('a query that fails is null, and the others of its operation are answered', async () => {
    const { data: answered, errors } = await request(
      app.url,
      `{ held: heldItems(first: 1001) { slow } jobs(last: -1) { nodes { id } } node(id: "nothing") { id }
         queue(type: "known") { type } operations { nodes { id } } }`,
    );
    expect(answered).toEqual({
      held: null,
      jobs: null,
      node: null,
      queue: { type: 'known' },
      operations: { nodes: [] },
    });
    expect(errors?.map(({ path, extensions }) => [path, extensions?.code]).toSorted()).toEqual([
      [['held'], 'INVALID_INPUT'],
      [['jobs'], 'INVALID_INPUT'],
      [['node'], 'INVALID_INPUT'],
    ]);
    const roots = ['Query', 'Mutation'].flatMap((name) =>
      Object.values(assertObjectType(schema.getType(name)).getFields()),
    );
    expect(roots.filter(({ type }) => isNonNullType(type)).map(({ name }) => name)).toEqual([]);
  });

  it('a fault is masked, with an id that finds it in the log', async () => {
    await db.query('alter function jobtree.seal_job(uuid) rename to seal_job_away');
    try {
      const answer = await mutation('sealJob', { jobId: `Job:${unknown}` });
      expect(answer.errors?.[0]).toMatchObject({
        message: 'Something went wrong in the server.',
        extensions: { code: 'INTERNAL', errorId: expect.any(String) },
      });
      expect(JSON.stringify(answer)).not.toContain('seal_job');
    } finally {
      await db.query('alter function jobtree.seal_job_away(uuid) rename to seal_job');
    }
  });
});
