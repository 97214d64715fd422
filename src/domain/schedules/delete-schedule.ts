import type { Statement } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { changeSchedule } from './change-schedule.ts';

const deleteOne: Statement = {
  name: 'delete_schedule',
  text: 'delete from jobtree.schedule s where s.name = $1 returning s.name',
};

/** Deletes a schedule; the trees that it made stay. */
export const deleteSchedule = (engine: Engine, name: string): Promise<void> =>
  changeSchedule(engine, deleteOne, name);
