/** How much a tenant may store: what is refused beyond it, what is not, what makes room, and how the use is told. */
import { afterEach, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import type { NewApiKey } from '../../src/domain/access/api-keys.ts';
import type { Role } from '../../src/domain/access/rights.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { imported, postFile } from '../support/uploads.ts';
import { useServer } from '../support/use-server.ts';

const maxItems = 100;
const maxBytes = 20_000;
const { db, app } = useServer({
  JOBTREE_AUTH: 'keys',
  JOBTREE_TENANT_MAX_STORED_ITEMS: String(maxItems),
  JOBTREE_TENANT_MAX_STORED_BYTES: String(maxBytes),
});
const ends: (() => unknown)[] = [];
/** For so long a server may go by what it has read. */
const rememberedMs = 2_100;

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

let tenants = 0;
const newTenant = () => `t${tenants++}`;

interface Caller {
  readonly client: Client;
  readonly key: string;
  ask(query: string, variables?: object): Promise<any>;
}

async function callerOf(
  tenant: string | null,
  roles: readonly Role[] = ['admin'],
  options: Partial<NewApiKey> = {},
): Promise<Caller> {
  const { key } = await makeKey(db, roles, { tenant, ...options });
  const client = createClient({ url: app.url, token: key });
  ends.push(() => client.close());
  return {
    client,
    key,
    ask: async (query, variables) => {
      const response = await fetch(app.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...bearer(key) },
        body: JSON.stringify({ query, variables }),
      });
      return ((await response.json()) as any).data;
    },
  };
}

const itemsOf = (count: number, payload: unknown = 1) => Array.from({ length: count }, () => ({ payload }));
const tooMuch = { code: 'STORAGE_LIMIT' };

/** What the tenant of a caller stores, as it is told. */
const storageOf = async ({ ask }: Caller) =>
  (
    await ask(
      '{ storage { items bytes maxItemsPerTenant maxBytesPerTenant tenants { tenant items bytes } } }',
    )
  ).storage;

/** Waits until the server that refuses knows of so many items, too. */
const knows = async (caller: Caller, items: number) => {
  await expect.poll(async () => (await storageOf(caller)).items).toBe(items);
  const since = performance.now();
  await expect.poll(() => performance.now() - since).toBeGreaterThan(rememberedMs);
};

