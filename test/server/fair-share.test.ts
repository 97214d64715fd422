import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FairShare } from '../../src/server/limits/fair-share.ts';

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

/** A wait that is neither missing nor long, for 100 ms of telling: at the limit of three quarters it is 33 ms. */
function expectShortWait(wait: number): void {
  expect(wait).toBeGreaterThan(30);
  expect(wait).toBeLessThan(60);
}

it('a busy process pauses longer than it published, and publishers wait in turn', () => {
  beBusy(1);
  const fairShare = new FairShare();
  tellFor(fairShare, 1_500);
  const first = fairShare.price(5);
  expect(first).toBeGreaterThan(30);
  expect(fairShare.price(5)).toBeCloseTo(2 * first);
});

it('a process with spare time pauses less than it published', () => {
  beBusy(0.1);
  const fairShare = new FairShare();
  tellFor(fairShare, 300);
  now += 20;
  expectShortWait(fairShare.price(100));
});

it('a process that is only busy with publishing continues', () => {
  beBusy(0.6);
  const fairShare = new FairShare();
  for (let i = 0; i < 20; i++) {
    now += 20;
    fairShare.price(20 * 0.6);
  }
  expectShortWait(fairShare.price(100));
});

it('a process forgets that it was busy', () => {
  beBusy(1);
  const fairShare = new FairShare();
  tellFor(fairShare, 1_500);
  expect(fairShare.price(5)).toBeGreaterThan(30);
  beBusy(0.1);
  tellFor(fairShare, 200);
  now += 2_100;
  expectShortWait(fairShare.price(100));
});

it('nobody waits longer than two seconds, however much is published', () => {
  beBusy(1);
  const fairShare = new FairShare();
  tellFor(fairShare, 1_500);
  for (let i = 0; i < 20; i++) fairShare.price(100);
  expect(fairShare.price(100)).toBeCloseTo(2_000);
});
