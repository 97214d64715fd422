/** What can be long is a page with a cursor, takes `first`, or says how long it can be. */
import {
  assertObjectType,
  getNamedType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import { expect, it } from 'vitest';
import { schema } from '../../src/schema/index.ts';
import { request } from '../support/api.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();

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

it('every page has edges and pageInfo', () => {
  const connections = Object.values(schema.getTypeMap()).filter(({ name }) => name.endsWith('Connection'));
  for (const type of connections) {
    if (!isObjectType(type)) continue;
    const { edges, pageInfo } = type.getFields();
    expect(edges && isObjectType(getNamedType(edges.type))).toBe(true);
    expect(pageInfo).toBeDefined();
  }
});

const roots = Object.values(assertObjectType(schema.getType('Query')).getFields());
const paged = roots.filter(({ args }) => args.some(({ name }) => name === 'first'));

it.each(paged.map((field) => [field.name, field] as const))(
  '%s takes first from 0 to 1,000, and leads to the rest',
  async (name, { type, args }) => {
    const others = args.filter((arg) => arg.name !== 'first');
    expect(others).not.toEqual([]);
    const required = others.filter(isRequiredArgument).map((arg) => `, ${arg.name}: "2026-01-01T00:00:00Z"`);
    const named = getNamedType(type);
    const isPage = named.name.endsWith('Connection');
    const selection = isLeafType(named) ? '' : isPage ? '{ nodes { __typename } }' : '{ __typename }';
    const ask = async (first: number) =>
      request(server.url, `{ list: ${name}(first: ${first}${required.join('')}) ${selection} }`);
    expect(await ask(0)).toEqual({ data: { list: isPage ? { nodes: [] } : [] } });
    expect((await ask(1_000)).errors).toBeUndefined();
    for (const first of [-1, 1_001])
      expect(await ask(first)).toMatchObject({
        data: { list: null },
        errors: [{ extensions: { code: 'INVALID_INPUT', field: 'first' } }],
      });
  },
);
