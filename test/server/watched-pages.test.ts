/** Pages as a client watches them: all of a page first, then what differs. */
import { expect, it } from 'vitest';
import { createJob, data, subscribe, work } from '../support/api.ts';
import { useServer } from '../support/use-server.ts';

const { app } = useServer();

const seal = (id: string) =>
  data(app.url, 'mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }', { id });

it('jobItems sends the page, then items as they are added, held and finished, then the end', async () => {
  const id = await createJob(app.url, { type: 'items', items: [{ payload: 0 }, { payload: 1 }] });
  const watch = subscribe(
    app.url,
    `subscription { jobItems(jobId: "${id}", first: 3, intervalMs: 100) { goneIds items { payload status result assignment { worker } } } }`,
  );
  const events = watch[Symbol.asyncIterator]();
  const state = new Map<number, any>();
  const next = async () => {
    const event = await events.next();
    for (const item of event.value?.data.jobItems.items ?? []) state.set(item.payload, item);
    return !event.done;
  };
  await next();
  expect([...state.values()].map(({ status }) => status)).toEqual(['READY', 'READY']);
  await data(app.url, 'mutation ($input: AddItemsInput!) { addItems(input: $input) { __typename } }', {
    input: { jobId: id, items: [{ payload: 2 }, { payload: 3 }] },
  });
  while (!state.has(2)) await next();
  await work(app.url, 'items', 1, 'done');
  while (state.get(0).status !== 'SUCCEEDED') await next();
  expect(state.get(0)).toMatchObject({ result: 'done', assignment: { worker: 'test' } });
  await work(app.url, 'items', 3, 'done');
  await seal(id);
  while (await next());
  expect([...state.values()].map(({ payload, status }) => [payload, status])).toEqual([
    [0, 'SUCCEEDED'],
    [1, 'SUCCEEDED'],
    [2, 'SUCCEEDED'],
  ]);
  await watch.close();
});

it('jobs sends a root whose treeProgress is requested again when jobs below it change', async () => {
  const id = await createJob(app.url, {
    type: 'above',
    items: [],
    sealed: true,
    children: [{ type: 'below', items: [{}] }],
  });
  const jobs = 'jobs(filter: { types: "above" }, intervalMs: 100)';
  const watch = subscribe(
    app.url,
    `subscription { ${jobs} { jobs { id treeProgress { itemCount succeeded } } } }`,
  );
  const events = watch[Symbol.asyncIterator]();
  const next = async () => (await events.next()).value.data.jobs.jobs;
  expect(await next()).toEqual([{ id, treeProgress: { itemCount: 1, succeeded: 0 } }]);
  await work(app.url, 'below', 1);
  for (let root: any; root?.treeProgress.succeeded !== 1; ) [root] = await next();
  await watch.close();
});

it('jobs sends the list, then what appears, changes and leaves', async () => {
  const a = await createJob(app.url, { type: 'listed', items: [{}] });
  const watch = subscribe(
    app.url,
    'subscription { jobs(filter: { types: "listed", statuses: WAITING }, first: 2, intervalMs: 100) { goneIds jobs { id progress { itemCount } } } }',
  );
  const events = watch[Symbol.asyncIterator]();
  const list = new Set<string>();
  const next = async () => {
    const { jobs, goneIds } = (await events.next()).value.data.jobs;
    for (const { id } of jobs) list.add(id);
    for (const id of goneIds) list.delete(id);
  };
  await next();
  expect([...list]).toEqual([a]);
  const b = await createJob(app.url, { type: 'listed', items: [{}] });
  while (!list.has(b)) await next();
  const c = await createJob(app.url, { type: 'listed', items: [{}] });
  while (!list.has(c)) await next();
  expect([...list].sort()).toEqual([b, c].sort());
  await work(app.url, 'listed', 2);
  while (list.has(b)) await next();
  expect([...list]).toEqual([c]);
  await watch.close();
});

it('queues sends what waits, is scheduled and runs, in a query and as it changes', async () => {
  const id = await createJob(app.url, {
    type: 'counted',
    items: [{}, {}, { runAt: '2200-01-01T00:00:00Z' }],
  });
  const stats = '(types: ["counted", "nothing"]) { type ready scheduled waiting running }';
  expect((await data(app.url, `{ queues${stats} }`)).queues).toEqual([
    { type: 'counted', ready: 2, scheduled: 1, waiting: 0, running: 0 },
  ]);
  const watch = subscribe(
    app.url,
    'subscription { queues(types: ["counted"], intervalMs: 100) { ready running } }',
  );
  const events = watch[Symbol.asyncIterator]();
  const next = async () => (await events.next()).value.data.queues;
  expect(await next()).toEqual([{ ready: 2, running: 0 }]);
  await data(
    app.url,
    'mutation { claimItems(input: { worker: "w", requests: [{ type: "counted", limit: 1 }] }) { __typename } }',
  );
  expect(await next()).toEqual([{ ready: 1, running: 1 }]);
  await data(app.url, 'mutation ($id: ID!) { deleteJob(input: { jobId: $id }) { __typename } }', { id });
  // It is listed still, since something was done of it.
  expect(await next()).toEqual([{ ready: 0, running: 0 }]);
  await watch.close();
});

it.each([
  ['jobItems(jobId: "Job:00000000-0000-7000-8000-000000000000") { goneIds }', 'NOT_FOUND', 'jobId'],
  [
    'jobItems(jobId: "Job:00000000-0000-7000-8000-000000000000", first: -1) { goneIds }',
    'INVALID_INPUT',
    'first',
  ],
  ['jobs(first: 1001) { goneIds }', 'INVALID_INPUT', 'first'],
  ['jobs(filter: { types: "" }) { goneIds }', 'INVALID_INPUT', 'filter.types[0]'],
  ['jobs(intervalMs: 99) { goneIds }', 'INVALID_INPUT', 'intervalMs'],
  ['queues(types: []) { ready }', 'INVALID_INPUT', 'types'],
])('%s is refused', async (field, code, named) => {
  const watch = subscribe(app.url, `subscription { ${field} }`);
  const [refused] = await Promise.all([watch[Symbol.asyncIterator]().next()]);
  expect(refused.value.errors[0].extensions).toMatchObject({ code, field: named });
  await watch.close();
});
