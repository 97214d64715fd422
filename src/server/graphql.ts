import { createYoga } from 'graphql-yoga';
import type { Config } from '../config.ts';
import type { Services } from '../schema/builder.ts';
import { schema } from '../schema/index.ts';
import type { EventStreams } from './event-streams.ts';
import { graphiqlOptions, renderGraphiQL } from './graphiql.ts';
import type { Operations } from './operations.ts';

export type Yoga = ReturnType<typeof createGraphQL>;

/** GraphQL over HTTP and SSE; the WebSocket server runs its operations through the same plugins. */
export function createGraphQL(options: {
  config: Config;
  services: Services;
  operations: Operations;
  streams: EventStreams;
}) {
  const { config, services, operations, streams } = options;
  return createYoga<object, Services>({
    schema,
    context: () => services,
    graphqlEndpoint: '/graphql',
    maxRequestBodySize: config.maxRequestBytes,
    multipart: false,
    cors: config.allowedOrigins.length > 0 && { origin: [...config.allowedOrigins], credentials: false },
    landingPage: false,
    graphiql: config.graphiql && graphiqlOptions,
    renderGraphiQL,
    plugins: [operations.plugin, streams.plugin],
    maskedErrors: { maskError: operations.maskError },
    logging: false,
  });
}
