/** Progress as a client sees it, over both transports: the state first, newer ones only, the final one always, then the end. */
import { createClient } from 'graphql-ws';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { collect, collectSse, createJob, data, subscribe, work } from '../support/api.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

const watchJob = `subscription ($id: ID!) {
  jobProgress(jobId: $id) { revision status message percent itemCount itemProgress succeeded sealed completedAt }
}`;
const watchTree = `subscription ($id: ID!) {
  jobTreeProgress(rootId: $id) { complete openJobs jobs { jobId revision status itemProgress } }
}`;

it('goes from waiting over running to complete, never back, and then ends the stream', async () => {
  const id = await createJob(app.url, {
    type: 'a',
    items: Array.from({ length: 4 }, (_, i) => ({ payload: i })),
  });
  const watch = subscribe(app.url, watchJob, { id });
  const events = watch[Symbol.asyncIterator]();
  const next = async () => (await events.next()).value?.data.jobProgress;
  expect(await next()).toMatchObject({
    status: 'WAITING',
    message: 'Waiting for job to start…',
    percent: null,
    itemCount: 4,
  });

  await work(app.url, 'a', 1);
  let state = await next();
  while (state.itemProgress < 1) state = await next();
  expect(state).toMatchObject({
    status: 'RUNNING',
    percent: null,
    message: 'Job running, 1 of 4 items so far…',
  });

  await data(app.url, `mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }`, { id });
  while (!state.sealed) state = await next();
  expect(state).toMatchObject({ percent: 25, message: 'Job running, 25% complete…' });

  await work(app.url, 'a', 3);
  let last = state;
  for (let event = await events.next(); !event.done; event = await events.next()) {
    const progress = event.value.data.jobProgress;
    expect(progress.revision > last.revision).toBe(true);
    expect(progress.itemProgress).toBeGreaterThanOrEqual(last.itemProgress);
    last = progress;
  }
  expect(last).toMatchObject({ status: 'COMPLETED', percent: 100, succeeded: 4, message: 'Job complete' });
  await watch.close();
});

describe.each(['WebSocket', 'server-sent events'])('over %s', (transport) => {
  const all = (query: string, id: string) =>
    transport === 'WebSocket'
      ? collect(subscribe(app.url, query, { id }))
      : collectSse(app.url, query, { id });

  it('a complete job sends its final state and ends the stream', async () => {
    const id = await createJob(app.url, { type: 'b', sealed: true });
    await data(app.url, `query ($id: ID!) { job(id: $id) { progress { status } } }`, { id });
    const events = await all(watchJob, id);
    expect(events.at(-1)?.data.jobProgress).toMatchObject({ status: 'COMPLETED', percent: 100 });
  });

  it('a tree first sends all its jobs, then changed ones, and ends when all are complete', async () => {
    const type = `tree ${transport}`;
    const child = `${type} child`;
    const id = await createJob(app.url, {
      type,
      sealed: true,
      items: [{}, {}],
      children: [{ type: child, feed: {} }],
    });
    const watching = all(watchTree, id);
    for (let done = 0; done < 2; ) done += await work(app.url, type, 1);
    for (let done = 0; done < 2; ) done += await work(app.url, child, 1);
    const events = (await watching).map((event) => event.data.jobTreeProgress);
    expect(events[0].jobs).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({ complete: true, openJobs: 0 });
    const newest = new Map<string, any>();
    for (const event of events) {
      for (const job of event.jobs) {
        expect(job.revision > (newest.get(job.jobId)?.revision ?? '')).toBe(true);
        newest.set(job.jobId, job);
      }
    }
    expect([...newest.values()].map(({ status, itemProgress }) => [status, itemProgress])).toEqual([
      ['COMPLETED', 2],
      ['COMPLETED', 2],
    ]);
  });

  it('an unknown job, and an id of another type, are refused with code and field', async () => {
    const watch = async (id: string) =>
      transport === 'WebSocket'
        ? (await collect(subscribe(app.url, watchJob, { id })))[0]
        : (await collectSse(app.url, watchJob, { id }))[0];
    const unknown = 'Job:00000000-0000-7000-8000-000000000000';
    const refused = await watch(unknown);
    expect(refused.errors[0].extensions).toMatchObject({ code: 'NOT_FOUND', field: 'jobId' });
    expect((await watch('JobItem:1')).errors[0].extensions).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'jobId',
    });
  });
});

it('a rejected operation does not affect the other subscriptions of its socket', async () => {
  const id = await createJob(app.url, { type: 'c', items: [{}] });
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
  });
  const events = client.iterate<any>({ query: watchJob, variables: { id } });
  expect((await events.next()).value.data.jobProgress.itemCount).toBe(1);
  for (const query of ['{ nonsense }', '{{{', 'subscription { nothing }']) {
    await expect(client.iterate<any>({ query }).next()).rejects.toEqual([
      expect.objectContaining({ message: expect.any(String) }),
    ]);
  }
  await data(app.url, `mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }`, { id });
  let sealed = false;
  while (!sealed) sealed = (await events.next()).value.data.jobProgress.sealed;
  await events.return?.();
  await client.dispose();
});

