import type { Statement } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkInstant } from '../values/checks.ts';
import { changeByTimes, hasTimes, timesOf } from './change-schedule.ts';
import { followingOccurrence } from './occurrences.ts';

const skip: Statement = {
  name: 'skip_occurrence',
  text: `update jobtree.schedule s
    set next_at = case when s.next_at = $6 then $7 else s.next_at end,
      queued = array_remove(s.queued, $6::timestamptz(3)), skipped_at = $6, skip_reason = 'ASKED'
    where s.name = $1 and (s.next_at = $6 and ${hasTimes} or $6 = any (s.queued))
    returning s.name`,
};

/**
 * Skips the next occurrence of a schedule, or the given one if it is next or queued. Returns the skipped one, or null if the
 * given one was neither.
 */
export async function skipOccurrence(engine: Engine, name: string, at: Date | null): Promise<Date | null> {
  if (at !== null) checkInstant(at, 'at');
  return changeByTimes(engine, name, async (timing) => {
    const skipped = at ?? timing.nextAt;
    if (skipped === null) throw new InvalidInputError(`The schedule ${name} is paused.`, 'name');
    const following = followingOccurrence(name, timing, skipped);
    const [row] = await engine.database.call(skip, name, ...timesOf(timing), skipped, following);
    if (row !== undefined) return skipped;
    // What is next may have changed since it was read, and so may what follows it.
    return skipped.getTime() === timing.nextAt?.getTime() ? undefined : null;
  });
}
