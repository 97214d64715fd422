/**
 * GraphQL over WebSocket (graphql-transport-ws), on the port and path of the HTTP API. Operations run through the plugins
 * of the HTTP side. A request that can't be parsed or is refused is answered on its own and never closes the socket, which
 * may carry others.
 */
import type { IncomingMessage, Server } from 'node:http';
import { type ExecutionArgs, GraphQLError } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import type { Yoga } from './graphql.ts';
import { SocketReader } from './socket-reader.ts';

const keepAliveMs = 10_000;
const closeTimeoutMs = 1_000;

type Envelop = ReturnType<Yoga['getEnveloped']>;
type Args = ExecutionArgs & { rootValue: Pick<Envelop, 'execute' | 'subscribe'> };

export function serveWebSocket(options: {
  server: Server;
  yoga: Yoga;
  maxMessageBytes: number;
  isAllowed: (request: IncomingMessage) => boolean;
  isClosing: () => boolean;
  logger: Logger;
}): { close: () => Promise<void> } {
  const { server, yoga, maxMessageBytes, isAllowed, isClosing, logger } = options;
  // Without the server, whose errors, such as a port that is taken, it would take for its own.
  const sockets = new WebSocketServer({
    noServer: true,
    path: yoga.graphqlEndpoint,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    verifyClient: ({ req }: { req: IncomingMessage }) => isAllowed(req),
  });
  const disposable = useServer(
    {
      execute: (args) => (args as Args).rootValue.execute(args),
      subscribe: (args) => (args as Args).rootValue.subscribe(args),
      onSubscribe: async (context, id, params) => {
        if (isClosing())
          return [new GraphQLError('The server is shutting down.', { extensions: { code: 'UNAVAILABLE' } })];
        const { schema, execute, subscribe, contextFactory, parse, validate } = yoga.getEnveloped({
          connectionParams: context.connectionParams,
          params,
          reader: new SocketReader(context.extra.socket, id),
        });
        try {
          const document = parse(params.query);
          const errors = validate(schema, document);
          if (errors.length > 0) return errors;
          return {
            schema,
            document,
            operationName: params.operationName,
            variableValues: params.variables,
            contextValue: await contextFactory(),
            rootValue: { execute, subscribe },
          };
        } catch (error) {
          return [error instanceof GraphQLError ? error : new GraphQLError('The request could not be read.')];
        }
      },
    },
    sockets,
    keepAliveMs,
  );
  // In place of what graphql-ws does, which writes to the console. `ws` itself closes a socket that breaks its protocol or
  // sends too much, and a server that can't listen is for its maker to handle.
  const logError = (error: Error) => logger.info({ err: error }, 'a WebSocket broke');
  sockets.removeAllListeners('error').on('error', logError);
  sockets.on('connection', (socket) => socket.removeAllListeners('error').on('error', logError));
  server.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (webSocket) =>
      sockets.emit('connection', webSocket, request),
    ),
  );
  return {
    close: async () => {
      // Each socket is closed with 1001; one whose client does not answer is cut.
      const cut = setTimeout(() => {
        for (const socket of sockets.clients) socket.terminate();
      }, closeTimeoutMs);
      await disposable.dispose();
      clearTimeout(cut);
    },
  };
}
