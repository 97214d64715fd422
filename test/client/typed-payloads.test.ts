/** Payloads and results of types with schemas: what does not match is refused at the door, and everything else goes on as ever. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Client, createClient, defineType, Worker } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { bundle } from '../support/bundle.ts';
import { example } from '../support/documentation.ts';
import { newType } from '../support/engine.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const db = useDatabase();
let servers: App[];
let clients: Client[];
let client: Client;
beforeAll(async () => {
  servers = [await startServer(db.url), await startServer(db.url)];
  clients = servers.map(({ url }) => createClient({ url }));
  client = clients[0] as Client;
});
afterAll(async () => {
  for (const one of clients) await one.close();
  for (const server of servers) await server.close();
});

const payload = { type: 'object', required: ['to'], properties: { to: { type: 'string' } } };
const result = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } };
const invalid = (field: string) => ({ name: 'JobtreeError', code: 'INVALID_INPUT', field });

/** A type of version 1 with schemas, which both servers know, and a job of it with so many good items. */
async function typed(count = 0) {
  const type = newType();
  for (const one of clients) await one.types.register({ type, payload, result });
  const items = Array.from({ length: count }, (_, i) => ({ payload: { to: `${i}` } }));
  const { id } = await client.createJob({ type, items });
  return { type, id };
}

describe('a payload that does not match is refused', () => {
  it('by createJob, anywhere in the tree', async () => {
    const { type } = await typed();
    const bad = { type, items: [{ payload: { to: 'a' } }, { payload: { to: 1 } }] };
    await expect(
      client.createJob({ type: newType(), children: [{ type: newType() }, bad] }),
    ).rejects.toMatchObject({
      ...invalid('children[1].items[1].payload.to'),
      message: `children[1].items[1].payload.to must be string (version 1 of ${type}).`,
    });
  });

  it('by addItems, alone, also with items that break other rules', async () => {
    const { id } = await typed();
    const items = [
      { payload: { to: 'a' } },
      {},
      { payload: { to: 'b' }, priority: 1e6 },
      { payload: { to: 'c' } },
    ];
    const { added, entries } = await client.addItems(id, items, { seal: true });
    expect(added).toBe(2);
    expect(entries.map(({ status }) => status)).toEqual(['ADDED', 'INVALID', 'INVALID', 'ADDED']);
    expect(entries[1]?.error).toContain('items[1].payload must be object');
    expect(entries[2]?.error).toContain('items[2].priority');
  });

  it('by a report that creates items, by updateItem, a replay and a schedule', async () => {
    const { type, id } = await typed(2);
    const parent = newType();
    await client.createJob({
      type: parent,
      items: [{}],
      children: [{ type, feed: { source: 'REPORTS' } }],
    });
    const [held] = await client.claimItems('w', [{ type: parent, limit: 1 }]);
    const [answer] = await client.reportOutcomes([
      { assignmentId: held?.id ?? '', result: 1, newItems: [{ type, payload: { to: null } }] },
    ]);
    expect(answer).toMatchObject({
      status: 'INVALID',
      error: expect.stringContaining('reports[0].outcome.success.newItems[0].payload.to must be string'),
    });
    const item = (await client.items(id)).nodes[1]?.id ?? '';
    await expect(client.updateItem(item, { payload: 5 })).rejects.toMatchObject(invalid('payload'));
    await client.updateItem(item, { payload: { to: 'other' } });

    const [dead] = await client.claimItems('w', [{ type, limit: 1 }]);
    const failure = { code: 'E', message: 'no', permanent: true };
    await client.reportOutcomes([{ assignmentId: dead?.id ?? '', failure }]);
    const filter = { itemIds: [dead?.itemId ?? ''] };
    await expect(client.replayDeadLetters(filter, { payload: {} })).rejects.toMatchObject(
      invalid('payload.to'),
    );

    const patched = await client.replayDeadLetters({ jobId: id }, { payloadPatch: { to: 1 } });
    expect(patched).toMatchObject({
      done: 0,
      skipped: 1,
      skippedReason: `payload.to must be string (version 1 of ${type}).`,
    });

    const template = { type, sealed: true, items: [{ payload: 'x' }] };
    await expect(client.schedules.put({ name: type, everyMs: 60_000, template })).rejects.toMatchObject(
      invalid('template.items[0].payload'),
    );
  });

  it('with one message, however many errors it has', async () => {
    const type = newType();
    await client.types.register({ type, payload: { items: { type: 'integer' } } });
    const faults = Array.from({ length: 10_000 }, () => 'no integer'.repeat(5));
    const error = await client
      .createJob({ type, items: [{ payload: faults }] })
      .catch((error: unknown) => error);
    expect(error).toMatchObject(invalid('items[0].payload[0]'));
    expect((error as Error).message.length).toBeLessThan(500);
  });

  it('if it is larger than its schema allows', async () => {
    const type = newType();
    const anyOf = Array.from({ length: 250 }, (_, i) => ({ type: 'array', minItems: 1e6 + i }));
    await client.types.register({ type, payload: { anyOf } });
    const large = Array.from({ length: 20_000 }, (_, i) => i);
    await expect(client.createJob({ type, items: [{ payload: large }] })).rejects.toMatchObject({
      ...invalid('items[0].payload'),
      message: expect.stringContaining('is too large for the schema'),
    });
  });
});

