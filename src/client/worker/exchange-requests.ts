/** What the requests of exchanges hold, and how it is put to the server. */
import type {
  ExchangeMutation,
  ExchangePartsMutation,
  ItemNoteInput,
  ReportInput,
} from '../../generated/operations.ts';
import * as operations from '../../generated/operations.ts';
import type { Socket } from '../socket.ts';
import { withTraces } from '../tracing.ts';
import type { ClaimRequest } from './claim-requests.ts';
import type { HeldAssignment } from './held-assignments.ts';

export interface Claim {
  readonly id: string;
  readonly requests: readonly ClaimRequest[];
  /** Whether it was sent before. */
  readonly isRepeat: boolean;
}

export interface Load {
  /** Finished assignments. */
  readonly reports: readonly HeldAssignment[];
  readonly releases: readonly HeldAssignment[];
  readonly claim: Claim | undefined;
}

/** The answer to either kind of request. */
export interface Answer {
  readonly reportOutcomes?: ExchangePartsMutation['reportOutcomes'] | ExchangeMutation['exchange'];
  readonly releaseAssignments?: ExchangePartsMutation['releaseAssignments'];
  readonly claimItems?: ExchangePartsMutation['claimItems'] | ExchangeMutation['exchange'];
}

/** Who sends, and where to. */
interface Sender {
  readonly socket: Socket;
  readonly worker: string;
}

const timeoutMs = 60_000;

export async function requestExchange(
  { socket, worker }: Sender,
  { reports, releases, claim }: Load,
  notes: ItemNoteInput[],
): Promise<Answer> {
  const outcomes: ReportInput[] = [];
  for (const { outcome } of reports) if (outcome !== undefined) outcomes.push(outcome.report);
  const claims = claim && inputOf(worker, claim);
  if (outcomes.length > 0 && claims !== undefined && releases.length === 0 && notes.length === 0) {
    const input = { reports: outcomes, claim: claims };
    const { exchange: both } = await socket.request(withTraces(operations.Exchange), { input }, timeoutMs);
    return { reportOutcomes: both, claimItems: both };
  }
  const variables = {
    withReports: outcomes.length > 0,
    withReleases: releases.length > 0,
    withClaims: claims !== undefined,
    ...(outcomes.length > 0 && { reports: { reports: outcomes } }),
    ...(releases.length > 0 && {
      releases: { assignmentIds: releases.map(({ assignmentId }) => assignmentId) },
    }),
    ...(claims !== undefined && { claims }),
    ...(notes.length > 0 && { notes: { notes }, withNotes: true }),
  };
  return socket.request(withTraces(operations.ExchangeParts), variables, timeoutMs);
}

/** A claim alone, which waits at the server for so long if there is nothing for it. */
export function requestWaiting({ socket, worker }: Sender, claim: Claim, waitMs: number): Promise<Answer> {
  const claims = { ...inputOf(worker, claim), waitMs };
  const variables = { withReports: false, withReleases: false, withClaims: true, claims };
  return socket.request(withTraces(operations.ExchangeParts), variables, waitMs + timeoutMs);
}

function inputOf(worker: string, { id, requests }: Claim) {
  return {
    worker,
    claimId: id,
    requests: requests.map(({ slots, limit }) => ({
      type: slots.type,
      limit,
      starts: Math.min(limit, slots.concurrency * (slots.batchSize ?? 1)),
    })),
  };
}
