/** The options of clients and of calls. Those that do not exist are refused: without a compiler, a misspelt one would have no effect, silently. */
import type { Token } from './credentials.ts';
import type { Document } from './document.ts';
import { JobtreeError } from './errors.ts';
import type { CallOptions, PageOptions, WatchOptions } from './types.ts';

/** Sends a request for a call with these options, if there are such options: `known`, by default those that every call takes. */
export type Send = <R, V>(
  document: Document<R, V>,
  variables: V,
  options: CallOptions,
  repeatable: boolean,
  known?: object,
) => Promise<R>;

/** What every call takes. */
export const callOptions = { signal: true } satisfies Record<keyof CallOptions, true>;

export const pageOptions = { ...callOptions, first: true, after: true } satisfies Record<
  keyof PageOptions,
  true
>;

export const watchOptions = {
  ...callOptions,
  token: true,
  onDisconnected: true,
  onConnected: true,
} satisfies Record<keyof WatchOptions, true>;

/** How to reach the service. */
export interface ClientOptions {
  /**
   * The URL of the endpoint; in a page it may be relative to the page. Default: the environment's `JOBTREE_URL`, else
   * `http://127.0.0.1:4000/graphql`.
   */
  readonly url?: string | undefined;
  /**
   * Shows the server who you are, if it asks: an API key or token, or a function that returns one. The function is called once,
   * and again when the server refuses what it returned (such as a key that was rotated); subscriptions then continue where they
   * were. Default: the environment's `JOBTREE_TOKEN`, if it is set.
   */
  readonly token?: Token | undefined;
  /** Sent with every request and, except in browsers, with the request that opens the WebSocket. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * For how long a request is tried again, in milliseconds, if the server or its Postgres is away or busy, and repeating it is
   * safe. Default: 5,000.
   */
  readonly retryMs?: number | undefined;
  /** Called with the reason before a request is tried again. Default: none. */
  readonly onRetry?: ((error: JobtreeError) => void) | undefined;
  /** How long an answer may take, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** What sends requests. Default: under Node.js `node:http`, with connections that are kept alive; elsewhere the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** The WebSocket class. Default: that of the package `ws`; in browsers, the browser's own. */
  readonly webSocketImpl?: unknown;
}

export const clientOptions = {
  url: true,
  token: true,
  headers: true,
  retryMs: true,
  onRetry: true,
  timeoutMs: true,
  fetch: true,
  webSocketImpl: true,
} satisfies Record<keyof ClientOptions, true>;

/** @throws JobtreeError INVALID_INPUT, naming the option behind `path` */
export function refuseUnknown(options: object, known: object, path = ''): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const field = `${path}${name}`;
    const message = `${field} is not an option; there are ${Object.keys(known).join(', ')}.`;
    throw new JobtreeError('INVALID_INPUT', message, { field });
  }
}
