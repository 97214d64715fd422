/** JSON merge patches in the database, and in the dashboard, which shows beforehand what they do. */
import { expect, it } from 'vitest';
import { mergePatch } from '../../../src/dashboard/data/merge-patch.ts';
import { useEngine } from '../../support/engine.ts';

const t = useEngine();

const inDatabase = async (target: string, patch: string): Promise<string | undefined> => {
  const [row] = await t.db.query<{ merged: string }>('select jobtree.merge_patch($1, $2)::text as merged', [
    target,
    patch,
  ]);
  return row?.merged;
};

it.each([
  // The examples of RFC 7396.
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ['null', '{"a":1}', '{"a":1}'],
  // Keys stay in their order, whatever they contain.
  [
    '{"z":1,"b":2,"a\\"x\\\\":3}',
    '{"a\\"x\\\\":{"y":[]},"b":null,"__proto__":1}',
    '{"z":1,"a\\"x\\\\":{"y":[]},"__proto__":1}',
  ],
])('%s with %s is %s', async (target, patch, merged) => {
  expect(await inDatabase(target, patch)).toBe(merged);
  expect(JSON.stringify(mergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(merged);
});

it('keeps the digits of numbers that it does not change', async () => {
  expect(await inDatabase('{"id": 9007199254740993, "n": 1.50}', '{"n": 2}')).toBe(
    '{"id":9007199254740993,"n":2}',
  );
});
