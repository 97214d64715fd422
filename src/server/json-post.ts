/**
 * The short way for what nearly every program sends: a POST of JSON that is to be answered with JSON. The operation runs
 * through the plugins of Yoga; only its HTTP layer, which costs more than the operation itself, is left out. Whatever is out
 * of the ordinary is Yoga's: other methods and headers, web pages, requests that are too large or no GraphQL, and
 * subscriptions. It then gets the body that was read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { type ExecutionResult, getOperationAST } from 'graphql';
import { processRegularResult } from 'graphql-yoga';
import { serialize, stringify } from '../domain/json-text.ts';
import type { Yoga } from './graphql.ts';
import type { Operations } from './operations.ts';
import { readJsonBody } from './request-body.ts';

interface Params {
  readonly query: string;
  readonly variables: Record<string, unknown> | null | undefined;
  readonly operationName: string | null | undefined;
}

const json = 'application/json';
const graphqlJson = 'application/graphql-response+json';
/** What is answered to which `accept`. Of a list Yoga takes the first that it can. */
const answerTypes = new Map<string | undefined, string>([
  [undefined, json],
  ['*/*', json],
  [json, json],
  [graphqlJson, graphqlJson],
  [`${graphqlJson}, ${json}`, graphqlJson],
]);
const bodyTypes = new Set(['application/json', 'application/json; charset=utf-8']);

/** Answers the request if it is one of its own, and says whether it was. */
export type JsonPost = (request: IncomingMessage, response: ServerResponse) => boolean;

export function createJsonPost(options: { yoga: Yoga; operations: Operations; maxBytes: number }): JsonPost {
  const { yoga, operations, maxBytes } = options;

  const answer = async (response: ServerResponse, run: Run, type: string): Promise<void> => {
    const { status, content } = await run()
      .then((result) => toContent(yoga, result, type))
      // Whatever was thrown, by the writing of the answer too, is one answer.
      .catch((error: unknown) => toContent(yoga, { errors: [operations.maskError(error)] }, type));
    // To a client that has gone this writes nothing.
    response
      .writeHead(status, {
        'content-type': `${type}; charset=utf-8`,
        'content-length': Buffer.byteLength(content),
      })
      .end(content);
  };

  const handle = async (
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
    type: string,
  ): Promise<void> => {
    let run: Run | undefined;
    try {
      run = prepare({ yoga, operations, request, params: toParams(await readJsonBody(body)) });
    } catch (error) {
      run = () => Promise.reject(error);
    }
    // Nothing keeps the body while the operation runs.
    if (run !== undefined) void answer(response, run, type);
    else void yoga(Object.assign(request, { body: Readable.from([body]) }), response);
  };

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
      // Without a length it comes in chunks of which only the reading tells how many there are.
      !(Number(headers['content-length']) <= maxBytes)
    ) {
      return false;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      chunks.length = 0;
      void handle(request, response, body, type);
    });
    return true;
  };
}

type Run = () => Promise<ExecutionResult>;

/** What is to be run; nothing if the request is for Yoga. */
function prepare(options: {
  yoga: Yoga;
  operations: Operations;
  request: IncomingMessage;
  params: Params | undefined;
}): Run | undefined {
  const { yoga, operations, request, params } = options;
  if (params === undefined) return undefined;
  const { schema, parse, validate, contextFactory, execute } = yoga.getEnveloped({ request, params });
  const { variables: variableValues, operationName } = params;
  const document: ReturnType<typeof parse> = parse(params.query);
  const errors = validate(schema, document);
  if (errors.length > 0) return async () => ({ errors: errors.map(operations.maskError) });
  if (getOperationAST(document, operationName)?.operation === 'subscription') return undefined;
  return async () => {
    const contextValue = await contextFactory();
    const args = { schema, document, variableValues, operationName, contextValue };
    return (await execute(args)) as ExecutionResult;
  };
}

function toParams(params: unknown): Params | undefined {
  if (!isRecord(params)) return undefined;
  const { query, variables, operationName, ...others } = params;
  const fits =
    typeof query === 'string' &&
    (variables == null || isRecord(variables)) &&
    (operationName == null || typeof operationName === 'string') &&
    Object.keys(others).length === 0;
  return fits ? { query, variables, operationName } : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function toContent(
  yoga: Yoga,
  result: ExecutionResult,
  type: string,
): Promise<{ status: number; content: string | Buffer }> {
  if (result.errors === undefined) return { status: 200, content: serialize(result) };
  const response = processRegularResult({ ...result, stringify }, yoga.fetchAPI, type);
  return { status: response.status, content: await response.text() };
}
