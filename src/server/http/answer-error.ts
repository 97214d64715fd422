/** Errors over HTTP before, or without, a GraphQL execution: in the form of GraphQL's own errors, so that clients need to know only one. */
import type { ServerResponse } from 'node:http';

export interface ErrorAnswer {
  readonly code: string;
  readonly message: string;
  /** The part of the request that is to blame. */
  readonly field?: string | undefined;
}

export function answerError(
  response: ServerResponse,
  status: number,
  { code, message, field }: ErrorAnswer,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { ...errorType, ...headers }).end(errorText({ code, message, field }));
}

export const errorType = { 'content-type': 'application/json' };

export function errorText({ code, message, field }: ErrorAnswer): string {
  const errors = [{ message, extensions: { code, field } }];
  return `${JSON.stringify({ errors })}\n`;
}

export function answerForbidden(response: ServerResponse, message: string): void {
  answerError(response, 403, { code: 'FORBIDDEN', message });
}
