/** One piece of work in one call, of the API, of SQL and of the example in Python. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from '../../../src/client/index.ts';
import type { App } from '../../../src/server/create-app.ts';
import { request } from '../../support/api.ts';
import { newType } from '../../support/engine.ts';
import { startServer } from '../../support/server.ts';
import { useDatabase } from '../../support/use-server.ts';

const db = useDatabase();
let app: App;
beforeAll(async () => {
  // So that nothing but a hint can wake a worker.
  app = await startServer(db.url, { JOBTREE_SWEEP_INTERVAL_MS: '60000' });
});
afterAll(async () => {
  await app.close();
});

const mutation = `mutation ($input: EnqueueInput!) {
  enqueue(input: $input) {
    ... on EnqueuePayload {
      created
      job { id sealedAt maxFailuresPerItem items { nodes { payload serializeKey } } }
    }
    ... on UserError { code field message }
  }
}`;

async function enqueue(input: object) {
  const { data, errors } = await request(app.url, mutation, { input });
  expect(errors).toBeUndefined();
  return data.enqueue;
}

it('the API creates a sealed job with one item, and answers with the existing one', async () => {
  const type = newType();
  const input = { type, payload: { n: 1 }, dedupeKey: 'a', serializeKey: type, maxFailuresPerItem: 7 };
  const first = await enqueue(input);
  expect(first).toMatchObject({
    created: true,
    job: {
      sealedAt: expect.any(String),
      maxFailuresPerItem: 7,
      items: { nodes: [{ payload: { n: 1 }, serializeKey: type }] },
    },
  });
  expect(await enqueue({ ...input, payload: 2 })).toEqual({ ...first, created: false });
  expect(await enqueue({ type: newType() })).toMatchObject({
    job: { items: { nodes: [{ payload: null, serializeKey: null }] } },
  });
});

it('the API names the field that it refuses', async () => {
  expect(await enqueue({ type: 'a', serializeKey: '' })).toMatchObject({
    code: 'INVALID_INPUT',
    field: 'serializeKey',
    message: expect.stringMatching(/^serializeKey /),
  });
  expect(await enqueue({ type: '' })).toMatchObject({ code: 'INVALID_INPUT', field: 'type' });
});

it('the example in Python enqueues with options', async () => {
  const type = newType();
  const program = `from jobtree_worker import enqueue\nfor _ in range(2): print(enqueue("${type}", {"n": 1}, dedupeKey="a"))`;
  const folder = fileURLToPath(new URL('../../../examples/python', import.meta.url));
  const env = { ...process.env, JOBTREE_URL: app.url, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await promisify(execFile)('python3', ['-c', program], { env, cwd: folder });
  const [first, second] = stdout.trim().split('\n');
  expect(first).toMatch(/^Job:/);
  expect(second).toBe(first);
});

it('SQL creates it, keeps the text of the payload and wakes an idle worker', async () => {
  const type = newType();
  const client = createClient({ url: app.url });
  const hints = client.workAvailable([type]);
  await hints.next();
  const hint = hints.next();
  const enqueue = (options: object) =>
    db.query(`select * from jobtree.enqueue($1, '{"n": 1.00, "a": 12345678901234567890}', $2)`, [
      type,
      JSON.stringify(options),
    ]);
  const options = { dedupeKey: 'a', serializeKey: type, priority: 3 };
  const [first] = await enqueue(options);
  expect(first).toMatchObject({ created: true });
  expect(await enqueue(options)).toEqual([{ ...first, created: false }]);
  await hint;
  await hints.return();
  await client.close();
  expect(
    await db.query(
      `select payload::text, serialize_key, priority, sealed_at is not null as sealed
        from jobtree.item_status i join jobtree.job j on j.id = i.job_id where j.type = $1`,
      [type],
    ),
  ).toEqual([
    { payload: '{"n": 1.00, "a": 12345678901234567890}', serialize_key: type, priority: 3, sealed: true },
  ]);
});

it.each([
  ['{"items": []}', 'items'],
  ['{"delay": 5}', 'delay'],
  ['[]', 'options'],
])('SQL refuses the options %s', async (options, column) => {
  await expect(db.query(`select jobtree.enqueue('a', '1', $1)`, [options])).rejects.toMatchObject({
    code: 'JT002',
    column,
  });
});
