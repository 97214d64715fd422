import { checkName } from './checks.ts';
import type { Engine } from './engine.ts';
import { maxNameLength } from './limits.ts';

/** Deletes a schedule; the trees that it made stay. */
export async function deleteSchedule(engine: Engine, name: string): Promise<void> {
  await engine.database.call('delete_schedule', checkName(name, 'name', maxNameLength));
}
