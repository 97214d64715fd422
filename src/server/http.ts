/** The HTTP server: who is let in, and to whom each request goes. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { GraphQLError } from 'graphql';
import { explainRefusal } from '../domain/rights.ts';
import { answerEarly } from './answer-early.ts';
import { answerError, answerForbidden } from './answer-error.ts';
import type { Authentication } from './authentication.ts';
import { type Certificate, secureOptions } from './certificate.ts';
import { shareWithPage } from './cors.ts';
import type { Exchanges } from './exchanges.ts';
import type { Page } from './graphiql.ts';
import type { Yoga } from './graphql.ts';
import type { Health } from './health.ts';
import type { JsonPost } from './json-post.ts';
import type { Lifetime } from './lifetime.ts';
import type { ServeMetrics } from './metrics.ts';
import { maxFormBytes } from './multipart-form.ts';
import { isMultipart, type MultipartPost } from './multipart-post.ts';
import type { Guard, Refusal } from './origin.ts';
import { inLine } from './pipelining.ts';
import type { RateLimits } from './rate-limits.ts';
import { refuseStranger } from './refuse-stranger.ts';
import type { ServeResults } from './results.ts';
import type { Right } from './right.ts';
import { isUploadPath, type ServeUploads } from './uploads.ts';

/** Its headers have come by then; the rest of a request is watched by `stalls.ts`, since uploads take as long as they take. */
const requestTimeouts = {
  requestTimeout: 0,
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5_000,
};

/** Of a connection that does not come to speak TLS. */
const handshakeTimeout = 10_000;

/**
 * So many connections may wait to be taken; the system has a limit of its own (net.core.somaxconn). Beyond, their clients try again a
 * second later.
 */
const backlog = 4_096;

/** Half a dozen listeners of ours hear of the end of an answer, and eight of a pipeline of Node's. */
const mostListeners = 20;

export class Http {
  readonly server: Server;
  readonly #lifetime: Lifetime;
  readonly #certificate: Certificate | undefined;
  #host = '';
  #closed: Promise<unknown> = Promise.resolve();

