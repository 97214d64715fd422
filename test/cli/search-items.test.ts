/** `jobtree items --find`, and the client's search, page after page. */
import { expect, it } from 'vitest';
import { useServer } from '../support/use-server.ts';
import { run } from './program.ts';

const server = useServer();

it('items are found by their payloads, beyond the items that one call looks at, up to the limit', async () => {
  const { id } = await server.client.createJob({ type: 'found' });
  await server.client.addItems(
    id,
    Array.from({ length: 10_200 }, (_, n) => ({
      payload: { customer: { id: n }, name: n > 10_000 ? 'Ada' : 'Bo' },
    })),
  );
  await server.client.addItems(id, [{ payload: { name: 'Grace' }, dedupeKey: 'grace', priority: 1 }]);
  const [assignment] = await server.client.claimItems('worker', [{ type: 'found', limit: 1 }]);
  await server.client.reportOutcomes([
    { assignmentId: assignment?.id ?? '', failure: { code: 'LOST', message: 'gone', permanent: true } },
  ]);
  const find = async (...args: string[]) => run(['items', id, '--json', ...args], { env: server.env });
  const payloadsOf = (stdout: string) =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).payload);
  expect(payloadsOf((await find('--find', '10100', '--path', 'customer.id')).stdout)).toEqual([
    { customer: { id: 10_100 }, name: 'Ada' },
  ]);
  expect(payloadsOf((await find('--find', 'ada', '--limit', '150')).stdout)).toHaveLength(150);
  expect((await run(['items', id, '--find', 'Linus'], { env: server.env })).stdout).toBe(
    (await run(['items', id, '--status', 'cancelled'], { env: server.env })).stdout,
  );
  expect(await find('--path', 'customer.id')).toMatchObject({ code: 2 });
  expect(await find('--find', 'a', '--status', 'failed')).toMatchObject({ code: 2 });
  expect(await find('--find', 'a', '--path', 'a..b')).toMatchObject({
    stderr: expect.stringContaining('path has an empty part'),
  });
  expect(payloadsOf((await find('--dedupe-key', 'grace')).stdout)).toEqual([{ name: 'Grace' }]);
  expect(payloadsOf((await find('--code', 'LOST', 'NONE')).stdout)).toEqual([{ name: 'Grace' }]);
  expect(await find('--code', 'NONE', '--dedupe-key', 'grace')).toMatchObject({ code: 0, stdout: '' });
  const first = await server.client.searchItems(id, { text: 'ada' });
  expect(first).toMatchObject({ nodes: [], searched: 10_000, nextFrom: expect.any(String) });
  const next = await server.client.searchItems(id, { text: 'ada', from: first.nextFrom as string, first: 3 });
  expect(next.nodes).toHaveLength(3);
});
