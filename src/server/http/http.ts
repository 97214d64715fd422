/** The HTTP server: decides who is let in, and which handler gets each request. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { GraphQLError } from 'graphql';
import { explainRefusal } from '../../domain/access/rights.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Admission } from '../rights/admission.ts';
import type { Authentication } from '../rights/authentication.ts';
import { answerEarly } from './answer-early.ts';
import { answerError, answerForbidden } from './answer-error.ts';
import { type Certificate, secureOptions } from './certificate.ts';
import { Connections } from './connections.ts';
import { shareWithPage } from './cors.ts';
import type { Yoga } from './graphql.ts';
import type { Health } from './health.ts';
import type { JsonPost } from './json-post.ts';
import type { Lifetime } from './lifetime.ts';
import type { ServeMetrics } from './metrics.ts';
import { maxFormBytes } from './multipart-form.ts';
import { isMultipart, type MultipartPost } from './multipart-post.ts';
import type { OpenRequests } from './open-requests.ts';
import type { Guard, Refusal } from './origin.ts';
import type { Page } from './page.ts';
import { inLine } from './pipelining.ts';
import { refuseStranger } from './refuse-stranger.ts';
import type { ServeResults } from './results.ts';
import { refuseTinyChunks } from './tiny-chunks.ts';
import { isUploadPath, type ServeUploads } from './uploads.ts';

/** Node limits only the time of the headers. `stalls.ts` watches the rest of a request, since an upload may take any time. */
const requestTimeouts = {
  requestTimeout: 0,
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5_000,
};

/** For a connection that does not complete its TLS handshake. */
const handshakeTimeout = 10_000;

/**
 * Connections that may wait to be accepted; the system has a limit of its own (net.core.somaxconn). Beyond it, clients try again a second later.
 */
const backlog = 4_096;

/** About seven listeners of ours wait for the end of an answer, and eight of Node's if a stream is piped into it. */
const mostListeners = 20;

export class Http {
  readonly server: Server;
  readonly #lifetime: Lifetime;
  readonly #certificate: Certificate | undefined;
  readonly #connections: Connections;
  #host = '';
  #closed: Promise<unknown> = Promise.resolve();

