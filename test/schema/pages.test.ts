/** Pages while what they show changes: nothing is left out, nothing comes twice; and cursors that are none. */
import { describe, expect, it } from 'vitest';
import { itemStatuses, pendingStatuses } from '../../src/domain/items/item-state.ts';
import { createJob, data, request, work } from '../support/api.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
const itemsOf = async (id: string, args: string) =>
  (
    await data(
      app.url,
      `query ($id: ID!) { job(id: $id) { items(${args}) { nodes { payload } ${pageInfo} } } }`,
      { id },
    )
  ).job.items;
const resultsOf = async (id: string, args: string) =>
  (
    await data(
      app.url,
      `query ($id: ID!) { job(id: $id) { results(${args}) { nodes { payload } ${pageInfo} } } }`,
      { id },
    )
  ).job.results;
const jobsOf = async (args: string) =>
  (await data(app.url, `{ jobs(${args}) { nodes { id } ${pageInfo} } }`)).jobs;
const payloads = (page: { nodes: { payload: number }[] }) => page.nodes.map(({ payload }) => payload);
const ids = (page: { nodes: { id: string }[] }) => page.nodes.map(({ id }) => id);
const numbers = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i }));

it('refuses an empty list of statuses', async () => {
  const id = await createJob(app.url, { type: 'none', items: [{}] });
  const query = 'query ($id: ID!) { job(id: $id) { items(statuses: []) { nodes { id } } } }';
  const { errors } = await request(app.url, query, { id });
  expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_INPUT', field: 'statuses' });
});

it('counts the items of a job, all or by status, from its progress', async () => {
  const id = await createJob(app.url, { type: 'counted', sealed: true, items: numbers(9) });
  await work(app.url, 'counted', 3);
  const counts = async () => {
    const totals = [['PENDING', pendingStatuses], ...itemStatuses.map((status) => [status, status])]
      .map(
        ([name, statuses]) => `${name}: items(first: 0, statuses: [${statuses}]) { totalCount nodes { id } }`,
      )
      .join(' ');
    const query = `query ($id: ID!) { job(id: $id) { all: items(first: 2) { totalCount } ${totals} } }`;
    return (await data(app.url, query, { id })).job;
  };
  const none = (totalCount: number | null) => ({ totalCount, nodes: [] });
  await expect.poll(counts).toEqual({
    all: { totalCount: 9 },
    PENDING: none(6),
    // Counted together only.
    ...Object.fromEntries(pendingStatuses.map((status) => [status, none(null)])),
    SUCCEEDED: none(3),
    FAILED: none(0),
    CANCELLED: none(0),
  });
  const failed = await data(
    app.url,
    `mutation { claimItems(input: { worker: "w", requests: [{ type: "counted", limit: 2 }] }) {
      ... on ClaimItemsPayload { assignments { id } }
    } }`,
  );
  await data(
    app.url,
    'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { __typename } }',
    {
      reports: failed.claimItems.assignments.map(({ id }: { id: string }) => ({
        assignmentId: id,
        outcome: { failure: { code: 'E', message: 'no', permanent: true } },
      })),
    },
  );
  await data(app.url, 'mutation ($id: ID!) { cancelJob(input: { jobId: $id }) { __typename } }', { id });
  await expect.poll(counts).toMatchObject({
    all: { totalCount: 9 },
    PENDING: { totalCount: 0 },
    SUCCEEDED: { totalCount: 3 },
    FAILED: { totalCount: 2 },
    CANCELLED: { totalCount: 4 },
  });
});

