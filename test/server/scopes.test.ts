/** Callers with a scope: what is outside of it does not exist for them, in the same words as what there is not. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { NewApiKey } from '../../src/domain/access/api-keys.ts';
import type { Role } from '../../src/domain/access/rights.ts';
import { openSocket } from '../support/answers.ts';
import { eventually } from '../support/eventually.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';

const { db, app, ask } = useServer({ JOBTREE_AUTH: 'keys' });
let admin: string;
/** A tree of `mail.send`, one of `bill`, and one of both. */
let mail: string;
let bill: string;
let mixed: { root: string; child: string };
const nowhere = 'Job:00000000-0000-7000-8000-000000000000';

const keyFor = async (roles: Role[], options: Partial<NewApiKey>) => (await makeKey(db, roles, options)).key;

const create = async (input: object) =>
  (
    await ask(
      admin,
      'mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { job { id children { id } items { nodes { id } } } } } }',
      { input },
    )
  ).data.createJob.job;

const itemOf = async (id: string) =>
  (await ask(admin, 'query ($id: ID!) { job(id: $id) { items { nodes { id } } } }', { id })).data.job.items
    .nodes[0].id as string;

beforeAll(async () => {
  admin = await keyFor(['admin'], {});
  const items = [{ payload: { secret: 'pie' } }];
  mail = (await create({ type: 'mail.send', items })).id;
  bill = (await create({ type: 'bill', items })).id;
  const both = await create({ type: 'mail.send', children: [{ type: 'bill', items }] });
  mixed = { root: both.id, child: both.children[0].id };
});

/** With the ids taken out: what is left must not tell one that is hidden from one that there is not. */
const withoutIds = (answer: unknown) =>
  JSON.stringify(answer).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}(:\d+)?|item \d+ of/g, '#');

const onJobs: [string, string, Role][] = [
  ['job', 'query ($id: ID!) { job(id: $id) { id type } }', 'watcher'],
  ['node', 'query ($id: ID!) { node(id: $id) { id } }', 'watcher'],
  [
    'sealJob',
    'mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename ... on UserError { code message } } }',
    'producer',
  ],
  [
    'cancelJob',
    'mutation ($id: ID!) { cancelJob(input: { jobId: $id }) { __typename ... on UserError { code message } } }',
    'producer',
  ],
  [
    'deleteJob',
    'mutation ($id: ID!) { deleteJob(input: { jobId: $id }) { __typename ... on UserError { code message } } }',
    'producer',
  ],
  [
    'addItems',
    'mutation ($id: ID!) { addItems(input: { jobId: $id, items: [{ payload: 1 }] }) { __typename ... on UserError { code message } } }',
    'producer',
  ],
  [
    'addCallbacks',
    'mutation ($id: ID!) { addCallbacks(input: { jobId: $id, callbacks: [{ endpoint: "x" }] }) { __typename ... on UserError { code message } } }',
    'producer',
  ],
  [
    'importFile',
    'mutation ($id: ID!) { importFile(input: { jobId: $id, file: { source: { uploadId: "Upload:00000000-0000-7000-8000-000000000000" }, format: LINES } }) { __typename ... on UserError { code message } } }',
    'producer',
  ],
  [
    'setRetention',
    'mutation ($id: ID!) { setRetention(input: { jobId: $id, retentionSeconds: 1 }) { __typename ... on UserError { code message } } }',
    'producer',
  ],
];

/** As the answer about something that does not exist is. */
const notThere = /NOT_FOUND|^\{"data":\{"node":null\}\}$/;

