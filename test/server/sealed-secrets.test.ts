/** Secrets of endpoints in the database: sealed with a key that only servers have, which can be rotated. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, verifyCallback } from '../../src/client/index.ts';
import { SecretBox } from '../../src/domain/callbacks/secret-box.ts';
import { run } from '../cli/program.ts';
import { newType } from '../support/engine.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';

const newKey = () => randomBytes(32).toString('base64');
const [first, second] = [newKey(), newKey()];
const boxOf = (...keys: string[]) => new SecretBox(keys.map((key) => Buffer.from(key, 'base64')));

const db = useDatabase();
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver({});
});
afterAll(async () => {
  await receiver.close();
});

const stored = () =>
  db.query<{ name: string; secret: string; previous_secret: string | null }>(
    'select name, secret, previous_secret from jobtree.callback_endpoint order by name',
  );

/** With a server that has these keys. */
async function withServer<T>(
  keys: string,
  use: (client: ReturnType<typeof createClient>) => Promise<T>,
): Promise<T> {
  const app = await startServer(db.url, {
    JOBTREE_CALLBACK_NETWORKS: '127.0.0.0/8',
    ...(keys && { JOBTREE_SECRETS_KEY: keys }),
  });
  const client = createClient({ url: app.url });
  try {
    return await use(client);
  } finally {
    await client.close();
    await app.close();
  }
}

const put = (client: ReturnType<typeof createClient>, name: string) =>
  client.callbacks.putEndpoint({ name, url: `http://127.0.0.1:${receiver.port}/${name}` });

/** What the endpoint gets for a tree. */
async function receive(client: ReturnType<typeof createClient>, name: string) {
  const { id } = await client.createJob({ type: newType(), sealed: true, callbacks: [{ endpoint: name }] });
  await expect
    .poll(() => receiver.received.some(({ text }) => text.includes(id)), { timeout: 20_000 })
    .toBe(true);
  return receiver.received.find(({ text }) => text.includes(id)) as (typeof receiver.received)[number];
}

describe('a box', () => {
  it('opens what it sealed, for the same name, and no two sealed texts are alike', () => {
    const box = boxOf(first);
    const sealed = box.seal('whsec_abc', 'a');
    expect(sealed).not.toContain('abc');
    expect(box.seal('whsec_abc', 'a')).not.toBe(sealed);
    expect(box.open(sealed, 'a')).toBe('whsec_abc');
    expect(() => box.open(sealed, 'b')).toThrow('another endpoint');
    const last = sealed.at(-5) === 'A' ? 'B' : 'A';
    expect(() => box.open(`${sealed.slice(0, -5)}${last}${sealed.slice(-4)}`, 'a')).toThrow('changed');
    expect(() => boxOf(second).open(sealed, 'a')).toThrow('JOBTREE_SECRETS_KEY does not have the key');
    expect(boxOf(second, first).open(sealed, 'a')).toBe('whsec_abc');
    expect(boxOf().seal('whsec_abc', 'a')).toBe('whsec_abc');
  });
});

describe('secrets of endpoints', () => {
  it('are stored sealed, and sign as before', async () => {
    await withServer(first, async (client) => {
      const { secret } = await put(client, 'sealed');
      const rotated = (await client.callbacks.rotateSecret('sealed')).secret;
      const [row] = await stored();
      for (const one of [row?.secret, row?.previous_secret]) expect(one).toMatch(/^enc:/);
      const dump = JSON.stringify(await db.query('select e::text from jobtree.callback_endpoint e'));
      for (const one of [secret, rotated]) expect(dump).not.toContain(one?.slice(6));
      const message = await receive(client, 'sealed');
      for (const one of [secret, rotated]) verifyCallback(message.text, message.headers, one as string);
    });
  });

  it('from before are sealed by servers that have a key, and with the next key once it is rotated', async () => {
    const secret = await withServer('', async (client) => (await put(client, 'before')).secret as string);
    const of = async (name: string) => (await stored()).find((row) => row.name === name)?.secret ?? '';
    expect(await of('before')).toBe(secret);
    await withServer(first, () => expect.poll(() => of('before')).toMatch(/^enc:/));
    const sealed = await of('before');
    await withServer(`${second},${first}`, async (client) => {
      await expect.poll(() => of('before')).not.toBe(sealed);
      await expect
        .poll(async () => (await of('sealed')).slice(0, 12))
        .toBe((await of('before')).slice(0, 12));
      const message = await receive(client, 'before');
      verifyCallback(message.text, message.headers, secret);
    });
    await withServer(second, async (client) => {
      const message = await receive(client, 'before');
      verifyCallback(message.text, message.headers, secret);
    });
  });

  it('that nobody can open fail deliveries with the reason; these are retried, and the doctor says so', async () => {
    await withServer(newKey(), async (client) => {
      const { id } = await client.createJob({
        type: newType(),
        sealed: true,
        callbacks: [{ endpoint: 'before' }],
      });
      await expect
        .poll(
          async () =>
            (await client.callbacks.deliveries({ filter: { rootId: id } })).nodes[0]?.attempts[0]?.error,
          { timeout: 20_000 },
        )
        .toMatch(/^The endpoint's secret can't be opened: JOBTREE_SECRETS_KEY does not have the key/);
      const [delivery] = (await client.callbacks.deliveries({ filter: { rootId: id } })).nodes;
      expect(delivery?.status).toBe('PENDING');
    });
    const doctor = async (env: Record<string, string>) => {
      const { stdout } = await run(['doctor', '--json'], { env: { DATABASE_URL: db.url, ...env } });
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
        .find(({ check }) => check === 'secrets');
    };
    expect(await doctor({})).toMatchObject({ status: 'sick', message: expect.stringContaining('before') });
    expect(await doctor({ JOBTREE_SECRETS_KEY: second })).toMatchObject({ status: 'ok' });
    await db.query(
      `update jobtree.callback_endpoint set secret = 'whsec_${randomBytes(32).toString('base64')}'`,
    );
    expect(await doctor({ JOBTREE_SECRETS_KEY: second })).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('not sealed'),
    });
  });
});
