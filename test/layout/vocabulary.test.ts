/** The statuses of items have the same names wherever somebody reads them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSchema, isEnumType, isObjectType } from 'graphql';
import { expect, it } from 'vitest';
import { itemStatuses, pendingStatuses } from '../../src/domain/items/item-state.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const namesIn = (text: string, pattern: RegExp) =>
  [...new Set([...text.matchAll(pattern)].flatMap(([, ...names]) => names))].sort();
const section = (text: string, title: string) => text.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const schema = buildSchema(read('schema.graphql'));
const enums = Object.values(schema.getTypeMap()).filter(isEnumType);
const valuesOf = (name: string) =>
  (enums.find((type) => type.name === name)?.getValues() ?? []).map((value) => value.name);
const model = section(read('prisma/functions/README.md'), 'The status of an item');

it.each<[string, readonly string[]]>([
  ['the API', valuesOf('ItemStatus')],
  ['what SQL decides', namesIn(read('prisma/functions/items/status_of_item.sql'), /(?:then|else) '(\w+)'/g)],
  [
    'the concepts',
    namesIn(section(read('docs/concepts.md'), 'From payload to result'), /^- \*\*(\w+)\.\*\*/gm),
  ],
  ['the model', namesIn(model, /^\| ([A-Z]+) \|/gm)],
])('each status of an item, and no other, is in %s', (_, names) => {
  expect([...names].sort()).toEqual([...itemStatuses].sort());
});

it('a figure of a queue counts the items of each status of pending ones', () => {
  const queue = schema.getType('Queue');
  const fields = isObjectType(queue) ? Object.keys(queue.getFields()) : [];
  expect(fields).toEqual(expect.arrayContaining(pendingStatuses.map((status) => status.toLowerCase())));
});

it('no other type of the API has names for how an item waits', () => {
  const others = enums.filter(
    ({ name }) => !['ItemStatus', 'NotClaimableReason', 'StandstillReason'].includes(name),
  );
  const names = others.flatMap((type) => type.getValues().map((value) => `${type.name}.${value.name}`));
  expect(names.filter((name) => /\.(BLOCKED|SCHEDULED|RETRYING|READY)$/.test(name))).toEqual([]);
});

it('nothing calls the status of an item its state, or a running item held', () => {
  const texts = ['docs', 'prisma/functions', 'src/cli', 'src/client', 'src/schema'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(md|sql|ts|graphql)$/.test(file))
      .map((file) => join(folder, file)),
  );
  const old = /item_state\b|--state\b|PendingState|\bstates: ?\[|(reason|detail)\W+(is )?\W*HELD/;
  expect(['README.md', 'schema.graphql', ...texts].filter((file) => old.test(read(file)))).toEqual([]);
});

/** Words that have another in this house. */
const banned = /^(beats?|strange|epoch|lanes?|merger|wants?|bridge)$/;
/** The words of the identifiers of a text: `#lastBeatAt` has three. */
function wordsOf(text: string): string[] {
  const code = text
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/gs, '');
  return (code.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((word) => word.toLowerCase());
}

it('identifiers have no words for things that have a name already', () => {
  expect(wordsOf("#lastBeatAt = 'no lane'; // strange\n")).toContain('beat');
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.tsx?$/.test(file) && !file.startsWith('generated'),
  );
  const found = sources.flatMap((file) =>
    wordsOf(read(`src/${file}`))
      .filter((word) => banned.test(word))
      .map((word) => `${file}: ${word}`),
  );
  expect(found).toEqual([]);
});
