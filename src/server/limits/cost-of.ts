import { complexityFromQuery } from '@pothos/plugin-complexity';
import { type ExecutionArgs, getOperationAST, Kind } from 'graphql';

/** How many values the answer of an operation could hold, as the schema counts them. Undefined if the operation will not be executed. */
export function costOf({
  schema,
  document,
  operationName,
  variableValues,
  contextValue,
}: ExecutionArgs): number | undefined {
  const operation = getOperationAST(document, operationName);
  const definitions = document.definitions.filter(
    (definition) => definition === operation || definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  try {
    const alone = { ...document, definitions };
    const ctx = contextValue as object;
    return complexityFromQuery(alone, { schema, ctx, variables: { ...variableValues } }).complexity;
  } catch {
    // The variables are wrong; execution reports that.
    return undefined;
  }
}