  constructor(options: {
    lifetime: Lifetime;
    health: Health;
    guard: Guard;
    authentication: Authentication;
    maskError: (error: unknown) => GraphQLError;
    metrics: ServeMetrics;
    exchanges: Exchanges;
    rates: RateLimits;
    /** Of those who need not say who they are. */
    strangers: Exchanges;
    graphiql: Page;
    results: ServeResults;
    uploads: ServeUploads;
    /** What an upload may take in memory. */
    uploadBytes: number;
    multipartPost: MultipartPost;
    jsonPost: JsonPost;
    yoga: Yoga;
    /** With one, all of it is TLS. */
    certificate: Certificate | undefined;
  }) {
    const { lifetime, health, guard, authentication, maskError, metrics, exchanges, rates, graphiql } =
      options;
    const { strangers, results, uploads, uploadBytes, multipartPost, jsonPost, yoga } = options;
    this.#lifetime = lifetime;
    this.#certificate = options.certificate;
    const carryOut = (request: IncomingMessage, response: ServerResponse, right?: Right) => {
      // What may take long ends with its right; event streams see to that themselves.
      if (right !== undefined && (request.url?.startsWith('/api/') || isMultipart(request))) {
        const leave = right.enter(() => response.destroy());
        response.once('close', leave);
      }
      // Its files are stored before the operation runs.
      if (isMultipart(request) && right !== undefined && !right.caller.permissions.has('create')) {
        response.shouldKeepAlive = false;
        return answerForbidden(response, explainRefusal(right.caller, 'create', 'A request with files'));
      }
      const streamed = streamedBytesOf(request, uploadBytes);
      // What is left of one that is refused may be any number of bytes, which nobody has to read.
      if (streamed !== undefined) response.shouldKeepAlive = false;
      const isStream = acceptsEvents(request) && request.method !== 'OPTIONS' && !graphiql.isFor(request);
      if (!exchanges.begin(request, response, { streamedBytes: streamed, isStream })) return;
      if (streamed !== undefined) response.shouldKeepAlive = lifetime.isReady;
      if (!isOperation(request) && refuseBeyondRate(rates, request, response)) return;
      if (uploads(request, response)) return;
      if (graphiql.answers(request, response) || metrics(request, response) || results(request, response))
        return;
      if (request.url?.startsWith('/api/')) return answerError(response, 404, nothingThere);
      if (multipartPost(request, response)) return;
      if (!jsonPost(request, response)) void yoga(request, response);
    };
    /** Takes nothing that those who are known have: neither their places, nor more of a connection than its answer. */
    const answerStranger = (request: IncomingMessage, response: ServerResponse) => {
      if (hasBody(request)) {
        response.shouldKeepAlive = false;
        // Some answers say that the connection stays.
        response.once('finish', () => request.socket.destroySoon());
      }
      if (!strangers.begin(request, response, { isStream: false })) return;
      // tus says there what it can do.
      if (graphiql.answers(request, response) || uploads(request, response)) return;
      response.writeHead(204).end();
    };
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      // So that clients and load balancers come back over another connection, elsewhere.
      if (!lifetime.isReady) response.shouldKeepAlive = false;
      // Nobody watches the body of one that is answered here.
      if (hasBody(request) && health.isFor(request)) response.shouldKeepAlive = false;
      if (health.answers(request, response)) return;
      if (lifetime.isClosing) return refuse(response, shuttingDown);
      const refusal = guard(request);
      if (refusal !== undefined) return refuse(response, refusal);
      shareWithPage(request, response);
      if (request.method === 'OPTIONS') return answerStranger(request, response);
      if (authentication.isOpen) return carryOut(request, response);
      if (graphiql.isFor(request)) return answerStranger(request, response);
      const strange = (error: unknown) => refuseStranger(response, maskError(error));
      try {
        const right = authentication.admit(request);
        if (!(right instanceof Promise)) return carryOut(request, response, right);
        right
          .then((late) => {
            if (!response.destroyed) carryOut(request, response, late);
          })
          .catch(strange);
      } catch (error) {
        strange(error);
      }
    };
    const inTurn = (request: IncomingMessage, response: ServerResponse) => {
      response.setMaxListeners(mostListeners);
      inLine(request, response, () => serve(request, response));
    };
    this.server =
      this.#certificate === undefined
        ? createServer(requestTimeouts, inTurn)
        : createSecureServer({ ...requestTimeouts, ...secureOptions, handshakeTimeout }, inTurn);
  }

  /** Before anything else is started, so that files that can't be used are said at once. */
  async readCertificate(): Promise<void> {
    if (this.server instanceof SecureServer) await this.#certificate?.start(this.server);
  }

  listen(port: number, host: string): Promise<void> {
    this.#host = host.includes(':') ? `[${host}]` : host;
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ port, host, backlog }, resolve);
    });
  }

  /** `http://127.0.0.1:4000/graphql` */
  get url(): string {
    const scheme = this.#certificate === undefined ? 'http' : 'https';
    return `${scheme}://${this.#host}:${(this.server.address() as AddressInfo).port}/graphql`;
  }

  /** From now on there are no new connections; those that there are go on. */
  stopListening(): void {
    this.#closed = new Promise((resolve) => this.server.close(resolve));
  }

  /** Lets connections end whose answers are on their way, while there is time. */
  async end(): Promise<void> {
    this.server.closeIdleConnections();
    await Promise.race([this.#closed, this.#lifetime.timeIsUp]);
    this.server.closeAllConnections();
    await this.#closed;
  }
}

const acceptsEvents = ({ headers }: IncomingMessage) =>
  headers.accept?.includes('text/event-stream') === true;

/** What operations cost they say themselves; GraphiQL is no more than its page. */
const isOperation = ({ method, url = '' }: IncomingMessage) =>
  method === 'OPTIONS' || url.split('?', 1)[0] === '/graphql';

/** Counts what is none as one request, and its bytes, in both directions, once they have gone through. Says whether it is refused. */
function refuseBeyondRate(rates: RateLimits, request: IncomingMessage, response: ServerResponse): boolean {
  const refusal = rates.refuseOther({ req: request });
  if (refusal === undefined) {
    if (!rates.countBytes(request)) return false;
    const { socket } = request;
    // One more than Node takes for a leak.
    response.setMaxListeners(response.getMaxListeners() + 1);
    const before = socket.bytesRead + socket.bytesWritten;
    response.once('close', () => rates.takeBytes(request, socket.bytesRead + socket.bytesWritten - before));
    return false;
  }
  const { http, ...extensions } = refusal.extensions as {
    http: { status: number; headers: Record<string, string> };
  };
  const body = JSON.stringify({ errors: [{ message: refusal.message, extensions }] });
  answerEarly(request, response, http.status, `${body}\n`, {
    'content-type': 'application/json',
    ...http.headers,
  });
  return true;
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** What a request takes in memory of which the body is stored as it comes. */
function streamedBytesOf(request: IncomingMessage, uploadBytes: number): number | undefined {
  if (!hasBody(request)) return undefined;
  if (isUploadPath(request.url)) return uploadBytes;
  return isMultipart(request) ? uploadBytes + maxFormBytes : undefined;
}

const shuttingDown: Refusal = { status: 503, text: 'The server is shutting down.' };

const refusalCodes: Readonly<Record<number, string>> = { 403: 'FORBIDDEN', 503: 'UNAVAILABLE' };

function refuse(response: ServerResponse, { status, text }: Refusal): void {
  const error = { code: refusalCodes[status] ?? 'BAD_REQUEST', message: text };
  answerError(response, status, error, { connection: 'close' });
}

const nothingThere = { code: 'NOT_FOUND', message: 'There is nothing under this path.' };
