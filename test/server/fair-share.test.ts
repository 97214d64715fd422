import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { FairShare } from '../../src/server/fair-share.ts';

afterEach(() => void vi.restoreAllMocks());

/** As if the event loop did something for so much of the time. */
function beBusy(utilization: number): void {
  const of = { active: utilization, idle: 1 - utilization, utilization };
  vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue(of);
}

/** Until it has seen how busy the process is. */
async function tellFor(fairShare: FairShare, ms: number): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) {
    await delay(20);
    await delay(fairShare.price(1));
  }
}

test('a busy process: who tells waits longer than it told, and all who tell together', async () => {
  beBusy(1);
  const fairShare = new FairShare();
  await tellFor(fairShare, 1_500);
  expect(fairShare.price(5)).toBeGreaterThan(30);
  expect(fairShare.price(5)).toBeGreaterThan(60);
});

test('a process with time to spare: who tells waits less than it told', async () => {
  beBusy(0.1);
  const fairShare = new FairShare();
  await tellFor(fairShare, 300);
  await delay(20);
  expect(fairShare.price(100)).toBeLessThan(80);
});

test('a process that is busy with telling alone goes on telling', async () => {
  beBusy(0.6);
  const fairShare = new FairShare();
  let at = performance.now();
  for (let i = 0; i < 20; i++) {
    await delay(20);
    const now = performance.now();
    fairShare.price((now - at) * 0.6);
    at = now;
  }
  expect(fairShare.price(100)).toBeLessThan(80);
});

test('a process that is no longer busy: after a while nobody waits', async () => {
  beBusy(1);
  const fairShare = new FairShare();
  await tellFor(fairShare, 500);
  vi.restoreAllMocks();
  beBusy(0.1);
  await tellFor(fairShare, 200);
  await delay(2_100);
  expect(fairShare.price(100)).toBeLessThan(80);
});
