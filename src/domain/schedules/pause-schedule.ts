import type { Statement } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { changeSchedule } from './change-schedule.ts';

const pause: Statement = {
  name: 'pause_schedule',
  text: `update jobtree.schedule s
    set paused_at = coalesce(s.paused_at, clock_timestamp()), held_next_at = coalesce(s.next_at, s.held_next_at), next_at = null
    where s.name = $1
    returning s.name`,
};

/**
 * Keeps a schedule from creating trees until it is resumed. Queued occurrences stay queued. Does nothing if it is paused already.
 */
export const pauseSchedule = (engine: Engine, name: string): Promise<void> =>
  changeSchedule(engine, pause, name);
