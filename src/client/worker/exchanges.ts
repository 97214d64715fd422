/**
 * The traffic of a worker: each exchange is one request that takes outcomes to the server and brings new work back.
 *
 * At most two exchanges are in flight, so that the server works on one while handlers produce the next. Outcomes that arrive
 * meanwhile wait, which is what forms the batches. The second exchange is only sent when it is worth a request. After a failure,
 * one exchange at a time is retried, with growing pauses and with fewer reports, so that a report that the server can't digest
 * ends up alone.
 */
import { backoffMs } from '../backoff.ts';
import { JobtreeError, payloadOf, retryAfterMs } from '../errors.ts';
import { maxEntries, maxUnits } from '../limits.ts';
import { mostOf } from './claim-requests.ts';
import { Claims, type ClaimsParts, newClaim } from './claims.ts';
import { type Answer, type Load, requestExchange } from './exchange-requests.ts';
import { freshlyNoted, type HeldAssignment, keepNotes, takeNotes } from './held-assignments.ts';

export interface ReportEntry {
  readonly status: 'ACCEPTED' | 'DUPLICATE' | 'STALE' | 'INVALID';
  readonly retryAt?: string | null;
  readonly error?: { readonly message: string } | null;
}

/** The answer to a report that the server leaves out of its list. */
const accepted: ReportEntry = { status: 'ACCEPTED' };

export interface ExchangeParts extends ClaimsParts {
  readonly held: ReadonlySet<HeldAssignment>;
  readonly onReported: (held: HeldAssignment, entry: ReportEntry) => void;
  readonly onReleased: (held: HeldAssignment) => void;
  readonly onError: (error: unknown) => void;
  /** An exchange has ended. */
  readonly onSettled: (well: boolean) => void;
}

const atOnce = 2;
/** An exchange that takes longer, since a report waits for a lock, keeps nothing else back. */
const slowMs = 100;

export class Exchanges {
  readonly #parts: ExchangeParts;
  readonly #reports: HeldAssignment[] = [];
  readonly #releases: HeldAssignment[] = [];
  readonly #claims: Claims;
  #inFlight = 0;
  #lastSentAt = 0;
  #lookAgain: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #mostReports = maxEntries;
  #closed = false;
  #scheduled = false;
  #pause: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
    this.#claims = new Claims(parts, (problems) => this.#conclude(problems));
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
    this.#claims.stop();
    if (this.#claims.unanswered > 0) this.wakeNow();
  }

  resumeClaiming(): void {
    this.#claims.resume();
  }

  /** The room has changed: claims that wait at the server for the old one make way for others. */
  resize(): void {
    this.#claims.endWaiting();
    this.wake();
  }

  /** From now on no claim waits at the server for what is not ready yet. */
  claimOnlyReady(): void {
    this.#claims.onlyReady();
  }

  /** Whether nothing waits to be sent or answered. */
  get isIdle(): boolean {
    const waiting = this.#reports.length + this.#releases.length + this.#claims.unanswered;
    return waiting === 0 && this.#inFlight === 0;
  }

  /** Whether, besides, no claim waits at the server. */
  get claimsNothing(): boolean {
    return this.isIdle && this.#claims.parked === 0;
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
    clearTimeout(this.#lookAgain);
    this.#reports.length = 0;
    this.#releases.length = 0;
    this.#claims.close();
  }

  #pump(): void {
    if (this.#closed) return;
    if (this.#parts.mostClaimed() === 0) this.#claims.endWaiting();
    while (this.#inFlight < (this.#failures === 0 ? atOnce : 1)) {
      const load = this.#next();
      if (load === undefined) break;
      void this.#send(load);
    }
    if (this.#isBusy)
      this.#lookAgain ??= setTimeout(() => {
        this.#lookAgain = undefined;
        this.wake();
      }, slowMs);
    else if (this.#failures === 0) this.#claims.park();
  }

  /** What there is waits for an answer that comes in a moment: many reports, and claims with them, are cheaper together. */
  get #isBusy(): boolean {
    return this.#inFlight > 0 && performance.now() - this.#lastSentAt < slowMs;
  }

  #next(): Load | undefined {
    const again = this.#claims.takeUnanswered();
    const requests = again === undefined ? this.#claims.choose(this.#batch) : [];
    if (again === undefined) {
      const wanted = requests.reduce((sum, request) => sum + request.limit, 0);
      const waiting = Math.max(this.#reports.length, this.#releases.length, wanted);
      if (waiting === 0) return undefined;
      if (this.#isBusy && waiting < this.#batch / 2) return undefined;
    }
    for (const { slots, limit } of requests) slots.asked += limit;
    return {
      reports: this.#takeReports(),
      releases: this.#releases.splice(0, maxEntries),
      claim: requests.length > 0 ? newClaim(requests) : again,
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
    this.#lastSentAt = performance.now();
    const isAlone = this.#failures > 0 && this.#inFlight === 1 && reports.length === 1;
    const sentAt = this.#lastSentAt;
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
      const data = await requestExchange(this.#parts, load, takeNotes(noted));
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
          this.#claims.settle(claim, hints, data.claimItems, sentAt);
          this.#claims.freeRoom(claim);
        },
        (error) => (isUnknown(error) ? this.#claims.keep(claim) : this.#claims.freeRoom(claim)),
      );
    } catch (error) {
      if (this.#closed) return;
      problems.push(error);
      keepNotes(noted);
      if (isAlone && isTooLarge(error)) this.#refuse(reports);
      else if (restMs(error) > 0) this.#reports.push(...reports);
      else this.#putBack(reports);
      this.#releases.push(...releases);
      this.#claims.keep(claim);
    }
    this.#inFlight--;
    this.#conclude(problems);
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