describe('a result that does not match', () => {
  it('is INVALID on every server, and the assignment is kept', async () => {
    const { type } = await typed(3);
    const held = await client.claimItems('w', [{ type, limit: 3 }]);
    const [a = '', b = '', c = ''] = held.map(({ id }) => id);
    const answers = await (clients[1] as Client).reportOutcomes([
      { assignmentId: a, result: { id: 'x' } },
      { assignmentId: b, result: { id: 1 } },
      { assignmentId: c, failure: { code: 'E', message: 'no' } },
    ]);
    expect(answers).toMatchObject([
      {
        status: 'INVALID',
        error: `reports[0].outcome.success.result.id must be integer (version 1 of ${type}).`,
      },
      { status: 'ACCEPTED' },
      { status: 'ACCEPTED' },
    ]);
    expect(await client.reportOutcomes([{ assignmentId: a, result: { id: 2 } }])).toMatchObject([
      { status: 'ACCEPTED' },
    ]);
  });

  it('fails the item for good if a worker of the library reports it', async () => {
    const { type } = await typed(1);
    const worker = new Worker({
      url: servers[1]?.url,
      types: { [type]: { concurrency: 1, handler: () => 'nothing of the kind' } },
    });
    const failed = new Promise((resolve) => {
      worker.on('failed', (_, failure) => resolve(failure));
    });
    await worker.start();
    expect(await failed).toMatchObject({
      code: 'INVALID_RESULT',
      message: expect.stringContaining('must be object (version 1'),
      retryAt: null,
    });
    await worker.stop();
  });
});

describe('versions', () => {
  it('coexist: a value that matches any of them is valid, and the newest describes the errors', async () => {
    const { type, id } = await typed(1);
    const second = { type: 'object', required: ['email'], properties: { email: { type: 'string' } } };
    expect(await client.types.register({ type, version: 2, payload: second })).toEqual({ created: true });
    const { entries } = await client.addItems(id, [
      { payload: { to: 'a' } },
      { payload: { email: 'a' } },
      { payload: {} },
    ]);
    expect(entries.map(({ status }) => status)).toEqual(['ADDED', 'ADDED', 'INVALID']);
    expect(entries[2]?.error).toBe(`items[2].payload.email is missing (version 2 of ${type}).`);
    expect(await client.types.versions(type)).toMatchObject([
      { version: 2, payload: second, result: null },
      { version: 1, payload, result },
    ]);
    expect(await client.types.list()).toContain(type);

    expect(await client.types.delete(type, 1)).toEqual({ deleted: true });
    expect(await client.types.delete(type, 1)).toEqual({ deleted: false });
    const later = await client.addItems(id, [{ payload: { to: 'a' } }]);
    expect(later.entries[0]?.status).toBe('INVALID');
    // What was added before is worked on, and its result is what it was.
    const held = await client.claimItems('w', [{ type, limit: 10 }]);
    expect(held).toHaveLength(3);
    const reports = held.map(({ id }) => ({ assignmentId: id, result: 'anything' }));
    expect((await client.reportOutcomes(reports)).map(({ status }) => status)).toEqual(
      reports.map(() => 'ACCEPTED'),
    );
  });

  it('never change, and number at most ten', async () => {
    const { type } = await typed();
    expect(await client.types.register({ type, payload, result })).toEqual({ created: false });
    await expect(client.types.register({ type, payload: true })).rejects.toMatchObject(invalid('version'));
    for (let version = 2; version <= 10; version++) await client.types.register({ type, version, result });
    await expect(client.types.register({ type, version: 11, result })).rejects.toMatchObject({
      ...invalid('version'),
      message: expect.stringContaining('ten versions'),
    });
    await expect(client.types.register({ type })).rejects.toMatchObject(invalid('payload'));
    await expect(client.types.register({ type, version: 12, result: { type: 5 } })).rejects.toMatchObject(
      invalid('result'),
    );
  });

  it('are known to other servers within a moment', async () => {
    const type = newType();
    const other = clients[1] as Client;
    const { id } = await other.createJob({ type, items: [{}] });
    await client.types.register({ type, payload });
    await expect.poll(async () => (await other.addItems(id, [{}])).entries[0]?.status).toBe('INVALID');
  });
});

