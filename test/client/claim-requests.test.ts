import { expect, it } from 'vitest';
import { backoffMs } from '../../src/client/backoff.ts';
import { chooseRequests } from '../../src/client/worker/claim-requests.ts';
import type { Slots } from '../../src/client/worker/held-assignments.ts';
import { Meters } from '../../src/client/worker/meters.ts';

const slots = (type: string, concurrency: number, state: Partial<Slots> = {}): Slots => ({
  type,
  concurrency,
  batchSize: undefined,
  timeoutMs: undefined,
  call: () => null,
  meters: new Meters(type),
  loggerOf: () => console,
  running: 0,
  waiting: [],
  meanMs: 1_000,
  claimsAhead: true,
  asked: 0,
  parked: 0,
  hints: 0,
  dry: false,
  limited: false,
  follows: false,
  ...state,
});
const limits = (all: Slots[], most: number, turn = 0) =>
  chooseRequests(all, most, turn).map((request) => [request.slots.type, request.limit]);

it.each([
  [0.01, 500],
  [1, 100],
  [10, 10],
  [20, 5],
  [99, 1],
  [101, 0],
  [60_000, 0],
])('with handlers that take %d ms, ten at a time, %d items may wait', (meanMs, ahead) => {
  expect(limits([slots('a', 10, { meanMs })], 1_000)).toEqual([['a', 10 + ahead]]);
  expect(limits([slots('a', 10, { meanMs, claimsAhead: false })], 1_000)).toEqual([['a', 10]]);
});

it('with more than 500 handlers, at most as many items again may wait', () => {
  expect(limits([slots('a', 900, { meanMs: 0.01 })], 10_000)).toEqual([['a', 1_800]]);
});

it('a claim asks for what is neither running nor requested', () => {
  expect(limits([slots('a', 10, { running: 4, asked: 3 })], 100)).toEqual([['a', 3]]);
  expect(limits([slots('a', 10, { running: 10 })], 100)).toEqual([]);
});

it('a type without work is omitted', () => {
  expect(limits([slots('a', 10, { dry: true }), slots('b', 2)], 100)).toEqual([['b', 2]]);
});

it('a claim stays within its bound, and types take turns at being first', () => {
  const all = [slots('a', 10), slots('b', 10), slots('c', 10)];
  expect(limits(all, 15, 0)).toEqual([
    ['a', 10],
    ['b', 5],
  ]);
  expect(limits(all, 15, 2)).toEqual([
    ['c', 10],
    ['a', 5],
  ]);
});

it('pauses double from 100 ms to 5 s, and their upper half is random', () => {
  expect([1, 2, 3, 7, 50].map((failures) => backoffMs(failures, () => 1))).toEqual([
    100, 200, 400, 5_000, 5_000,
  ]);
  expect(backoffMs(2, () => 0)).toBe(100);
});

it('batch handlers have room for a batch each, and none is claimed ahead', () => {
  expect(limits([slots('a', 2, { batchSize: 50, running: 1, waiting: [], meanMs: 0.01 })], 1_000)).toEqual([
    ['a', 50],
  ]);
});

it('no batch is cut by the bound of a claim: it comes with the next one', () => {
  const all = [slots('a', 1, { batchSize: 10 }), slots('b', 1, { batchSize: 7 }), slots('c', 2)];
  expect(limits(all, 10, 0)).toEqual([['a', 10]]);
  expect(limits(all, 10, 1)).toEqual([
    ['b', 7],
    ['c', 2],
  ]);
  // Whoever is first gets what there is: a claim may be bound to a single item.
  expect(limits(all, 1, 1)).toEqual([['b', 1]]);
});
