/** Why items failed, over the API: of one item its last failure and its group, of a tree its dead letters by group. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobSpec } from '../../src/client/index.ts';
import type { App } from '../../src/server/create-app.ts';
import { data, request, work } from '../support/api.ts';
import { claim, failAll } from '../support/dashboard.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app, client } = useServer();

const create = async (job: JobSpec) => (await client.createJob(job)).id;
const causes = 'treeDeadLetters { groups { groupId type code pattern count } hasMore }';
const ofTree = async (id: string) =>
  (await data(app.url, `{ job(id: "${id}") { ${causes} } }`)).job.treeDeadLetters;
const itemsOf = async (id: string) =>
  (
    await data(
      app.url,
      `{ job(id: "${id}") { items { nodes { id status deadLetterGroupId lastFailure { attempt code message at worker stack } } } } }`,
    )
  ).job.items.nodes;

/** One attempt of each ready item of a type, which fails. */
async function fail(type: string, message: string, failure: Record<string, unknown> = {}): Promise<void> {
  const { claimItems } = await data(app.url, claim, { type });
  await data(
    app.url,
    `mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } } }`,
    {
      reports: claimItems.assignments.map(({ id }: { id: string }) => ({
        assignmentId: id,
        outcome: { failure: { code: 'E', message, ...failure } },
      })),
    },
  );
}

describe('the last failure of an item', () => {
  it('is told of one that failed for good or is retried, with its stack, and of no other', async () => {
    const id = await create({ type: 'last', maxFailuresPerItem: 1, items: [{}] });
    const last = async () => (await itemsOf(id))[0];
    expect(await last()).toMatchObject({ status: 'READY', lastFailure: null });
    await fail('last', 'the first', { retryAfterMs: 3_600_000 });
    expect(await last()).toMatchObject({
      status: 'RETRYING',
      deadLetterGroupId: null,
      lastFailure: { attempt: 1, code: 'E', message: 'the first', worker: 'test', stack: null },
    });
    await client.promoteItems({ jobId: id });
    expect(await last()).toMatchObject({ status: 'READY', lastFailure: null });
    await fail('last', 'the second', { stack: 'at work' });
    expect(await last()).toMatchObject({
      status: 'FAILED',
      lastFailure: { attempt: 2, message: 'the second', at: expect.any(String), stack: 'at work' },
    });
    await client.replayDeadLetters({ jobId: id });
    expect(await work(app.url, 'last', 1)).toBe(1);
    expect(await last()).toMatchObject({ status: 'SUCCEEDED', lastFailure: null, deadLetterGroupId: null });
  });

  it('is the newest of more failures than are kept', async () => {
    const id = await create({ type: 'often', maxFailuresPerItem: 50, backoffMs: [0], items: [{}] });
    for (let attempt = 1; attempt <= 43; attempt++)
      await fail('often', `attempt ${attempt}`, { retryAfterMs: attempt === 43 ? 3_600_000 : 0 });
    expect(await itemsOf(id)).toMatchObject([
      { status: 'RETRYING', lastFailure: { attempt: 43, message: 'attempt 43' } },
    ]);
  });
});

it('the group of an item leads to its dead letters, until it is discarded', async () => {
  const id = await create({ type: 'grouped', maxFailuresPerItem: 0, items: [{}, {}] });
  await failAll(app.url, 'grouped', 'GONE', 'Customer 17 is gone');
  const [{ id: itemId, deadLetterGroupId }, other] = await itemsOf(id);
  expect(other.deadLetterGroupId).toBe(deadLetterGroupId);
  const { node } = await data(
    app.url,
    `{ node(id: "${deadLetterGroupId}") { ... on DeadLetterGroup { pattern items { id } } } }`,
  );
  expect(node).toEqual({ pattern: 'Customer … is gone', items: expect.arrayContaining([{ id: itemId }]) });
  await client.discardDeadLetters({ itemIds: [itemId] });
  expect(await itemsOf(id)).toMatchObject([
    { status: 'FAILED', deadLetterGroupId: null, lastFailure: { code: 'GONE' } },
    { status: 'FAILED', deadLetterGroupId },
  ]);
});

