/**
 * Claims that found nothing and wait at the server. As soon as there may be items of their types they are sent again: those of a caller that
 * are woken together as one call, each for its share of the items. So a worker hears nothing before it has work, and sends no second request.
 *
 *   first look ──nothing──▶ parked ──woken──▶ looks again ──items──▶ answered
 *                              ▲                   │
 *                              └─────nothing───────┘      answered with nothing: time is up, the server stops, or too many wait
 *
 * A parked claim is a promise and a timer: it holds no connection to Postgres and does not count as under way. Once its caller has left it is
 * never sent again, and what it was given meanwhile goes back.
 */
import { pathOf } from '../../concurrency/fair-queue.ts';
import { ClientGoneError, JobtreeError } from '../../errors.ts';
import type { ClaimRequest, Given } from '../engine/batchers.ts';
import type { Answered, ClaimPark, Engine, ParkOptions, WaitingClaim } from '../engine/engine.ts';
import { maxBatch } from '../values/limits.ts';
import { askAgain } from './ask-again.ts';
import { inTurn } from './claim-items.ts';

export class ParkedClaims implements ClaimPark {
  readonly #parked = new Set<ParkedClaim>();
  readonly #byClaimId = new Map<string, ParkedClaim>();
  #woken: ParkedClaim[] = [];
  /** Calls under way. */
  readonly #calls = new Set<Promise<unknown>>();
  readonly #giveBack: (assignmentIds: readonly string[]) => Promise<unknown>;
  #isClosed = false;

  constructor(giveBack: (assignmentIds: readonly string[]) => Promise<unknown>) {
    this.#giveBack = giveBack;
  }

  get count(): number {
    return this.#parked.size;
  }

  async claim(
    engine: Engine,
    requests: ClaimRequest[],
    { waitMs, park }: ParkOptions,
    look: () => Promise<readonly Given[]>,
  ): Promise<Answered> {
    this.endRepeated(requests);
    if (waitMs === 0 || this.#isClosed) return { requests, given: await look() };
    const claim = new ParkedClaim(engine, requests, (one) => this.#wake(one));
    const id = requests[0]?.claimId;
    // Both before the first look: a repeat may come during it, and what appears after it is not to be missed.
    if (id !== undefined) this.#byClaimId.set(id, claim);
    const stopHearing = engine.effects.awaited(claim);
    try {
      const given = await look();
      if (given.some(({ assignments }) => assignments.length > 0)) return { requests, given };
      return await this.#wait(claim, { waitMs, park, given });
    } finally {
      stopHearing();
      if (id !== undefined && this.#byClaimId.get(id) === claim) this.#byClaimId.delete(id);
    }
  }

  endRepeated([request]: readonly ClaimRequest[]): void {
    if (request?.claimId !== undefined) this.#byClaimId.get(request.claimId)?.end();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const claim of this.#parked) claim.end();
    await Promise.all(this.#calls);
  }

  async #wait(
    claim: ParkedClaim,
    { waitMs, park, given }: ParkOptions & { readonly given: readonly Given[] },
  ): Promise<Answered> {
    const { requests } = claim;
    const goOn = park(() => {
      this.#parked.delete(claim);
      claim.end(true);
    });
    if (goOn === undefined) return { requests, given };
    this.#parked.add(claim);
    const timer = setTimeout(() => claim.end(), waitMs);
    try {
      for (;;) {
        if (this.#isClosed) claim.end();
        await claim.woken();
        if (claim.answer === undefined) return { requests, given };
        const answered = await claim.answer;
        if (answered.given.some(({ assignments }) => assignments.length > 0)) return answered;
      }
    } finally {
      clearTimeout(timer);
      this.#parked.delete(claim);
      goOn();
    }
  }

  /** All of a caller that are woken in one turn of the event loop are sent together. */
  #wake(claim: ParkedClaim): void {
    if (this.#woken.push(claim) === 1) queueMicrotask(() => this.#sendWoken());
  }

  #sendWoken(): void {
    const byCaller = new Map<string, ParkedClaim[]>();
    for (const claim of this.#woken) {
      if (claim.isOver) continue;
      const caller = pathOf(claim.engine).join('/');
      const claims = byCaller.get(caller);
      if (claims === undefined) byCaller.set(caller, [claim]);
      else claims.push(claim);
    }
    this.#woken = [];
    for (const claims of byCaller.values()) while (claims.length > 0) this.#send(takeBatch(claims));
  }

  #send(claims: readonly ParkedClaim[]): void {
    const parts = claims.map((claim) => claim.begin());
    const [{ engine }] = claims as [ParkedClaim];
    const isGone = () => claims.every(({ isOver }) => isOver);
    const all = engine.batchers.claims.submit(parts.flat(), engine, isGone);
    all.catch(() => {});
    let from = 0;
    for (const [i, claim] of claims.entries()) {
      const requests = parts[i] as ClaimRequest[];
      const own = from;
      from += requests.length;
      const call = inTurn(claim.engine.claimsUnderWay, requests, () =>
        this.#settle(
          claim,
          requests,
          async () => (await all).slice(own, own + requests.length),
          claims.length > 1,
        ),
      );
      claim.sent(call);
      const done = call.then(
        () => {},
        () => {},
      );
      this.#calls.add(done);
      void done.then(() => this.#calls.delete(done));
    }
  }

  /** What the claim got; nothing if nobody takes it. */
  async #settle(
    claim: ParkedClaim,
    requests: ClaimRequest[],
    answer: () => Promise<readonly Given[]>,
    isMerged: boolean,
  ): Promise<Answered> {
    const { engine } = claim;
    const first = answer().catch((error: unknown) => {
      // Another one's claim may be why: for example, one that was carried out before must be sent alone.
      if (!isMerged || !(error instanceof JobtreeError) || claim.isOver) throw error;
      return engine.batchers.claims.submit(requests, engine, () => claim.isOver);
    });
    const given = await first
      .then((got) => askAgain({ ...engine, isGone: () => claim.isOver }, requests, got))
      .catch((error: unknown) => {
        // It was over before its turn came: nothing was claimed for it.
        if (error instanceof ClientGoneError) return [];
        throw error;
      });
    if (!claim.isGone) return { requests, given };
    const ids = given.flatMap(({ assignments }) => assignments.map(({ id }) => id));
    if (ids.length > 0) await this.#giveBack(ids);
    return { requests, given: [] };
  }
}

/** As many of the first claims as one call should have. */
function takeBatch(claims: ParkedClaim[]): ParkedClaim[] {
  let items = 0;
  let count = 0;
  for (const claim of claims) {
    items += claim.wanted;
    if (count > 0 && items > maxBatch) break;
    count++;
  }
  return claims.splice(0, count);
}

class ParkedClaim implements WaitingClaim {
  readonly engine: Engine;
  readonly requests: readonly ClaimRequest[];
  readonly types: ReadonlySet<string>;
  readonly #onWoken: (claim: ParkedClaim) => void;
  /** How many items there may be for it, by type. */
  readonly #offered = new Map<string, number>();
  #state: 'looking' | 'parked' | 'over' = 'looking';
  #isGone = false;
  #wake = () => {};
  /** What came of sending it again. */
  answer: Promise<Answered> | undefined;

