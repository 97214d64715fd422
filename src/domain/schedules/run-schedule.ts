import { checkRoom, type Engine } from '../engine/engine.ts';
import { checkName } from '../values/checks.ts';
import { maxNameLength } from '../values/limits.ts';
import { oneItem, tellOfTrees } from './fire-schedules.ts';

/** Creates a tree of a schedule now, in addition to its occurrences. Returns the root's id. */
export async function runSchedule(engine: Engine, name: string): Promise<string> {
  await checkRoom(engine, oneItem);
  const [row] = await engine.database.call<{ root_id: string; ready: Record<string, number> | null }>(
    'run_schedule',
    checkName(name, 'name', maxNameLength),
  );
  if (row === undefined) throw new Error('run_schedule returned no row');
  tellOfTrees(engine, [row.root_id], row.ready);
  return row.root_id;
}
