/** Exporting results with the client: what breaks off goes on. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
let proxy: TcpProxy;
beforeAll(async () => {
  proxy = await startProxy(server.url);
});
afterAll(() => proxy.close());

async function makeResults(type: string, count: number, size: number): Promise<string> {
  const { id } = await server.client.createJob({
    type,
    items: Array.from({ length: count }, (_, payload) => ({ payload })),
    sealed: true,
  });
  for (let done = 0; done < count; ) {
    const items = await server.client.claimItems('w', [{ type, limit: 50 }]);
    done += items.length;
    await server.client.reportOutcomes(
      items.map((item) => ({ assignmentId: item.id, result: 'r'.repeat(size) })),
    );
  }
  return id;
}

it('a connection that breaks during an export loses and repeats no line', async () => {
  const id = await makeResults('broken', 200, 100_000);
  const client = createClient({ url: proxy.url });
  const { lines } = await client.exportResults(id);
  const payloads: number[] = [];
  for await (const line of lines) {
    payloads.push(JSON.parse(line).payload);
    if (payloads.length % 60 === 30) {
      proxy.cut();
      proxy.mend();
    }
  }
  expect(payloads).toEqual(Array.from({ length: 200 }, (_, n) => n));
  await client.close();
});

it('a server that stays away ends an export after retryMs, and refusals are thrown', async () => {
  const id = await makeResults('away', 200, 100_000);
  const client = createClient({ url: proxy.url, retryMs: 100 });
  const { lines } = await client.exportResults(id);
  const read = async () => {
    let count = 0;
    for await (const _ of lines) if (++count === 1) proxy.cut();
  };
  await expect(read()).rejects.toMatchObject({ code: 'UNREACHABLE' });
  proxy.mend();
  await expect(client.exportResults(id, { after: 'x' })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: 'after',
  });
  await expect(client.exportResults('Job:01890000-0000-7000-8000-000000000000')).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
  await client.close();
});

it('a signal ends an export', async () => {
  const id = await makeResults('signal', 200, 100_000);
  const controller = new AbortController();
  const { lines } = await server.client.exportResults(id, { signal: controller.signal });
  const read = async () => {
    for await (const _ of lines) controller.abort(new Error('enough'));
  };
  await expect(read()).rejects.toThrow('enough');
});
