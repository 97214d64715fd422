/** What can be long is a page with a cursor, takes `first`, or says how long it can be. */
import { getNamedType, isListType, isNonNullType, isObjectType } from 'graphql';
import { expect, it } from 'vitest';
import { schema } from '../../src/schema/index.ts';

const lists = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .filter(({ name }) => !name.startsWith('__') && !name.endsWith('Connection'))
  .flatMap((type) =>
    Object.values(type.getFields()).map((field) => ({ at: `${type.name}.${field.name}`, field })),
  )
  .filter(({ field: { type } }) => isListType(isNonNullType(type) ? type.ofType : type));

it.each(lists.map(({ at, field }) => [at, field] as const))('%s has a bound', (_, { args, description }) => {
  const takesFirst = args.some(({ name }) => name === 'first');
  expect(takesFirst || /\bup to (about )?[\d,]+/i.test(description ?? '')).toBe(true);
});

it('no page is a list without a cursor', () => {
  const connections = Object.values(schema.getTypeMap()).filter(({ name }) => name.endsWith('Connection'));
  for (const type of connections) {
    if (!isObjectType(type)) continue;
    const { edges, pageInfo } = type.getFields();
    expect(edges && isObjectType(getNamedType(edges.type))).toBe(true);
    expect(pageInfo).toBeDefined();
  }
});
