import type { Statement } from '../../db/database.ts';
import { BusyError, InvalidInputError, NotFoundError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkInstant, checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { followingOccurrence } from './occurrences.ts';
import { readTiming } from './read-schedules.ts';

/** Another call may advance the schedule between reading and skipping. */
const mostTries = 5;

const skip: Statement = {
  name: 'skip_occurrence',
  text: `update jobtree.schedule s
    set next_at = case when s.next_at = $2 then $3 else s.next_at end,
      queued = array_remove(s.queued, $2::timestamptz(3)), skipped_at = $2, skip_reason = 'ASKED'
    where s.name = $1 and (s.next_at = $2 or $2 = any (s.queued))
    returning s.name`,
};

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
    const [row] = await engine.database.call(skip, name, skipped, following);
    if (row !== undefined) return skipped;
    if (at !== null) return null;
  }
  throw new BusyError(`The schedule ${name} moves on all the time. Nothing has changed: try again.`);
}
