/**
 * GraphQL multipart requests: an operation, and the files that are its variables. Each file is stored as it arrives, like the body of an
 * upload's POST, so the operation finds it stored; files that the operation does not keep are removed. Anything that can be refused by the
 * operation alone is refused before any file is read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Caller } from '../../domain/access/rights.ts';
import { StorageLimitError } from '../../errors.ts';
import { ReceivedFile } from '../../schema/files/received-file.ts';
import type { Operations } from '../execution/operations.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { OwnerOf } from '../rights/owners.ts';
import { answerEarly } from './answer-early.ts';
import {
  type DirectOperation,
  isRecord,
  type Params,
  prepareOperation,
  toContent,
  toParams,
} from './direct-operation.ts';
import type { Yoga } from './graphql.ts';
import { maxFormBytes, RequestCutError, readForm } from './multipart-form.ts';
import { type Place, placesOf } from './multipart-map.ts';
import { badRequest, readJsonBody } from './request-body.ts';
import { toRefusal, UploadError, type UploadStore } from './upload-store.ts';

/** Answers the request if it is one of these; returns whether it did. */
export type MultipartPost = (request: IncomingMessage, response: ServerResponse) => boolean;

export const isMultipart = ({ method, headers }: IncomingMessage) =>
  method === 'POST' && /^\s*multipart\/form-data\b/i.test(headers['content-type'] ?? '');

/** GraphQL's validation has refused the operation. */
class InvalidOperationError extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super();
    this.errors = errors;
  }
}

export function createMultipartPost(options: {
  yoga: Yoga;
  operations: Operations;
  rates: RateLimits;
  store: UploadStore;
  callerOf: (request: IncomingMessage) => Caller;
  ownerOf: OwnerOf;
}): MultipartPost {
  const { yoga, operations, rates, store, callerOf, ownerOf } = options;

  /** Reads the operation; its files go into `received`. */
  const read = async (request: IncomingMessage, received: ReceivedFile[]): Promise<DirectOperation> => {
    let params: Params | undefined;
    let operation: DirectOperation | undefined;
    let places: Map<string, Place[]> | undefined;
    await readForm(request, {
      fields: ['operations', 'map'],
      onField: async (name, text) => {
        const isFirst = name === 'operations';
        if (isFirst ? params !== undefined : params === undefined || places !== undefined)
          throw badRequest('The first part must be operations, the second map, and then the files.');
        const value = await readJsonBody(Buffer.from(text), ownerOf(request)).catch((error: unknown) => {
          throw rates.refuseOther({ req: request }) ?? error;
        });
        if (isFirst) {
          params = paramsOf(value);
          operation = prepareOperation({ yoga, operations, request, params });
          if (operation === undefined) throw badRequest('Subscriptions do not take files.');
          if (operation.errors !== undefined) throw new InvalidOperationError(operation.errors);
        } else {
          places = placesOf(value, params as Params, operation as DirectOperation);
          checkLength(request, places.size);
        }
      },
      onFile: async (name, file) => {
        if (places === undefined) throw badRequest('A file comes before operations and map.');
        const itsPlaces = places.get(name ?? '');
        if (name === undefined || itsPlaces === undefined)
          throw badRequest(
            `map does not name the part ${JSON.stringify((name ?? '').slice(0, 80))}, or it came before.`,
          );
        places.delete(name);
        const upload = await store.whole(file, { sender: callerOf(request), owner: ownerOf(request) });
        if (upload === undefined) return; // the form fails, too
        const stored = new ReceivedFile(upload);
        received.push(stored);
        for (const put of itsPlaces) put(stored);
      },
    });
    if (operation === undefined || places === undefined)
      throw badRequest('A multipart request must have the parts operations and map.');
    const [missing] = places.keys();
    if (missing !== undefined)
      throw badRequest(`There is no file ${JSON.stringify(missing.slice(0, 80))}, which map names.`);
    return operation;
  };

  /** Refuses at once a request whose length shows that it would be too large. */
  const checkLength = ({ headers }: IncomingMessage, files: number) => {
    const most = files * store.maxBytes + maxFormBytes;
    if (Number(headers['content-length'] ?? 0) > most) throw store.tooLarge(null);
  };

  const run = async (request: IncomingMessage, received: ReceivedFile[]): Promise<ExecutionResult> => {
    try {
      const operation = await read(request, received);
      return await operation.run();
    } catch (error) {
      if (error instanceof RequestCutError) throw error;
      if (error instanceof InvalidOperationError) return { errors: error.errors };
      return { errors: [operations.maskError(isOfUpload(error) ? toGraphQLError(error) : error)] };
    }
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { accept } = request.headers;
    const type = accept?.includes(graphqlJson) ? graphqlJson : 'application/json';
    const received: ReceivedFile[] = [];
    try {
      const result = await run(request, received);
      const { status, content, headers } = await toContent(yoga, result, type);
      answerEarly(request, response, status, content, headers);
    } finally {
      await Promise.all(received.filter(({ isKept }) => !isKept).map(({ upload }) => store.remove(upload)));
    }
  };

  return (request, response) => {
    if (!isMultipart(request) || request.url?.split('?', 1)[0] !== yoga.graphqlEndpoint) return false;
    // A client that has gone gets no answer.
    serve(request, response).catch(() => response.destroy());
    return true;
  };
}

const graphqlJson = 'application/graphql-response+json';

function paramsOf(value: unknown): Params {
  if (Array.isArray(value)) throw badRequest('operations must be one operation; batches are not supported.');
  const params = toParams(isRecord(value) ? withoutExtensions(value) : value);
  if (params === undefined)
    throw badRequest(
      'operations must be an object with query, and with variables and operationName if there are any.',
    );
  return params;
}

/** Nothing in the server reads extensions. */
function withoutExtensions({ extensions: _, ...params }: Record<string, unknown>): Record<string, unknown> {
  return params;
}

/** Refusals that have an HTTP status of their own. */
const isOfUpload = (error: unknown): error is UploadError | StorageLimitError =>
  error instanceof UploadError || error instanceof StorageLimitError;

function toGraphQLError(error: UploadError | StorageLimitError): GraphQLError {
  const { status, code, message, field } = toRefusal(error);
  return new GraphQLError(message, { extensions: { code, field, http: { status } } });
}
