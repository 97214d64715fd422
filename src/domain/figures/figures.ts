/**
 * What this server observes of each type: how many items are claimed and end, how long they waited and took. Operations add it up
 * in memory, per lease rather than per item; at intervals all of a minute goes to Postgres in one call, as one row per type. If a
 * server is killed, its unsaved figures are lost.
 */
import { randomUUID } from 'node:crypto';
import { type Queries, type Statement, unflushed } from '../../db/database.ts';
import { type Old, prune } from '../../db/prune.ts';
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

/**
 * Stores a slot's figures, a row for each type, in place of what it stored before. The first call for a slot has no minute, gets it, and writes
 * nothing, so that a repeated call never writes to another minute. The commit does not wait for the disk: a crash of Postgres may lose the
 * latest figures.
 */
const saveFigures: Statement = {
  name: 'save_figures',
  first: `saved as (
    insert into jobtree.figure (
      type, minute, slot_id, claimed, succeeded, failed, lost, dead, wait_buckets, wait_counts, took_buckets, took_counts
    )
    select f.type, $2, $1, f.claimed, f.succeeded, f.failed, f.lost, f.dead,
      f.wait_buckets, f.wait_counts, f.took_buckets, f.took_counts
    from json_to_recordset($3::json) f(
      type text, claimed integer, succeeded integer, failed integer, lost integer, dead integer,
      wait_buckets integer[], wait_counts integer[], took_buckets integer[], took_counts integer[]
    )
    where $2::timestamptz is not null and ${unflushed}
    on conflict on constraint figure_pkey do update
    set claimed = excluded.claimed, succeeded = excluded.succeeded, failed = excluded.failed, lost = excluded.lost, dead = excluded.dead,
      wait_buckets = excluded.wait_buckets, wait_counts = excluded.wait_counts,
      took_buckets = excluded.took_buckets, took_counts = excluded.took_counts
  )`,
  text: `select s.minute, greatest(extract(epoch from s.minute + interval '1 minute' - clock_timestamp()) * 1000, 0)::integer as ends_in_ms
    from (select coalesce($2::timestamptz, date_trunc('minute', clock_timestamp())) as minute) s`,
};

export const oldFigures: Old = { table: 'figure', key: 'ctid', where: `minute < now() - interval '2 days'` };

/** Removes a batch of figures of more than two days ago. Returns whether there may be more. */
export const pruneFigures = (database: Pick<Queries, 'call'>): Promise<boolean> =>
  prune(database, oldFigures, 5_000);

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
    const [row] = await database.call<{ minute: Date; ends_in_ms: number }>(saveFigures, ...values);
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
