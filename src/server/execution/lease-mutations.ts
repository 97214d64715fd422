/** Mutations that keep leases alive: they are let in when other load is refused. */
import { type ExecutionArgs, getOperationAST, Kind } from 'graphql';

const leaseFields = new Set(['heartbeat', 'exchange', 'noteItems', 'reportOutcomes', 'releaseAssignments']);
const leaseField = new RegExp(`\\b(${[...leaseFields].join('|')})\\b`);
/** Where the name of a field is in the text of a request, at the latest. */
const headLength = 2_000;

/** Whether a request that is not parsed yet looks like one that keeps leases alive. Callers whose requests only look so gain on nobody else. */
export const looksLikeKeepingLeases = (body: Buffer): boolean =>
  leaseField.test(body.toString('latin1', 0, headLength));

export function keepsLeases({ document, operationName }: ExecutionArgs): boolean {
  const operation = getOperationAST(document, operationName);
  return (
    operation?.operation === 'mutation' &&
    operation.selectionSet.selections.every(
      (selection) => selection.kind === Kind.FIELD && leaseFields.has(selection.name.value),
    )
  );
}
