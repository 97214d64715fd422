/**
 * The traffic of a worker: each exchange is one request that takes outcomes to the server and brings new work back.
 *
 * At most two exchanges are in flight, so that the server works on one while handlers produce the next. Outcomes that arrive
 * meanwhile wait, which is what forms the batches. The second exchange is only sent when it is worth a request. After a failure,
 * one exchange at a time is retried, with growing pauses and with fewer reports, so that a report that the server can't digest
 * ends up alone. A claim that got no answer may have been carried out, so it is sent again unchanged, and keeps its room until
 * then.
 *
 * When the server has nothing for a type, a claim for the room that is left waits there, beside the exchanges, until there is something.
 */
import type {
  ExchangeMutation,
  ExchangePartsMutation,
  ItemNoteInput,
  ReportInput,
} from '../../generated/operations.ts';
import * as operations from '../../generated/operations.ts';
import { backoffMs } from '../backoff.ts';
import { newClaimId } from '../claim-id.ts';
import { JobtreeError, payloadOf, refusal, retryAfterMs } from '../errors.ts';
import { maxEntries, maxUnits } from '../limits.ts';
import type { Socket } from '../socket.ts';
import { withTraces } from '../tracing.ts';
import type { Assignment } from '../types.ts';
import { type ClaimRequest, chooseRequests, mostOf, waitingRoomOf } from './claim-requests.ts';
import { freshlyNoted, type HeldAssignment, keepNotes, type Slots, takeNotes } from './held-assignments.ts';

export interface ReportEntry {
  readonly status: 'ACCEPTED' | 'DUPLICATE' | 'STALE' | 'INVALID';
  readonly retryAt?: string | null;
  readonly error?: { readonly message: string } | null;
}

/** The answer to a report that the server leaves out of its list. */
const accepted: ReportEntry = { status: 'ACCEPTED' };

export interface ExchangeParts {
  readonly socket: Socket;
  readonly worker: string;
  readonly slots: readonly Slots[];
  readonly held: ReadonlySet<HeldAssignment>;
  readonly onReported: (held: HeldAssignment, entry: ReportEntry) => void;
  readonly onReleased: (held: HeldAssignment) => void;
  readonly onClaimed: (assignment: Assignment, sentAt: number) => void;
  readonly onError: (error: unknown) => void;
  /** The most items that the next claim may ask for. */
  readonly mostClaimed: () => number;
  /** How long a claim waits at the server, in milliseconds. */
  readonly waitMs: number;
  /** An exchange has ended. */
  readonly onSettled: (well: boolean) => void;
}

const atOnce = 2;
const timeoutMs = 60_000;
/** A claim that should wait and is answered with nothing this much too early was not let wait. */
const earlyMs = 1_000;

interface Claim {
  readonly id: string;
  readonly requests: readonly ClaimRequest[];
  /** Whether it was sent before. */
  readonly isRepeat: boolean;
}

interface Load {
  /** Finished assignments. */
  readonly reports: readonly HeldAssignment[];
  readonly releases: readonly HeldAssignment[];
  readonly claim: Claim | undefined;
}

/** The answer to either kind of request. */
interface Answer {
  readonly reportOutcomes?: ExchangePartsMutation['reportOutcomes'] | ExchangeMutation['exchange'];
  readonly releaseAssignments?: ExchangePartsMutation['releaseAssignments'];
  readonly claimItems?: ExchangePartsMutation['claimItems'] | ExchangeMutation['exchange'];
}