describe('the dead letters of a tree', () => {
  it('are counted by group over all its jobs, and asked for at any of them', async () => {
    const id = await create({
      type: 'many',
      maxFailuresPerItem: 0,
      items: [{}, {}, {}],
      children: [
        { type: 'few', maxFailuresPerItem: 0, items: [{}] },
        { type: 'fine', items: [{}] },
      ],
    });
    // The same cause in another tree is not counted.
    await create({ type: 'many', maxFailuresPerItem: 0, items: [{}] });
    expect(await ofTree(id)).toEqual({ groups: [], hasMore: false });
    await failAll(app.url, 'many', 'TIMEOUT', 'No answer within 5 s');
    await failAll(app.url, 'few', 'ADDRESS', 'No such street');
    await work(app.url, 'fine', 1);
    const group = { groupId: expect.stringMatching(/^DeadLetterGroup:/) };
    const expected = {
      groups: [
        { ...group, type: 'many', code: 'TIMEOUT', pattern: 'No answer within … s', count: 3 },
        { ...group, type: 'few', code: 'ADDRESS', pattern: 'No such street', count: 1 },
      ],
      hasMore: false,
    };
    expect(await ofTree(id)).toEqual(expected);
    const { job } = await data(app.url, `{ job(id: "${id}") { children { id } } }`);
    for (const child of job.children) expect(await ofTree(child.id)).toEqual(expected);
    const [inAll] = await client.deadLetterGroups({ types: ['many'] });
    expect(inAll).toMatchObject({ id: (await ofTree(id)).groups[0].groupId, count: 4 });
    await client.discardDeadLetters({ jobId: id, types: ['many'] });
    expect(await ofTree(id)).toEqual({ groups: expected.groups.slice(1), hasMore: false });
  });

  const bury = (id: string, count: number, groups: number) =>
    db.query(
      `insert into jobtree.dead_letter (job_id, position, type, died_at, code, pattern, fingerprint)
       select $1::uuid, n, 'buried', now(), 'E' || n % $3, 'no', md5((n % $3)::text)::uuid from generate_series(1, $2::int) n`,
      [id.slice(4), count, groups],
    );

  it('has the 20 largest groups, and says that there are more', async () => {
    const id = await create({ type: 'buried' });
    await bury(id, 20, 20);
    expect(await ofTree(id)).toMatchObject({ hasMore: false });
    const other = await create({ type: 'buried' });
    await bury(other, 22, 21);
    const { groups, hasMore } = await ofTree(other);
    expect(groups.map(({ count }: { count: number }) => count)).toEqual([2, ...Array(19).fill(1)]);
    expect(hasMore).toBe(true);
  });

  it('counts 10,000 of a tree, and says that there may be more', async () => {
    const id = await create({ type: 'buried' });
    await bury(id, 9_999, 1);
    expect(await ofTree(id)).toMatchObject({ groups: [{ count: 9_999 }], hasMore: false });
    const other = await create({ type: 'buried' });
    await bury(other, 10_001, 1);
    expect(await ofTree(other)).toMatchObject({ groups: [{ count: 10_000 }], hasMore: true });
  });
});

describe('with keys', () => {
  let guarded: App;
  beforeAll(async () => {
    guarded = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  });
  afterAll(() => guarded.close());

  /** As the holder of a key sees the tree. */
  async function seen(id: string, options: Parameters<typeof makeKey>[2]) {
    const { key } = await makeKey(db, ['watcher'], options);
    const answer = await request(guarded.url, `{ job(id: "${id}") { ${causes} } }`, {}, bearer(key));
    expect(answer.errors).toBeUndefined();
    return answer.data.job?.treeDeadLetters;
  }

  it('the dead letters of a tree are told to those who may see all of it', async () => {
    const children = [{ type: 'secret', maxFailuresPerItem: 0, items: [{}] }];
    const id = await create({ type: 'open', children });
    await failAll(app.url, 'secret', 'E', 'not for everybody');
    for (const scope of [{}, { types: ['open', 'secret'] }, { rootIds: [id.slice(4)] }])
      expect(await seen(id, scope)).toMatchObject({ groups: [{ type: 'secret', count: 1 }] });
    expect(await seen(id, { types: ['open'] })).toBeNull();
  });

  it('a tenant reads its own names', async () => {
    const id = await create({ type: 'acme//mail', maxFailuresPerItem: 0, items: [{}] });
    await failAll(app.url, 'acme//mail', 'E', 'no');
    expect(await seen(id, { tenant: 'acme' })).toMatchObject({ groups: [{ type: 'mail' }] });
  });
});
