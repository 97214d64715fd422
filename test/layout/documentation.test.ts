/** Whoever uses the API needs no source: everything in the committed schema has a description. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSchema, isEnumType, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { expect, it } from 'vitest';
import { settingDescriptions } from '../../src/config.ts';

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

it('every stored function opens with its contract, and is the only thing in its file', () => {
  const folder = join(root, 'prisma/functions');
  for (const file of readdirSync(folder).filter((name) => name !== 'README.md')) {
    const text = readFileSync(join(folder, file), 'utf8');
    expect(text).toMatch(/^-- /);
    expect(text.match(/create or replace function/g)).toHaveLength(1);
    expect(text).toContain(`create or replace function jobtree.${file.replace('.sql', '')}(`);
    expect(text).not.toMatch(/^\s*execute\b/m);
  }
});

it('every setting is in the documentation, with its default', () => {
  const page = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
  for (const { name, standard } of settingDescriptions) {
    expect(page).toContain(`\`${name}\``);
    if (standard !== 'not set')
      expect(page).toMatch(new RegExp(`\`${name}\`[^\n]*${standard.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`));
  }
});
