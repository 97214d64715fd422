import { BusyError, InvalidInputError, NotFoundError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkInstant, checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { followingOccurrence } from './occurrences.ts';
import { readTiming } from './read-schedules.ts';

/** Another call may advance the schedule between reading and skipping. */
const mostTries = 5;

/**
 * Skips the next occurrence of a schedule, or the given one if it is next or queued. Returns the skipped one, or null if the
 * given one was neither.
 */
export async function skipOccurrence(engine: Engine, name: string, at: Date | null): Promise<Date | null> {
  checkName(name, 'name', maxNameLength);
  if (at !== null) checkInstant(at, 'at');
  for (let tries = 0; tries < mostTries; tries++) {
    const timing = await readTiming(engine.database, name);
    if (timing === undefined) throw new NotFoundError(`There is no schedule ${name}.`, 'name');
    const skipped = at ?? timing.nextAt;
    if (skipped === null) throw new InvalidInputError(`The schedule ${name} is paused.`, 'name');
    const following = followingOccurrence(name, timing, skipped);
    const [row] = await engine.database.call<{ skip_occurrence: boolean }>(
      'skip_occurrence',
      name,
      skipped,
      following,
    );
    if (row?.skip_occurrence) return skipped;
    if (at !== null) return null;
  }
  throw new BusyError(`The schedule ${name} moves on all the time. Nothing has changed: try again.`);
}
