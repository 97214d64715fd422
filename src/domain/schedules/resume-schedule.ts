import type { Statement } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { changeSchedule } from './change-schedule.ts';
import { followingOccurrence } from './occurrences.ts';
import { readTiming } from './read-schedules.ts';

const resume: Statement = {
  name: 'resume_schedule',
  text: `update jobtree.schedule s
    set next_at = case when s.paused_at is null then s.next_at else $2 end, paused_at = null
    where s.name = $1
    returning s.name`,
};

/** Continues a paused schedule with its next occurrence. Does nothing if it is not paused. */
export async function resumeSchedule(engine: Engine, name: string): Promise<void> {
  const timing = await readTiming(engine.database, checkName(name, 'name', maxNameLength));
  if (timing === undefined) throw new NotFoundError(`There is no schedule ${name}.`, 'name');
  const next = followingOccurrence(name, timing, timing.now);
  await changeSchedule(engine, resume, name, next);
}
