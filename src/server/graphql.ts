import type { IncomingMessage } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Config } from '../config.ts';
import { forRequest } from '../domain/engine.ts';
import type { Services } from '../schema/builder.ts';
import { schema } from '../schema/index.ts';
import { documentCache } from './documents.ts';
import type { EventStreams } from './event-streams.ts';
import { graphiqlOptions, renderGraphiQL } from './graphiql.ts';
import type { Operations } from './operations.ts';
import { SharedSubscriptions } from './shared-subscriptions.ts';

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
    context: (initial) => {
      const isGone = goneness(initial);
      return isGone === undefined ? services : { ...services, engine: forRequest(services.engine, isGone) };
    },
    graphqlEndpoint: '/graphql',
    maxRequestBodySize: config.maxRequestBytes,
    multipart: false,
    cors: config.allowedOrigins.length > 0 && { origin: [...config.allowedOrigins], credentials: false },
    landingPage: false,
    graphiql: config.graphiql && graphiqlOptions,
    renderGraphiQL,
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

interface Initial {
  /** Over HTTP by Yoga. */
  readonly req?: IncomingMessage;
  /** Over HTTP by the short way, where it is Node's own. */
  readonly request?: object;
  /** Over a WebSocket. */
  readonly reader?: { readonly isGone?: boolean };
}

/** How to see that the client of a request has gone; looked up when its turn comes, which costs less than to be told. */
function goneness({ req, request, reader }: Initial): (() => boolean) | undefined {
  const socket = (req ?? (request as Partial<IncomingMessage> | undefined))?.socket;
  if (socket !== undefined) return () => socket.destroyed;
  return reader && (() => reader.isGone === true);
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