describe.each([
  ['of types', () => ({ types: ['mail.*'] })],
  ['of trees', () => ({ rootIds: [mail.slice(4)] })],
] as const)('a scope %s', (_, scope) => {
  it.each(onJobs)('hides other jobs from %s as if they did not exist', async (_, query, role) => {
    const key = await keyFor([role], scope());
    const hidden = await ask(key, query, { id: bill });
    expect(JSON.stringify(hidden)).toMatch(notThere);
    expect(withoutIds(hidden)).toBe(withoutIds(await ask(key, query, { id: nowhere })));
    // Nothing has happened to it.
    const { data } = await ask(
      admin,
      'query ($id: ID!) { job(id: $id) { sealedAt cancelledAt progress { itemCount } retentionSeconds } }',
      { id: bill },
    );
    expect(data.job).toEqual({
      sealedAt: null,
      cancelledAt: null,
      progress: { itemCount: 1 },
      retentionSeconds: 604_800,
    });
  });

  it('hides their items', async () => {
    const key = await keyFor(['producer'], scope());
    const id = await itemOf(bill);
    const none = `JobItem:${nowhere.slice(4)}:1`;
    for (const query of [
      'query ($id: ID!) { item(id: $id) { payload } }',
      'query ($id: ID!) { node(id: $id) { ... on JobItem { payload } } }',
      'mutation ($id: ID!) { updateItem(input: { itemId: $id, priority: 1 }) { __typename ... on UserError { code message } } }',
    ]) {
      const hidden = await ask(key, query, { id });
      expect(JSON.stringify(hidden)).toMatch(notThere);
      expect(withoutIds(hidden)).toBe(withoutIds(await ask(key, query, { id: none })));
    }
  });

  it('shows its own jobs', async () => {
    const key = await keyFor(['watcher'], scope());
    const { data } = await ask(
      key,
      'query ($id: ID!) { job(id: $id) { root { id } tree { id } items { nodes { payload job { id } } } results { nodes { id } } } }',
      { id: mail },
    );
    expect(data.job).toMatchObject({
      root: { id: mail },
      tree: [{ id: mail }],
      items: { nodes: [{ payload: { secret: 'pie' }, job: { id: mail } }] },
    });
  });

  it('hides results over HTTP', async () => {
    const key = await keyFor(['watcher'], scope());
    const get = async (id: string) => {
      const response = await fetch(`${app.url.replace('/graphql', '')}/api/jobs/${id}/results`, {
        headers: bearer(key),
      });
      return [response.status, withoutIds(await response.text())];
    };
    expect(await get(bill)).toEqual(await get(nowhere));
    expect((await get(mail))[0]).toBe(200);
  });

  it('hides other jobs in subscriptions', async () => {
    const key = await keyFor(['watcher'], scope());
    const first = async (field: string) => {
      const response = await fetch(app.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...bearer(key) },
        body: JSON.stringify({ query: `subscription { ${field} { __typename } }` }),
      });
      return withoutIds(await response.text());
    };
    for (const field of ['jobProgress(jobId: ID)', 'jobTreeProgress(rootId: ID)', 'jobItems(jobId: ID)']) {
      const hidden = await first(field.replace('ID', `"${bill}"`));
      expect(hidden).toContain('NOT_FOUND');
      expect(hidden).toBe(await first(field.replace('ID', `"${nowhere}"`)));
    }
  });
});

