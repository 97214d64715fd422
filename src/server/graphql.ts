import type { IncomingMessage } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Config } from '../config.ts';
import type { Services } from '../schema/builder.ts';
import { schema } from '../schema/index.ts';
import { documentCache } from './documents.ts';
import type { EventStreams } from './event-streams.ts';
import type { Exchanges } from './exchanges.ts';
import type { Operations } from './operations.ts';
import { SharedSubscriptions } from './shared-subscriptions.ts';

export type Yoga = ReturnType<typeof createGraphQL>;

/** Whose operation it is: the request as Node has it is in one place or the other. */
interface Initial {
  readonly req?: IncomingMessage;
  readonly request: unknown;
  readonly announce?: Services['announce'];
}

/** GraphQL over HTTP and SSE; the WebSocket server runs its operations through the same plugins. */
export function createGraphQL(options: {
  config: Config;
  services: Services;
  operations: Operations;
  streams: EventStreams;
  exchanges: Exchanges;
}) {
  const { config, services, operations, streams, exchanges } = options;
  return createYoga<object, Services>({
    schema,
    // A socket brings its own.
    context: ({ req, request, announce }: Initial) =>
      announce === undefined
        ? { ...services, announce: (bytes: number) => exchanges.announce(req ?? request, bytes) }
        : services,
    graphqlEndpoint: '/graphql',
    maxRequestBodySize: config.maxRequestBytes,
    multipart: false,
    cors: config.allowedOrigins.length > 0 && { origin: [...config.allowedOrigins], credentials: false },
    landingPage: false,
    graphiql: false,
    parserAndValidationCache: { documentCache: documentCache(), errorCache: documentCache() },
    plugins: [
      refuseBadParameters,
      operations.plugin,
      streams.plugin,
      new SharedSubscriptions({ services, maskError: operations.maskError }).plugin,
    ],
    maskedErrors: { maskError: operations.maskError },
    logging: false,
  });
}

/** Yoga reads the parameters of a URL or a form as JSON, and takes its own failure at that for a fault of the server. */
const refuseBadParameters: Plugin = {
  onRequestParse: ({ requestParser, setRequestParser }) => {
    if (requestParser === undefined) return;
    setRequestParser(async (request) => {
      try {
        return await requestParser(request);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        throw new GraphQLError('variables and extensions must be JSON.', {
          extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
        });
      }
    });
  },
};
