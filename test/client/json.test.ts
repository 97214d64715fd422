import { describe, expect, it } from 'vitest';
import { checkJson, jsonBytes, NotJsonError } from '../../src/client/json.ts';

const cycle: Record<string, unknown> = { list: [] };
(cycle.list as unknown[]).push({ back: cycle });
const deep = Array.from({ length: 257 }).reduce<unknown>((inner) => [inner], null);

describe("values that JSON can't represent are refused with their path", () => {
  it.each<[string, unknown, RegExp]>([
    ['undefined', undefined, /^x is undefined/],
    ['undefined in a list', [1, undefined], /^x\[1\] is undefined/],
    ['a hole in a list', new Array(2), /^x\[0\] is undefined/],
    ['a BigInt', { a: { b: 1n } }, /^x\.a\.b is a bigint/],
    ['a function', { a: () => 1 }, /^x\.a is a function/],
    ['a symbol', { a: Symbol('s') }, /^x\.a is a symbol/],
    ['NaN', { a: Number.NaN }, /^x\.a is NaN/],
    ['Infinity', [Number.POSITIVE_INFINITY], /^x\[0\] is Infinity/],
    ['a cycle', cycle, /^x\.list\[0\]\.back is part of itself/],
    ['half a surrogate pair', { a: 'ok\ud800' }, /^x\.a has a character that can't be stored/],
    ['a NUL', ['a\0b'], /^x\[0\] has a character that can't be stored/],
    ['a NUL in a key', { 'a\0b': 1 }, /^x has a key that has a character that can't be stored/],
    ['a Map', { a: new Map([[1, 2]]) }, /^x\.a is of the kind Map/],
    ['a promise', { a: Promise.resolve(1) }, /^x\.a is of the kind Promise/],
    ['an error', { a: new Error('lost') }, /^x\.a is of the kind Error/],
    ['an invalid date', { a: new Date(Number.NaN) }, /^x\.a is not a valid date/],
    ['something too deep', deep, /is more than 256 levels deep/],
  ])('%s', (_, value, message) => {
    expect(() => checkJson(value, 'x')).toThrow(NotJsonError);
    expect(() => checkJson(value, 'x')).toThrow(message);
  });
});

it.each<[string, unknown]>([
  ['null', null],
  ['numbers', [0, -1.5, 1e300]],
  ['text beyond ASCII', 'zażółć 🙂'],
  ['absent members', { a: undefined, b: 1 }],
  ['a date', { at: new Date(0) }],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
  [
    'an instance with members',
    new (class Point {
      x = 1;
    })(),
  ],
  ['empty objects and lists', { a: {}, b: [] }],
  [
    'one object at two places',
    (() => {
      const shared = { a: 1 };
      return [shared, shared];
    })(),
  ],
])('%s is accepted, and its size is not underestimated', (_, value) => {
  expect(checkJson(value, 'x') * 6).toBeGreaterThanOrEqual(jsonBytes(value));
});
