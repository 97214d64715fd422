/** JSON beyond 256 levels is refused on every way in; what is stored already, and deeper, spoils nothing but itself. */
import { describe, expect, it } from 'vitest';
import { createClient, Worker } from '../../src/client/index.ts';
import { collectSse, createJob, data, request, subscribe } from '../support/api.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

/** Lists and objects in turn; the inner half is wide, so that no text of it gives its depth away. */
const deep = (depth: number): unknown =>
  Array.from({ length: depth }).reduce<unknown>(
    (inner, _, i) => (i % 2 === 0 ? [inner] : { a: inner, b: [] }),
    1,
  );
const literal = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const tooDeep = expect.stringMatching(/is nested more than 256 levels deep/);

const claim = async (type: string, limit = 10) => {
  const { claimItems } = await data(
    app.url,
    'mutation ($requests: [ClaimRequestInput!]!) { claimItems(input: { worker: "w", requests: $requests }) { ... on ClaimItemsPayload { assignments { id payload } } } }',
    { requests: [{ type, limit }] },
  );
  return claimItems.assignments as { id: string; payload: unknown }[];
};
const report = async (reports: unknown[]) => {
  const { reportOutcomes } = await data(
    app.url,
    'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status error { message } } } } }',
    { reports },
  );
  return reportOutcomes.entries as { status: string; error: { message: string } | null }[];
};

describe('256 levels are accepted, and 257 refused', () => {
  const add =
    'mutation ($id: ID!, $items: [ItemInput!]!) { addItems(input: { jobId: $id, items: $items }) { ... on AddItemsPayload { entries { status error { message } } } } }';

  it('in payloads, as variables and in the text', async () => {
    const id = await createJob(app.url, { type: 'payloads' });
    const { addItems } = await data(app.url, add, {
      id,
      items: [{ payload: deep(256) }, { payload: deep(257) }],
    });
    expect(addItems.entries).toEqual([
      { status: 'ADDED', error: null },
      { status: 'INVALID', error: { message: tooDeep } },
    ]);
    const inText = (depth: number) =>
      add.replace(', $items: [ItemInput!]!', '').replace('$items', `[{ payload: ${literal(depth)} }]`);
    expect((await data(app.url, inText(256), { id })).addItems.entries[0].status).toBe('ADDED');
    expect((await data(app.url, inText(257), { id })).addItems.entries[0]).toEqual({
      status: 'INVALID',
      error: { message: tooDeep },
    });
  });

  it('in results and new items', async () => {
    await createJob(app.url, {
      type: 'results',
      items: [{}, {}],
      children: [{ type: 'next', feed: { source: 'REPORTS' } }],
    });
    const [first, second] = await claim('results');
    expect(
      await report([
        { assignmentId: first?.id, outcome: { success: { result: deep(257) } } },
        {
          assignmentId: second?.id,
          outcome: { success: { result: 1, newItems: [{ type: 'next', payload: deep(257) }] } },
        },
      ]),
    ).toEqual([
      { status: 'INVALID', error: { message: tooDeep } },
      { status: 'INVALID', error: { message: tooDeep } },
    ]);
    expect(
      await report([
        { assignmentId: first?.id, outcome: { success: { result: deep(256) } } },
        {
          assignmentId: second?.id,
          outcome: { success: { result: 1, newItems: [{ type: 'next', payload: deep(256) }] } },
        },
      ]),
    ).toEqual([
      { status: 'ACCEPTED', error: null },
      { status: 'ACCEPTED', error: null },
    ]);
  });

  it('in payloads from SQL', async () => {
    const id = (await createJob(app.url, { type: 'sql' })).slice('Job:'.length);
    const items = (depth: number) => JSON.stringify([{ payload: 1 }, { payload: deep(depth) }]);
    const addItems = 'select added from jobtree.add_items($1, $2)';
    await db.query(addItems, [id, items(256)]);
    await expect(db.query(addItems, [id, items(257)])).rejects.toMatchObject({
      code: 'JT002',
      message: tooDeep,
      column: 'items[1].payload',
    });
    const create = 'select job_id from jobtree.create_job($1)';
    const tree = (depth: number) =>
      JSON.stringify({
        type: 'sql',
        children: [{ type: 'sql', items: [{ payload: deep(depth), priority: 1 }] }],
      });
    await db.query(create, [tree(256)]);
    await expect(db.query(create, [tree(257)])).rejects.toMatchObject({
      code: 'JT002',
      column: 'children[0].items[0].payload',
    });
    const [assignment] = await claim('sql', 1);
    const outcome = async (depth: number) =>
      (
        await db.query<{ answers: { status: string; message: string }[] | null }>(
          'select answers from jobtree.report_outcomes($1)',
          [
            JSON.stringify([
              { assignmentId: assignment?.id.slice('Assignment:'.length), result: deep(depth) },
            ]),
          ],
        )
      )[0]?.answers?.[0];
    expect(await outcome(257)).toMatchObject({ status: 'INVALID', message: tooDeep });
    expect((await outcome(256))?.status ?? 'ACCEPTED').toBe('ACCEPTED');
  });

  it('in what a feed wraps', async () => {
    await createJob(app.url, {
      type: 'wrapped',
      items: [{ payload: deep(256) }, {}, {}, { payload: deep(256) }],
      children: [{ type: 'wrap', feed: { payload: { a: 'result', b: 'payload' } } }],
    });
    const assignments = await claim('wrapped');
    const status = async (i: number, result: unknown) =>
      (await report([{ assignmentId: assignments[i]?.id, outcome: { success: { result } } }]))[0];
    const refused = {
      status: 'INVALID',
      error: { message: expect.stringContaining('nested more than 256') },
    };
    expect(await status(0, 1)).toEqual(refused);
    expect(await status(1, deep(256))).toEqual(refused);
    expect(await status(2, deep(255))).toEqual({ status: 'ACCEPTED', error: null });
  });

  it('in what the client sends', async () => {
    const client = createClient({ url: app.url });
    const id = await createJob(app.url, { type: 'client' });
    await client.addItems(id, [{ payload: deep(256) }]);
    await expect(client.addItems(id, [{ payload: deep(257) }])).rejects.toThrow(/more than 256 levels deep/);
    await client.close();
  });
});

