/** How much of one caller is let in, with a clock that only moves when the test says so. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AdmissionControl } from '../../src/server/limits/admission-control.ts';

let now = 0;
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
  now = 0;
});

const add = () => false;
const report = () => true;
const one = { account: 'one' };

/** Lets in as many as possible, up to a thousand. */
function fill(admission: AdmissionControl, keepsLeases = add, owner = one) {
  const ends: ((isDone: boolean) => void)[] = [];
  for (let end = admission.enter(owner, keepsLeases); end !== undefined; ) {
    ends.push(end);
    end = ends.length < 1_000 ? admission.enter(owner, keepsLeases) : undefined;
  }
  return ends;
}

it('lets everything in until it is known how much is carried out', () => {
  expect(fill(new AdmissionControl())).toHaveLength(1_000);
});

it('refuses what would wait for more than two seconds, but not reports', () => {
  const admission = new AdmissionControl();
  const ends = fill(admission);
  for (const end of ends.slice(0, 300)) end(true);
  now = 2_000;
  expect(fill(admission)).toHaveLength(0);
  for (const end of ends.slice(300, 800)) end(false);
  // 300 were carried out in two seconds, and 200 are under way.
  expect(fill(admission)).toHaveLength(100);
  expect(fill(admission, report)).toHaveLength(300);
});

it('always lets some hundreds in of a caller', () => {
  const admission = new AdmissionControl();
  const ends = fill(admission);
  now = 2_000;
  expect(fill(admission)).toHaveLength(0);
  for (const end of ends.slice(0, 800)) end(false);
  expect(fill(admission)).toHaveLength(56);
});

it('refuses nobody for what another caller has under way', () => {
  const admission = new AdmissionControl();
  fill(admission);
  now = 2_000;
  expect(admission.enter(one, add)).toBeUndefined();
  expect(fill(admission, add, { account: 'other' })).toHaveLength(1_000);
});

it('lets in what comes at once after little was asked for', () => {
  const admission = new AdmissionControl();
  const [first, ...others] = fill(admission);
  for (const end of others) end(true);
  now = 10_000;
  expect(fill(admission)).toHaveLength(1_000);
  first?.(true);
});
