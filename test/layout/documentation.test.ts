/** Whoever uses the API needs no source: everything in the committed schema has a description. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { buildSchema, isEnumType, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { settingDescriptions } from '../../src/config/settings.ts';

const root = resolve(import.meta.dirname, '../..');
const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'));

it('every type, field, argument and value of the schema is described', () => {
  const bare: string[] = [];
  const note = (name: string, description: string | null | undefined) => {
    if (!description) bare.push(name);
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (type.name.startsWith('__') || ['String', 'Int', 'Float', 'Boolean', 'ID'].includes(type.name))
      continue;
    note(type.name, type.description);
    if (isEnumType(type))
      for (const value of type.getValues()) note(`${type.name}.${value.name}`, value.description);
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      note(`${type.name}.${field.name}`, field.description);
      if (!('args' in field)) continue;
      for (const argument of field.args)
        note(`${type.name}.${field.name}(${argument.name})`, argument.description);
    }
  }
  expect(bare).toEqual([]);
});

describe('a stored function', () => {
  const folder = join(root, 'prisma/functions');
  const functions = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.sql'))
    .map((path) => {
      const file = basename(path);
      const text = readFileSync(join(folder, path), 'utf8');
      const start = text.indexOf('create or replace function');
      const [contract, code] = [text.slice(0, start), text.slice(start).replaceAll(/--.*$/gm, '')];
      return { file, text, contract, code };
    });
  /** The files of functions that do something without a line of their contract about it. */
  const without = (line: string, does: RegExp) =>
    functions
      .filter(({ contract, code }) => does.test(code) && !new RegExp(`^-- ${line} `, 'm').test(contract))
      .map(({ file }) => file);

  it('opens with what it does, and is the only thing in its file', () => {
    expect(functions.length).toBeGreaterThan(100);
    for (const { file, text } of functions) {
      expect(text).toMatch(/^-- \S/);
      expect(text.match(/create or replace function/g)).toHaveLength(1);
      expect(text).toContain(`create or replace function jobtree.${file.replace('.sql', '')}(`);
      expect(text).not.toMatch(/^\s*execute\b/m);
    }
  });

  it('states in its contract what it returns, if that is more than one value', () => {
    expect(without('returns', /^returns (table|setof|json|jobtree)/m)).toEqual([]);
  });

  it('states in its contract which rows it locks', () => {
    expect(
      without('locks', /\bfor (no key )?update\b|\bfor (key )?share\b|\bpg_advisory|\block table\b/),
    ).toEqual([]);
  });

  it('states in its contract which errors it raises', () => {
    expect(without('errors', /\braise (exception|sqlstate)\b/)).toEqual([]);
  });
});

it('the page on configuration names every setting once, and nothing else', () => {
  const page = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  const named = rows.flatMap((row) => [...row.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name));
  expect(named.toSorted()).toEqual(settingDescriptions.map(({ name }) => name).toSorted());
});

/** The text of a page without its examples. */
const proseOf = (file: string) => readFileSync(join(root, file), 'utf8').replaceAll(/```.*?```/gs, '');

/** As GitHub makes them of headings. */
function anchorsOf(file: string): string[] {
  return [...proseOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

it('every link between pages leads to a file and a heading', () => {
  const pages = ['docs', 'prisma/functions'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  );
  const broken: string[] = [];
  for (const page of [...pages, 'README.md', 'CHANGELOG.md', 'SECURITY.md']) {
    for (const [, link = ''] of proseOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path = '', anchor] = link.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      const leads =
        existsSync(join(root, file)) && (anchor === undefined || anchorsOf(file).includes(anchor));
      if (!leads) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

it('no page is longer than 12 kB', () => {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  expect(pages.filter((page) => statSync(join(root, 'docs', page)).size > 12 * 1024)).toEqual([]);
});

it.each([
  ['life-of-an-item.md', 12],
  ['inside.md', 10],
])('each function that %s links to is in the file of the link', (page, least) => {
  const links = [...proseOf(`docs/${page}`).matchAll(/\[`(\w+)`\]\(([^)]+)\)/g)];
  expect(links.length).toBeGreaterThanOrEqual(least);
  const missing = links.filter(
    ([, name = '', path = '']) =>
      !new RegExp(`\\b${name}\\(`).test(readFileSync(join(root, 'docs', path), 'utf8')),
  );
  expect(missing.map(([link]) => link)).toEqual([]);
});
