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
  tellFor(fairShare, 1_500);
  expect(fairShare.price(5)).toBeGreaterThan(30);
  expect(fairShare.price(5)).toBeGreaterThan(60);
});

test('a process with time to spare: who tells waits less than it told', () => {
  beBusy(0.1);
  const fairShare = new FairShare();
  tellFor(fairShare, 300);
  now += 20;
  expect(fairShare.price(100)).toBeLessThan(80);
});

test('a process that is busy with telling alone goes on telling', () => {
  beBusy(0.6);
  const fairShare = new FairShare();
  for (let i = 0; i < 20; i++) {
    now += 20;
    fairShare.price(20 * 0.6);
  }
  expect(fairShare.price(100)).toBeLessThan(80);
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
