/**
 * The short path for what nearly every program sends: a POST of JSON that is to be answered with JSON. Yoga handles everything else, with the
 * body if it was read already: other methods and headers, web pages, requests that are too large or not GraphQL, and subscriptions.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { looksLikeKeepingLeases } from '../execution/lease-mutations.ts';
import type { Operations } from '../execution/operations.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { OwnerOf } from '../rights/owners.ts';
import { answerBusy } from './answer-busy.ts';
import { hasLeft } from './connections.ts';
import { type DirectOperation, prepareOperation, toContent, toParams } from './direct-operation.ts';
import type { Yoga } from './graphql.ts';
import { readJsonBody } from './request-body.ts';

const json = 'application/json';
const graphqlJson = 'application/graphql-response+json';
/** Media type of the answer by `accept` header. Of a list, Yoga takes the first type that it supports. */
const answerTypes = new Map<string | undefined, string>([
  [undefined, json],
  ['*/*', json],
  [json, json],
  [graphqlJson, graphqlJson],
  [`${graphqlJson}, ${json}`, graphqlJson],
]);
const bodyTypes = new Set(['application/json', 'application/json; charset=utf-8']);

type Run = DirectOperation['run'];

/** Answers the request if it fits the short path; returns whether it did. */
export type JsonPost = (request: IncomingMessage, response: ServerResponse) => boolean;

export function createJsonPost(options: {
  yoga: Yoga;
  operations: Operations;
  rates: RateLimits;
  ownerOf: OwnerOf;
  maxBytes: number;
}): JsonPost {
  const { yoga, operations, rates, ownerOf, maxBytes } = options;

  const answer = async (response: ServerResponse, run: Run, type: string): Promise<void> => {
    const { status, content, headers } = await run()
      .then((result) => toContent(yoga, result, type))
      // One answer for any error, those of writing the result included.
      .catch((error: unknown) => toContent(yoga, { errors: [operations.maskError(error)] }, type));
    // Writes nothing if the client has gone.
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(content) }).end(content);
  };

  const handle = async (
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
    type: string,
    leave: (isDone: boolean) => void,
  ): Promise<void> => {
    let run: Run | undefined;
    let isRead = false;
    try {
      const params = toParams(await readJsonBody(body, ownerOf(request)));
      isRead = true;
      run = params && prepareOperation({ yoga, operations, request, params, leave })?.run;
    } catch (error) {
      const refusal = isRead ? undefined : rates.refuseOther({ req: request });
      run = () => Promise.reject(refusal ?? error);
    }
    // From here on nothing holds the body while the operation runs.
    if (run !== undefined) return answer(response, run, type);
    // What Yoga executes is let in there; a subscription is not under way in that sense.
    leave(false);
    void yoga(Object.assign(request, { body: Readable.from([body]) }), response);
  };

  const used = new WeakSet<Socket>();

  return (request, response) => {
    const { headers, method, url } = request;
    const type = answerTypes.get(headers.accept);
    if (
      method !== 'POST' ||
      url !== yoga.graphqlEndpoint ||
      type === undefined ||
      !bodyTypes.has(headers['content-type'] ?? '') ||
      headers['content-encoding'] !== undefined ||
      headers.origin !== undefined ||
      // A chunked body has no length before it is read.
      !(Number(headers['content-length']) <= maxBytes)
    ) {
      return false;
    }
    const { socket } = request;
    // In an overload connections wait until their callers have left, and the first round of the event loop reads only what these had sent.
    const isFirst = !used.has(socket);
    used.add(socket);
    const isGone = () => response.destroyed || hasLeft(socket);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    const start = () => {
      const body = Buffer.concat(chunks);
      chunks.length = 0;
      const keepsLeases = () => looksLikeKeepingLeases(body);
      // What a worker reports is kept, even if it does not wait for the answer.
      const isWanted = () => !isGone() || keepsLeases();
      if (!isWanted()) return;
      const owner = ownerOf(request);
      const leave = operations.enter(owner, keepsLeases);
      if (leave === undefined) return answerBusy(response, 'server');
      if (response.destroyed) leave(false);
      else response.once('close', () => leave(response.writableFinished));
      const begin = () => {
        if (isWanted()) void handle(request, response, body, type, leave);
      };
      const turn = operations.turn({ ...owner, isGone }, keepsLeases);
      if (turn === undefined) begin();
      else void turn.then(begin);
    };
    request.on('end', isFirst ? () => setImmediate(setImmediate, start) : start);
    return true;
  };
}
