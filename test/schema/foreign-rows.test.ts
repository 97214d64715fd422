/**
 * What a caller pays for rows of others: nothing. Every field of Query, with each argument and each field of a filter, asked for with all roles
 * of a tenant that owns nothing, reads a bounded number of blocks beside what two other tenants own.
 *
 *     FOREIGN_ROWS   how many rows of everything the others own (60,000)
 */
import {
  type GraphQLInputType,
  type GraphQLObjectType,
  getNamedType,
  graphql,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCaller, type Permission, roles } from '../../src/domain/access/rights.ts';
import { Uploads } from '../../src/domain/files/uploads.ts';
import type { Services } from '../../src/schema/core/services.ts';
import { schema } from '../../src/schema/index.ts';
import { useEngine } from '../support/engine.ts';
import { permissionOf, toManyArgs, toValue } from '../support/fields.ts';
import { fillForeign, foreign } from '../support/fill-foreign.ts';
import { type Plan, watchPlans } from '../support/plans.ts';

const rows = Number(process.env.FOREIGN_ROWS ?? 60_000);
/** A table or an index of so many rows has more. */
const mostBlocks = 120;

const t = useEngine();
const caller = createCaller('mine', roles, { tenant: 'mine' });
const plans: Plan[] = [];
let stop: () => void;

beforeAll(async () => {
  await fillForeign(t.db, rows);
  stop = await watchPlans(t.db, (plan) => plans.push(plan));
}, 600_000);
afterAll(() => stop());

/** Ids of what others own. */
function toText(name: string, type: GraphQLInputType): string {
  const kind = (['group', 'item', 'upload'] as const).find((each) => name.startsWith(each)) ?? 'job';
  return toValue(type, foreign[kind]);
}

/** All that can be asked for without arguments, and the first nodes of a connection. */
function selectionOf(type: GraphQLObjectType, depth = 0): string {
  const parts = Object.values(type.getFields()).flatMap((field) => {
    const named = getNamedType(field.type);
    if (field.args.some(isRequiredArgument)) return [];
    if (isLeafType(named)) return [field.name];
    return ['edges', 'node', 'nodes'].includes(field.name) && isObjectType(named) && depth < 3
      ? [`${field.name} ${selectionOf(named, depth + 1)}`]
      : [];
  });
  return `{ ${[...new Set(['__typename', ...parts])].join(' ')} }`;
}

/** Where a page begins changes nothing. */
const isCursor = (args: string) => /^(after|before):/.test(args);

/** What belongs to no tenant is refused to them. */
const fields = Object.values(schema.getQueryType()?.getFields() ?? {}).filter((field) =>
  caller.permissions.has(permissionOf(field) as Permission),
);

const questions = fields.flatMap((field) => {
  const type = getNamedType(field.type);
  const selection = isObjectType(type) ? selectionOf(type) : isLeafType(type) ? '' : '{ __typename }';
  return toManyArgs(field, field.name === 'item' ? (_, type) => toText('item', type) : toText)
    .filter((args) => !isCursor(args))
    .map((args) => ({
      title: `${field.name}(${args})`,
      text: `${field.name}${args && `(${args})`} ${selection}`,
    }));
});

it('each field of Query is asked for', () => {
  expect(questions.length).toBeGreaterThan(90);
});

const blocks = ({ nodes: [root] }: Plan) =>
  (root?.['Shared Hit Blocks'] ?? 0) + (root?.['Shared Read Blocks'] ?? 0);

it.each(questions)('$title reads nothing of others', async ({ text }) => {
  const contextValue = {
    engine: t.engine,
    uploads: new Uploads({ database: t.engine.database, lifetimeMs: 60_000 }),
    caller,
    peer: () => '127.0.0.1',
    maxQueryCost: 1_000_000,
    maxAnswerBytes: 1_000_000,
    endOf: () => null,
    server: {
      version: '0.0.0',
      signIn: [],
      transport: 'notify',
      maxRequestBytes: 1,
      maxJsonBytes: 1,
      maxUploadBytes: 1,
    },
  } as unknown as Services;
  const ask = async () => {
    plans.length = 0;
    const { errors = [] } = await graphql({
      schema,
      source: `{ ${text} }`,
      contextValue: { ...contextValue },
    });
    expect(
      errors
        .map(({ message }) => message)
        .filter((message) => !/^There is no |no other item is pending/.test(message)),
    ).toEqual([]);
    return plans
      .filter((plan) => blocks(plan) > mostBlocks)
      .map((plan) => `${blocks(plan)} blocks: ${plan.query.replace(/\s+/g, ' ')} ${plan.reads}`);
  };
  let large = await ask();
  // The first time, each connection also reads the catalog.
  for (let i = 0; i < 4 && large.length > 0; i++) large = await ask();
  expect(large).toEqual([]);
});