describe('a result whose mapping creates an invalid payload', () => {
  /** A job whose successes feed a job of the type, and another one without schemas, and assignments of its items. */
  async function feeding(type: string, feed: object, payloads: unknown[]) {
    const parent = newType();
    const { id } = await client.createJob({
      type: parent,
      items: payloads.map((one) => ({ payload: one })),
      children: [
        { type, feed },
        { type: newType('any'), feed: {} },
      ],
    });
    const claimed = await client.claimItems('w', [{ type: parent, limit: payloads.length }]);
    return { id, ids: claimed.map((assignment) => assignment.id) };
  }
  const fed = async (type: string) =>
    (await client.claimItems('w', [{ type, limit: 10 }])).map((assignment) => assignment.payload);

  it('is INVALID, and the assignment is kept', async () => {
    const { type } = await typed();
    const { ids } = await feeding(type, { payload: { to: 'result.mail', from: 'payload.n' } }, [
      { n: 1 },
      { n: 2 },
    ]);
    const report = (i: number, mail: unknown) => ({ assignmentId: ids[i] as string, result: { mail } });
    const answers = await client.reportOutcomes([report(0, 7), report(1, 'ada')]);
    expect(answers).toMatchObject([
      {
        status: 'INVALID',
        error: `reports[0].outcome.success.result would feed an invalid item: payload.to must be string (version 1 of ${type}).`,
      },
      { status: 'ACCEPTED' },
    ]);
    expect(await client.reportOutcomes([report(0, 'bob')])).toMatchObject([{ status: 'ACCEPTED' }]);
    expect(await fed(type)).toEqual([
      { to: 'ada', from: 2 },
      { to: 'bob', from: 1 },
    ]);
  });

  it('is INVALID if one element of a list is wrong, and if the result is passed on whole', async () => {
    const { type } = await typed();
    const list = await feeding(type, { forEach: 'result.all' }, [1]);
    const all = [{ to: 'a' }, { to: 'b' }, {}];
    expect(
      await client.reportOutcomes([{ assignmentId: list.ids[0] as string, result: { all } }]),
    ).toMatchObject([{ status: 'INVALID', error: expect.stringContaining('payload.to is missing') }]);
    const whole = await feeding(type, {}, [1]);
    expect(
      await client.reportOutcomes([{ assignmentId: whole.ids[0] as string, result: null }]),
    ).toMatchObject([{ status: 'INVALID', error: expect.stringContaining('payload must be object') }]);
    // What a mapping can make nothing of is refused as ever.
    expect(await client.reportOutcomes([{ assignmentId: list.ids[0] as string, result: {} }])).toMatchObject([
      { status: 'INVALID', error: expect.stringContaining('is not a list') },
    ]);
    const tooMany = { assignmentId: list.ids[0] as string, result: { all: Array(1_001).fill({}) } };
    expect(await client.reportOutcomes([tooMany])).toMatchObject([
      { status: 'INVALID', error: expect.stringContaining('1002 new items') },
    ]);
    // A cancelled job gets no items, so its schemas don't matter.
    await db.query('select jobtree.cancel_job(id) from jobtree.job where type = $1', [type]);
    const reports = [list, whole].map(({ ids }) => ({ assignmentId: ids[0] as string, result: { all } }));
    expect(await client.reportOutcomes(reports)).toMatchObject(Array(2).fill({ status: 'ACCEPTED' }));
    expect(await fed(type)).toEqual([]);
  });

  it('is no result if it is a snooze', async () => {
    const { type } = await typed();
    const { ids } = await feeding(type, {}, [1]);
    expect(await client.reportOutcomes([{ assignmentId: ids[0] as string, snoozeMs: 60_000 }])).toMatchObject(
      [{ status: 'ACCEPTED', retryAt: expect.any(String) }],
    );
  });

  it("fails the parent's item for good if a worker of the library reports it", async () => {
    const { type } = await typed();
    const parent = newType();
    const { id } = await client.createJob({
      type: parent,
      sealed: true,
      items: [{ payload: 1 }],
      children: [{ type, feed: {} }],
    });
    const worker = new Worker({
      client,
      types: { [parent]: { concurrency: 1, handler: () => ({ to: 1 }) } },
    });
    onTestFinished(() => worker.stop());
    await worker.start();
    await expect.poll(async () => (await client.job(id)).progress.failed).toBe(1);
    const { nodes } = await client.items(id);
    expect(nodes[0]?.failures).toMatchObject([{ code: 'INVALID_RESULT' }]);
  });

  it('is found among many of some megabytes each', async () => {
    const { type } = await typed();
    const text = 'x'.repeat(900_000);
    const { ids } = await feeding(type, { forEach: 'result', payload: { to: 'element', all: 'payload' } }, [
      text,
      text,
      text,
      'small',
    ]);
    const results = [Array(15).fill('a'), Array(15).fill('b'), [...Array(14).fill('c'), 1], ['d', 1]];
    const answers = await client.reportOutcomes(
      results.map((result, i) => ({ assignmentId: ids[i] as string, result })),
    );
    expect(answers.map(({ status }) => status)).toEqual(['ACCEPTED', 'ACCEPTED', 'INVALID', 'INVALID']);
  });
});

