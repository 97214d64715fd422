import { checkName } from './checks.ts';
import type { Engine } from './engine.ts';
import { maxNameLength } from './limits.ts';

/** Has a schedule make nothing until it is resumed. Pausing a paused one changes nothing. */
export async function pauseSchedule(engine: Engine, name: string): Promise<void> {
  await engine.database.call('pause_schedule', checkName(name, 'name', maxNameLength));
}
