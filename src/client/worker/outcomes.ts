/** What comes of assignments: takes it to the server, and tells what the server made of it. */
import type { AbortCode } from '../errors.ts';
import type { Assignment } from '../types.ts';
import type { Tell } from './emitter.ts';
import type { ReportedFailure } from './events.ts';
import type { Exchanges, ReportEntry } from './exchanges.ts';
import type { HeldAssignment } from './held-assignments.ts';
import type { NoteSender } from './note-sender.ts';
import { failed, type Outcome, permanent, succeeded, timedOut } from './outcome.ts';
import type { Unheard } from './unheard.ts';

export interface OutcomeParts {
  readonly held: Set<HeldAssignment>;
  readonly exchanges: Exchanges;
  readonly notes: NoteSender;
  readonly maxResultBytes: number;
  readonly tell: Tell;
  readonly unheard: Unheard;
  readonly onError: (error: unknown) => void;
}

export class Outcomes {
  readonly #parts: OutcomeParts;

  constructor(parts: OutcomeParts) {
    this.#parts = parts;
  }

  succeed(held: HeldAssignment, result: unknown): void {
    if (held.state !== 'running') return;
    if (held.abortedFor === 'TIMED_OUT') this.#reportTimeout(held);
    else this.#report(held, succeeded(held.assignmentId, result, held.newItems, this.#parts.maxResultBytes));
  }

  fail(held: HeldAssignment, error: unknown): void {
    if (held.state !== 'running') return;
    // It gave up because we told it to, which is no failure of the item.
    if (held.abortedFor === 'HEARTBEATS_FAILED' || held.abortedFor === 'STOPPED') this.release(held);
    else if (held.abortedFor === 'TIMED_OUT') this.#reportTimeout(held);
    else this.#report(held, failed(held.assignmentId, error));
  }

  timeOut(held: HeldAssignment): void {
    if (held.state !== 'running') return;
    // With the report of a keyed item the next one of its key may begin, or it itself elsewhere: so its handler must have ended.
    if (!held.assignment.hasSerializeKey) this.#reportTimeout(held);
    this.abort(held, 'TIMED_OUT');
  }

  /** Gives it back. */
  release(held: HeldAssignment): void {
    held.end('released');
    held.trace?.drop(held.abortedFor ?? 'RELEASED');
    this.#parts.notes.ending(held);
    this.#parts.exchanges.release(held);
  }

  /** Its handler is to end. */
  abort(held: HeldAssignment, code: AbortCode): void {
    if (!held.abort(code)) return;
    held.trace?.drop(code);
    this.#parts.tell('aborted', held.assignment, code);
  }

  /** The server does not count on the worker for it any more. */
  forget(held: HeldAssignment): boolean {
    held.end('gone');
    return this.#parts.held.delete(held);
  }

  released(held: HeldAssignment): void {
    if (this.forget(held)) this.#parts.tell('released', held.assignment);
  }

  reported(held: HeldAssignment, { status, retryAt = null, error }: ReportEntry): void {
    const { tell, onError } = this.#parts;
    const { assignment, failure, outcome } = held;
    held.trace?.reported(status);
    if (status === 'INVALID' && outcome?.report.outcome.success != null) {
      const message = error?.message ?? 'The server refused it.';
      this.#report(held, permanent(held.assignmentId, 'INVALID_RESULT', message));
      return;
    }
    this.forget(held);
    if (status === 'STALE') tell('stale', assignment);
    else if (status === 'INVALID') onError(new Error(`The server refused a failure: ${error?.message}`));
    else if (outcome?.report.outcome.snoozeMs != null) tell('snoozed', assignment, retryAt ?? '');
    else if (failure === undefined) tell('succeeded', assignment);
    else {
      const { code, message } = failure;
      this.#failed(assignment, { code, message, retryAt, error: outcome?.error });
    }
  }

  #reportTimeout(held: HeldAssignment): void {
    this.#report(held, timedOut(held.assignmentId, held.slots.timeoutMs));
  }

  #report(held: HeldAssignment, outcome: Outcome): void {
    held.end('finished');
    held.outcome = outcome;
    held.trace?.settle(held.failure);
    this.#parts.notes.ending(held);
    this.#parts.exchanges.report(held);
  }

  #failed(assignment: Assignment, failure: ReportedFailure): void {
    if (!this.#parts.tell('failed', assignment, failure)) this.#parts.unheard.failed(assignment, failure);
  }
}
