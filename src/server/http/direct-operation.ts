/**
 * Runs a query or mutation through Yoga's plugins without its HTTP layer, which costs more than the operation itself and reads whole bodies into
 * memory.
 */
import type { IncomingMessage } from 'node:http';
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
  getOperationAST,
} from 'graphql';
import { processRegularResult } from 'graphql-yoga';
import { serialize, stringify } from '../../domain/values/json-text.ts';
import type { Operations } from '../execution/operations.ts';
import type { Yoga } from './graphql.ts';

export interface Params {
  readonly query: string;
  readonly variables: Record<string, unknown> | null | undefined;
  readonly operationName: string | null | undefined;
}

export interface DirectOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  /** Why the operation can't be executed. */
  readonly errors: readonly GraphQLError[] | undefined;
  readonly run: () => Promise<ExecutionResult>;
}

/** Undefined for a subscription. */
export function prepareOperation(options: {
  yoga: Yoga;
  operations: Operations;
  request: IncomingMessage;
  params: Params;
  /** Set if it was let in, and had its turn of the event loop. */
  leave?: (isDone: boolean) => void;
}): DirectOperation | undefined {
  const { yoga, operations, request, params, leave } = options;
  const { schema, parse, validate, contextFactory, execute } = yoga.getEnveloped({
    request,
    params,
    leave,
  });
  const { variables: variableValues, operationName } = params;
  const document: ReturnType<typeof parse> = parse(params.query);
  const found = validate(schema, document);
  if (found.length > 0) {
    const errors = found.map(operations.maskError);
    return { schema, document, errors, run: async () => ({ errors }) };
  }
  if (getOperationAST(document, operationName)?.operation === 'subscription') return undefined;
  const run = async () => {
    const contextValue = await contextFactory();
    const args = { schema, document, variableValues, operationName, contextValue };
    return (await execute(args)) as ExecutionResult;
  };
  return { schema, document, errors: undefined, run };
}

/** Undefined unless it is an operation in the form of GraphQL over HTTP, without other members. */
export function toParams(params: unknown): Params | undefined {
  if (!isRecord(params)) return undefined;
  const { query, variables, operationName, ...others } = params;
  const fits =
    typeof query === 'string' &&
    (variables == null || isRecord(variables)) &&
    (operationName == null || typeof operationName === 'string') &&
    Object.keys(others).length === 0;
  return fits ? { query, variables, operationName } : undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The answer and its status, in one of the media types of GraphQL over HTTP. */
export async function toContent(
  yoga: Yoga,
  result: ExecutionResult,
  type: string,
): Promise<{ status: number; content: string | Buffer; headers: Record<string, string> }> {
  const headers = { 'content-type': `${type}; charset=utf-8` };
  if (result.errors === undefined) return { status: 200, content: serialize(result), headers };
  const response = processRegularResult({ ...result, stringify }, yoga.fetchAPI, type);
  const retryAfter = response.headers.get('retry-after');
  return {
    status: response.status,
    content: await response.text(),
    headers: { ...headers, ...(retryAfter !== null && { 'retry-after': retryAfter }) },
  };
}
