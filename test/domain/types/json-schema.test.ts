/** Schemas of strangers: what is taken, what is refused and why, and that no value of one takes long. */
import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../../src/domain/types/json-schema.ts';
import { maxSchemaWork } from '../../../src/domain/values/limits.ts';

const list = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
const map = <T>(count: number, make: (i: number) => T) =>
  Object.fromEntries(list(count, (i) => [`k${i}`, make(i)]));
const nested = (depth: number): object => (depth === 0 ? {} : { items: nested(depth - 1) });

describe('a schema is refused with the reason', () => {
  it.each<[string, unknown, string]>([
    ['what is no object', 5, 's must be a schema'],
    ['an unknown type', { type: 'strin' }, 'data/type'],
    ['a bound that is a text', { minimum: '1' }, 'data/minimum must be number'],
    [
      'a keyword that nobody knows',
      { properties: { a: { tsType: 'x' } } },
      's.properties.a.tsType is not a keyword',
    ],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }, 's.$ref must be'],
    ['a reference to a file', { $ref: 'file:///etc/passwd' }, 's.$ref must be'],
    ['a reference to nothing', { $ref: '#/$defs/a' }, 's.$ref must be'],
    ['a reference to what every object has', { $defs: {}, $ref: '#/$defs/constructor' }, 's.$ref must be'],
    ['a circle', { $defs: { a: { items: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' }, 'is circular'],
    [
      'a circle that nothing refers to',
      { $defs: { a: { not: { $ref: '#/$defs/b' } }, b: { not: { $ref: '#/$defs/a' } } } },
      'is circular',
    ],
    [
      'references that double at each step',
      {
        $defs: map(30, (i) => (i === 29 ? {} : { allOf: list(2, () => ({ $ref: `#/$defs/k${i + 1}` })) })),
        $ref: '#/$defs/k0',
      },
      'more than 300 schemas',
    ],
    [
      'an id below the root',
      { properties: { a: { $id: 'https://example.com' } } },
      '$id is not supported below',
    ],
    ['lookahead', { pattern: '(?=a)b' }, 's.pattern is not a regular expression in RE2 syntax'],
    ['a back-reference', { pattern: '(a)\\1' }, 's.pattern is not a regular expression'],
    ['a long pattern', { pattern: 'a'.repeat(501) }, 'the limit is 500'],
    [
      'a pattern of properties',
      { patternProperties: { '(?<!a)': {} } },
      's.patternProperties is not a regular',
    ],
    ['a pattern that repeats itself', { pattern: 'a{1000}|b{1000}' }, 'the limit is 2000'],
    [
      'patterns that are large together',
      { properties: map(4, (i) => ({ pattern: `^(\\p{L}{50}){19}${i}$` })) },
      'the limit is 3000',
    ],
    [
      'a pattern that is large when it is written out',
      { pattern: '\\p{L}{1000}'.repeat(45) },
      'the limit is 3000',
    ],
    [
      'nested repeats of a pattern',
      { patternProperties: { '^((a[^)]{10}){0,10}\\p{Lu}){100,}$': {} } },
      'the limit is 3000',
    ],
    ['too many values', { enum: list(2_001, String) }, 'the limit is 2000'],
    ['too many parts', { allOf: list(301, (i) => ({ minimum: i })) }, 'more than 300 schemas'],
    ['too many levels', nested(40), 'more than 32 levels'],
    ['a schema too large', { description: 'x'.repeat(50_001) }, 'the limit is 50000'],
    ['lists in the place of items', { items: [{}] }, 'must be a schema'],
  ])('%s', (_, schema, why) => {
    expect(() => compileSchema(schema, 's')).toThrow(why);
  });
});

it('a pattern that a schema has often is compiled, and counted, once', () => {
  const pattern = '^(\\p{L}{50}){19}1$';
  const { instructions } = compileSchema({ properties: map(100, () => ({ pattern })) }, 's');
  expect(instructions).toBe(compileSchema({ pattern }, 's').instructions);
});

describe('an invalid value is refused with the reason and the place', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    required: ['to'],
    properties: {
      to: { type: 'string', pattern: '^\\S+@\\S+$' },
      kind: { enum: ['a', 'b'] },
      lines: { type: 'array', items: { $ref: '#/definitions/line' }, uniqueItems: true },
      toString: { type: 'number' },
      'a/b %': { type: 'string', format: 'email', pattern: '@' },
    },
    additionalProperties: false,
    definitions: {
      line: {
        type: 'object',
        required: ['n'],
        properties: { n: { type: 'integer' }, day: { type: 'string', format: 'date', pattern: '^\\d+$' } },
      },
    },
  };
  const { check } = compileSchema(schema, 's');
  it.each<[unknown, string | undefined]>([
    [{ to: 'a@b', kind: 'a', lines: [{ n: 1 }, { n: 2 }] }, undefined],
    [{}, 'x.to is missing'],
    [null, 'x must be object'],
    [{ to: 'ab' }, 'x.to must match pattern "^\\S+@\\S+$"'],
    [{ to: 'a@b', 'a/b %': 'ab' }, 'x.a/b % is not in the format email: it must match pattern "@"'],
    [
      { to: 'a@b', lines: [{ n: 1, day: 'x' }] },
      'x.lines[0].day is not in the format date: it must match pattern "^\\d+$"',
    ],
    [{ to: 'a@b', kind: 'c' }, 'x.kind must be one of "a", "b"'],
    [{ to: 'a@b', more: 1 }, 'x.more is not a property that the schema has'],
    [{ to: 'a@b', lines: [{ n: 1 }, { n: 1.5 }] }, 'x.lines[1].n must be integer'],
    [
      {
        to: 'a@b',
        lines: [
          { n: 1, m: 2 },
          { m: 2, n: 1 },
        ],
      },
      'x.lines must not have the same element twice',
    ],
  ])('%j', (value, problem) => {
    const found = check(value, 'x');
    expect(found && `${found.path} ${found.message}`).toBe(problem);
  });

  it('briefly, however many errors there are and however long their names', () => {
    const { check } = compileSchema({ items: { enum: list(1_000, (i) => `value ${i}`) } }, 's');
    expect(
      check(
        list(10_000, () => 'x'.repeat(100)),
        'x',
      )?.message.length,
    ).toBeLessThan(250);
    const closed = compileSchema({ additionalProperties: false }, 's');
    expect(closed.check({ ['k'.repeat(100_000)]: 1 }, 'x')?.path.length).toBeLessThan(250);
  });

  it('and not because of text that only looks like a member', () => {
    const { check } = compileSchema({ required: ['toString', '__proto__'] }, 's');
    expect(check({}, 'x')).toBeDefined();
    expect(check(JSON.parse('{"toString": 1, "__proto__": 1}'), 'x')).toBeUndefined();
  });
});

it('checking any value against the worst schema takes a moment at most', () => {
  const worst: [unknown, (bytes: number) => unknown][] = [
    [{ items: { allOf: list(298, (i) => ({ minimum: -i })) } }, (bytes) => list(bytes / 2, () => 1)],
    [{ items: { properties: map(298, () => ({ type: 'string' })) } }, (bytes) => list(bytes / 3, () => ({}))],
    [{ pattern: '(.*a){20}b|(x+x+)+y' }, (bytes) => 'a'.repeat(bytes)],
    [{ uniqueItems: true }, (bytes) => list(bytes / 12, (i) => ({ a: i }))],
  ];
  for (const [schema, make] of worst) {
    const { cost, check } = compileSchema(schema, 's');
    const value = make(Math.floor(Math.min(1_000_000, maxSchemaWork / cost)));
    const before = process.cpuUsage();
    check(value, 'x');
    const { user } = process.cpuUsage(before);
    // A fifth of a second, and far more on a machine that is busy: without the bounds it would be minutes.
    expect(user / 1_000).toBeLessThan(3_000);
  }
});
