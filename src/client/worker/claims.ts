/**
 * The claims of a worker, from the choice of what to ask for until what they got is known.
 *
 * A claim that got no answer may have been carried out, so it is sent again unchanged, and keeps its room until then.
 *
 * When the server has nothing for a type, a claim for the room that is left waits there, beside the exchanges, until there is something.
 */
import { newClaimId } from '../claim-id.ts';
import { payloadOf, refusal } from '../errors.ts';
import { maxEntries } from '../limits.ts';
import type { Socket } from '../socket.ts';
import type { Assignment } from '../types.ts';
import { type ClaimRequest, chooseRequests, waitingRoomOf } from './claim-requests.ts';
import { type Answer, type Claim, requestWaiting } from './exchange-requests.ts';
import type { Slots } from './held-assignments.ts';

export interface ClaimsParts {
  readonly socket: Socket;
  readonly worker: string;
  readonly slots: readonly Slots[];
  readonly onClaimed: (assignment: Assignment, sentAt: number) => void;
  /** The most items that the next claim may ask for. */
  readonly mostClaimed: () => number;
  /** How long a claim waits at the server, in milliseconds. */
  readonly waitMs: number;
}

/** A claim that should wait and is answered with nothing this much too early was not let wait. */
const earlyMs = 1_000;

export class Claims {
  readonly #parts: ClaimsParts;
  readonly #onWaited: (problems: readonly unknown[]) => void;
  readonly #unanswered: Claim[] = [];
  /** Claims that wait at the server. */
  readonly #parked = new Set<Claim>();
  /** Until when none is to wait, since the server did not let the last one, or nothing but what is ready is wanted. */
  #parksFrom = 0;
  #turn = 0;
  #claiming = true;
  #closed = false;

  /** `onWaited`: a claim that waited at the server has its answer, or failed. */
  constructor(parts: ClaimsParts, onWaited: (problems: readonly unknown[]) => void) {
    this.#parts = parts;
    this.#onWaited = onWaited;
  }

  /** How many got no answer and are to be sent again. */
  get unanswered(): number {
    return this.#unanswered.length;
  }

  /** How many wait at the server. */
  get parked(): number {
    return this.#parked.size;
  }

  /** From now on each unanswered claim is sent once more, and no other. */
  stop(): void {
    this.#claiming = false;
    this.endWaiting();
  }

  resume(): void {
    this.#claiming = true;
  }

  /** From now on no claim waits at the server for what is not ready yet. */
  onlyReady(): void {
    this.#parksFrom = Number.POSITIVE_INFINITY;
  }

  /** Forgets all claims, and ignores answers that still arrive. */
  close(): void {
    this.#closed = true;
    this.#unanswered.length = 0;
    this.#parked.clear();
  }

  /** Takes one that got no answer, to send it again. */
  takeUnanswered(): Claim | undefined {
    return this.#unanswered.shift();
  }

  /** What a new claim is to ask for: at most so many items, none while the worker claims nothing. */
  choose(most: number): ClaimRequest[] {
    if (!this.#claiming) return [];
    return chooseRequests(this.#parts.slots, Math.min(most, this.#parts.mostClaimed()), this.#turn++);
  }

  /** Lets a claim wait at the server for what there is room for. */
  park(): void {
    const { mostClaimed, slots, waitMs } = this.#parts;
    if (!this.#claiming || waitMs < earlyMs || performance.now() < this.#parksFrom) return;
    const requests = chooseRequests(slots, Math.min(maxEntries, mostClaimed()), this.#turn, waitingRoomOf);
    if (requests.length === 0) return;
    for (const { slots, limit } of requests) slots.parked += limit;
    const claim = newClaim(requests);
    this.#parked.add(claim);
    void this.#wait(claim);
  }

  async #wait(claim: Claim): Promise<void> {
    const { waitMs } = this.#parts;
    const hints = claim.requests.map(({ slots }) => slots.hints);
    const sentAt = performance.now();
    let answer: Answer['claimItems'];
    try {
      ({ claimItems: answer } = await requestWaiting(this.#parts, claim, waitMs));
    } catch (error) {
      if (this.#unpark(claim, true)) this.#onWaited([error]);
      return;
    }
    if (!this.#unpark(claim, false)) return;
    const problems: unknown[] = [];
    const now = performance.now();
    try {
      const got = this.settle(claim, hints, answer, now);
      if (got === 0 && now - sentAt < waitMs - earlyMs) this.#parksFrom = now + waitMs;
    } catch (error) {
      problems.push(error);
    }
    this.#onWaited(problems);
  }

  /** A repeat ends the waiting of a claim, and brings what it may have got. */
  endWaiting(): void {
    for (const claim of this.#parked) this.#unpark(claim, true);
  }

  /** It no longer waits at the server; what it may have got is asked for again if it `repeats`. Returns false if it had ended before. */
  #unpark(claim: Claim, repeats: boolean): boolean {
    if (!this.#parked.delete(claim)) return false;
    for (const { slots, limit } of claim.requests) {
      slots.parked -= limit;
      if (repeats) slots.asked += limit;
    }
    if (repeats) this.keep(claim);
    return true;
  }

  /** Returns how many items it got. */
  settle(
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
  keep(claim: Claim | undefined): void {
    if (claim === undefined) return;
    if (!this.#closed && (this.#claiming || !claim.isRepeat))
      this.#unanswered.push({ ...claim, isRepeat: true });
    else this.freeRoom(claim);
  }

  freeRoom(claim: Claim | undefined): void {
    for (const { slots, limit } of claim?.requests ?? []) slots.asked -= limit;
  }
}

export function newClaim(requests: readonly ClaimRequest[]): Claim {
  return { id: newClaimId(), requests, isRepeat: false };
}
