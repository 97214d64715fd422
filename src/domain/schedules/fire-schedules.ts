/**
 * Creates the trees of due schedules. Any number of servers does this at once: each computes the occurrences itself, and
 * fire_schedule creates trees only if the schedule's next occurrence is still the one that was read.
 */
import { StorageLimitError } from '../../errors.ts';
import type { Stored } from '../access/stored.ts';
import type { Engine } from '../engine/engine.ts';
import { tenantOf } from '../values/tenants.ts';
import { dueOccurrences } from './occurrences.ts';
import { type DueSchedule, readAgenda, readDueSchedules } from './read-schedules.ts';

/** How many schedules are read at once. */
const batchSize = 1_000;
const atOnce = 4;
/** How many trees are created in one transaction. */
const treesAtOnce = 50;

/** By then, another server has finished the schedules that it is working on. */
const settleMs = 50;

type Ready = Record<string, number> | null;

/** In how many milliseconds there may be something to do again, and whether a part of it failed and has to be tried again. */
export interface Fired {
  readonly waitMs: number;
  readonly failed: boolean;
}

/** A schedule that fails does not affect the others. */
export async function fireSchedules(engine: Engine, signal: AbortSignal): Promise<Fired> {
  const { now, nextAt, queued } = await readAgenda(engine.database, batchSize);
  let failed = false;
  const each = async <T extends { readonly name: string }>(
    schedules: readonly T[],
    run: (schedule: T) => Promise<void>,
  ) => {
    const left = schedules.values();
    const next = async () => {
      for (const schedule of left) {
        if (signal.aborted) return;
        try {
          await run(schedule);
        } catch (error) {
          failed = true;
          engine.logger.warn({ err: error, schedule: schedule.name }, 'a schedule failed; trying again');
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, schedules.length) }, next));
  };

  await each(
    queued.map((name) => ({ name })),
    ({ name }) => startQueued(engine, name),
  );
  if (nextAt === null) return { waitMs: Number.POSITIVE_INFINITY, failed };
  if (nextAt > now) return { waitMs: nextAt.getTime() - now.getTime(), failed };
  const due = await readDueSchedules(engine.database, batchSize);
  await each(due, (schedule) => fire(engine, schedule));
  return { waitMs: due.length === batchSize ? 0 : settleMs, failed };
}

async function fire(engine: Engine, schedule: DueSchedule): Promise<void> {
  const { name, nextAt, now } = schedule;
  let due: { make: Date[]; next: Date | null };
  try {
    due = dueOccurrences(schedule, schedule.missed, nextAt, now);
    if (due.next === null) throw new Error('It has no occurrence any more.');
  } catch (error) {
    // The times can't be computed: the time zone no longer exists, or the row was not written through the API. Paused, the
    // schedule does not get in the way of others.
    const why = error instanceof Error ? error.message : String(error);
    engine.logger.error(
      { err: error, schedule: name },
      "the times of a schedule can't be worked out; it is paused",
    );
    await engine.database.call('fire_schedule', name, nextAt, [], null, why);
    return;
  }
  const { make, next } = due;
  const refusal = make.length === 0 ? null : await refusalOf(engine, name);
  let expected = nextAt;
  for (let start = 0; ; start += treesAtOnce) {
    const following = make[start + treesAtOnce];
    const [row] = await engine.database.call<{ root_ids: string[]; ready: Ready }>(
      'fire_schedule',
      name,
      expected,
      make.slice(start, start + treesAtOnce),
      following ?? next,
      null,
      refusal,
    );
    // Another server was faster, or the schedule has been changed meanwhile.
    if (row === undefined) return;
    tellOfTrees(engine, row.root_ids, row.ready);
    if (following === undefined) return;
    expected = following;
  }
}

/** Only the template knows how much the tree needs, so all that is required is room for anything at all. */
export const oneItem: Stored = { items: 1, bytes: 1 };

/** Why the schedule's tenant may store no more; null if it may. */
async function refusalOf({ stored }: Engine, name: string): Promise<string | null> {
  try {
    await stored.check({ tenant: tenantOf(name) }, oneItem);
    return null;
  } catch (error) {
    if (error instanceof StorageLimitError) return error.message;
    throw error;
  }
}

/** Starts the queued tree; while there is no room for it, it stays queued. */
async function startQueued(engine: Engine, name: string): Promise<void> {
  if ((await refusalOf(engine, name)) !== null) return;
  const [row] = await engine.database.call<{ root_ids: string[]; ready: Ready }>('fire_schedule', name);
  if (row !== undefined) tellOfTrees(engine, row.root_ids, row.ready);
}

/** Tells that there are new trees to fold, and items to claim. */
export function tellOfTrees(engine: Engine, rootIds: readonly string[], ready: Ready): void {
  for (const rootId of rootIds) engine.effects.touched(rootId);
  if (ready !== null) engine.effects.ready(new Map(Object.entries(ready)));
}
