/** Lists without cursors go on after the place of their last entry: nothing is left out or comes twice, also where many entries are equal. */
import { describe, expect, it } from 'vitest';
import { data } from '../support/api.ts';
import { claim, failAll } from '../support/dashboard.ts';
import { useServer } from '../support/use-server.ts';

describe('a list goes on after its last entry', () => {
  const { app, client } = useServer();

  /** Reads pages of 3 until one is shorter. */
  async function all<T>(read: (last: T | undefined) => Promise<T[]>): Promise<T[]> {
    const found: T[] = [];
    for (;;) {
      const page = await read(found.at(-1));
      found.push(...page);
      if (page.length < 3) return found;
    }
  }
  const items = (count: number, more: (n: number) => object = () => ({})) =>
    Array.from({ length: count }, (_, n) => ({ payload: { n }, ...more(n) }));

  it('of the items of a group, and refuses one that is no dead letter', async () => {
    const { id } = await client.createJob({
      type: 'dead',
      sealed: true,
      maxFailuresPerItem: 0,
      items: items(8),
    });
    await failAll(app.url, 'dead', 'BAD', 'It is bad');
    const [group] = await client.deadLetterGroups({ types: ['dead'] });
    const read = async (after: string | undefined): Promise<{ id: string; payloadBeginning: string }[]> => {
      const { node } = await data(
        app.url,
        `query ($id: ID!, $after: ID) {
          node(id: $id) { ... on DeadLetterGroup { items(first: 3, after: $after) { id payloadBeginning } } }
        }`,
        { id: group?.id, after },
      );
      return node.items;
    };
    const found = await all<Awaited<ReturnType<typeof read>>[number]>((last) => read(last?.id));
    expect(new Set(found.map(({ payloadBeginning }) => payloadBeginning))).toEqual(
      new Set(items(8).map(({ payload }) => JSON.stringify(payload))),
    );
    expect(found).toHaveLength(8);
    const gone = found[2]?.id ?? '';
    await client.discardDeadLetters({ itemIds: [gone] });
    await expect.poll(async () => (await client.deadLetterGroups({ types: ['dead'] }))[0]?.count).toBe(7);
    await expect(read(gone)).rejects.toThrow('no dead letter of the group');
    await expect(read(`${id.replace('Job:', 'JobItem:')}:99`)).rejects.toThrow('no dead letter');
  });

  it('of held items, also after one that was finished', async () => {
    await client.createJob({ type: 'held', items: items(8) });
    await data(app.url, claim, { type: 'held' });
    type Held = { itemId: string; claimedAt: string };
    const read = async (after: Held | undefined): Promise<Held[]> =>
      (
        await data(
          app.url,
          `query ($after: HeldItemPlaceInput) { heldItems(types: ["held"], first: 3, after: $after) { itemId claimedAt } }`,
          { after },
        )
      ).heldItems;
    const found = await all(read);
    expect(new Set(found.map(({ itemId }) => itemId)).size).toBe(8);
    expect(found).toHaveLength(8);
    const { assignments } = await data(
      app.url,
      '{ heldItems(types: ["held"], first: 4) { assignmentId } }',
    ).then(({ heldItems }) => ({ assignments: heldItems as { assignmentId: string }[] }));
    await data(
      app.url,
      `mutation ($reports: [ReportInput!]!) {
        reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status } } }
      }`,
      {
        reports: assignments.map(({ assignmentId }) => ({
          assignmentId,
          outcome: { success: { result: 1 } },
        })),
      },
    );
    expect(await read(found[2])).toEqual(found.slice(4, 7));
  });

  it('of serialize keys, but not together with names', async () => {
    await client.createJob({ type: 'keyed', items: items(16, (n) => ({ serializeKey: `key ${n % 8}` })) });
    type Key = { key: string; blocked: number };
    const read = async (after: Key | undefined): Promise<Key[]> =>
      (
        await data(
          app.url,
          `query ($after: SerializeKeyPlaceInput) { serializeKeys(first: 3, after: $after) { key blocked } }`,
          { after },
        )
      ).serializeKeys;
    expect((await all(read)).map(({ key }) => key)).toEqual(items(8).map((_, n) => `key ${n}`));
    await expect(
      data(app.url, '{ serializeKeys(keys: ["a"], after: { blocked: 1, key: "a" }) { key } }'),
    ).rejects.toThrow('after goes without keys');
  });

  it('payloads of more than 100 kB have no beginning', async () => {
    const payloads = ['a'.repeat(300), 'b'.repeat(200_000)];
    const { id } = await client.createJob({ type: 'long', items: payloads.map((payload) => ({ payload })) });
    const { job } = await data(app.url, `{ job(id: "${id}") { items { nodes { payloadBeginning } } } }`);
    expect(job.items.nodes).toEqual([
      { payloadBeginning: `"${'a'.repeat(199)}` },
      { payloadBeginning: null },
    ]);
  });
});
