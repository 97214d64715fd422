import { checkBatch } from './checks.ts';
import { countTypes, type Engine } from './engine.ts';

export type ReleaseStatus = 'RELEASED' | 'STALE';

/** Gives items back unfinished, without costing them an attempt. */
export async function releaseAssignments(
  engine: Engine,
  assignmentIds: readonly string[],
): Promise<ReleaseStatus[]> {
  checkBatch(assignmentIds.length, 'assignmentIds');
  const rows = await engine.database.call<{ status: ReleaseStatus; type: string | null }>(
    'release_assignments',
    assignmentIds,
  );
  const ready = countTypes(rows.flatMap((row) => row.type ?? []));
  for (const type of ready.keys()) engine.lowWater.returned(type);
  if (ready.size > 0) engine.effects.ready(ready);
  return rows.map((row) => row.status);
}
