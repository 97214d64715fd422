/** `jobtree jobs` lists what its options say, in the order that they say. */
import { beforeAll, expect, it } from 'vitest';
import type { Tree } from '../../src/client/index.ts';
import { work } from '../support/api.ts';
import { useServer } from '../support/use-server.ts';
import { run } from './program.ts';

const server = useServer();

beforeAll(async () => {
  for (const [type, dedupeKey, count] of [
    ['mail', 'order-1', 2],
    ['mail', 'order-2', 2],
    ['print', 'other', 3],
  ] as const)
    await server.client.createJob({ type, dedupeKey, sealed: true, items: Array(count).fill({}) });
  await work(server.url, 'mail', 3);
});

const list = async (...options: string[]) => {
  const { stdout } = await run(['jobs', '--json', ...options], { env: server.env });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as Tree).dedupeKey);
};

it('a tree that is complete is listed as such', async () => {
  await expect.poll(() => list('--outcome', 'succeeded')).toEqual(['order-1']);
});

it.each([
  [
    ['--type', 'mail', 'print'],
    ['other', 'order-2', 'order-1'],
  ],
  [
    ['--type', 'mail', '--order', 'oldest'],
    ['order-1', 'order-2'],
  ],
  [
    ['--status', 'running', 'completed'],
    ['order-2', 'order-1'],
  ],
  [
    ['--status', 'running', '--status', 'waiting'],
    ['other', 'order-2'],
  ],
  [['--outcome', 'succeeded', 'failed'], ['order-1']],
  [
    ['--dedupe-key', 'order-'],
    ['order-2', 'order-1'],
  ],
  [
    ['--since', '1h'],
    ['other', 'order-2', 'order-1'],
  ],
  [['--until', '1h'], []],
  [['--completed-since', '1h'], ['order-1']],
  [['--completed-until', '1h'], []],
  [['--failures'], []],
  [
    ['--no-failures', '--limit', '2'],
    ['other', 'order-2'],
  ],
  [
    ['--order', 'most-progress'],
    ['order-2', 'other'],
  ],
  [
    ['--order', 'least-progress'],
    ['other', 'order-2'],
  ],
  [['--order', 'failures'], []],
] as const)('lists by %j', async (options, expected) => {
  expect(await list(...options)).toEqual(expected);
});
