/**
 * Where claims start to look. Claimed entries leave dead rows behind, which Postgres can't remove while anybody holds an
 * old snapshot; a claim that began at the start would walk over all of them, and slow down with every item done. So the
 * server remembers, for each type and priority, the position below which it saw nothing claimable.
 *
 * Of very many types it remembers those that were claimed from last.
 *
 * That is a hint: entries can come to stand below it (a transaction that committed late, an item given back, a priority
 * not seen before). So about once a second a claim reads a type from its start, less often where that is slow: it may
 * take a twentieth of the time at most.
 */
export interface Lane {
  readonly type: string;
  readonly priority: number;
  readonly from: number;
}

interface TypeState {
  readonly lanes: Map<number, number>;
  nextFullScanAt: number;
}

const fullScanEveryMs = 1_000;
const fullScanShare = 1 / 20;
const maxLanes = 16;
const maxTypes = 1_000;

export class LowWater {
  /** The type of which something was taken last stands last. */
  readonly #types = new Map<string, TypeState>();

  /** The lanes to look at for these types. A type without lanes is to be read from its start. */
  lanes(types: Iterable<string>, now: number): Lane[] {
    const lanes: Lane[] = [];
    for (const type of new Set(types)) {
      const state = this.#types.get(type);
      if (state === undefined || state.lanes.size === 0) continue;
      if (now >= state.nextFullScanAt) {
        // Claimed here, so that concurrent claims do not all read from the start.
        state.nextFullScanAt = now + fullScanEveryMs;
        continue;
      }
      for (const [priority, from] of state.lanes) lanes.push({ type, priority, from });
    }
    return lanes;
  }

  /** Learns from a claim: which lanes it looked at, what it took, and how long it needed. */
  learn(claim: {
    types: Iterable<string>;
    lanes: readonly Lane[];
    taken: readonly { type: string; priority: number; position: number }[];
    startedAt: number;
    endedAt: number;
  }): void {
    const inLanes = new Set(claim.lanes.map((lane) => lane.type));
    const highest = new Map<string, Map<number, number>>();
    for (const { type, priority, position } of claim.taken) {
      const lanes = highest.get(type) ?? new Map<number, number>();
      highest.set(type, lanes);
      lanes.set(priority, Math.max(lanes.get(priority) ?? 0, position));
    }
    for (const [type, lanes] of highest) {
      for (const [priority, position] of lanes)
        this.#advance(type, priority, position + 1, inLanes.has(type));
    }
    // A type of which nothing was ever taken is not remembered: whoever asks for made-up types costs no memory.
    for (const type of new Set(claim.types)) {
      const state = this.#types.get(type);
      if (state === undefined || inLanes.has(type)) continue;
      const pause = Math.max(fullScanEveryMs, (claim.endedAt - claim.startedAt) / fullScanShare);
      state.nextFullScanAt = claim.endedAt + pause;
    }
  }

  /** Items of this priority were added: if it is a new one, its lane is to be looked at as well. */
  added(type: string, priority: number): void {
    const lanes = this.#types.get(type)?.lanes;
    if (lanes !== undefined && lanes.size > 0 && !lanes.has(priority)) this.#set(lanes, priority, 0);
  }

  /** Items of the type came back to where they stood before: read it from the start next time. */
  returned(type: string): void {
    const state = this.#types.get(type);
    if (state !== undefined) state.nextFullScanAt = 0;
  }

  #advance(type: string, priority: number, from: number, onlyForward: boolean): void {
    const { lanes } = this.#state(type);
    const known = lanes.get(priority);
    if (!onlyForward || known === undefined || from > known) this.#set(lanes, priority, from);
  }

  /** A type of very many priorities is not worth a query for each: it is always read from its start. */
  #set(lanes: Map<number, number>, priority: number, from: number): void {
    lanes.set(priority, from);
    if (lanes.size > maxLanes) lanes.clear();
  }

  #state(type: string): TypeState {
    const state = this.#types.get(type) ?? { lanes: new Map(), nextFullScanAt: 0 };
    this.#types.delete(type);
    this.#types.set(type, state);
    if (this.#types.size > maxTypes) this.#types.delete(this.#types.keys().next().value as string);
    return state;
  }
}
