import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FairShare } from '../../src/server/fair-share.ts';

/** The time, which passes when a test says so: how much of it a busy machine takes is no matter here. */
let now = 0;
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => void vi.restoreAllMocks());

/** As if the event loop did something for so much of the time. */
function beBusy(utilization: number): void {
  const of = { active: utilization, idle: 1 - utilization, utilization };
  vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue(of);
}

/** Until it has seen how busy the process is. */
function tellFor(fairShare: FairShare, ms: number): void {
  for (const end = now + ms; now < end; ) {
    now += 20;
    now += fairShare.price(1);
  }
}

test('a busy process: who tells waits longer than it told, and all who tell together', () => {
  beBusy(1);
  const fairShare = new FairShare();
  tellFor(fairShare, 700);
  expect(fairShare.price(5)).toBeGreaterThan(30);
  expect(fairShare.price(5)).toBeGreaterThan(60);
});

test('a process with time to spare: nobody waits', () => {
  beBusy(0.7);
  const fairShare = new FairShare();
  for (const end = now + 300; now < end; now++) fairShare.price(1);
  expect(fairShare.price(60_000)).toBe(0);
});

test('a process that is no longer busy: after a while nobody waits', () => {
  beBusy(1);
  const fairShare = new FairShare();
  tellFor(fairShare, 500);
  beBusy(0.1);
  tellFor(fairShare, 200);
  now += 2_100;
  expect(fairShare.price(100)).toBeLessThan(80);
});
