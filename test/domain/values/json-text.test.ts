import { expect, it } from 'vitest';
import { JsonText, serialize, serializeInSlices, stringify } from '../../../src/domain/values/json-text.ts';

const text = '{"n": 12345678901234567890, "s": "ü😀\\n"}';
const value = (count: number) => ({ a: Array.from({ length: count }, () => new JsonText(text)), b: 'ö' });

it('JSON texts are inserted unchanged', () => {
  expect(stringify(value(2))).toBe(`{"a":[${text},${text}],"b":"ö"}`);
  expect(stringify(new JsonText(text))).toBe(text);
  expect(stringify({ a: 1 })).toBe('{"a":1}');
});

it('a large text comes as bytes, a small one as text', () => {
  expect(serialize(value(2))).toBe(stringify(value(2)));
  for (const large of [value(30_000), 'ü'.repeat(1_000_001), new JsonText(`"${'ü'.repeat(1_000_001)}"`)]) {
    const bytes = serialize(large);
    expect(Buffer.isBuffer(bytes)).toBe(true);
    expect(String(bytes) === stringify(large)).toBe(true);
  }
});

it('a large text is written in slices, each after the first in a turn of its own; a small one is not', async () => {
  const turns: number[] = [];
  const turn = async (bytes: number) => void turns.push(bytes);
  expect(serializeInSlices(value(2), turn)).toBe(stringify(value(2)));
  const large = Array.from({ length: 10 }, () => new JsonText(`"${'ü'.repeat(1_000_000)}"`));
  expect(String(await serializeInSlices(large, turn)) === stringify(large)).toBe(true);
  expect(turns).toEqual(Array(5).fill(4_000_000));
});
