import type { Engine } from '../engine/engine.ts';
import { reportOutcomes } from '../reports/report-outcomes.ts';
import { isDeeperThan } from '../values/checks.ts';
import { maxShownDepth } from '../values/limits.ts';
import type { Assignment } from './assignment.ts';

/**
 * Returns the assignments without those whose payload is too deep to be shown, since it is older than the limit on the depth of
 * JSON; their items fail for good. Otherwise each would be given to one worker after another, which could only let its heartbeats
 * lapse.
 */
export async function keepReadable(
  engine: Engine,
  assignments: readonly Assignment[],
): Promise<readonly Assignment[]> {
  const isReadable = ({ payload }: Assignment) => !isDeeperThan(payload, maxShownDepth);
  if (assignments.every(isReadable)) return assignments;
  const failure = {
    code: 'PAYLOAD_TOO_DEEP',
    message: `The payload is nested more than ${maxShownDepth} levels deep; no worker can be given it.`,
    permanent: true,
  };
  const unreadable = assignments.filter((assignment) => !isReadable(assignment));
  await reportOutcomes(
    engine,
    unreadable.map(({ id }) => ({ assignmentId: id, failure })),
  );
  return assignments.filter(isReadable);
}
