import type { ServerResponse } from 'node:http';
import { busyHttpError } from '../limits/busy.ts';
import type { UsedUp } from '../limits/quota.ts';
import { answerError } from './answer-error.ts';

/** Refuses a request for lack of capacity, before its body is read. */
export function answerBusy(response: ServerResponse, usedUp: UsedUp): void {
  const { message, extensions } = busyHttpError(usedUp);
  const { status, headers } = extensions.http as { status: number; headers: Record<string, string> };
  answerError(response, status, { code: 'UNAVAILABLE', message }, headers);
}