describe('a scope of types', () => {
  it('omits other types from lists and trees', async () => {
    const key = await keyFor(['watcher'], { types: ['mail.*'] });
    const { data } = await ask(
      key,
      `query ($mixed: ID!) {
        jobs(filter: { rootsOnly: false }) { nodes { id } }
        others: jobs(filter: { types: "bill" }) { nodes { id } }
        waiting: jobs(filter: { rootsOnly: false, statuses: WAITING }, order: OLDEST_FIRST, first: 1) { nodes { id } pageInfo { hasNextPage } }
        queues { type }
        otherQueues: queues(types: ["bill"]) { type }
        queueTotal { typeCount ready figures { claimed } }
        otherTotal: queueTotal(types: ["bill"]) { typeCount ready figures { claimed } }
        heldItems { type } workers { name } deadLetterGroups { type } typesWithSchemas
        job(id: $mixed) { tree { id } children { id } }
      }`,
      { mixed: mixed.root },
    );
    expect(data.jobs.nodes.map(({ id }: { id: string }) => id)).toEqual([mixed.root, mail]);
    expect(data.others.nodes).toEqual([]);
    expect(data.waiting).toEqual({ nodes: [{ id: mail }], pageInfo: { hasNextPage: true } });
    expect(data.queues).toEqual([{ type: 'mail.send' }]);
    expect(data.queueTotal).toEqual({ typeCount: 1, ready: 1, figures: { claimed: 0 } });
    expect(data.otherTotal).toEqual({ typeCount: 0, ready: 0, figures: { claimed: 0 } });
    expect(data.otherQueues).toEqual([]);
    expect(data.job).toEqual({ tree: [{ id: mixed.root }], children: [] });
  });

  it('is not told by a watched list of trees what other types do', async () => {
    const root = await create({ type: 'mail.watched', children: [{ type: 'bill' }] });
    const [hidden] = root.children;
    const watch = (key: string, tree: string) => {
      const query = `subscription { jobs(filter: { types: "mail.watched" }, intervalMs: 100) { jobs { sealedAt tree { ${tree} } } } }`;
      const socket = openSocket(app.url, bearer(key));
      onTestFinished(async () => void (await socket.dispose()));
      return socket.iterate<any>({ query });
    };
    const scoped = watch(await keyFor(['watcher'], { types: ['mail.*'] }), 'type');
    const all = watch(admin, 'progress { itemCount }');
    const first = (await scoped.next()).value.data.jobs.jobs;
    expect(first).toEqual([{ sealedAt: null, tree: [{ type: 'mail.watched' }] }]);
    const next = scoped.next();
    await all.next();
    for (let n = 0; n < 5; n++) {
      await ask(
        admin,
        'mutation ($id: ID!) { addItems(input: { jobId: $id, items: [{}] }) { __typename } }',
        { id: hidden.id },
      );
      await all.next();
    }
    await ask(admin, 'mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }', {
      id: root.id,
    });
    expect((await next).value.data.jobs.jobs).toMatchObject([{ sealedAt: expect.any(String) }]);
  });

  it('has no wildcard but the * at the end', async () => {
    const tree = await create({
      type: 'a_b%.own',
      children: [{ type: 'axb%.other' }, { type: 'a_bx.other' }],
    });
    const key = await keyFor(['watcher'], { types: ['a_b%.*'] });
    const query = 'query ($id: ID!) { job(id: $id) { tree { type } children { type } } }';
    expect((await ask(key, query, { id: tree.id })).data.job).toEqual({
      tree: [{ type: 'a_b%.own' }],
      children: [],
    });
    await expect(keyFor(['watcher'], { types: [] })).rejects.toThrow('types is empty');
  });

  it('of a key without a tenant reaches into no tenant by a *', async () => {
    const outside = await create({ type: 'mailing', children: [{ type: 'mail-corp//mailing' }] });
    const inside = outside.children[0].id;
    const query =
      'query ($id: ID!) { job(id: $id) { id } jobs(filter: { rootsOnly: false }) { nodes { id } } }';
    const tree = 'query ($id: ID!) { job(id: $id) { tree { id } children { id } } }';
    for (const pattern of ['mail*', '*']) {
      const key = await keyFor(['watcher'], { types: [pattern] });
      const { data, errors } = await ask(key, query, { id: inside });
      expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
      const listed = data.jobs.nodes.map(({ id }: { id: string }) => id);
      expect(listed).toContain(outside.id);
      expect(listed).not.toContain(inside);
      const shown = (await ask(key, tree, { id: outside.id })).data.job;
      expect(shown).toEqual({ tree: [{ id: outside.id }], children: [] });
    }
    const ofTenant = await keyFor(['watcher'], { types: ['mail-corp//mail*'] });
    expect((await ask(ofTenant, query, { id: inside })).data.job).toEqual({ id: inside });
  });

  it('hides the jobs above a visible one', async () => {
    const key = await keyFor(['watcher'], { types: ['bill'] });
    const { data, errors } = await ask(key, 'query ($id: ID!) { job(id: $id) { id parent { id } } }', {
      id: mixed.child,
    });
    expect({ data, errors }).toEqual({ data: { job: { id: mixed.child, parent: null } }, errors: undefined });
    expect(
      (await ask(key, 'query ($id: ID!) { job(id: $id) { root { id } } }', { id: mixed.child })).errors?.[0]
        ?.extensions?.code,
    ).toBe('NOT_FOUND');
  });

  it('does not allow a tree with other types to be cancelled, deleted or exported', async () => {
    const key = await keyFor(['producer'], { types: ['mail.*'] });
    for (const [name, query] of onJobs.filter(([name]) =>
      ['addCallbacks', 'cancelJob', 'deleteJob', 'setRetention'].includes(name),
    ))
      expect((await ask(key, query, { id: mixed.root })).data[name].code).toBe('NOT_FOUND');
    const { errors } = await ask(key, 'query ($id: ID!) { job(id: $id) { results { nodes { id } } } }', {
      id: mixed.root,
    });
    expect(errors?.[0]?.extensions?.code).toBe('NOT_FOUND');
  });

  it('refuses other types in jobs and in work', async () => {
    const producer = await keyFor(['producer'], { types: ['mail.*'] });
    const createJob =
      'mutation ($input: JobInput!) { createJob(input: $input) { __typename ... on UserError { code } } }';
    const codeOf = async (key: string, query: string, variables = {}) =>
      (await ask(key, query, variables)).errors?.[0]?.extensions?.code;
    expect(
      await codeOf(producer, createJob, { input: { type: 'mail.a', children: [{ type: 'bill' }] } }),
    ).toBe('FORBIDDEN');
    expect(
      await codeOf(producer, createJob, { input: { type: 'mail.a', children: [{ type: 'mail.b' }] } }),
    ).toBeUndefined();
    const worker = await keyFor(['worker'], { types: ['mail.*'] });
    const claim =
      'mutation ($type: String!) { claimItems(input: { worker: "w", requests: [{ type: $type, limit: 1 }] }) { __typename ... on ClaimItemsPayload { assignments { type } } } }';
    expect(await codeOf(worker, claim, { type: 'bill' })).toBe('FORBIDDEN');
    expect(await codeOf(worker, 'subscription { workAvailable(types: ["bill"]) { types } }')).toBe(
      'FORBIDDEN',
    );
    const item = await itemOf(bill);
    const { data } = await ask(
      worker,
      'mutation ($id: ID!) { claimItem(input: { itemId: $id, worker: "w" }) { __typename ... on UserError { code } } }',
      { id: item },
    );
    expect(data.claimItem.code).toBe('NOT_FOUND');
  });

  it('does not keep the reports of an exchange from counting', async () => {
    const type = `mail.${randomUUID()}`;
    await create({ type, items: [{ payload: 1 }] });
    const worker = await keyFor(['worker'], { types: ['mail.*'] });
    const claimed = await ask(
      worker,
      'mutation ($type: String!) { claimItems(input: { worker: "w", requests: [{ type: $type, limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } } }',
      { type },
    );
    const { data, errors } = await ask(
      worker,
      'mutation ($id: ID!) { exchange(input: { reports: [{ assignmentId: $id, outcome: { success: { result: 1 } } }], claim: { worker: "w", requests: [{ type: "bill", limit: 1 }] } }) { ... on ExchangePayload { reported { entries { status } } claimError { code } assignments { id } } } }',
      { id: claimed.data.claimItems.assignments[0].id },
    );
    expect(data?.exchange, JSON.stringify(errors)).toEqual({
      reported: { entries: [{ status: 'ACCEPTED' }] },
      claimError: { code: 'INVALID_INPUT' },
      assignments: [],
    });
  });
});

