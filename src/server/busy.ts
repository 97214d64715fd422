/** The refusal of what would be too much at once: nothing was done, and it may be sent again in a moment. */
import type { ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import { answerError } from './answer-error.ts';
import type { Share, UsedUp } from './quota.ts';

const messages: Record<UsedUp, string> = {
  caller: 'Too much of this caller is under way; try again in a moment.',
  tenant: 'Too much of this tenant is under way; try again in a moment.',
  server: 'The server has too much under way; try again in a moment.',
};
const statuses: Record<UsedUp, number> = { caller: 429, tenant: 429, server: 503 };
const retryAfter = '1';

export function busyError(usedUp: UsedUp): GraphQLError {
  return new GraphQLError(messages[usedUp], { extensions: { code: 'UNAVAILABLE' } });
}

/** @throws GraphQLError if so much more can't be had. */
export function takeOrRefuse(share: Share, more: number): void {
  const usedUp = share.take(more);
  if (usedUp !== undefined) throw busyError(usedUp);
}

/** With the status for its answer, which Yoga takes from there. */
export function busyHttpError(usedUp: UsedUp): GraphQLError {
  const http = { status: statuses[usedUp], headers: { 'retry-after': retryAfter } };
  return new GraphQLError(messages[usedUp], { extensions: { code: 'UNAVAILABLE', http } });
}

/** A lasting connection more than the caller may have. */
export function tooManyConnections(): GraphQLError {
  const http = { status: 429, headers: { 'retry-after': retryAfter } };
  const extensions = { code: 'TOO_MANY_CONNECTIONS', http };
  return new GraphQLError('This caller has too many connections.', { extensions });
}

export function answerBusy(response: ServerResponse, usedUp: UsedUp): void {
  const error = { code: 'UNAVAILABLE', message: messages[usedUp] };
  answerError(response, statuses[usedUp], error, { 'retry-after': retryAfter });
}