  constructor(options: {
    lifetime: Lifetime;
    health: Health;
    guard: Guard;
    authentication: Authentication;
    maskError: (error: unknown) => GraphQLError;
    metrics: ServeMetrics;
    openRequests: OpenRequests;
    rates: RateLimits;
    /** For requests that need no authentication. */
    strangers: OpenRequests;
    /** GraphiQL and the dashboard. */
    pages: readonly Page[];
    results: ServeResults;
    uploads: ServeUploads;
    /** How much memory an upload may take, in bytes. */
    uploadBytes: number;
    multipartPost: MultipartPost;
    jsonPost: JsonPost;
    yoga: Yoga;
    onConnection: () => void;
    /** If set, the server speaks only TLS. */
    certificate: Certificate | undefined;
  }) {
    const { lifetime, health, guard, authentication, maskError, metrics, openRequests, rates, pages } =
      options;
    const { strangers, results, uploads, uploadBytes, multipartPost, jsonPost, yoga } = options;
    this.#lifetime = lifetime;
    this.#certificate = options.certificate;
    const isForPage = (request: IncomingMessage) => pages.some((page) => page.isFor(request));
    const showPage = (request: IncomingMessage, response: ServerResponse) =>
      pages.some((page) => page.answers(request, response));
    const carryOut = (request: IncomingMessage, response: ServerResponse, admission?: Admission) => {
      // Requests that may take long end with their right; event streams see to that themselves.
      if (admission !== undefined && (request.url?.startsWith('/api/') || isMultipart(request))) {
        const leave = admission.enter(() => response.destroy());
        response.once('close', leave);
      }
      // The files are stored before the operation, with its own check, runs.
      if (isMultipart(request) && admission !== undefined && !admission.caller.permissions.has('create')) {
        response.shouldKeepAlive = false;
        return answerForbidden(response, explainRefusal(admission.caller, 'create', 'A request with files'));
      }
      const streamed = streamedBytesOf(request, uploadBytes);
      // A refused upload may have any number of bytes left, which nobody should have to read.
      if (streamed !== undefined) response.shouldKeepAlive = false;
      const isStream = acceptsEvents(request) && request.method !== 'OPTIONS' && !isForPage(request);
      if (!openRequests.begin(request, response, { streamedBytes: streamed, isStream })) return;
      if (streamed !== undefined) response.shouldKeepAlive = lifetime.isReady;
      if (!isOperation(request) && refuseBeyondRate(rates, request, response)) return;
      if (uploads(request, response)) return;
      if (showPage(request, response) || metrics(request, response) || results(request, response)) return;
      if (request.url?.startsWith('/api/')) return answerError(response, 404, nothingThere);
      if (multipartPost(request, response)) return;
      const { headers } = request;
      // Its case means nothing; what reads bodies expects it in small letters.
      if (headers['content-type'] !== undefined)
        headers['content-type'] = headers['content-type'].toLowerCase();
      if (!jsonPost(request, response)) void yoga(request, response);
    };
    /** Takes none of the places of authenticated callers; a connection with a body ends with its answer. */
    const answerStranger = (request: IncomingMessage, response: ServerResponse) => {
      if (hasBody(request)) {
        response.shouldKeepAlive = false;
        // Some of these answers would otherwise keep the connection alive.
        response.once('finish', () => request.socket.destroySoon());
      }
      if (!strangers.begin(request, response, { isStream: false })) return;
      // OPTIONS is where a tus server says what it supports.
      if (showPage(request, response) || uploads(request, response)) return;
      response.writeHead(204).end();
    };
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      // Makes clients and load balancers reconnect, which leads them to another server.
      if (!lifetime.isReady) response.shouldKeepAlive = false;
      // Nothing watches the body of a request that is answered here.
      if (hasBody(request) && health.isFor(request)) response.shouldKeepAlive = false;
      if (health.answers(request, response)) return;
      if (guard.isOfAllowedPage(request)) shareWithPage(request, response);
      if (lifetime.isClosing) return refuse(response, shuttingDown);
      const refusal = guard.refusalOf(request);
      if (refusal !== undefined) return refuse(response, refusal);
      if (request.method === 'OPTIONS') return answerStranger(request, response);
      if (authentication.isOpen) return carryOut(request, response);
      if (isForPage(request)) return answerStranger(request, response);
      const refuseCaller = (error: unknown) => refuseStranger(response, maskError(error));
      try {
        const admission = authentication.admit(request);
        if (!(admission instanceof Promise)) return carryOut(request, response, admission);
        admission
          .then((late) => {
            if (!response.destroyed) carryOut(request, response, late);
          })
          .catch(refuseCaller);
      } catch (error) {
        refuseCaller(error);
      }
    };
    const inTurn = (request: IncomingMessage, response: ServerResponse) => {
      // The rest of the packet that ended the connection.
      if (request.socket.destroyed) return;
      response.setMaxListeners(mostListeners);
      this.#connections.begin(request, response);
      refuseTinyChunks(request, response);
      inLine(request, response, () => serve(request, response));
    };
    this.server =
      this.#certificate === undefined
        ? createServer(requestTimeouts, inTurn)
        : createSecureServer({ ...requestTimeouts, ...secureOptions, handshakeTimeout }, inTurn);
    this.#connections = new Connections(this.server);
    this.server.on('connection', options.onConnection);
  }

  /** Called before anything else starts, so that unusable files are reported at once. */
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

  /** Accepts no new connections; those that are open go on. */
  stopListening(): void {
    this.#closed = new Promise((resolve) => this.server.close(resolve));
  }

  /** Lets open connections finish their answers until the time for that is over, but waits for no request that does not arrive. */
  async end(): Promise<void> {
    this.server.closeIdleConnections();
    const stop = this.#connections.endStalled();
    await Promise.race([this.#closed, this.#lifetime.timeIsUp]);
    stop();
    this.#connections.endAll();
    await this.#closed;
  }
}

const acceptsEvents = ({ headers }: IncomingMessage) =>
  headers.accept?.includes('text/event-stream') === true;

/** Operations are charged when they run; GraphiQL, on the same path, is only a page and is not charged. */
const isOperation = ({ method, url = '' }: IncomingMessage) =>
  method === 'OPTIONS' || url.split('?', 1)[0] === '/graphql';

/** Counts a non-operation as one request, and later its bytes in both directions. Returns whether it was refused. */
function refuseBeyondRate(rates: RateLimits, request: IncomingMessage, response: ServerResponse): boolean {
  const refusal = rates.refuseOther({ req: request });
  if (refusal === undefined) {
    if (!rates.countBytes(request)) return false;
    const { socket } = request;
    // One listener more than Node would report as a leak.
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

/** How much memory a request takes whose body is stored as it arrives, in bytes. */
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
