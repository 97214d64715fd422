import type { Engine } from '../engine/engine.ts';
import { checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';

/** Deletes a schedule; the trees that it made stay. */
export async function deleteSchedule(engine: Engine, name: string): Promise<void> {
  await engine.database.call('delete_schedule', checkName(name, 'name', maxNameLength));
}
