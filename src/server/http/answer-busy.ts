import type { ServerResponse } from 'node:http';
import { busyAnswer } from '../limits/busy.ts';
import type { UsedUp } from '../limits/quota.ts';
import { answerError } from './answer-error.ts';

/** Refuses a request for lack of capacity, before its body is read, or at least before it is parsed. */
export function answerBusy(response: ServerResponse, usedUp: UsedUp): void {
  const { message, status, headers } = busyAnswer(usedUp);
  answerError(response, status, { code: 'UNAVAILABLE', message }, headers);
}
