/**
 * GraphQL over WebSocket (graphql-transport-ws), on the port and path of the HTTP API. Operations run through the plugins
 * of the HTTP side.
 *
 * A socket may carry many operations, so what is wrong with one never closes it: a request that can't be parsed, is
 * refused or fails, or is one too many, is answered on its own. What closes it is a client that breaks the protocol: a
 * message that is none (4400), an operation before the connection is acknowledged (4401), a second init (4429), and an id
 * that is in use (4409), since an answer under it would reach the operation that has it.
 *
 * The server reads no faster from a socket than it may, and ends those that are dead (no answer to a ping) or do not read.
 */
import type { IncomingMessage, Server } from 'node:http';
import { type ExecutionArgs, GraphQLError } from 'graphql';
import { CloseCode, type Context, handleProtocols, makeServer } from 'graphql-ws';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Addresses } from './addresses.ts';
import type { Yoga } from './graphql.ts';
import { SocketReader, SocketWindow } from './socket-reader.ts';
import type { Stalls } from './stalls.ts';
import { TokenBucket } from './token-bucket.ts';

const initTimeoutMs = 3_000;
const keepAliveMs = 10_000;
const closeTimeoutMs = 1_000;
/** The registered code for "service restart": come again. */
const restart = 1012;

type Envelop = ReturnType<Yoga['getEnveloped']>;
type Args = ExecutionArgs & { rootValue: Pick<Envelop, 'execute' | 'subscribe'> };
type Extra = Record<PropertyKey, unknown> & { window: SocketWindow };

export function serveWebSocket(options: {
  server: Server;
  yoga: Yoga;
  limits: { maxMessageBytes: number; maxOperations: number; maxMessagesPerSecond: number };
  addresses: Addresses;
  stalls: Stalls;
  isAllowed: (request: IncomingMessage) => boolean;
  isClosing: () => boolean;
  maskError: (error: unknown) => GraphQLError;
  logger: Logger;
}): { close: () => Promise<void> } {
  const { server, yoga, limits, addresses, stalls, isAllowed, isClosing, maskError, logger } = options;
  const sockets = new WebSocketServer({
    server,
    path: yoga.graphqlEndpoint,
    maxPayload: limits.maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols,
    verifyClient: ({ req }: { req: IncomingMessage }, decide) => {
      if (!isAllowed(req)) decide(false, 403, 'Pages of this origin may not use the API.');
      else if (addresses.isFull(req)) decide(false, 429, 'This address has too many connections.');
      else decide(true);
    },
  });

  const answer = async <R>(run: () => R): Promise<Awaited<R> | { errors: GraphQLError[] }> => {
    try {
      return await run();
    } catch (error) {
      return { errors: [maskError(error)] };
    }
  };
  const protocol = makeServer<Record<string, unknown>, Extra>({
    connectionInitWaitTimeout: initTimeoutMs,
    execute: (args) => answer(() => (args as Args).rootValue.execute(args)),
    subscribe: (args) => answer(() => (args as Args).rootValue.subscribe(args)),
    onSubscribe: async (context, id, params) => {
      const refusal = refuse(context);
      if (refusal !== undefined) return [refusal];
      try {
        const { schema, execute, subscribe, contextFactory, parse, validate } = yoga.getEnveloped({
          connectionParams: context.connectionParams,
          params,
          reader: new SocketReader(context.extra.window, id),
        });
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
        return [maskError(error)];
      }
    },
    onError: (_context, _id, _params, errors) => errors.map((error) => maskError(error).toJSON()),
  });

  function refuse({ subscriptions }: Context): GraphQLError | undefined {
    if (isClosing())
      return new GraphQLError('The server is shutting down.', { extensions: { code: 'UNAVAILABLE' } });
    const { maxOperations } = limits;
    if (Object.keys(subscriptions).length <= maxOperations) return undefined;
    return new GraphQLError(`This connection has ${maxOperations} operations under way; no more are taken.`, {
      extensions: { code: 'TOO_MANY_OPERATIONS' },
    });
  }

  /** Those that were heard of since the last ping. */
  const alive = new WeakSet<WebSocket>();
  const keepAlive = setInterval(() => {
    for (const socket of sockets.clients) {
      if (socket.isPaused) continue;
      // A ping may wait behind much else: then it counts whether that moves.
      if (!alive.delete(socket) && socket.bufferedAmount === 0) socket.terminate();
      else if (socket.readyState === socket.OPEN) socket.ping();
    }
  }, keepAliveMs);

  // Those of the HTTP server, whose owner hears of them itself.
  sockets.on('error', () => {});
  sockets.on('connection', (socket, request) => {
    addresses.enter(request, socket);
    stalls.watch(request.socket);
    alive.add(socket);
    socket.on('pong', () => alive.add(socket));
    // What breaks the framing, or is too large, ends the socket with the code for it.
    socket.on('error', (error) => logger.debug({ err: error }, 'a WebSocket failed'));

    const bucket = new TokenBucket(limits.maxMessagesPerSecond);
    const window = new SocketWindow(socket, request.socket);
    const opened = protocol.opened(
      {
        protocol: socket.protocol,
        send: (text) => send(socket, text),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) =>
          socket.on('message', (data) => {
            alive.add(socket);
            bucket.take();
            if (bucket.restMs() > 0 && !socket.isPaused) rest(socket, bucket);
            handle(String(data)).catch((error: unknown) => {
              // An answer that was not sent since the socket is gone is no news.
              if (socket.readyState !== socket.OPEN) return;
              logger.error({ err: error }, 'a WebSocket message could not be handled');
              socket.close(CloseCode.InternalServerError, 'Internal server error');
            });
          }),
      },
      { window },
    );
    socket.once('close', (code, reason) => {
      opened(code, String(reason)).catch((error: unknown) => {
        logger.error({ err: error }, 'a WebSocket could not be cleaned up');
      });
      // graphql-ws forgets an operation whose id was given to another one before it had begun.
      for (const reader of window.readers) void reader.return();
    });
  });

  return {
    close: async () => {
      clearInterval(keepAlive);
      const closed = new Promise((resolve) => sockets.close(resolve));
      for (const socket of sockets.clients) socket.close(restart, 'The server is shutting down.');
      // One whose client does not answer is cut.
      const cut = setTimeout(() => {
        for (const socket of sockets.clients) socket.terminate();
      }, closeTimeoutMs);
      await closed;
      clearTimeout(cut);
    },
  };
}

/** Reads nothing for as long as the bucket asks; what was read already is handled still, and makes it longer. */
function rest(socket: WebSocket, bucket: TokenBucket): void {
  const ms = bucket.restMs();
  if (ms === 0) {
    socket.resume();
  } else {
    socket.pause();
    setTimeout(rest, ms, socket, bucket).unref();
  }
}

function send(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (socket.readyState !== socket.OPEN) resolve();
    else socket.send(text, (error) => (error ? reject(error) : resolve()));
  });
}
