/** Lists while a tree of theirs is deleted: between the read of the list and that of what it shows. The rest of the list is answered. */
import type pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createJob, data } from '../support/api.ts';
import { anyRow } from '../support/locks.ts';
import { useServer } from '../support/use-server.ts';

// Nothing but the test itself may wait for the locks that it holds.
const server = useServer({ JOBTREE_SWEEP_INTERVAL_MS: '60000' });
let holder: pg.Client;
beforeEach(async () => {
  holder = await server.db.connect();
});
afterEach(() => holder.end());

/** Keeps the second read of what `ask` asks waiting, and deletes the trees before it goes on. */
async function deletedBeforeReading<T>(
  table: string,
  jobIds: readonly string[],
  ask: () => Promise<T>,
): Promise<T> {
  const ids = jobIds.map((id) => id.replace('Job:', ''));
  await holder.query(`begin; lock table jobtree.${table} in access exclusive mode`);
  const answer = ask();
  await anyRow(
    server.db,
    `select from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query ~ $1 and query !~ 'jobtree\\.fold'`,
    [`jobtree\\.${table}`],
  );
  // Whatever belongs to them, in any order.
  await holder.query('set local session_replication_role = replica');
  for (const [of, column] of [
    ['lease', 'job_id'],
    ['queue_entry', 'job_id'],
    ['dead_letter', 'job_id'],
    ['outcome', 'job_id'],
    ['job_item', 'job_id'],
    ['job_progress', 'job_id'],
    ['progress_delta', 'root_id'],
    ['job', 'root_id'],
  ])
    await holder.query(`delete from jobtree.${of} where ${column} = any ($1)`, [ids]);
  await holder.query('commit');
  return answer;
}

const tree = (type: string) => ({ type, items: [{ payload: 1 }], children: [{ type: `${type} below` }] });

it('a tree is deleted between reading the page of jobs and their progress, and the others are listed', async () => {
  const [kept, gone] = [await createJob(server.url, tree('page')), await createJob(server.url, tree('page'))];
  const { jobs } = await deletedBeforeReading('job_progress', [gone], () =>
    data(
      server.url,
      `{ jobs(filter: { types: "page" }) { nodes {
        id progress { status } root { id progress { itemCount } } children { id progress { status } } items { totalCount }
      } } }`,
    ),
  );
  expect(jobs.nodes).toEqual([
    {
      id: kept,
      progress: { status: 'WAITING' },
      root: { id: kept, progress: { itemCount: 1 } },
      children: [{ id: expect.any(String), progress: { status: 'WAITING' } }],
      items: { totalCount: 1 },
    },
  ]);
});

it('a tree is deleted between reading its jobs and their progress, and has no jobs', async () => {
  const gone = await createJob(server.url, tree('whole'));
  const { job } = await deletedBeforeReading('job_progress', [gone], () =>
    data(server.url, 'query ($id: ID!) { job(id: $id) { id tree { id progress { status } } } }', {
      id: gone,
    }),
  );
  expect(job).toEqual({ id: gone, tree: [] });
});

it('an item is deleted between reading held items and their details, and its id and the others are shown', async () => {
  const ids = [await createJob(server.url, tree('held')), await createJob(server.url, tree('held'))];
  await data(
    server.url,
    'mutation { claimItems(input: { worker: "w", requests: [{ type: "held", limit: 2 }] }) { __typename } }',
  );
  const { heldItems } = await deletedBeforeReading('job_item', ids.slice(1), () =>
    data(server.url, '{ heldItems(types: ["held"]) { itemId item { payload } } }'),
  );
  expect(
    heldItems.map(({ itemId, item }: any) => [itemId.replace(/Item|:\d+$/g, ''), item]).toSorted(),
  ).toEqual(
    [
      [ids[0], { payload: 1 }],
      [ids[1], null],
    ].toSorted(),
  );
});

async function failFor(type: string, code: string): Promise<string> {
  const id = await createJob(server.url, tree(type));
  const { claimItems } = await data(
    server.url,
    `mutation ($type: String!) { claimItems(input: { worker: "w", requests: [{ type: $type, limit: 1 }] }) { ... on ClaimItemsPayload { assignments { id } } } }`,
    { type },
  );
  const [{ id: assignmentId }] = claimItems.assignments;
  const outcome = { failure: { code, message: 'no', permanent: true } };
  await data(
    server.url,
    'mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { __typename } }',
    { reports: [{ assignmentId, outcome }] },
  );
  return id;
}

it('the last item of a group is deleted between reading groups and examples, and the others are shown', async () => {
  const [kept, gone] = [await failFor('dead', 'KEPT'), await failFor('dead', 'GONE')];
  const { deadLetterGroups } = await deletedBeforeReading('job_item', [gone], () =>
    data(server.url, '{ deadLetterGroups(types: ["dead"]) { code example { id } } }'),
  );
  const byCode = new Map(deadLetterGroups.map((group: any) => [group.code, group.example]));
  expect(byCode).toEqual(
    new Map([
      ['KEPT', { id: expect.stringContaining(kept.slice(4)) }],
      ['GONE', null],
    ]),
  );
});

it('a group is settled between reading the digest and its groups, and the others are shown', async () => {
  const since = new Date(0).toISOString();
  const [, gone] = [await failFor('digest', 'KEPT'), await failFor('digest', 'GONE')];
  const { deadLetterDigest } = await deletedBeforeReading('dead_letter_note', [gone], () =>
    data(
      server.url,
      'query ($since: DateTime!) { deadLetterDigest(since: $since, types: ["digest"]) { count group { code } } }',
      { since },
    ),
  );
  expect(deadLetterDigest).toEqual([{ count: 1, group: { code: 'KEPT' } }]);
});
