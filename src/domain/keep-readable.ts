import type { Assignment } from './assignment.ts';
import { isDeeperThan } from './checks.ts';
import type { Engine } from './engine.ts';
import { maxShownDepth } from './limits.ts';
import { reportOutcomes } from './report-outcomes.ts';

/**
 * Without the assignments whose payload no answer can show, since it is older than the limit on how deep JSON may be: those fail for
 * good. Else they would come back to one worker after the other, each of which could only wait until it has lost them.
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
