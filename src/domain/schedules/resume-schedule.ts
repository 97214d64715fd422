import type { Statement } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { changeByTimes, hasTimes, timesOf } from './change-schedule.ts';
import { followingOccurrence } from './occurrences.ts';

const resume: Statement = {
  name: 'resume_schedule',
  text: `update jobtree.schedule s
    set next_at = case when s.paused_at is null then s.next_at else $6 end, paused_at = null
    where s.name = $1 and ${hasTimes}
    returning s.name`,
};

/** Continues a paused schedule with its next occurrence. Does nothing if it is not paused. */
export async function resumeSchedule(engine: Engine, name: string): Promise<void> {
  await changeByTimes(engine, name, async (timing) => {
    const next = followingOccurrence(name, timing, timing.now);
    const [row] = await engine.database.call(resume, name, ...timesOf(timing), next);
    return row;
  });
}
