import { NotFoundError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { followingOccurrence } from './occurrences.ts';
import { readTiming } from './read-schedules.ts';

/** Continues a paused schedule with its next occurrence. Does nothing if it is not paused. */
export async function resumeSchedule(engine: Engine, name: string): Promise<void> {
  const timing = await readTiming(engine.database, checkName(name, 'name', maxNameLength));
  if (timing === undefined) throw new NotFoundError(`There is no schedule ${name}.`, 'name');
  const next = followingOccurrence(name, timing, timing.now);
  await engine.database.call('resume_schedule', name, next);
}