describe('a tenant at its limit of items', () => {
  it('adds no more in any way, with the stored amount in the error, and nothing is half done', async () => {
    const tenant = newTenant();
    const caller = await callerOf(tenant);
    const { client, ask } = caller;
    const { id } = await client.createJob({ type: 'full', items: itemsOf(95) });
    await knows(caller, 95);
    await client.addItems(id, itemsOf(5), { seal: false });
    await knows(caller, 100);

    const add =
      'mutation ($input: AddItemsInput!) { addItems(input: $input) { ... on UserError { code message } ... on StorageLimitError { limit maximum stored } } }';
    expect((await ask(add, { input: { jobId: id, items: itemsOf(1) } })).addItems).toEqual({
      code: 'STORAGE_LIMIT',
      message:
        '100 items are stored, and 1 more would be beyond the limit of 100. Nothing was done. What is deleted, or whose retention is over, makes room.',
      limit: 'ITEMS',
      maximum: maxItems,
      stored: 100,
    });
    await expect(client.createJob({ type: 'more', items: itemsOf(1) })).rejects.toMatchObject(tooMuch);
    const child = { type: 'below', items: itemsOf(1) };
    await expect(client.createJob({ type: 'more', children: [child] })).rejects.toMatchObject(tooMuch);
    expect(await db.query(`select type from jobtree.job where type like $1 || '//%'`, [tenant])).toEqual([
      { type: `${tenant}//full` },
    ]);
    // What has no items is no item.
    await client.createJob({ type: 'empty' });
    await client.sealJob(id);

    // Of another tenant, and of none, nothing counts here.
    const other = await callerOf(newTenant());
    await other.client.createJob({ type: 'full', items: itemsOf(50) });
    const whole = await callerOf(null);
    await whole.client.createJob({ type: 'full', items: itemsOf(150) });
  });

  it('continues to claim, report and feed, and deleting a tree makes room', async () => {
    const caller = await callerOf(newTenant());
    const { client, ask } = caller;
    const { id } = await client.createJob({
      type: 'parent',
      items: itemsOf(100),
      sealed: true,
      children: [{ type: 'child', feed: {} }],
    });
    await knows(caller, 100);
    await expect(client.createJob({ type: 'more', items: itemsOf(1) })).rejects.toMatchObject(tooMuch);
    const claimed = await ask(
      'mutation { claimItems(input: { worker: "w", requests: [{ type: "parent", limit: 100 }] }) { ... on ClaimItemsPayload { assignments { id } } } }',
    );
    const reports = claimed.claimItems.assignments.map(({ id }: { id: string }) => ({
      assignmentId: id,
      outcome: { success: { result: 'x' } },
    }));
    const reported = await ask(
      'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } } }',
      { reports },
    );
    expect(new Set(reported.reportOutcomes.entries.map(({ status }: any) => status))).toEqual(
      new Set(['ACCEPTED']),
    );
    // Its children are there, beyond the limit.
    await knows(caller, 200);
    expect((await storageOf(caller)).bytes).toBe(100 * (1 + 3 + 3));
    await client.deleteJob(id);
    await knows(caller, 0);
    expect((await storageOf(caller)).bytes).toBe(0);
    await client.createJob({ type: 'more', items: itemsOf(100) });
  });

  it('replays nothing while beyond it, and corrects no payload', async () => {
    const tenant = newTenant();
    const caller = await callerOf(tenant);
    const { client, ask } = caller;
    const { id } = await client.createJob({
      type: 'dead',
      maxFailuresPerItem: 0,
      items: itemsOf(60),
      sealed: true,
      children: [{ type: 'fed', feed: { source: 'REPORTS' } }],
    });
    const { claimItems } = await ask(
      'mutation { claimItems(input: { worker: "w", requests: [{ type: "dead", limit: 2 }] }) { ... on ClaimItemsPayload { assignments { id } } } }',
    );
    const [one, two] = claimItems.assignments;
    const newItems = itemsOf(90).map((item) => ({ ...item, type: 'fed' }));
    await ask(
      'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status error { message } } } } }',
      {
        reports: [
          { assignmentId: one.id, outcome: { success: { result: 1, newItems } } },
          { assignmentId: two.id, outcome: { failure: { code: 'X', message: 'x' } } },
        ],
      },
    );
    await knows(caller, 150);
    const replay = `mutation { replayDeadLetters(input: { filter: { jobId: "${id}" } }) { ... on UserError { code } } }`;
    expect((await ask(replay)).replayDeadLetters).toEqual(tooMuch);
    const [ready] = (await client.items(id, { first: 60 })).nodes.filter(({ status }) => status === 'READY');
    const update = `mutation { updateItem(input: { itemId: "${ready?.id}", payload: 2 }) { ... on UserError { code } } }`;
    expect((await ask(update)).updateItem).toEqual(tooMuch);
    expect(await db.query('select from jobtree.operation where tenant = $1', [tenant])).toEqual([]);
  });
});

it('a tenant at its limit of bytes adds, uploads and imports no more, and its schedules create nothing', async () => {
  const tenant = newTenant();
  const caller = await callerOf(tenant);
  const { client, key, ask } = caller;
  await client.createJob({ type: 'bytes', items: itemsOf(1, 'x'.repeat(9_998)) });
  const { body, status } = await postFile(app.url, `${'y'.repeat(99)}\n`.repeat(60), bearer(key));
  expect(status).toBe(201);
  await expect.poll(async () => (await storageOf(caller)).bytes).toBe(16_000);
  await knows(caller, 1);

  const large = await postFile(app.url, 'z'.repeat(5_000), bearer(key));
  expect(large.status).toBe(507);
  expect({ ...large.body.errors[0], ...large.body.errors[0].extensions }).toMatchObject({
    code: 'STORAGE_LIMIT',
    message: expect.stringContaining('16,000 bytes'),
  });
  const form = new FormData();
  form.set(
    'operations',
    JSON.stringify({
      query: 'mutation ($file: File!) { createUpload(input: { file: $file }) { __typename } }',
      variables: { file: null },
    }),
  );
  form.set('map', JSON.stringify({ 0: ['variables.file'] }));
  form.set('0', new File(['z'.repeat(5_000)], 'z'));
  const response = await fetch(app.url, {
    method: 'POST',
    headers: { ...bearer(key), 'apollo-require-preflight': 'true' },
    body: form,
  });
  expect(response.status).toBe(507);
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'STORAGE_LIMIT' } }] });
  // Without a length it is told in the middle, and nothing is left.
  const stream = new Response('z'.repeat(5_000)).body as ReadableStream;
  const streamed = await fetch(new URL('api/uploads', app.url), {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/octet-stream' },
    body: stream,
    duplex: 'half',
  } as RequestInit);
  expect(streamed.status).toBe(507);
  expect(
    await db.query('select size from jobtree.upload where tenant = $1 and removed_at is null', [tenant]),
  ).toEqual([{ size: '6000' }]);

  await expect(
    client.createJob({ type: 'bytes', items: itemsOf(1, 'x'.repeat(5_000)) }),
  ).rejects.toMatchObject(tooMuch);
  const { id } = await client.createJob({ type: 'rows', file: { uploadId: body.id, format: 'LINES' } });
  expect((await imported(client, id)).import).toMatchObject({
    status: 'FAILED',
    error: { code: 'STORAGE_LIMIT' },
  });
  expect(await db.query('select from jobtree.job_item where job_id = $1', [id.replace('Job:', '')])).toEqual(
    [],
  );

  await client.createJob({ type: 'bytes', items: itemsOf(1, 'x'.repeat(3_998)) });
  await knows(caller, 2);
  const template = { type: 'made', items: [{ payload: 1 }] };
  await ask('mutation ($input: ScheduleInput!) { putSchedule(input: $input) { __typename } }', {
    input: { name: 'often', times: { everyMs: 1_000 }, template },
  });
  const schedule = '{ schedule(name: "often") { lastFailure { message } } }';
  await expect.poll(async () => JSON.stringify(await ask(schedule))).toContain('20,000 bytes are stored');
  expect(
    await ask('mutation { runSchedule(input: { name: "often" }) { ... on UserError { code } } }'),
  ).toEqual({
    runSchedule: tooMuch,
  });
  expect(await db.query('select from jobtree.job where type = $1', [`${tenant}//made`])).toEqual([]);

  const removed = await fetch(new URL(`api/uploads/${body.id}`, app.url), {
    method: 'DELETE',
    headers: bearer(key),
  });
  expect(removed.status).toBe(204);
  await expect.poll(async () => (await storageOf(caller)).bytes).toBe(14_000);
});

