/**
 * The one WebSocket of a client: opened with the first operation, shared by all, and closed a second after the last one. It never
 * reconnects or repeats anything itself, since only the caller knows what may be repeated. When the connection is lost, every
 * operation on it fails with UNREACHABLE, and the next operation opens a new connection: at once, or after a random pause if the
 * server said that it is restarting.
 *
 * A connection on which nothing at all came while an answer was awaited is taken for dead and closed: its server hangs, and
 * behind a load balancer the next connection may lead to another server.
 */
import {
  CloseCode,
  createClient,
  type FormattedExecutionResult,
  type Client as GraphqlWs,
} from 'graphql-ws/client';
import { restartPauseMs, wait } from './backoff.ts';
import type { Credentials } from './credentials.ts';
import { connectWithinMs, defaultWebSocket } from './default-websocket.ts';
import type { Document } from './document.ts';
import { hintFor } from './endpoint.ts';
import { dataOf, fromGraphqlErrors, isRefusal, JobtreeError, wasAdmitted } from './errors.ts';
import type { Texts } from './texts.ts';

export interface SocketOptions {
  readonly url: string;
  /** Sent when the connection opens, except in browsers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The credentials that open the connection; undefined if each operation carries its own. */
  readonly credentials: Credentials | undefined;
  readonly webSocketImpl: unknown;
  /** Only without `webSocketImpl`. */
  readonly texts?: Texts | undefined;
}

/** Starts operations: a socket, or one whose operations all carry the same credentials. */
export interface Operations {
  /** Returns a function that ends the operation; the sink is not called after that. */
  subscribe<R, V>(document: Document<R, V>, variables: V, sink: Sink<R>): () => void;
}

export interface Sink<R> {
  next(data: R): void;
  error(error: JobtreeError): void;
  complete(): void;
}

const pingEveryMs = 10_000;
const pongWithinMs = 10_000;
/** After a process was blocked, its timers go off before it has read what came meanwhile: it waits this long for the reading. */
const lateReadingMs = 100;
/** The code with which a restarting server closes its sockets. */
const restart = 1012;
/** Close events of connections whose credentials the server refused, with no other token to try. */
const finalRefusals = new WeakSet<object>();