describe('fields about a whole tree', () => {
  it('are shown only to callers whose scope includes all of it', async () => {
    const fields =
      'treeOutcome treeProgress { openJobs } reapAt idleSince callbacks { endpoint } deletion { itemCount }';
    const query = `query ($id: ID!) { job(id: $id) { ${fields} } }`;
    await ask(
      admin,
      'mutation { putCallbackEndpoint(input: { name: "whole", url: "https://8.8.8.8/" }) { __typename } }',
    );
    const { id } = await create({
      type: 'mail.send',
      sealed: true,
      callbacks: [{ endpoint: 'whole' }],
      children: [{ type: 'bill', sealed: true }],
    });
    const all = await keyFor(['watcher'], { types: ['mail.*', 'bill'] });
    const some = await keyFor(['watcher'], { types: ['mail.*'] });
    await eventually(async () =>
      expect((await ask(all, query, { id })).data.job).toMatchObject({
        treeOutcome: 'SUCCEEDED',
        treeProgress: { openJobs: 0 },
        reapAt: expect.any(String),
        callbacks: [{ endpoint: 'whole' }],
      }),
    );
    expect((await ask(some, query, { id })).data.job).toEqual({
      treeOutcome: null,
      treeProgress: null,
      reapAt: null,
      idleSince: null,
      callbacks: [],
      deletion: null,
    });
  });
});

