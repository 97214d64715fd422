import { NotFoundError } from '../errors.ts';
import { checkName } from './checks.ts';
import type { Engine } from './engine.ts';
import { maxNameLength } from './limits.ts';
import { followingOccurrence } from './occurrences.ts';
import { readTiming } from './read-schedules.ts';

/** Has a paused schedule go on with its next occurrence. Of one that is not paused nothing changes. */
export async function resumeSchedule(engine: Engine, name: string): Promise<void> {
  const timing = await readTiming(engine.database, checkName(name, 'name', maxNameLength));
  if (timing === undefined) throw new NotFoundError(`There is no schedule ${name}.`, 'name');
  const next = followingOccurrence(name, timing, timing.now);
  await engine.database.call('resume_schedule', name, next);
}
