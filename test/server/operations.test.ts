/** What is counted as under way ends, however it ends. */
import { GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql';
import { createYoga } from 'graphql-yoga';
import pino from 'pino';
import { expect, it } from 'vitest';
import { anybody } from '../../src/domain/access/rights.ts';
import { Operations } from '../../src/server/execution/operations.ts';
import { RateLimits } from '../../src/server/limits/rate-limits.ts';

const fields = { hello: { type: GraphQLString, resolve: () => 'hello' } };
const schema = new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields }) });

const none = { requestsPerSecond: null, costPerSecond: null };

it.each([
  [
    'throws',
    () => {
      throw new Error('a fault');
    },
  ],
  ['rejects', () => Promise.reject(new Error('a fault'))],
])('an execution that %s is answered, and no longer under way', async (_, execute) => {
  const operations = new Operations({
    logger: pino({ level: 'silent' }),
    maxTokens: 1_000,
    maxActive: 10,
    rates: new RateLimits({ caller: none, tenant: none, ownerOf: () => ({}), setHeaders: () => {} }),
  });
  Object.assign(operations, { execute });
  const yoga = createYoga({
    schema,
    context: { engine: {}, caller: anybody },
    plugins: [operations.plugin],
    maskedErrors: { maskError: operations.maskError },
    logging: false,
  });
  const answer = await yoga.fetch('http://localhost/graphql?query={hello}');
  expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'INTERNAL' } }] });
  await operations.idle();
});
