import { checkBatch } from './checks.ts';
import type { Engine } from './engine.ts';

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
  const types = new Set(rows.flatMap((row) => row.type ?? []));
  for (const type of types) engine.lowWater.returned(type);
  if (types.size > 0) engine.effects.ready([...types]);
  return rows.map((row) => row.status);
}