describe('a worker of a type', () => {
  const claim =
    'mutation ($type: String!) { claimItems(input: { worker: "w", requests: [{ type: $type, limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } } }';
  const report =
    'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status error { message field } } } } }';

  it('reports new items only of its types', async () => {
    const child = { feed: { source: 'REPORTS' } };
    const tree = {
      type: 'feeds.a',
      items: [{}, {}],
      children: [
        { ...child, type: 'feeds.b' },
        { ...child, type: 'other' },
      ],
    };
    const { children } = await create(tree);
    const worker = await keyFor(['worker'], { types: ['feeds.*'] });
    const assignmentId = (await ask(worker, claim, { type: 'feeds.a' })).data.claimItems.assignments[0].id;
    const naming = (type: string) => [
      { assignmentId, outcome: { success: { result: 1, newItems: [{ type, payload: 1 }] } } },
    ];
    expect((await ask(worker, report, { reports: naming('other') })).data.reportOutcomes.entries).toEqual([
      {
        status: 'INVALID',
        error: {
          message: 'Your scope does not include the type "other".',
          field: 'reports[0].outcome.success.newItems',
        },
      },
    ]);
    expect((await ask(worker, report, { reports: naming('feeds.b') })).data.reportOutcomes.entries).toEqual([
      { status: 'ACCEPTED', error: null },
    ]);
    expect(
      await db.query('select count(*)::int as count from jobtree.job_item where job_id = $1', [
        children[1].id.slice(4),
      ]),
    ).toEqual([{ count: 0 }]);
  });

  it('ends no assignments of other types by their ids, and ends its own beside them', async () => {
    await create({ type: 'foreign', items: [{}] });
    const type = `feeds.${randomUUID()}`;
    await create({ type, items: [{}, {}] });
    const claimed = async (token: string, ofType: string) =>
      (await ask(token, claim, { type: ofType })).data.claimItems.assignments[0].id as string;
    const owner = await keyFor(['worker'], {});
    const foreign = await claimed(owner, 'foreign');
    const worker = await keyFor(['worker'], { types: ['feeds.*'] });
    const own = [await claimed(worker, type), await claimed(worker, type)];
    const ids = [
      own[0],
      foreign,
      foreign.toUpperCase().replace('ASSIGNMENT', 'Assignment'),
      `${foreign}0`,
      own[1],
    ];
    const reports = ids.map((assignmentId) => ({ assignmentId, outcome: { success: { result: 1 } } }));
    expect((await ask(worker, report, { reports })).data.reportOutcomes.entries).toMatchObject(
      ['ACCEPTED', 'STALE', 'STALE', 'INVALID', 'ACCEPTED'].map((status) => ({ status })),
    );
    const again = [{ assignmentId: foreign, outcome: { success: { result: 1 } } }];
    expect((await ask(owner, report, { reports: again })).data.reportOutcomes.entries).toMatchObject([
      { status: 'ACCEPTED' },
    ]);
  });
});

