/** Callers that try what is none of theirs: notes on items of others, snoozes without end, storage at its limit, ids that they have guessed. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { closed } from '../support/closed.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { postFile } from '../support/uploads.ts';
import { useServer } from '../support/use-server.ts';
import { watchToken } from '../support/watch-tokens.ts';

const maxItems = 100;
const maxBytes = 20_000;

const { db, app, ask } = useServer({
  JOBTREE_AUTH: 'keys',
  JOBTREE_TENANT_MAX_STORED_ITEMS: String(maxItems),
  JOBTREE_TENANT_MAX_STORED_BYTES: String(maxBytes),
});
let admin: string;
beforeAll(async () => {
  admin = (await makeKey(db, ['admin'])).key;
});

const keyOf = async (...given: Parameters<typeof makeKey> extends [unknown, ...infer Rest] ? Rest : never) =>
  (await makeKey(db, ...given)).key;

const itemsOf = (count: number) => Array.from({ length: count }, () => ({ payload: 1 }));
async function create(key: string, input: object): Promise<string> {
  const query =
    'mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { job { id } } } }';
  return (await ask(key, query, { input })).data.createJob.job?.id;
}
async function claim(key: string, type: string, limit: number): Promise<string[]> {
  const query = `mutation { claimItems(input: { worker: "w", requests: [{ type: "${type}", limit: ${limit} }] }) { ... on ClaimItemsPayload { assignments { id } } } }`;
  return (await ask(key, query)).data.claimItems.assignments.map(({ id }: { id: string }) => id);
}

describe('an item of another worker', () => {
  const noteOn = `mutation ($id: ID!) { noteItems(input: { notes: [{ assignmentId: $id, note: "mine" }] }) { ... on NoteItemsPayload { noted } ... on UserError { code } } }`;
  const snooze = `mutation ($id: ID!) { reportOutcomes(input: { reports: [{ assignmentId: $id, outcome: { snoozeMs: 1000 } }] }) { ... on ReportOutcomesPayload { entries { status } } } }`;

  it('gets no notes or snoozes from callers without its scope or tenant, nor from guessed ids', async () => {
    const job = await create(admin, { type: 'theirs', items: itemsOf(1) });
    const [id = ''] = await claim(admin, 'theirs', 1);
    const strangers = {
      'a worker of another type': await keyOf(['worker'], { types: ['other*'] }),
      'a worker of a tenant': await keyOf(['worker'], { tenant: 'acme' }),
    };
    for (const [who, key] of Object.entries(strangers)) {
      expect((await ask(key, noteOn, { id })).data.noteItems, who).toEqual({ noted: 0 });
      expect((await ask(key, snooze, { id })).data.reportOutcomes.entries, who).toEqual([
        { status: 'STALE' },
      ]);
    }
    for (const key of [
      await keyOf(['producer']),
      await keyOf(['watcher']),
      await watchToken(app.url, admin, job, 'RESULTS'),
    ])
      for (const query of [noteOn, snooze])
        expect((await ask(key, query, { id })).errors?.[0]?.extensions?.code).toBe('FORBIDDEN');
    // The lease has one item: its neighbours are none, and neither is what no lease can have.
    const worker = await keyOf(['worker']);
    for (const last of ['00', '02', '80', 'ff']) {
      const guessed = id.slice(0, -2) + last;
      expect((await ask(worker, noteOn, { id: guessed })).data.noteItems, last).toEqual({ noted: 0 });
      expect((await ask(worker, snooze, { id: guessed })).data.reportOutcomes.entries, last).toEqual([
        { status: 'STALE' },
      ]);
    }
    const query = 'query ($job: ID!) { job(id: $job) { items { nodes { note status } } } }';
    expect((await ask(admin, query, { job })).data.job.items.nodes).toEqual([
      { note: null, status: 'RUNNING' },
    ]);
    expect((await ask(worker, noteOn, { id })).data.noteItems).toEqual({ noted: 1 });
  });

  it("can't be snoozed for less than a second or for too long, and a snooze frees a slot", async () => {
    const limit = 'mutation { setQueue(input: { type: "snoozed", concurrency: 1 }) { __typename } }';
    await ask(admin, limit);
    await create(admin, { type: 'snoozed', items: itemsOf(3) });
    const report = `mutation ($id: ID!, $ms: Int!) { reportOutcomes(input: { reports: [{ assignmentId: $id, outcome: { snoozeMs: $ms } }] }) { ... on ReportOutcomesPayload { entries { status error { message } } } } }`;
    const [first = ''] = await claim(admin, 'snoozed', 3);
    for (const ms of [-2_147_483_648, -1, 0, 999]) {
      const { data } = await ask(admin, report, { id: first, ms });
      expect(data.reportOutcomes.entries[0].status).toBe('INVALID');
    }
    for (const ms of [2_147_483_648, 1.5, '1000'])
      expect((await ask(admin, report, { id: first, ms })).errors).toHaveLength(1);
    for (const _ of [1, 2, 3]) {
      const [id = first] = _ === 1 ? [first] : await claim(admin, 'snoozed', 3);
      const { data } = await ask(admin, report, { id, ms: 2_147_483_647 });
      expect(data.reportOutcomes.entries[0].status).toBe('ACCEPTED');
    }
    expect(await claim(admin, 'snoozed', 3)).toEqual([]);
    const { data } = await ask(admin, '{ queue(type: "snoozed") { scheduled running } }');
    expect(data.queue).toEqual({ scheduled: 3, running: 0 });
  });
});

describe('stored bytes', () => {
  const storedBy = async (key: string) => (await ask(key, '{ storage { items bytes } }')).data.storage;

  it('are counted once and given back once, however callers race, break off and delete', async () => {
    const one = await keyOf(['admin'], { tenant: 'racer' });
    const two = await keyOf(['admin'], { tenant: 'racer' });
    const jobs = await Promise.all(
      Array.from({ length: 20 }, (_, i) => create(i % 2 ? one : two, { type: 'raced', items: itemsOf(10) })),
    );
    const stored = jobs.filter((id) => id !== undefined);
    await expect.poll(() => storedBy(one)).toEqual({ items: 10 * stored.length, bytes: 10 * stored.length });
    // All of what came at once may go beyond it, and then nothing more.
    await expect.poll(async () => create(two, { type: 'raced', items: itemsOf(10) })).toBeUndefined();
    const remove = (id: string) =>
      ask(one, 'mutation ($id: ID!) { deleteJob(input: { jobId: $id }) { __typename } }', { id });
    await Promise.all(
      (await ask(one, '{ jobs(first: 100) { nodes { id } } }')).data.jobs.nodes.flatMap(
        ({ id }: { id: string }) => [remove(id), remove(id)],
      ),
    );
    await expect.poll(() => storedBy(one)).toEqual({ items: 0, bytes: 0 });

    // Uploads that break off half way, one in each form, and one that is removed twice.
    const { hostname, port } = new URL(app.url);
    const head = `POST /api/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nAuthorization: Bearer ${one}\r\n`;
    for (const rest of [
      `Content-Length: 15000\r\n\r\n${'x'.repeat(10_000)}`,
      `Transfer-Encoding: chunked\r\n\r\n2710\r\n${'x'.repeat(10_000)}\r\n`,
    ]) {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      socket.end(head + rest);
      await closed(socket.resume());
    }
    // Refused for as long as what broke off counts.
    let id = '';
    await expect
      .poll(async () => {
        const { status, body } = await postFile(app.url, 'y'.repeat(10_000), bearer(one));
        id = body.id;
        return status;
      })
      .toBe(201);
    await expect.poll(() => storedBy(one)).toEqual({ items: 0, bytes: 10_000 });
    const removed = await Promise.all(
      [1, 2].map(() =>
        fetch(new URL(`api/uploads/${id}`, app.url), { method: 'DELETE', headers: bearer(one) }),
      ),
    );
    // The second may have looked for it before the first removed it.
    for (const { status } of removed) expect([204, 404]).toContain(status);
    await expect.poll(() => storedBy(one)).toEqual({ items: 0, bytes: 0 });
    const rows = await db.query(`select items, bytes from jobtree.stored where tenant = 'racer'`);
    expect(rows).toEqual([{ items: '0', bytes: '0' }]);
  });
});

it('a hundred foreign ids are null for every role, and cost the same as unknown ids', async () => {
  const ids = await Promise.all(
    Array.from({ length: 50 }, () => create(admin, { type: 'hidden', items: itemsOf(1) })),
  );
  const { data } = await ask(
    admin,
    'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { items { nodes { id } } } } }',
    { ids },
  );
  const hidden = [...ids, ...data.nodes.map((node: any) => node.items.nodes[0].id)];
  const missing = hidden.map((id) => id.replace(/[0-9a-f]{12}(?=$|:\d+$)/, 'ffffffffffff'));
  const query =
    'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Job { treeProgress { percent } } ... on JobItem { payload } } }';
  const answerOf = async (key: string, asked: readonly string[]) => {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(key) },
      body: JSON.stringify({ query, variables: { ids: asked } }),
    });
    return response.text();
  };
  for (const key of [
    await keyOf(['producer'], { types: ['other*'] }),
    await keyOf(['watcher'], { tenant: 'acme' }),
    await keyOf(['watcher'], { rootIds: ['00000000-0000-7000-8000-000000000000'] }),
    await keyOf(['worker']),
  ]) {
    const answer = await answerOf(key, hidden);
    expect(JSON.parse(answer)).toEqual({ data: { nodes: hidden.map(() => null) } });
    expect(await answerOf(key, missing)).toBe(answer);
  }
});
