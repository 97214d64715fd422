/**
 * What this server observes of each type: how many items are claimed and end, how long they waited and took. Operations add it up
 * in memory, per lease rather than per item; at intervals all of a minute goes to Postgres in one call, as one row per type. If a
 * server is killed, its unsaved figures are lost.
 */
import { randomUUID } from 'node:crypto';
import type { Queries } from '../../db/database.ts';
import { beginningOf, tenantOf } from '../values/tenants.ts';
import { Histogram } from './histogram.ts';

/** This many types are counted individually, both per minute and in total; the rest of the total together, under a name that no type can have. */
const mostTypes = 1_000;
export const restOfTypes = '';

/** The name, which no type can have, under which everything is counted together: what belongs to a tenant, or all there is. */
export const sumOf = (tenant: string | null) => (tenant === null ? '' : beginningOf(tenant));
/** Of so many tenants. */
const mostSums = 1_000;

/** What a report changed, as report_results returns it. */
export type ReportFigure = readonly [
  type: string,
  tookMs: number | null,
  succeeded: number,
  failed: number,
  dead: number,
];

/** The figures of one type. */
export class Tally {
  claimed = 0;
  succeeded = 0;
  /** Attempts. */
  failed = 0;
  /** The failed attempts whose worker stopped sending heartbeats. */
  lost = 0;
  /** Items that failed for good. */
  dead = 0;
  /** From being ready to being claimed. */
  readonly wait = new Histogram();
  /** From being claimed to being reported, as a success or a failure. */
  readonly took = new Histogram();
}

type Tallies = Map<string, Tally>;

/** What was observed in a minute; Postgres determines which one at the first save. */
interface Slot {
  readonly id: string;
  readonly tallies: Tallies;
  /** Of all types together, by `sumOf`. */
  readonly sums: Tallies;
  minute: Date | undefined;
  /** When the minute is over, by the monotonic clock. */
  endsAt: number;
  /** Whether anything is unsaved, and whether it is being saved at this moment. */
  dirty: boolean;
  saving: boolean;
}

export class Figures {
  /** Since the server started. */
  readonly #totals: Tallies = new Map();
  /** The last one is the current one; earlier ones are not completely saved. */
  readonly #slots: Slot[] = [newSlot()];
  #saving: Promise<void> | undefined;

  claimed(type: string, waitMs: number, count: number): void {
    for (const tally of this.#talliesOf(type)) {
      tally.claimed += count;
      tally.wait.add(Math.max(0, waitMs), count);
    }
  }

  /** Counts what a report, or a sweep for lost heartbeats, has ended. */
  ended(figures: readonly ReportFigure[] | null, lost = false): void {
    for (const [type, tookMs, succeeded, failed, dead] of figures ?? []) {
      for (const tally of this.#talliesOf(type)) {
        tally.succeeded += succeeded;
        tally.failed += failed;
        if (lost) tally.lost += failed;
        tally.dead += dead;
        if (tookMs !== null) tally.took.add(Math.max(0, tookMs), succeeded + failed);
      }
    }
  }

  /** Counts items that no worker had started in time. */
  expired(counts: ReadonlyMap<string, number>): void {
    for (const [type, count] of counts) for (const tally of this.#talliesOf(type)) tally.dead += count;
  }

  /** Since the server started, by type. */
  get totals(): ReadonlyMap<string, Tally> {
    return this.#totals;
  }

  /** Slots that may be missing in Postgres, wholly or in part. If its minute is undefined, a slot belongs to the current one. */
  get unsaved(): readonly Readonly<Slot>[] {
    return this.#slots;
  }

  /** Writes new figures to Postgres. If that fails, the next call writes them. */
  async save(database: Queries): Promise<void> {
    while (this.#saving !== undefined) await this.#saving.catch(() => {});
    this.#saving = this.#save(database);
    try {
      await this.#saving;
    } finally {
      this.#saving = undefined;
    }
  }

  async #save(database: Queries): Promise<void> {
    for (const slot of [...this.#slots]) {
      if (slot.dirty) {
        slot.minute ??= await this.#write(database, slot, []);
        slot.dirty = false;
        slot.saving = true;
        try {
          await this.#write(database, slot, [...toRows(slot.tallies), ...toRows(slot.sums)]);
        } catch (error) {
          slot.dirty = true;
          throw error;
        } finally {
          slot.saving = false;
        }
      }
      if (slot !== this.#slots.at(-1) && !slot.dirty) this.#slots.splice(this.#slots.indexOf(slot), 1);
    }
  }

  /** Returns the slot's minute. */
  async #write(database: Queries, slot: Slot, rows: readonly object[]): Promise<Date> {
    const values = [slot.id, slot.minute ?? null, JSON.stringify(rows)];
    const [row] = await database.call<{ minute: Date; ends_in_ms: number }>('save_figures', ...values);
    if (row === undefined) throw new Error('save_figures returned no row');
    slot.endsAt = performance.now() + row.ends_in_ms;
    return row.minute;
  }

  #talliesOf(type: string): Tally[] {
    let slot = this.#slots.at(-1) as Slot;
    if (performance.now() >= slot.endsAt) {
      slot = newSlot();
      this.#slots.push(slot);
    }
    slot.dirty = true;
    const tenant = tenantOf(type);
    const found = [
      tallyOf(this.#totals, type) ?? (tallyOf(this.#totals, restOfTypes, Infinity) as Tally),
      tallyOf(slot.tallies, type),
      tallyOf(slot.sums, sumOf(null), mostSums),
      tenant === null ? undefined : tallyOf(slot.sums, sumOf(tenant), mostSums),
    ];
    return found.filter((tally) => tally !== undefined);
  }
}

function newSlot(): Slot {
  return {
    id: randomUUID(),
    tallies: new Map(),
    sums: new Map(),
    minute: undefined,
    endsAt: Number.POSITIVE_INFINITY,
    dirty: false,
    saving: false,
  };
}

/** Undefined if there are so many others already. */
function tallyOf(tallies: Tallies, name: string, most = mostTypes): Tally | undefined {
  let tally = tallies.get(name);
  if (tally === undefined && tallies.size < most) {
    tally = new Tally();
    tallies.set(name, tally);
  }
  return tally;
}

function toRows(tallies: Tallies) {
  return Array.from(tallies, ([type, { claimed, succeeded, failed, lost, dead, wait, took }]) => ({
    type,
    claimed,
    succeeded,
    failed,
    lost,
    dead,
    ...toLists('wait', wait),
    ...toLists('took', took),
  }));
}

function toLists(name: 'wait' | 'took', histogram: Histogram) {
  const buckets = histogram.buckets();
  return {
    [`${name}_buckets`]: buckets.map(([bucket]) => bucket),
    [`${name}_counts`]: buckets.map(([, count]) => count),
  };
}