export class Exchanges {
  readonly #parts: ExchangeParts;
  readonly #reports: HeldAssignment[] = [];
  readonly #releases: HeldAssignment[] = [];
  readonly #unanswered: Claim[] = [];
  /** Claims that wait at the server. */
  readonly #parked = new Set<Claim>();
  /** Until when none is to wait, since the server did not let the last one, or nothing but what is ready is wanted. */
  #parksFrom = 0;
  #inFlight = 0;
  #failures = 0;
  #mostReports = maxEntries;
  #turn = 0;
  #claiming = true;
  #closed = false;
  #scheduled = false;
  #pause: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
  }

  report(held: HeldAssignment): void {
    if (held.slots.follows) held.slots.dry = false;
    this.#reports.push(held);
    this.wake();
  }

  release(held: HeldAssignment): void {
    if (held.slots.follows) held.slots.dry = false;
    this.#releases.push(held);
    this.wake();
  }

  /** The most items in one exchange, chosen so that the exchanges in flight together cover all that the worker can hold, and that a batch handler gets a whole batch. */
  get #batch(): number {
    const most = this.#parts.slots.reduce((sum, slots) => sum + mostOf(slots), 0);
    const whole = this.#parts.slots.reduce((size, { batchSize = 1 }) => Math.max(size, batchSize), 1);
    return Math.min(maxEntries, Math.max(Math.ceil(most / atOnce), whole));
  }

  /** From now on only reports and releases are sent, and each unanswered claim once more. */
  stopClaiming(): void {
    this.#claiming = false;
    this.#endWaiting();
    if (this.#unanswered.length > 0) this.wakeNow();
  }

  resumeClaiming(): void {
    this.#claiming = true;
  }

  /** The room has changed: claims that wait at the server for the old one make way for others. */
  resize(): void {
    this.#endWaiting();
    this.wake();
  }

  /** From now on no claim waits at the server for what is not ready yet. */
  claimOnlyReady(): void {
    this.#parksFrom = Number.POSITIVE_INFINITY;
  }

  /** Whether nothing waits to be sent or answered. */
  get isIdle(): boolean {
    const waiting = this.#reports.length + this.#releases.length + this.#unanswered.length;
    return waiting === 0 && this.#inFlight === 0;
  }

  /** Whether, besides, no claim waits at the server. */
  get claimsNothing(): boolean {
    return this.isIdle && this.#parked.size === 0;
  }

  /** There may be something to send. Deferred with setImmediate, so that everything that happens at once goes out together. */
  wake(): void {
    if (this.#scheduled || this.#pause !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  /** The server answers again: ends the pause. */
  wakeNow(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.wake();
  }

  /** Sends nothing more, and ignores answers that still arrive. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#pause);
    this.#reports.length = 0;
    this.#releases.length = 0;
    this.#unanswered.length = 0;
    this.#parked.clear();
  }

  #pump(): void {
    if (this.#closed) return;
    if (this.#parts.mostClaimed() === 0) this.#endWaiting();
    while (this.#inFlight < (this.#failures === 0 ? atOnce : 1)) {
      const load = this.#next();
      if (load === undefined) break;
      void this.#send(load);
    }
    this.#park();
  }

  #park(): void {
    const { mostClaimed, slots, waitMs } = this.#parts;
    // A busy worker claims with its reports, so that it gets many items at once.
    if (this.#inFlight > 0) return;
    if (!this.#claiming || this.#failures > 0 || waitMs < earlyMs || performance.now() < this.#parksFrom)
      return;
    const requests = chooseRequests(slots, Math.min(maxEntries, mostClaimed()), this.#turn, waitingRoomOf);
    if (requests.length === 0) return;
    for (const { slots, limit } of requests) slots.parked += limit;
    const claim = { id: newClaimId(), requests, isRepeat: false };
    this.#parked.add(claim);
    void this.#wait(claim);
  }

  async #wait(claim: Claim): Promise<void> {
    const { socket, waitMs } = this.#parts;
    const hints = claim.requests.map(({ slots }) => slots.hints);
    const sentAt = performance.now();
    const claims = { ...this.#inputOf(claim), waitMs };
    const variables = { withReports: false, withReleases: false, withClaims: true, claims };
    let answer: Answer['claimItems'];
    try {
      ({ claimItems: answer } = await socket.request(
        withTraces(operations.ExchangeParts),
        variables,
        waitMs + timeoutMs,
      ));
    } catch (error) {
      if (this.#unpark(claim, true)) this.#conclude([error]);
      return;
    }
    if (!this.#unpark(claim, false)) return;
    const problems: unknown[] = [];
    const now = performance.now();
    try {
      const got = this.#settleClaim(claim, hints, answer, now);
      if (got === 0 && now - sentAt < waitMs - earlyMs) this.#parksFrom = now + waitMs;
    } catch (error) {
      problems.push(error);
    }
    this.#conclude(problems);
  }

  /** A repeat ends the waiting of a claim, and brings what it may have got. */
  #endWaiting(): void {
    for (const claim of this.#parked) this.#unpark(claim, true);
  }

  /** It no longer waits at the server; what it may have got is asked for again if it `repeats`. Returns false if it had ended before. */
  #unpark(claim: Claim, repeats: boolean): boolean {
    if (!this.#parked.delete(claim)) return false;
    for (const { slots, limit } of claim.requests) {
      slots.parked -= limit;
      if (repeats) slots.asked += limit;
    }
    if (repeats) this.#keep(claim);
    return true;
  }

  #next(): Load | undefined {
    const again = this.#unanswered.shift();
    const requests =
      again === undefined && this.#claiming
        ? chooseRequests(this.#parts.slots, Math.min(this.#batch, this.#parts.mostClaimed()), this.#turn++)
        : [];
    if (again === undefined) {
      const wanted = requests.reduce((sum, request) => sum + request.limit, 0);
      const waiting = Math.max(this.#reports.length, this.#releases.length, wanted);
      if (waiting === 0) return undefined;
      if (this.#inFlight > 0 && waiting < this.#batch / 2) return undefined;
    }
    for (const { slots, limit } of requests) slots.asked += limit;
    return {
      reports: this.#takeReports(),
      releases: this.#releases.splice(0, maxEntries),
      claim: requests.length > 0 ? { id: newClaimId(), requests, isRepeat: false } : again,
    };
  }

  #takeReports(): HeldAssignment[] {
    // Spreads a backlog evenly over the exchanges that can still start.
    const fair = Math.ceil(this.#reports.length / (atOnce - this.#inFlight));
    const most = Math.min(this.#mostReports, Math.max(this.#batch, fair));
    let units = 0;
    let count = 0;
    for (const { outcome, notes } of this.#reports) {
      units += (outcome?.size ?? 0) + (notes?.isFresh ? notes.size : 0);
      if (count === most || (units > maxUnits && count > 0)) break;
      count++;
    }
    return this.#reports.splice(0, count);
  }

  async #send(load: Load): Promise<void> {
    const { reports, releases, claim } = load;
    const hints = claim?.requests.map(({ slots }) => slots.hints) ?? [];
    this.#inFlight++;
    const isAlone = this.#failures > 0 && this.#inFlight === 1 && reports.length === 1;
    const sentAt = performance.now();
    const problems: unknown[] = [];
    const settle = (work: () => void, undo: (error: unknown) => void) => {
      try {
        work();
      } catch (error) {
        problems.push(error);
        undo(error);
      }
    };
    // Notes on what is reported or given back must precede it: afterwards the assignment is no longer held. An exchange without
    // reports also has room for the notes on all others.
    const others = reports.length === 0 ? this.#parts.held : [];
    const noted = freshlyNoted(new Set([...reports, ...releases, ...others]));
    try {
      const data = await this.#request(load, takeNotes(noted));
      if (this.#closed) return;
      settle(
        () => this.#settleReports(reports, data.reportOutcomes),
        () => this.#putBack(reports),
      );
      settle(
        () => this.#settleReleases(releases, data.releaseAssignments),
        () => this.#releases.push(...releases),
      );
      settle(
        () => {
          this.#settleClaim(claim, hints, data.claimItems, sentAt);
          this.#freeRoom(claim);
        },
        (error) => (isUnknown(error) ? this.#keep(claim) : this.#freeRoom(claim)),
      );
    } catch (error) {
      if (this.#closed) return;
      problems.push(error);
      keepNotes(noted);
      if (isAlone && isTooLarge(error)) this.#refuse(reports);
      else if (restMs(error) > 0) this.#reports.push(...reports);
      else this.#putBack(reports);
      this.#releases.push(...releases);
      this.#keep(claim);
    }
    this.#inFlight--;
    this.#conclude(problems);
  }

  async #request({ reports, releases, claim }: Load, notes: ItemNoteInput[]): Promise<Answer> {
    const { socket } = this.#parts;
    const outcomes: ReportInput[] = [];
    for (const { outcome } of reports) if (outcome !== undefined) outcomes.push(outcome.report);
    const claims = claim && this.#inputOf(claim);
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

  #inputOf({ id, requests }: Claim) {
    return {
      worker: this.#parts.worker,
      claimId: id,
      requests: requests.map(({ slots, limit }) => ({
        type: slots.type,
        limit,
        starts: Math.min(limit, slots.concurrency * (slots.batchSize ?? 1)),
      })),
    };
  }

  #settleReports(reports: readonly HeldAssignment[], answer: Answer['reportOutcomes']): void {
    if (reports.length === 0) return;
    const payload = payloadOf(answer);
    const { entries } = 'reported' in payload ? payload.reported : payload;
    this.#mostReports = Math.min(maxEntries, this.#mostReports * 2);
    const answers = new Map(entries.map((entry) => [entry.index, entry]));
    for (let i = 0; i < reports.length; i++)
      this.#parts.onReported(reports[i] as HeldAssignment, answers.get(i) ?? accepted);
  }

  #settleReleases(releases: readonly HeldAssignment[], answer: Answer['releaseAssignments']): void {
    if (releases.length === 0) return;
    payloadOf(answer);
    for (const held of releases) this.#parts.onReleased(held);
  }

  /** Returns how many items it got. */
  #settleClaim(
    claim: Claim | undefined,
    hints: readonly number[],
    answer: Answer['claimItems'],
    sentAt: number,
  ): number {
    if (claim === undefined) return 0;
    const claimed = payloadOf(answer);
    if ('claimError' in claimed && claimed.claimError != null)
      throw refusal(claimed.claimError.code, claimed.claimError.message, { field: claimed.claimError.field });
    const { assignments, limitedTypes } = claimed;
    const got = new Map<string, number>();
    for (const { type } of assignments) got.set(type, (got.get(type) ?? 0) + 1);
    for (const [i, { slots, limit }] of claim.requests.entries()) {
      const isShort = (got.get(slots.type) ?? 0) < limit;
      if (!isShort) slots.dry = false;
      else if (slots.hints === hints[i]) slots.dry = true;
      const isLimited = limitedTypes.includes(slots.type);
      slots.limited = isLimited && isShort;
      // Items still held from earlier claims may let others go when they end, even if this claim got none.
      const holds = slots.running + slots.waiting.length > 0 && !got.has(slots.type);
      slots.follows = isLimited || (slots.follows && holds);
    }
    for (const assignment of assignments) this.#parts.onClaimed(assignment as Assignment, sentAt);
    return assignments.length;
  }

  /** Keeps a claim without an answer, to be sent again: only once more if the worker is stopping. */
  #keep(claim: Claim | undefined): void {
    if (claim === undefined) return;
    if (!this.#closed && (this.#claiming || !claim.isRepeat))
      this.#unanswered.push({ ...claim, isRepeat: true });
    else this.#freeRoom(claim);
  }

  #freeRoom(claim: Claim | undefined): void {
    for (const { slots, limit } of claim?.requests ?? []) slots.asked -= limit;
  }

  #putBack(reports: readonly HeldAssignment[]): void {
    if (reports.length === 0) return;
    this.#reports.push(...reports);
    this.#mostReports = Math.max(1, Math.floor(reports.length / 2));
  }

  /** Settles a report that is too large ever to get through. */
  #refuse(reports: readonly HeldAssignment[]): void {
    const error = { message: 'The report is larger than the requests that the server takes.' };
    for (const held of reports) this.#parts.onReported(held, { status: 'INVALID', error });
  }

  #conclude(problems: readonly unknown[]): void {
    this.#failures = problems.length === 0 ? 0 : this.#failures + 1;
    for (const problem of problems) this.#parts.onError(problem);
    if (problems.length > 0) {
      clearTimeout(this.#pause);
      const pauseMs = Math.max(backoffMs(this.#failures), ...problems.map(restMs));
      this.#pause = setTimeout(() => this.wakeNow(), pauseMs);
    }
    this.#parts.onSettled(problems.length === 0);
    this.wake();
  }
}

/** How long the server asks the client to wait, in milliseconds. If it does, nothing is wrong with what was sent. */
function restMs(problem: unknown): number {
  return problem instanceof JobtreeError ? retryAfterMs(problem) : 0;
}

/** Whether the server may have done what failed, so that it has to be asked again. */
function isUnknown(error: unknown): boolean {
  return error instanceof JobtreeError && error.outcome === 'UNKNOWN';
}

/** Whether the server closed the WebSocket because a message was too large. */
function isTooLarge(error: unknown): boolean {
  const closed = error instanceof JobtreeError ? (error.cause as { code?: unknown } | undefined) : undefined;
  return closed?.code === 1009;
}
