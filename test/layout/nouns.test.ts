/** Who knows the rooms of one layer knows those of all: a noun has the same name in each. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const nouns = [
  'jobs',
  'items',
  'keys',
  'claims',
  'reports',
  'feeds',
  'progress',
  'operations',
  'retention',
  'queues',
  'schedules',
  'callbacks',
  'files',
  'access',
  'types',
  'figures',
  'values',
];
/** What all nouns of a layer share. */
const shared: Readonly<Record<string, string>> = {
  'prisma/functions': 'values',
  'src/domain': 'engine',
  'src/schema': 'core',
  'test/domain': 'engine',
};
/** The most files that somebody looks through. */
const mostFiles = 25;
const root = resolve(import.meta.dirname, '../..');

describe.each(Object.entries(shared))('%s', (layer, common) => {
  const entries = readdirSync(join(root, layer), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);

  it('has folders for nouns alone', () => {
    expect([...nouns, common]).toEqual(expect.arrayContaining(folders));
  });

  it.each(folders)(`%s has at most ${mostFiles} files`, (folder) => {
    expect(readdirSync(join(root, layer, folder)).length).toBeLessThanOrEqual(mostFiles);
  });
});

it('the page for contributors names them', () => {
  const page = readFileSync(join(root, 'docs/inside.md'), 'utf8');
  const [, list = ''] = /A noun has the same name everywhere: ([^.]*)\./.exec(page) ?? [];
  const named = list.replaceAll(/\s*\([^)]*\)/g, '').split(/,\s+/);
  expect(named).toEqual(nouns);
});
