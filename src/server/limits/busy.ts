/** Refusals for lack of capacity: nothing was done, and the request may be sent again in a moment. */
import { GraphQLError } from 'graphql';
import type { Share, UsedUp } from './quota.ts';

const messages: Record<UsedUp, string> = {
  caller: 'This caller has too much under way; try again in a moment.',
  tenant: 'This tenant has too much under way; try again in a moment.',
  server: 'The server has too much under way; try again in a moment.',
};
const statuses: Record<UsedUp, number> = { caller: 429, tenant: 429, server: 503 };
const retryAfter = '1';

export function busyError(usedUp: UsedUp): GraphQLError {
  return new GraphQLError(messages[usedUp], { extensions: { code: 'UNAVAILABLE' } });
}

/** @throws GraphQLError if the quota has no room for that much more. */
export function takeOrRefuse(share: Share, more: number): void {
  const usedUp = share.take(more);
  if (usedUp !== undefined) throw busyError(usedUp);
}

/** The answer over HTTP to a request that is refused, of which there may be thousands a second. */
export const busyAnswer = (usedUp: UsedUp) => ({
  message: messages[usedUp],
  status: statuses[usedUp],
  headers: { 'retry-after': retryAfter },
});

/** Carries the HTTP status and headers of the answer, which Yoga reads from the extensions. */
export function busyHttpError(usedUp: UsedUp): GraphQLError {
  const { message, ...http } = busyAnswer(usedUp);
  return new GraphQLError(message, { extensions: { code: 'UNAVAILABLE', http } });
}

/** The caller already has as many lasting connections as it may. */
export function tooManyConnections(): GraphQLError {
  const http = { status: 429, headers: { 'retry-after': retryAfter } };
  const extensions = { code: 'TOO_MANY_CONNECTIONS', http };
  return new GraphQLError('This caller has too many connections.', { extensions });
}
