import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FairShare } from '../../src/server/fair-share.ts';

/** Does something all the time, in many turns of the event loop. */
async function keepBusy(ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const pause = performance.now() + 5;
    while (performance.now() < pause);
    await nextTurn();
  }
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

test('a busy process: who tells waits longer than it told, and all who tell together', async () => {
  const fairShare = new FairShare();
  await keepBusy(150);
  const ms = await took(() => Promise.all([fairShare.pay(5), fairShare.pay(5)]));
  expect(ms).toBeGreaterThan(60);
});

test('a process with time to spare: nobody waits', async () => {
  const fairShare = new FairShare();
  let isPaid = false;
  void fairShare.pay(60_000).then(() => {
    isPaid = true;
  });
  await nextTurn();
  expect(isPaid).toBe(true);
});
