import { countTypes, type Engine } from '../engine/engine.ts';
import { checkBatch } from '../values/checks.ts';

export type ReleaseStatus = 'RELEASED' | 'STALE';

interface ReleaseRow {
  readonly status: ReleaseStatus;
  readonly type: string | null;
  readonly priority: number | null;
  readonly place: number | null;
}

/** Gives items back unfinished, without costing them an attempt. */
export async function releaseAssignments(
  engine: Engine,
  assignmentIds: readonly string[],
): Promise<ReleaseStatus[]> {
  checkBatch(assignmentIds.length, 'assignmentIds');
  const rows = await engine.database.call<ReleaseRow>('release_assignments', assignmentIds);
  for (const { type, priority, place } of rows) {
    if (type !== null && priority !== null && place !== null)
      engine.lowWater.goBack({ type, priority, place });
  }
  const ready = countTypes(rows.flatMap((row) => row.type ?? []));
  if (ready.size > 0) engine.effects.ready(ready);
  return rows.map((row) => row.status);
}