describe('a deeper payload from SQL', () => {
  /** Gives an item of a job such a payload, as older versions took them. */
  const store = (jobId: string, index: number, depth: number) =>
    db.query(
      `update jobtree.job_item set payload = $3::json where job_id = $1
       and position = (select position from jobtree.job_item where job_id = $1 order by position offset $2 limit 1)`,
      [jobId.slice('Job:'.length), index, `${'['.repeat(depth)}1${']'.repeat(depth)}`],
    );

  it('is shown, or refused for that item alone', async () => {
    const id = await createJob(app.url, { type: 'old', items: [{}, {}, {}, {}] });
    for (const [i, depth] of [0, 900, 4_098, 0].entries()) await store(id, i, depth);
    const list = 'query ($id: ID!) { job(id: $id) { items { nodes { id payload } } } }';
    const watch = 'subscription ($id: ID!) { jobItems(jobId: $id) { items { id payload } } }';
    const check = (nodes: { payload: unknown }[], errors: unknown) => {
      expect(nodes.map(({ payload }) => payload)).toMatchObject([1, [expect.anything()], null, 1]);
      expect(errors).toMatchObject([{ extensions: { code: 'TOO_DEEP' } }]);
    };
    const answer = await request(app.url, list, { id });
    check(answer.data.job.items.nodes, answer.errors);
    const [event] = await collectSse(app.url, list, { id });
    check(event.data.job.items.nodes, event.errors);
    const watching = subscribe(app.url, watch, { id });
    for await (const { data: shown, errors } of watching) {
      check(shown.jobItems.items, errors);
      break;
    }
    await watching.close();
  });

  it('fails for good when it is claimed, and a worker processes the others', async () => {
    const id = await createJob(app.url, { type: 'work', sealed: true, items: [{}, {}, {}] });
    await store(id, 1, 4_098);
    const client = createClient({ url: app.url });
    const worker = new Worker({ client, types: { work: { concurrency: 3, handler: () => 'done' } } });
    await worker.start();
    for await (const progress of client.watchJob(id)) if (progress.status === 'COMPLETED') break;
    const { nodes } = await client.items(id);
    expect(
      nodes.map(({ payload, status, failures }) => [payload, status, failures.map(({ code }) => code)]),
    ).toEqual([
      [null, 'SUCCEEDED', []],
      [null, 'FAILED', ['PAYLOAD_TOO_DEEP']],
      [null, 'SUCCEEDED', []],
    ]);
    await worker.stop();
    await client.close();
  });
});