describe('an assignment', () => {
  const claim =
    'mutation ($type: String!) { claimItems(input: { worker: "w", requests: [{ type: $type, limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id item { id payload } } } } }';
  const byId = 'query ($id: ID!) { node(id: $id) { ... on Assignment { id payload item { result } } } }';

  it('shows its id to its worker and to admins, and its contents to its worker while held', async () => {
    const type = `held.${randomUUID()}`;
    const jobId = (await create({ type, items: [{ payload: { secret: 'pie' } }] })).id;
    const worker = await keyFor(['worker'], {});
    const watcher = await keyFor(['watcher'], {});
    const { data } = await ask(worker, claim, { type });
    const [{ id, item }] = data.claimItems.assignments;
    expect(item.payload).toEqual({ secret: 'pie' });
    expect((await ask(worker, byId, { id })).data.node).toEqual({
      id,
      payload: { secret: 'pie' },
      item: { result: null },
    });
    // By name, and not by id.
    const who = 'query ($id: ID!) { item(id: $id) { assignment { worker } } }';
    const which = 'query ($id: ID!) { item(id: $id) { assignment { id } } }';
    expect((await ask(watcher, who, { id: item.id })).data.item.assignment).toEqual({ worker: 'w' });
    expect((await ask(watcher, which, { id: item.id })).errors?.[0]?.extensions?.code).toBe('FORBIDDEN');
    expect((await ask(admin, which, { id: item.id })).data.item.assignment).toEqual({ id });
    expect((await ask(watcher, '{ heldItems { worker } }')).data.heldItems).toContainEqual({ worker: 'w' });
    const ids = async (caller: string) =>
      (await ask(caller, '{ heldItems { assignmentId } }')).data.heldItems;
    expect(await ids(watcher)).toContainEqual({ assignmentId: null });
    expect(await ids(watcher)).not.toContainEqual({ assignmentId: id });
    expect(await ids(admin)).toContainEqual({ assignmentId: id });
    const hidden = await ask(watcher, byId, { id });
    expect(withoutIds(hidden)).toBe(
      withoutIds(await ask(watcher, byId, { id: `Assignment:${nowhere.slice(4)}` })),
    );
    // Neither by the job, nor by the item that it knows.
    for (const query of [
      'query ($id: ID!) { job(id: $id) { id } }',
      'query ($id: ID!) { node(id: $id) { id } }',
    ])
      expect(JSON.stringify(await ask(worker, query, { id: jobId }))).toMatch(/FORBIDDEN|"node":null/);
    await ask(
      worker,
      'mutation ($ids: [ID!]!) { releaseAssignments(input: { assignmentIds: $ids }) { __typename } }',
      { ids: [id] },
    );
    expect(await ask(worker, byId, { id })).toEqual({ data: { node: null } });
  });
});

// Last: it adds a tree to those that the others count.
describe('a scope of types in a feeding tree', () => {
  it('omits the items that fed its own, and those that they fed', async () => {
    const type = 'mail.fed';
    const tree = await create({
      type,
      items: [{ payload: 1 }],
      children: [
        { type: 'bill', feed: {} },
        { type: 'mail.send', feed: {} },
      ],
    });
    const claimed = await ask(
      admin,
      `mutation { claimItems(input: { worker: "w", requests: [{ type: "${type}", limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } } }`,
    );
    const [{ id: assignmentId }] = claimed.data.claimItems.assignments;
    await ask(
      admin,
      'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { __typename } }',
      { reports: [{ assignmentId, outcome: { success: { result: 'fed' } } }] },
    );
    const [parent, child] = [tree.items.nodes[0].id, await itemOf(tree.children[0].id)];
    const other = await itemOf(tree.children[1].id);
    const childrenFor = async (key: string) =>
      (
        await ask(
          key,
          'query ($id: ID!) { item(id: $id) { childItems { edges { cursor } nodes { id payload parentItem { id } } } } }',
          { id: parent },
        )
      ).data.item.childItems.nodes;
    const parentFor = async (key: string) =>
      (
        await ask(
          key,
          'query ($id: ID!) { item(id: $id) { parentItem { id payload } childItems { nodes { id } } } }',
          {
            id: child,
          },
        )
      ).data.item;
    const shown = (id: string) => ({ id, payload: 'fed', parentItem: { id: parent } });
    const ids = [child, other].toSorted();
    expect(await childrenFor(admin)).toEqual(ids.map(shown));
    expect(await childrenFor(await keyFor(['watcher'], { types: ['mail.*'] }))).toEqual([shown(other)]);
    expect(await parentFor(admin)).toEqual({
      parentItem: { id: parent, payload: 1 },
      childItems: { nodes: [] },
    });
    expect(await parentFor(await keyFor(['watcher'], { types: ['bill'] }))).toEqual({
      parentItem: null,
      childItems: { nodes: [] },
    });
  });
});

