/** An error over HTTP where nothing of GraphQL has begun, or never does: in the form that its errors have, so clients know one form. */
import type { ServerResponse } from 'node:http';

export interface ErrorAnswer {
  readonly code: string;
  readonly message: string;
  /** What of the request is to blame. */
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
