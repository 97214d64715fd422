import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isRounded, markRounded } from '../../../src/domain/values/exact-numbers.ts';

it.each([
  ['9007199254740992', false],
  ['9007199254740993', true],
  ['-9007199254740993', true],
  ['9007199254740993.0', true],
  ['0.1', false],
  ['0.10000000000000001', true],
  ['1.50', false],
  ['100000000000000000000', false],
  ['1e21', false],
  ['1E+21', false],
  ['100000000000000000001', true],
  ['0.00000000000000000000', false],
  ['-0.0', false],
  ['5e-324', false],
  ['1e-400', true],
  ['1e400', true],
])('%s is rounded: %s', (text, is) => {
  expect(isRounded(text)).toBe(is);
  expect(markRounded(`[${text}]`, 'm ')).toBe(is ? `["m ${text}"]` : `[${text}]`);
});

it('marks numbers alone, and not what looks like one in a string', () => {
  const text = String.raw`{"12345678901234567890": "a\"12345678901234567890", "b\\": [-12345678901234567890, {"c":1.00000000000000001}]}`;
  expect(markRounded(text, '~')).toBe(
    String.raw`{"12345678901234567890": "a\"12345678901234567890", "b\\": ["~-12345678901234567890", {"c":"~1.00000000000000001"}]}`,
  );
});

it('makes no JSON of what is none', () => {
  for (const text of [
    '012345678901234567890',
    '12345678901234567890.',
    '-12345678901234567890-1',
    '1234567890123456789e',
  ])
    expect(markRounded(`[${text}]`, '~')).toBe(`[${text}]`);
});

it('ends with text that is not JSON', () => {
  for (const text of ['"12345678901234567890', '"1234567890123456\\', '-'.repeat(20), '1234567890123456e'])
    expect(typeof markRounded(text, '~')).toBe('string');
});

it('leaves everything that JavaScript writes as it is', () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false } as object), (json) => {
      expect(markRounded(JSON.stringify(JSON.parse(json)), '~')).toBe(JSON.stringify(JSON.parse(json)));
    }),
  );
});
