/** The very code of docs/callbacks.md, with a server, a receiver and a worker. */
import type { Server } from 'node:http';
import { expect, it } from 'vitest';
import { Worker } from '../../src/client/index.ts';
import { request } from '../support/api.ts';
import { bundle } from '../support/bundle.ts';
import { example } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db: database, app: server, client } = useServer({ JOBTREE_CALLBACK_NETWORKS: '127.0.0.0/8' });

async function load(name: string, wrap = (code: string) => code) {
  const { code } = await bundle({ main: wrap(example('callbacks.md', name)) }, 'node');
  const [act] = Object.values(await import(`data:text/javascript,${encodeURIComponent(code)}`));
  return act as (...args: unknown[]) => unknown;
}

it('the receiver is called once when the example tree is complete, and rejects forged calls', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const created = (await (await load('create'))(client, url)) as { id: string; secret: string };
  const messages: unknown[] = [];
  const createReceiver = await load('receiver');
  const receiver = createReceiver(created.secret, (message: unknown) => messages.push(message)) as Server;
  await new Promise<void>((resolve) => receiver.listen(port, '127.0.0.1', resolve));

  const worker = new Worker({ client, types: { writeReport: { concurrency: 1, handler: () => 'done' } } });
  await worker.start();
  await eventually(() => expect(messages).toHaveLength(1));
  await worker.stop();
  const [message] = messages as { type: string; timestamp: string; data: { rootId: string } }[];
  const documented = JSON.parse(example('callbacks.md', 'body'));
  expect(message).toEqual({
    ...documented,
    timestamp: expect.any(String),
    data: { ...documented.data, rootId: created.id },
  });

  const delivered = async () => {
    const [delivery] = (await client.callbacks.deliveries({ filter: { endpoint: 'reports' } })).nodes;
    expect(delivery?.status).toBe('DELIVERED');
    return delivery;
  };
  // The message arrives before the server knows of its answer.
  const delivery = await eventually(delivered);
  await client.callbacks.retryDelivery(delivery?.id ?? '');
  await eventually(async () => {
    const again = await client.callbacks.delivery(delivery?.id ?? '');
    expect(again).toMatchObject({ status: 'DELIVERED', attemptCount: 2 });
  });
  expect(messages).toHaveLength(1);
  const forged = await fetch(url, { method: 'POST', body: JSON.stringify(message) });
  expect(forged.status).toBe(401);
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

it('the examples in GraphQL and in SQL create what they describe', async () => {
  const answer = await request(server.url, example('callbacks.md', 'graphql'));
  expect(answer.data).toEqual({
    putCallbackEndpoint: {
      secret: null,
      endpoint: { name: 'reports', url: 'https://reports.example.com/jobtree' },
    },
    createJob: {
      job: {
        id: expect.any(String),
        callbacks: [
          { endpoint: 'reports', on: 'JOB' },
          { endpoint: 'reports', on: 'TREE' },
        ],
      },
    },
  });
  const [row] = await database.query<{ job_id: string }>(example('callbacks.md', 'sql'));
  expect((await client.job(`Job:${row?.job_id}`)).callbacks).toEqual([{ endpoint: 'reports', on: 'TREE' }]);
});

it('the example of an alert sets it', async () => {
  await (await load('alert', (code) => `export default async (client) => {${code}}`))(client);
  expect((await client.queues.get('parse')).deadLetterAlert).toEqual({
    endpoint: 'reports',
    count: 10,
    intervalMs: 300_000,
  });
});

it('what does not exist is refused', async () => {
  const { callbacks } = client;
  const none = 'CallbackDelivery:00000000-0000-7000-8000-000000000000';
  await expect(callbacks.delivery(none)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(callbacks.retryDelivery(none)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(callbacks.retryDelivery('x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(callbacks.rotateSecret('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(callbacks.deleteEndpoint('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(callbacks.rotateSecret('reports', { keepPreviousMs: 1e12 })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'keepPreviousMs',
  });
  await expect(client.createJob({ type: 'x', callbacks: [{ endpoint: 'nobody' }] })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'callbacks[0].endpoint',
  });
});
