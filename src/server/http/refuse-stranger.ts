/** The answer to a request without valid credentials. Its body is not read. */
import type { ServerResponse } from 'node:http';
import type { GraphQLError } from 'graphql';
import { answerError } from './answer-error.ts';

const statuses: Readonly<Record<string, number>> = { UNAUTHENTICATED: 401, UNAVAILABLE: 503 };

export function refuseStranger(response: ServerResponse, { message, extensions }: GraphQLError): void {
  if (response.headersSent || response.destroyed) return;
  const code = String(extensions.code);
  const status = statuses[code] ?? 500;
  answerError(
    response,
    status,
    { code, message },
    {
      connection: 'close',
      'cache-control': 'no-store',
      ...(status === 401 && { 'www-authenticate': 'Bearer realm="jobtree"' }),
      ...(status === 503 && { 'retry-after': '1' }),
    },
  );
}
