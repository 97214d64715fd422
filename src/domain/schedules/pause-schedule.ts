import type { Engine } from '../engine/engine.ts';
import { checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';

/** Keeps a schedule from creating trees until it is resumed. Does nothing if it is paused already. */
export async function pauseSchedule(engine: Engine, name: string): Promise<void> {
  await engine.database.call('pause_schedule', checkName(name, 'name', maxNameLength));
}
