import type { IncomingMessage } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type GraphQLParams, isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Owner } from '../../concurrency/fair-queue.ts';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../domain/access/rights.ts';
import { type Engine, forRequest } from '../../domain/engine/engine.ts';
import { stringify } from '../../domain/values/json-text.ts';
import type { Parts, Services } from '../../schema/core/services.ts';
import { schema } from '../../schema/index.ts';
import type { Operations } from '../execution/operations.ts';
import { SharedSubscriptions } from '../execution/shared-subscriptions.ts';
import type { SubscriptionCosts } from '../execution/subscription-costs.ts';
import type { Parking } from '../limits/parking.ts';
import type { Quota } from '../limits/quota.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { AddressOf } from '../rights/addresses.ts';
import type { Admission } from '../rights/admission.ts';
import { type Authentication, nobody } from '../rights/authentication.ts';
import type { OwnerOf } from '../rights/owners.ts';
import { hasLeft } from './connections.ts';
import type { EventStreams } from './event-streams.ts';
import type { OpenRequests } from './open-requests.ts';
import { badRequest, parseJsonText, readJsonBody } from './request-body.ts';

export type Yoga = ReturnType<typeof createGraphQL>;

/** What the transport of an operation says about it. */
interface Initial {
  /** Set by Yoga, over HTTP. */
  readonly req?: IncomingMessage;
  /** Set by the short path for HTTP: Node's own request. */
  readonly request?: unknown;
  /** Over a WebSocket: aborts when the client has cancelled the operation. */
  readonly signal?: AbortSignal;
  readonly announce?: Services['announce'];
  /** Set by the short path for HTTP. */
  readonly leave?: Services['leave'];
  /** Over a WebSocket. */
  readonly owner?: Owner;
  /** Over a WebSocket: the request that opened it. */
  readonly opening?: IncomingMessage;
  readonly caller?: Caller;
}

/** GraphQL over HTTP and SSE; the WebSocket server runs its operations through the same plugins. */
export function createGraphQL(options: {
  config: Config;
  services: Parts & { engine: Engine<Database> };
  operations: Operations;
  rates: RateLimits;
  costs: SubscriptionCosts;
  streams: EventStreams;
  openRequests: OpenRequests;
  authentication: Authentication;
  ownerOf: OwnerOf;
  peerOf: AddressOf;
  bytes: Quota;
  parking: Parking;
}) {
  const {
    config,
    services,
    operations,
    rates,
    costs,
    streams,
    openRequests,
    authentication,
    ownerOf,
    peerOf,
    bytes,
    parking,
  } = options;
  const { engine } = services;
  return createYoga<object, Services>({
    schema,
    context: ({ req, request, announce, signal, owner, opening, caller, leave }: Initial) => {
      // Undefined on a socket, which brings its own values.
      const received = req ?? (request as IncomingMessage | undefined);
      const sender = owner ?? ownerOf(received as IncomingMessage);
      const admission = authentication.admissionOf(received);
      return {
        ...services,
        caller: caller ?? callerOf(admission),
        peer: () => peerOf(opening ?? (received as IncomingMessage)),
        engine: forRequest(engine, {
          ...sender,
          isGone: signal ? () => signal.aborted : () => received !== undefined && hasLeft(received.socket),
        }),
        ...(leave && { leave }),
        park: (onGone: () => void) => {
          if (signal !== undefined) return parking.ofSocket(sender, signal, onGone);
          return parking.ofRequest(sender, received as IncomingMessage, admission, onGone);
        },
        ...(announce === undefined && { announce: (more: number) => openRequests.announce(received, more) }),
      };
    },
    graphqlEndpoint: '/graphql',
    maxRequestBodySize: config.maxRequestBytes,
    multipart: false,
    cors: false,
    landingPage: false,
    graphiql: false,
    // Our own cache (`documents.ts`) still counts each invalid document against the rate limits when its errors are known.
    parserAndValidationCache: false,
    plugins: [
      readBodies(ownerOf, rates, config.maxRequestBytes),
      writeAnswers,
      operations.plugin,
      streams.plugin,
      costs.plugin,
      new SharedSubscriptions({
        services,
        execute: operations.execute,
        maskError: operations.maskError,
        bytes,
      }).plugin,
    ],
    maskedErrors: { maskError: operations.maskError },
    logging: false,
  });
}

/** A right may end while the body is still arriving. */
function callerOf(admission: Admission | undefined): Caller {
  return admission === undefined || admission.isOver ? nobody : admission.caller;
}

/** Reads bodies in bounded time, and answers unreadable ones itself: Yoga would quote the body in its error, or report a fault of the server. */
const readBodies = (ownerOf: OwnerOf, rates: RateLimits, maxBytes: number): Plugin => ({
  onRequestParse: ({ request, requestParser, setRequestParser, serverContext }) => {
    if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge(maxBytes);
    if (requestParser === undefined) return;
    const { req } = serverContext as Initial;
    const refuse = (error: unknown) => {
      throw (req && rates.refuseOther({ req })) ?? error;
    };
    const read = async (request: Request) => {
      const type = request.method === 'POST' ? request.headers.get('content-type') : null;
      try {
        if (type !== null && /^application\/(graphql\+)?json\b/.test(type))
          return await readJson(request, req === undefined ? {} : ownerOf(req));
        if (type?.startsWith('application/x-www-form-urlencoded')) return readForm(await request.text());
        return await requestParser(request);
      } catch (error) {
        // Of a body without a length Yoga finds it out, and names neither the limit nor a code that clients know.
        if ((error as GraphQLError).extensions?.code === 'REQUEST_ENTITY_TOO_LARGE') throw tooLarge(maxBytes);
        if (error instanceof GraphQLError) throw error;
        throw badRequest(
          error instanceof SyntaxError
            ? 'variables and extensions must be JSON.'
            : 'The body could not be read.',
        );
      }
    };
    setRequestParser((request) => read(request).catch(refuse));
  },
});

function tooLarge(maximum: number): GraphQLError {
  const text = `The request has more than ${maximum.toLocaleString('en')} bytes, which is the limit (JOBTREE_MAX_REQUEST_BYTES). Split it into several.`;
  return new GraphQLError(text, {
    extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes', maximum, http: { status: 413 } },
  });
}

/** Payloads and results are written as the text that they are: unparsed, with all their digits. */
const writeAnswers: Plugin = {
  onResultProcess: ({ result, setResult }) => {
    if (!isAsyncIterable(result) && !Array.isArray(result)) setResult({ ...result, stringify });
  },
};

async function readJson(request: Request, owner: Owner): Promise<GraphQLParams> {
  // The requests that Yoga makes itself return a Buffer, which `Buffer.from` would copy.
  const bytes: ArrayBuffer | Buffer = await request.arrayBuffer();
  const params = await readJsonBody(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes), owner);
  if (typeof params !== 'object' || params === null) throw badRequest('The body must be a JSON object.');
  return params;
}

function readForm(text: string): GraphQLParams {
  const form = new URLSearchParams(text);
  const json = (name: string) => {
    const value = form.get(name);
    return value ? (parseJsonText(value) as Record<string, unknown>) : undefined;
  };
  return {
    query: form.get('query') || undefined,
    operationName: form.get('operationName') || undefined,
    variables: json('variables'),
    extensions: json('extensions'),
  } as GraphQLParams;
}
