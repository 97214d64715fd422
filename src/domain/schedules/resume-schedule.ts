import type { Statement } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { changeByTimes, hasTimes, timesOf } from './change-schedule.ts';
import { followingOccurrence } from './occurrences.ts';

const resume: Statement = {
  name: 'resume_schedule',
  text: `update jobtree.schedule s
    set next_at = coalesce(s.next_at, greatest($6, s.held_next_at)), held_next_at = null, paused_at = null
    where s.name = $1 and ${hasTimes}
    returning s.name`,
};

/** Continues a paused schedule with its next occurrence that was not skipped. Does nothing if it is not paused. */
export async function resumeSchedule(engine: Engine, name: string): Promise<void> {
  await changeByTimes(engine, name, async (timing) => {
    const next = followingOccurrence(name, timing, timing.now);
    const [row] = await engine.database.call(resume, name, ...timesOf(timing), next);
    return row;
  });
}
