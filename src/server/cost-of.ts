import { complexityFromQuery } from '@pothos/plugin-complexity';
import { type ExecutionArgs, getOperationAST, Kind } from 'graphql';

/** How many values the answer of an operation could have, as the schema counts them. Undefined if it will not be executed. */
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
    // Its variables are wrong, which is for GraphQL to say.
    return undefined;
  }
}