describe('an upload of another caller', () => {
  const upload = async (key: string) => {
    const response = await fetch(new URL('api/uploads', app.url), {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream', ...bearer(key) },
      body: '{}\n',
    });
    return ((await response.json()) as { id: string }).id;
  };
  const statusesOf = async (key: string, id: string) => {
    const statuses = new Map<string, number>();
    for (const method of ['GET', 'HEAD', 'PATCH', 'DELETE']) {
      const headers = {
        ...bearer(key),
        ...(method === 'PATCH' && {
          'content-type': 'application/offset+octet-stream',
          'upload-offset': '3',
          'tus-resumable': '1.0.0',
        }),
      };
      const response = await fetch(new URL(`api/uploads/${id}`, app.url), { method, headers });
      statuses.set(method, response.status);
    }
    return Object.fromEntries(statuses);
  };
  const importing = (key: string, id: string) =>
    ask(
      key,
      'mutation ($id: ID!) { createJob(input: { type: "mail.file", file: { source: { uploadId: $id }, format: NDJSON } }) { __typename ... on UserError { message } } }',
      { id },
    );
  const nowhere = 'Upload:00000000-0000-7000-8000-000000000000';

  it.each([
    ['of a tenant', { tenant: 'acme' }, {}],
    ['without a tenant', {}, {}],
    ['of its own tenant', { tenant: 'acme' }, { tenant: 'acme' }],
  ])('%s does not exist for a key with a scope', async (_, owner, other) => {
    const own = await keyFor(['producer'], owner);
    const id = await upload(own);
    const key = await keyFor(['producer'], { types: ['mail.*'], ...other });
    expect(await statusesOf(key, id)).toEqual({ GET: 404, HEAD: 404, PATCH: 404, DELETE: 404 });
    const hidden = await importing(key, id);
    expect(hidden.data.createJob.__typename).toBe('NotFoundError');
    expect(withoutIds(hidden)).toBe(withoutIds(await importing(key, nowhere)));
    expect((await importing(own, id)).data.createJob.__typename).toBe('CreateJobPayload');
  });

  it('of another tenant is refused in a template as one that does not exist', async () => {
    const id = await upload(await keyFor(['producer'], { tenant: 'other' }));
    const key = await keyFor(['admin'], { tenant: 'acme' });
    const put = (uploadId: string) =>
      ask(
        key,
        'mutation ($id: ID!) { putSchedule(input: { name: "files", times: { everyMs: 60000 }, template: { type: "t", file: { source: { uploadId: $id }, format: LINES } } }) { __typename ... on UserError { message field } } }',
        { id: uploadId },
      );
    const refused = await put(id);
    expect(refused.data.putSchedule.__typename).toBe('InvalidInputError');
    expect(withoutIds(refused)).toBe(withoutIds(await put(nowhere)));
  });

  it('is used by an admin, and by its sender', async () => {
    const scoped = await keyFor(['producer'], { types: ['mail.*'] });
    for (const key of [scoped, admin]) {
      const id = await upload(scoped);
      expect((await importing(key, id)).data.createJob.__typename).toBe('CreateJobPayload');
      expect((await statusesOf(key, await upload(scoped))).DELETE).toBe(204);
    }
  });
});

it('a feed of types without a tenant makes no items with the serialize keys of a tenant', async () => {
  const path = { forEach: 'result', serializeKey: 'element' };
  const { id } = await create({
    type: 'keys',
    items: [{}],
    sealed: true,
    children: [{ type: 'keyed', feed: { source: 'SUCCESSES', ...path } }],
  });
  const claim = await ask(
    admin,
    'mutation { claimItems(input: { worker: "w", requests: [{ type: "keys", limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } } }',
  );
  const report = async (result: string[]) => {
    const { data } = await ask(
      admin,
      'mutation ($input: ReportOutcomesInput!) { reportOutcomes(input: $input) { ... on ReportOutcomesPayload { entries { status error { message } } } } }',
      {
        input: {
          reports: [
            { assignmentId: claim.data.claimItems.assignments[0].id, outcome: { success: { result } } },
          ],
        },
      },
    );
    return data.reportOutcomes.entries[0];
  };
  expect(await report(['mine', 'acme//k'])).toEqual({
    status: 'INVALID',
    error: {
      message: "element is a name of a tenant, so it can't be the serialize key of a new item of type keyed.",
    },
  });
  expect(await report(['mine', 'https://x'])).toEqual({ status: 'ACCEPTED', error: null });
  const { data } = await ask(
    admin,
    'query ($id: ID!) { job(id: $id) { children { items { nodes { serializeKey } } } } }',
    { id },
  );
  expect(data.job.children[0].items.nodes).toEqual([{ serializeKey: 'mine' }, { serializeKey: 'https://x' }]);
});