it('SQL adds any payload, and servers process it', async () => {
  const { type } = await typed();
  await db.query('select jobtree.create_job($1)', [JSON.stringify({ type, items: [{ payload: 'x' }] })]);
  expect(await client.claimItems('w', [{ type, limit: 1 }])).toMatchObject([{ payload: 'x' }]);
});

describe('defineType with schemas', () => {
  it('infers its types from them', async () => {
    const type = newType();
    const defined = defineType(type, {
      maxFailuresPerItem: 1,
      schemas: { version: 3, payload: z.object({ to: z.email(), at: z.iso.datetime().optional() }) },
    });
    type Payload = Parameters<typeof defined.item>[0];
    expectTypeOf<Payload>().toEqualTypeOf<{ to: string; at?: string | undefined }>();
    await client.types.register(defined);
    await expect(client.createJob(defined.job({ items: [{ to: 'nobody' }] }))).rejects.toMatchObject(
      invalid('items[0].payload.to'),
    );
    const { id } = await client.createJob(defined.job({ items: [{ to: 'ada@example.com' }] }));
    expect(await client.job(id)).toMatchObject({ maxFailuresPerItem: 1 });
    await expect(client.types.register(defineType(newType()))).rejects.toMatchObject(invalid('schemas'));
  });

  it('works as documented', async () => {
    const { code } = await bundle({ main: example('typed-payloads.md', 'define') }, 'node');
    // Below the root, where Node finds the package `ws`.
    const file = join(root, 'node_modules', `.typed-payloads-${process.pid}.mjs`);
    await writeFile(file, code);
    onTestFinished(() => rm(file));
    const { sendMail, deploy, startWorker } = await import(/* @vite-ignore */ file);
    await deploy(servers[0]?.url);
    const sent: string[] = [];
    const started = await startWorker(servers[0]?.url, async (to: string) => `${sent.push(to)}`);
    const job = await client.createJob(
      sendMail.job({ items: [{ to: 'ada@example.com', subject: 'Hello' }], sealed: true }),
    );
    for await (const _ of client.watchJob(job.id));
    expect(sent).toEqual(['ada@example.com']);
    expect((await client.items(job.id)).nodes).toMatchObject([{ result: { messageId: '1' } }]);
    await expect(
      client.createJob(sendMail.job({ items: [{ to: 'ada@example.com', subject: '' }] })),
    ).rejects.toMatchObject(invalid('items[0].payload.subject'));
    await started.worker.stop();
    await started.client.close();
  });
});
