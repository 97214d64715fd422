/** Subscriptions over HTTP (server-sent events): counted by caller, and ended with the server or with the caller's right. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import { tooManyConnections } from '../limits/busy.ts';
import type { Quota } from '../limits/quota.ts';
import type { Authentication } from '../rights/authentication.ts';
import type { OwnerOf } from '../rights/owners.ts';
import { StreamReader } from './stream-reader.ts';

const headers = {
  'content-type': 'text/event-stream',
  connection: 'keep-alive',
  'cache-control': 'no-cache',
  'content-encoding': 'none',
};

export class EventStreams {
  readonly #authentication: Authentication;
  readonly #ownerOf: OwnerOf;
  readonly #connections: Quota;
  readonly #open = new Map<ServerResponse, StreamReader>();

  constructor(options: { authentication: Authentication; ownerOf: OwnerOf; connections: Quota }) {
    this.#authentication = options.authentication;
    this.#ownerOf = options.ownerOf;
    this.#connections = options.connections;
  }

  readonly plugin: Plugin = {
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const { req, res } = args.contextValue as { req?: IncomingMessage; res?: ServerResponse };
      // Operations on a WebSocket have no request and response here.
      if (req === undefined || res === undefined) return;
      // The client left before its subscription began: nothing would ever end it.
      if (res.destroyed) return setResultAndStopExecution({});
      const connections = this.#connections.share(this.#ownerOf(req));
      if (connections.take() !== undefined) {
        setResultAndStopExecution({ errors: [tooManyConnections()] });
        return;
      }
      const reader = new StreamReader(res);
      this.#open.set(res, reader);
      const leaving = new AbortController();
      const whenEnded = (call: () => void) => res.once('close', call);
      Object.assign(args.contextValue as object, { signal: leaving.signal, reader, whenEnded });
      const leave = this.#authentication.admissionOf(req)?.enter((reason) => {
        void reader.return();
        endStream(res, reason);
      });
      let results: AsyncIterator<unknown> | undefined;
      res.once('close', () => {
        this.#open.delete(res);
        connections.release();
        leave?.();
        leaving.abort();
        void results?.return?.();
      });
      return {
        // Yoga ends the results when a client leaves, but not if it left before there were any.
        onSubscribeResult: ({ result }) => {
          if (!isAsyncIterable(result)) return;
          results = result;
          if (leaving.signal.aborted) void results.return?.();
        },
      };
    },
    onResultProcess: ({ serverContext, resultProcessor, setResultProcessor }) => {
      const reader = this.#open.get((serverContext as unknown as { res: ServerResponse }).res);
      if (resultProcessor === undefined || reader?.hasJoined !== true) return;
      // Yoga writes the head, then waits for a body that never comes; the reader writes.
      const body = new Readable({ read: () => reader.open() });
      setResultProcessor(
        (_result, { Response }) => new Response(body as never, { headers }),
        'text/event-stream',
      );
    },
  };

  /** Ends all streams without the event "complete", so that clients reconnect. */
  cut(): void {
    for (const response of this.#open.keys()) response.destroy();
  }
}

/** Sends the reason. A client that reconnects is refused, unless it has other credentials. */
function endStream(response: ServerResponse, reason: string): void {
  if (!response.headersSent) return void response.destroy();
  const errors = [{ message: reason, extensions: { code: 'UNAUTHENTICATED' } }];
  response.end(`event: next\ndata: ${JSON.stringify({ errors })}\n\n`, () => response.destroy());
}