it('progress continues without a gap after the listening connection was lost', async () => {
  const id = await createJob(app.url, { type: 'd', items: [{}, {}] });
  const watch = subscribe(app.url, watchJob, { id });
  const events = watch[Symbol.asyncIterator]();
  await events.next();
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'jobtree listener %' and datname = current_database()`,
  );
  await work(app.url, 'd', 2);
  await data(app.url, `mutation ($id: ID!) { sealJob(input: { jobId: $id }) { __typename } }`, { id });
  let last: any;
  for (let event = await events.next(); !event.done; event = await events.next())
    last = event.value.data.jobProgress;
  expect(last).toMatchObject({ status: 'COMPLETED', succeeded: 2 });
  await watch.close();
});

it('a foreign notification ends no server', async () => {
  for (const topic of ['work', 'progress']) {
    for (const payload of ['hello', '{}', 'null', '[1]'])
      await db.query('select jobtree.send_hints($1, array[$2])', [topic, payload]);
  }
  const id = await createJob(app.url, { type: 'foreign', sealed: true });
  const events = await collect(
    subscribe(app.url, watchJob, {
      id: id.replace(/[a-f]/g, (digit) => digit.toUpperCase()).replace('JoB', 'Job'),
    }),
  );
  expect(events.at(-1).data.jobProgress.status).toBe('COMPLETED');
});

it('a subscription to a tree that is deleted ends', async () => {
  const id = await createJob(app.url, { type: 'e', items: [{}] });
  const watching = collect(subscribe(app.url, watchTree, { id }));
  await data(app.url, `mutation ($id: ID!) { deleteJob(input: { jobId: $id }) { __typename } }`, { id });
  await watching;
});

const treeCounts =
  'revision openJobs unsealedJobs stage stageCount message complete outcome percent itemCount itemProgress succeeded failed cancelled';

it('a tree has one percentage, in events and reads: null while items may come, and never decreasing', async () => {
  const id = await createJob(app.url, {
    type: 'counted',
    sealed: true,
    items: [{}, {}, {}, {}],
    children: [
      { type: 'counted fed', feed: {} },
      { type: 'counted beside', sealed: true, items: [{}, {}] },
    ],
  });
  const read = async () =>
    (await data(app.url, `query ($id: ID!) { job(id: $id) { treeProgress { ${treeCounts} } } }`, { id })).job
      .treeProgress;
  const watch = subscribe(
    app.url,
    `subscription ($id: ID!) { jobTreeProgress(rootId: $id, intervalMs: 20) { ${treeCounts} } }`,
    { id },
  );
  const told: any[] = [];
  const watching = (async () => {
    for await (const event of watch) told.push((event as any).data.jobTreeProgress);
  })();
  await expect
    .poll(read)
    .toMatchObject({ percent: null, itemCount: 6, openJobs: 3, unsealedJobs: 1, stage: 2, stageCount: 3 });
  await work(app.url, 'counted', 3);
  await expect.poll(read).toMatchObject({ percent: null, itemCount: 9, itemProgress: 3 });
  await work(app.url, 'counted', 1);
  // The fed job is sealed with the end of its parent, and the whole is known.
  await expect
    .poll(read)
    .toMatchObject({ percent: 40, itemCount: 10, itemProgress: 4, unsealedJobs: 0, openJobs: 2 });
  await work(app.url, 'counted fed', 4);
  await work(app.url, 'counted beside', 1);
  await expect.poll(read).toMatchObject({ percent: 90, openJobs: 1, complete: false, outcome: null });
  await work(app.url, 'counted beside', 1);
  await watching;
  expect(told.at(-1)).toMatchObject({ percent: 100, complete: true, outcome: 'SUCCEEDED', succeeded: 10 });
  expect(await read()).toEqual(told.at(-1));
  for (const [i, { percent, itemProgress, revision }] of told.entries()) {
    const before = told[i - 1] ?? { percent: null, itemProgress: 0, revision: '' };
    expect(percent ?? -1).toBeGreaterThanOrEqual(before.percent ?? -1);
    expect(itemProgress).toBeGreaterThanOrEqual(before.itemProgress);
    expect(revision > before.revision).toBe(true);
  }
});

it('hints come at the start, and when items of the type are added, on this server or another', async () => {
  const other = await startServer(db.url);
  const watch = subscribe(app.url, `subscription { workAvailable(types: ["hinted"]) { types } }`);
  const events = watch[Symbol.asyncIterator]();
  const next = async () => (await events.next()).value.data.workAvailable.types;
  expect(await next()).toEqual(['hinted']);
  await createJob(app.url, { type: 'unrelated', items: [{}] });
  await createJob(app.url, { type: 'hinted', items: [{}] });
  expect(await next()).toEqual(['hinted']);
  await createJob(other.url, { type: 'hinted', items: [{}] });
  expect(await next()).toEqual(['hinted']);
  await watch.close();
  await other.close();
});

it('foreign messages on the channel of NOTIFY harm nobody', async () => {
  const id = await createJob(app.url, { type: 'notified', sealed: true, items: [{}] });
  const watch = subscribe(app.url, watchTree, { id });
  const events = watch[Symbol.asyncIterator]();
  await events.next();
  const root = id.slice('Job:'.length);
  const payloads = [
    { root, jobs: [] },
    { root, openJobs: 'none', jobs: [] },
    { root, openJobs: 0 },
    { root, openJobs: 1, jobs: [{ jobId: root, itemCount: -1 }] },
    { root, openJobs: 1, jobs: [null] },
  ];
  for (const payload of payloads)
    await db.query(`select jobtree.send_hints('progress', array[$1::jsonb::text])`, [
      JSON.stringify(payload),
    ]);
  await work(app.url, 'notified', 1);
  let last: any;
  for (let event = await events.next(); !event.done; event = await events.next()) last = event.value;
  expect(last.data.jobTreeProgress).toMatchObject({ complete: true, jobs: [{ status: 'COMPLETED' }] });
  await watch.close();
});
