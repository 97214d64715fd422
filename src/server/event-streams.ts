/** Subscriptions over HTTP (server-sent events): counted for each address, and cut at the end of the server. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Addresses } from './addresses.ts';
import type { Stalls } from './stalls.ts';

export class EventStreams {
  readonly #addresses: Addresses;
  readonly #stalls: Stalls;
  readonly #open = new Set<ServerResponse>();

  constructor(options: { addresses: Addresses; stalls: Stalls }) {
    this.#addresses = options.addresses;
    this.#stalls = options.stalls;
  }

  readonly plugin: Plugin = {
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const { req, res } = args.contextValue as { req?: IncomingMessage; res?: ServerResponse };
      // On a WebSocket there are none.
      if (req === undefined || res === undefined) return;
      if (this.#addresses.isFull(req)) {
        const extensions = { code: 'TOO_MANY_CONNECTIONS', http: { status: 429 } };
        const error = new GraphQLError('This address has too many connections.', { extensions });
        setResultAndStopExecution({ errors: [error] });
        return;
      }
      this.#addresses.enter(req, res);
      this.#stalls.watch(req.socket);
      this.#open.add(res);
      res.once('close', () => this.#open.delete(res));
      return {
        onSubscribeResult: ({ result }) => {
          if (!isAsyncIterable(result)) return;
          // Of a client that leaves before the first event, Yoga does not tell.
          if (res.destroyed) void result.return?.();
          else res.once('close', () => void result.return?.());
        },
      };
    },
  };

  /** Without the event that says "complete", so that clients know to come again. */
  cut(): void {
    for (const response of this.#open) response.destroy();
  }
}
