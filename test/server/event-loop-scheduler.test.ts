/** How operations share the event loop with its input, with a clock that only moves when the test says so. */
import { setImmediate as nextRound } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { EventLoopScheduler } from '../../src/server/limits/event-loop-scheduler.ts';

afterEach(() => vi.restoreAllMocks());

it('while input takes much time, operations get as much', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const turns = new EventLoopScheduler();
  let done = 0;
  for (let i = 0; i < 1_000; i++)
    void turns
      .turn({ account: 'a' }, () => false)
      ?.then(() => {
        now += 1;
        done++;
      });
  await nextRound();
  const before = { done, now };
  const rounds = 10;
  const inputMs = 20;
  for (let i = 0; i < rounds; i++) {
    now += inputMs;
    await nextRound();
  }
  expect(done - before.done).toBeGreaterThanOrEqual((rounds - 1) * inputMs);
});

it('of one caller, what keeps leases alive starts first', async () => {
  const turns = new EventLoopScheduler();
  const begun: string[] = [];
  const wait = (name: string, keepsLeases: boolean) =>
    turns.turn({ account: 'a' }, () => keepsLeases)?.then(() => void begun.push(name));
  const all = ['1', '2', '3', '4', 'add 1', 'add 2'].map((name) => wait(name, false));
  all.push(wait('report', true));
  await Promise.all(all);
  expect(begun[0]).toBe('report');
});

it('while connections arrive, they are let in before an operation starts, but not for ever', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const turns = new EventLoopScheduler();
  const begun: string[] = [];
  const wait = (name: string) => {
    const turn = turns.turn({ account: 'a' }, () => false);
    if (turn === undefined) begun.push(name);
    else void turn.then(() => begun.push(name));
  };
  for (let i = 0; i < 5; i++) {
    turns.connected();
    wait(`between ${i}`);
    await nextRound();
  }
  expect(begun).toEqual([]);
  for (let i = 0; i < 3; i++) await nextRound();
  expect(begun).toHaveLength(5);

  turns.connected();
  wait('late');
  for (let i = 0; i < 5; i++) {
    now += 10;
    turns.connected();
    await nextRound();
  }
  expect(begun).toHaveLength(6);
});