describe('limits of a key', () => {
  it('apply to what its tenant stores, and never exceed the limit of the tenant', async () => {
    const tenant = newTenant();
    const admin = await callerOf(tenant);
    const low = await callerOf(tenant, ['producer'], { limits: { storedItems: 10 } });
    const high = await callerOf(tenant, ['producer'], {
      limits: { storedItems: 1_000, storedBytes: 10_000_000_000 },
    });
    const { id } = await admin.client.createJob({ type: 'some', items: itemsOf(10) });
    await knows(admin, 10);
    await expect(low.client.addItems(id, itemsOf(1))).rejects.toMatchObject(tooMuch);
    await high.client.addItems(id, itemsOf(90));
    await knows(admin, 100);
    await expect(high.client.addItems(id, itemsOf(1))).rejects.toMatchObject(tooMuch);
  });

  it('without a tenant apply to everything stored', async () => {
    const admin = await callerOf(null);
    await admin.client.createJob({ type: 'some', items: itemsOf(10) });
    await expect.poll(async () => (await storageOf(admin)).items).toBeGreaterThan(9);
    const low = await callerOf(null, ['producer'], { limits: { storedItems: 10 } });
    await expect(low.client.createJob({ type: 'some', items: itemsOf(1) })).rejects.toMatchObject(tooMuch);
  });
});

describe('the stored amount', () => {
  it('is shown to admins: of their tenant, or without one by tenant and in total', async () => {
    const tenant = newTenant();
    const caller = await callerOf(tenant);
    await caller.client.createJob({ type: 'told', items: itemsOf(3, 'abc') });
    await knows(caller, 3);
    const own = { tenant, items: 3, bytes: 15 };
    expect(await storageOf(caller)).toEqual({
      items: 3,
      bytes: 15,
      maxItemsPerTenant: maxItems,
      maxBytesPerTenant: maxBytes,
      tenants: [own],
    });
    const whole = await storageOf(await callerOf(null));
    expect(whole.tenants).toContainEqual(own);
    expect(whole.items).toBe(whole.tenants.reduce((sum: number, { items }: any) => sum + items, 0));
    const producer = await callerOf(tenant, ['producer']);
    expect(await producer.ask('{ storage { items } }')).toEqual({ storage: null });
  });

  it('is a metric by tenant', async () => {
    const tenant = newTenant();
    const caller = await callerOf(tenant);
    await caller.client.createJob({ type: 'told', items: itemsOf(3, 'abc') });
    await knows(caller, 3);
    const { key } = await callerOf(null);
    const text = await (await fetch(new URL('metrics', app.url), { headers: bearer(key) })).text();
    expect(text).toContain(`jobtree_stored_items{tenant="${tenant}"} 3`);
    expect(text).toContain(`jobtree_stored_bytes{tenant="${tenant}"} 15`);
  });
});
