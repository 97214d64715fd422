/** When `jobtree watch` says that nobody works on a type. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { Standstills } from '../../src/cli/standstills.ts';
import type { Client, JobProgress } from '../../src/client/index.ts';

const types = new Map([
  ['Job:1', 'busy'],
  ['Job:2', 'waiting'],
]);
const job = (jobId: string, itemProgress: number) =>
  ({ jobId, itemProgress, itemCount: 100, completedAt: null }) as JobProgress;

function watchTree() {
  vi.useFakeTimers();
  const handled = new Set(['busy', 'waiting']);
  const client = {
    queues: { get: async () => undefined },
    workers: async () => [{ types: [...handled].map((type) => ({ type })) }],
  } as unknown as Client;
  const said: string[] = [];
  const standstills = new Standstills(client, types, (type) => said.push(type));
  onTestFinished(() => {
    standstills.end();
    vi.useRealTimers();
  });
  return { handled, said, standstills };
}

it('says at once what a job waits for when the watch begins', async () => {
  const { handled, said, standstills } = watchTree();
  handled.delete('waiting');
  standstills.changed([job('Job:1', 0), job('Job:2', 0)]);
  await vi.advanceTimersByTimeAsync(0);
  expect(said).toEqual(['waiting']);
});

it('says what a job waits for while others in its tree go on', async () => {
  const { handled, said, standstills } = watchTree();
  standstills.changed([job('Job:1', 0), job('Job:2', 0)]);
  await vi.advanceTimersByTimeAsync(0);
  handled.delete('waiting');
  for (let i = 1; i <= 10; i++) {
    standstills.changed([job('Job:1', i), job('Job:2', 0)]);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(said).toEqual(['waiting']);
});
