/** JSON of less than a megabyte that takes as long to parse as more of it, since each of its keys is another: it takes turns as large requests do. */
import { expect, it } from 'vitest';
import { isLargeJson, readJsonBody } from '../../src/server/http/request-body.ts';
import { SocketInbox } from '../../src/server/sockets/socket-inbox.ts';

const members = (count: number, keyOf: (i: number) => string) =>
  `{${Array.from({ length: count }, (_, i) => `"${keyOf(i)}":1`).join(',')}}`;
const manyKeys = Buffer.from(members(20_000, (i) => `key${i}`));
const fewKeys = Buffer.from(members(20_000, (i) => `key${i % 100}`));

it('is told from what only looks like it', () => {
  expect(manyKeys.length).toBeLessThan(1_000_000);
  expect(isLargeJson(manyKeys)).toBe(true);
  const objects = Array.from({ length: 2_000 }, (_, i) => members(10, (j) => `${i}/${j}`));
  expect(isLargeJson(Buffer.from(`[${objects.join()}]`))).toBe(true);
  expect(isLargeJson(fewKeys)).toBe(false);
  expect(isLargeJson(Buffer.from(members(9_000, (i) => `key${i}`)))).toBe(false);
  expect(isLargeJson(Buffer.from(JSON.stringify({ text: ':'.repeat(500_000) })))).toBe(false);
  expect(isLargeJson(Buffer.from('['.repeat(900_000)))).toBe(false);
});

it('over HTTP is not parsed before its turn', async () => {
  const read: string[] = [];
  const all = [
    readJsonBody(manyKeys, { account: 'a' }).then(() => read.push('many keys')),
    readJsonBody(fewKeys, { account: 'b' }).then(() => read.push('few keys')),
  ];
  await Promise.all(all);
  expect(read).toEqual(['few keys', 'many keys']);
});

it('on a WebSocket is not handled before its turn, and what follows it waits', async () => {
  const handled: number[] = [];
  const inbox = new SocketInbox({
    handle: (_, bytes) => void handled.push(bytes),
    refuse: () => expect.unreachable(),
    isOpen: () => true,
    owner: () => ({ account: 'a' }),
    onWaiting: () => {},
  });
  inbox.receive(fewKeys);
  expect(handled).toEqual([fewKeys.length]);
  inbox.receive(manyKeys);
  inbox.receive(fewKeys);
  expect(handled).toHaveLength(1);
  await expect.poll(() => handled).toEqual([fewKeys.length, manyKeys.length, fewKeys.length]);
});