export class Socket implements Operations {
  readonly #options: SocketOptions;
  #client: Promise<GraphqlWs> | undefined;
  #current: GraphqlWs | undefined;
  /** When the last message of any kind came. */
  #heardAt = 0;
  readonly #closing = new AbortController();

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  /** Resolves with one answer. Without it in time the operation is dropped, though the server may still carry it out. */
  request<R, V>(document: Document<R, V>, variables: V, timeoutMs: number): Promise<R> {
    return new Promise((resolve, reject) => {
      const sentAt = performance.now();
      let answered = false;
      const end = this.subscribe(document, variables, {
        next: (data) => {
          answered = true;
          clearTimeout(timer);
          resolve(data);
        },
        error: (error) => {
          clearTimeout(timer);
          reject(error);
        },
        complete: () => {
          // Follows every answer. Creating an error costs as much as the rest of a small request.
          if (answered) return;
          clearTimeout(timer);
          reject(new JobtreeError('UNREACHABLE', 'The connection was closed.'));
        },
      });
      const giveUp = () => {
        end();
        const { url } = this.#options;
        reject(new JobtreeError('UNREACHABLE', `No answer from ${url} within ${Math.round(timeoutMs)} ms.`));
        if (this.#heardAt < sentAt) this.#current?.terminate();
      };
      let timer = setTimeout(() => {
        timer = setTimeout(giveUp, lateReadingMs);
      }, timeoutMs);
    });
  }

  /**
   * Operations with these credentials, on a connection that has none itself. The server judges each operation by its own token.
   * An operation whose token has ended fails with UNREACHABLE as long as there may be another token.
   */
  as(credentials: Credentials): Operations {
    return {
      subscribe: (document, variables, sink) => this.#subscribe(document, variables, sink, credentials),
    };
  }

  subscribe<R, V>(document: Document<R, V>, variables: V, sink: Sink<R>): () => void {
    return this.#subscribe(document, variables, sink, undefined);
  }

  #subscribe<R, V>(
    document: Document<R, V>,
    variables: V,
    sink: Sink<R>,
    credentials: Credentials | undefined,
  ): () => void {
    let authorization: string | undefined;
    let over = false;
    let unsubscribe = () => {};
    const end = () => {
      over = true;
      unsubscribe();
    };
    const fail = (error: JobtreeError) => {
      if (over) return;
      end();
      sink.error(credentials === undefined ? error : renewable(error, credentials, authorization));
    };
    const payload = { query: document.toString(), variables: variables as Record<string, unknown> };
    const listener = {
      next: ({ data, errors }: FormattedExecutionResult<unknown, unknown>) => {
        if (over) return;
        let shown: unknown;
        try {
          shown = dataOf(data, errors);
        } catch (error) {
          fail(toError(error, this.#options.url));
          return;
        }
        credentials?.accepted();
        sink.next(shown as R);
      },
      error: (error: unknown) => fail(toError(error, this.#options.url)),
      complete: () => {
        if (over) return;
        over = true;
        sink.complete();
      },
    };
    const begin = async () => {
      const client = await this.#connect();
      authorization = await credentials?.authorization();
      // If there is none at the moment, that is the error of this operation alone.
      await this.#options.credentials?.authorization();
      const extensions = authorization === undefined ? undefined : { authorization };
      if (!over) unsubscribe = client.subscribe(extensions ? { ...payload, extensions } : payload, listener);
    };
    begin().catch((error) => fail(toError(error, this.#options.url)));
    return end;
  }

  /** Ends every operation. */
  async close(): Promise<void> {
    this.#closing.abort();
    const client = await this.#client?.catch(() => undefined);
    // Rejects if the connection it waits for fails, which is as good as closed.
    await Promise.resolve(client?.dispose()).catch(() => {});
  }

  #connect(): Promise<GraphqlWs> {
    if (this.#closing.signal.aborted)
      return Promise.reject(new JobtreeError('UNREACHABLE', 'The client is closed.'));
    this.#client ??= connect(this.#options, this.#closing.signal, () => {
      this.#heardAt = performance.now();
    }).then((client) => {
      this.#current = client;
      return client;
    });
    return this.#client;
  }
}

async function connect(
  { url, headers, credentials, webSocketImpl, texts }: SocketOptions,
  closing: AbortSignal,
  onHeard: () => void,
): Promise<GraphqlWs> {
  let pauseMs = 0;
  let shown: string | undefined;
  let pong: ReturnType<typeof setTimeout> | undefined;
  let operations = 0;
  const client = createClient({
    url: async () => {
      await wait(pauseMs, closing);
      pauseMs = 0;
      // An open socket without its token would be closed by the server. An error here would be nobody's: connectionParams asks again.
      await credentials?.authorization().catch(() => {});
      return url.replace(/^http/, 'ws');
    },
    webSocketImpl: webSocketImpl ?? (await defaultWebSocket(headers, texts)),
    connectionParams: async () => {
      if (credentials === undefined) return { authorization: 'per-operation' };
      shown = await credentials.authorization();
      return shown === undefined ? {} : { authorization: shown };
    },
    retryAttempts: 0,
    generateID: () => String(++operations),
    lazyCloseTimeout: 1_000,
    connectionAckWaitTimeout: connectWithinMs,
    keepAlive: pingEveryMs,
    on: {
      message: onHeard,
      connected: () => credentials?.accepted(),
      ping: (received) => {
        if (received) return;
        pong = setTimeout(() => {
          pong = setTimeout(() => client.terminate(), lateReadingMs);
        }, pongWithinMs);
      },
      pong: () => clearTimeout(pong),
      closed: (event) => {
        clearTimeout(pong);
        const { code } = event as { code?: unknown };
        if (code === restart) pauseMs = restartPauseMs();
        // Runs before the operations on the connection learn of the close.
        if (code === CloseCode.Forbidden && !credentials?.refused(shown)) finalRefusals.add(event as object);
      },
    },
  });
  return client;
}

/** The error of an operation whose token was refused or has ended: UNREACHABLE if there may be another token, so that it is tried again. */
function renewable(error: JobtreeError, credentials: Credentials, shown: string | undefined): JobtreeError {
  if (!isRefusal(error)) return error;
  if (wasAdmitted(error)) credentials.accepted();
  return credentials.refused(shown)
    ? new JobtreeError('UNREACHABLE', error.message, { cause: error })
    : error;
}

/** Converts what graphql-ws reports: the errors of a response, how the socket closed, or why it did not open. */
function toError(error: unknown, url: string): JobtreeError {
  if (error instanceof JobtreeError) return error;
  if (Array.isArray(error)) return fromGraphqlErrors(error);
  const { code, reason, message } = (error ?? {}) as { code?: unknown; reason?: unknown; message?: unknown };
  if (typeof code === 'number') {
    // Not the event itself: it has the socket, with all that belongs to it.
    const cause = { code, reason };
    const why = typeof reason === 'string' && reason !== '' ? `: ${reason.replace(/\.$/, '')}` : '';
    if (finalRefusals.has(error as object))
      return new JobtreeError('UNAUTHENTICATED', `${url} refuses the caller${why}.`, { cause });
    return new JobtreeError('UNREACHABLE', `The connection to ${url} was closed (${code})${why}.`, { cause });
  }
  const why = typeof message === 'string' && message !== '' ? message : 'it could not be reached';
  // In Node.js the event has an error.
  const cause = (error as { error?: unknown } | undefined)?.error ?? error;
  // What answers is neither the API, which refuses hosts and too many connections, nor a proxy whose server is away.
  const hint = /server response: (?!403|429|5)/.test(why) ? hintFor(url) : '';
  return new JobtreeError('UNREACHABLE', `No connection to ${url}: ${why}.${hint}`, { cause });
}