  constructor(engine: Engine, requests: readonly ClaimRequest[], onWoken: (claim: ParkedClaim) => void) {
    this.engine = engine;
    this.requests = requests;
    this.types = new Set(requests.map(({ type }) => type));
    this.#onWoken = onWoken;
  }

  /** It is not to be sent again. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** Nobody waits for its answer. */
  get isGone(): boolean {
    return this.#isGone || this.engine.isGone?.() === true;
  }

  /** How many items it would take now. */
  get wanted(): number {
    return this.#wantedRequests().reduce((sum, { limit }) => sum + limit, 0);
  }

  offer(type: string, items: number): number {
    const isFirst = this.#offered.size === 0;
    const offered = (this.#offered.get(type) ?? 0) + items;
    this.#offered.set(type, offered);
    if (this.#state !== 'parked' || this.isGone) return 0;
    if (isFirst) this.#onWoken(this);
    const limit = this.requests.reduce((sum, one) => sum + (one.type === type ? one.limit : 0), 0);
    return Math.min(limit, offered);
  }

  /** Resolves when it was sent again, or is over. */
  async woken(): Promise<void> {
    this.answer = undefined;
    if (this.isOver) return;
    this.#state = 'parked';
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    // It was offered something while it looked.
    if (this.#offered.size > 0) this.#onWoken(this);
    await woken;
  }

  /** It looks again: returns what it asks for. */
  begin(): ClaimRequest[] {
    const requests = this.#wantedRequests();
    this.#offered.clear();
    if (!this.isOver) this.#state = 'looking';
    return requests;
  }

  sent(answer: Promise<Answered>): void {
    this.answer = answer;
    this.#wake();
  }

  /** It is not sent again. What it is given by a call under way still counts, unless its caller is gone. */
  end(isGone = false): void {
    this.#isGone ||= isGone;
    this.#state = 'over';
    this.#wake();
  }

  #wantedRequests(): ClaimRequest[] {
    return this.requests.flatMap((request) => {
      const items = this.#offered.get(request.type);
      if (items === undefined) return [];
      const limit = Math.min(request.limit, items);
      return { ...request, limit, starts: request.starts == null ? null : Math.min(request.starts, limit) };
    });
  }
}