describe('a filter that the row of the cursor no longer meets', () => {
  it('skips no item', async () => {
    const id = await createJob(app.url, { type: 'walked', items: numbers(9) });
    const seen: number[] = [];
    let after = '';
    for (let more = true; more; ) {
      const page = await itemsOf(id, `statuses: [READY], first: 3${after}`);
      seen.push(...payloads(page));
      after = `, after: "${page.pageInfo.endCursor}"`;
      more = page.pageInfo.hasNextPage;
      await work(app.url, 'walked', 3);
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('skips no item backwards', async () => {
    const id = await createJob(app.url, { type: 'walked back', items: numbers(6) });
    const last = await itemsOf(id, 'statuses: [READY], last: 2');
    expect([payloads(last), last.pageInfo.hasPreviousPage]).toEqual([[4, 5], true]);
    await work(app.url, 'walked back', 5);
    await db.query(
      `delete from jobtree.outcome where job_id = $1 and position in (
      select position from jobtree.job_item where job_id = $1 and payload::text in ('1', '2', '3'))`,
      [id.slice(4)],
    );
    await db.query(
      `insert into jobtree.queue_entry (job_id, position, place, bytes, attempt, count, priority, type)
       select job_id, min(position), min(position), 3, 1, 3, 0, 'walked back' from jobtree.job_item
       where job_id = $1 and payload::text in ('1', '2', '3') group by job_id`,
      [id.slice(4)],
    );
    const previous = await itemsOf(id, `statuses: [READY], last: 2, before: "${last.pageInfo.startCursor}"`);
    expect([payloads(previous), previous.pageInfo.hasPreviousPage]).toEqual([[2, 3], true]);
    const first = await itemsOf(id, `statuses: [READY], last: 2, before: "${previous.pageInfo.startCursor}"`);
    expect([payloads(first), first.pageInfo.hasPreviousPage]).toEqual([[1], false]);
  });

  it('skips no job', async () => {
    const created: string[] = [];
    for (let i = 0; i < 6; i++) created.push(await createJob(app.url, { type: 'listed', items: [{}] }));
    const filter = 'filter: { types: "listed", statuses: WAITING }';
    for (const order of ['OLDEST_FIRST', 'NEWEST_FIRST']) {
      const expected = order === 'OLDEST_FIRST' ? created : created.toReversed().slice(0, 4);
      const page = await jobsOf(`${filter}, order: ${order}, first: 2`);
      expect(ids(page)).toEqual(expected.slice(0, 2));
      const cursor = page.pageInfo.endCursor;
      await db.query(`update jobtree.job_progress set started_at = now() where job_id = any ($1)`, [
        ids(page).map((id: string) => id.slice(4)),
      ]);
      const next = await jobsOf(`${filter}, order: ${order}, first: 2, after: "${cursor}"`);
      expect(ids(next)).toEqual(expected.slice(2, 4));
      const back = await jobsOf(`${filter}, order: ${order}, last: 2, before: "${cursor}"`);
      expect(ids(back)).toEqual([]);
    }
  });

  it('skips no result, over several final stages, in both directions', async () => {
    const id = await createJob(app.url, {
      type: 'stages',
      sealed: true,
      children: [
        { type: 'stage a', items: numbers(3) },
        { type: 'stage b', items: numbers(2) },
        { type: 'stage c', items: numbers(2) },
      ],
    });
    for (const stage of ['a', 'b', 'c']) await work(app.url, `stage ${stage}`, 9);
    const all = payloads(await resultsOf(id, 'first: 100'));
    expect(all).toEqual([0, 1, 2, 0, 1, 0, 1]);
    const forwards: number[] = [];
    for (let after = '', more = true; more; ) {
      const page = await resultsOf(id, `first: 2${after}`);
      forwards.push(...payloads(page));
      after = `, after: "${page.pageInfo.endCursor}"`;
      more = page.pageInfo.hasNextPage;
    }
    expect(forwards).toEqual(all);
    const backwards: number[] = [];
    for (let before = '', more = true; more; ) {
      const page = await resultsOf(id, `last: 2${before}`);
      backwards.unshift(...payloads(page));
      before = `, before: "${page.pageInfo.startCursor}"`;
      more = page.pageInfo.hasPreviousPage;
    }
    expect(backwards).toEqual(all);
    const first = await resultsOf(id, 'first: 2');
    await db.query(
      `update jobtree.outcome set failed = true where job_id in (select id from jobtree.job where type = 'stage a')`,
    );
    expect(payloads(await resultsOf(id, `first: 3, after: "${first.pageInfo.endCursor}"`))).toEqual([
      0, 1, 0,
    ]);
  });
});

it('a page lies between two cursors, and may be empty', async () => {
  const id = await createJob(app.url, { type: 'between', items: numbers(6) });
  const { startCursor, endCursor } = (await itemsOf(id, 'first: 5')).pageInfo;
  expect(payloads(await itemsOf(id, `first: 9, after: "${startCursor}", before: "${endCursor}"`))).toEqual([
    1, 2, 3,
  ]);
  expect(payloads(await itemsOf(id, `first: 2, before: "${endCursor}"`))).toEqual([0, 1]);
  expect(payloads(await itemsOf(id, `last: 2, after: "${startCursor}"`))).toEqual([4, 5]);
  const empty = await itemsOf(id, 'statuses: [FAILED]');
  expect(empty).toEqual({
    nodes: [],
    pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
  });
});

describe('refuses an invalid cursor by name', () => {
  it.each(['after', 'before'])('%s', async (field) => {
    const id = await createJob(app.url, { type: 'cursors', sealed: true, items: numbers(2) });
    await work(app.url, 'cursors', 2);
    const cursors = {
      jobs: (await jobsOf('first: 1')).pageInfo.endCursor,
      items: (await itemsOf(id, 'first: 1')).pageInfo.endCursor,
      results: (await resultsOf(id, 'first: 1')).pageInfo.endCursor,
    };
    const encode = (text: string) => Buffer.from(text).toString('base64');
    const nonsense = [
      '',
      ' ',
      'junk',
      '%',
      '\u0000',
      'é',
      encode(''),
      encode('nonsense'),
      encode('items:'),
      encode('items:x'),
      encode('items:-1'),
      encode('items:1e3'),
      encode('items:01'),
      encode(`items:${'9'.repeat(19)}`),
      encode(`items:${'9'.repeat(400)}`),
      encode('jobs:1'),
      encode('results:1:1'),
      encode('\0'),
      encode('GPC:S:x'),
      encode('GPC:J:[1]'),
      encode(JSON.stringify({ id: 1 })),
    ];
    for (const list of ['jobs', 'items', 'results'] as const) {
      const others = Object.entries(cursors).filter(([name]) => name !== list);
      for (const cursor of [...nonsense, ...others.map(([, other]) => other)]) {
        const selection = `${list}(${field}: $cursor) { nodes { id } }`;
        const { errors } = await request(
          app.url,
          list === 'jobs'
            ? `query ($cursor: String) { ${selection} }`
            : `query ($id: ID!, $cursor: String) { job(id: $id) { ${selection} } }`,
          list === 'jobs' ? { cursor } : { id, cursor },
        );
        expect([cursor, errors?.[0]?.extensions]).toEqual([cursor, { code: 'INVALID_INPUT', field }]);
      }
    }
  });

  it.each(['first', 'last'])('nor a size: %s', async (field) => {
    const { errors } = await request(app.url, `{ jobs(${field}: -1) { nodes { id } } }`);
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_INPUT', field });
  });
});
