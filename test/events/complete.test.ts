/** Nobody is told that a tree is complete before every job of it is: each event of each watcher is looked at. */
import { createClient } from 'graphql-ws';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { createJob, data } from '../support/api.ts';
import { listenTo } from '../support/database.ts';
import { until } from '../support/transport.ts';
import { useServer } from '../support/use-server.ts';
import { Witness } from '../support/witness.ts';

const size = Number(process.env.TEST_COMPLETE_SIZE ?? 150);
const watchersPerSocket = 25;

const { db, app } = useServer();

/** Half of the jobs below the root, the others below those. */
const createTree = () =>
  createJob(app.url, {
    type: 'root',
    items: [{}],
    children: Array.from({ length: Math.floor((size - 1) / 2) }, () => ({
      type: 'child',
      items: [{}],
      children: [{ type: 'grandchild', items: [{}] }],
    })),
  });
const cancel = (id: string) =>
  data(app.url, 'mutation ($id: ID!) { cancelJob(input: { jobId: $id }) { __typename } }', { id });

it(`${size} watchers of a tree of ${size} jobs that is cancelled at once`, async () => {
  const id = await createTree();
  const clients = Array.from({ length: Math.ceil(size / watchersPerSocket) }, () =>
    createClient({
      url: app.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      lazy: false,
    }),
  );
  let begun = 0;
  const watch = async (number: number) => {
    const client = clients[number % clients.length] as (typeof clients)[number];
    // In groups that are told at different times.
    const intervalMs = 20 + (number % 5);
    const query = `subscription { jobTreeProgress(rootId: "${id}", intervalMs: ${intervalMs}) { openJobs complete jobs { jobId revision status } } }`;
    const witness = new Witness();
    let last: any;
    let events = 0;
    for await (const event of client.iterate<any>({ query })) {
      last = event.data?.jobTreeProgress;
      witness.see(event);
      if (events++ === 0) begun++;
    }
    expect(last.complete).toBe(true);
  };
  const watching = Promise.all(Array.from({ length: size }, (_, number) => watch(number)));
  watching.catch(() => undefined);
  await until('begun', () => begun === size, 120_000);
  await cancel(id);
  await watching;
  await Promise.all(clients.map((client) => client.dispose()));
}, 180_000);

it('no message of a fold reports fewer open jobs than the jobs published so far', async () => {
  const id = await createTree();
  const listener = await db.connect();
  onTestFinished(() => listener.end());
  const messages: {
    root: string;
    openJobs: number;
    jobs: { jobId: string; completedAt: number | null }[];
  }[] = [];
  listener.on('notification', ({ payload }) => messages.push(JSON.parse(payload ?? '')));
  await listenTo('progress', listener);
  const jobs = await db.query<{ id: string }>('select id from jobtree.job where root_id = $1', [id.slice(4)]);
  await cancel(id);
  const open = new Set(jobs.map(({ id }) => id));
  await until('told', () => messages.some(({ root, openJobs }) => root === id.slice(4) && openJobs === 0));
  for (const message of messages.filter(({ root }) => root === id.slice(4))) {
    for (const { jobId, completedAt } of message.jobs) if (completedAt !== null) open.delete(jobId);
    expect(message.openJobs).toBeGreaterThanOrEqual(open.size);
  }
  expect(open.size).toBe(0);
});
