/** How many calls an operation stands for: `createJobs` for as many as it has entries, so that it is no way around the limits of `createJob`. */
import { type ExecutionArgs, getOperationAST, Kind, type SelectionSetNode } from 'graphql';

export function creationsIn({ document, operationName, variableValues }: ExecutionArgs): number {
  const operation = getOperationAST(document, operationName);
  return operation?.operation === 'mutation' ? Math.max(1, count(operation.selectionSet)) : 1;

  function count({ selections }: SelectionSetNode): number {
    let sum = 0;
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) sum += count(selection.selectionSet);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        for (const part of document.definitions)
          if (part.kind === Kind.FRAGMENT_DEFINITION && part.name.value === selection.name.value)
            sum += count(part.selectionSet);
      } else if (selection.name.value === 'createJobs') {
        const value = selection.arguments?.find(({ name }) => name.value === 'inputs')?.value;
        const variable = value?.kind === Kind.VARIABLE ? value.name.value : undefined;
        const sent = variable === undefined ? undefined : variableValues?.[variable];
        const { defaultValue: written = value } =
          operation?.variableDefinitions?.find(({ variable: { name } }) => name.value === variable) ?? {};
        // One that is no list stands for a list of one.
        if (Array.isArray(sent)) sum += sent.length;
        else sum += written?.kind === Kind.LIST ? written.values.length : 1;
      }
    }
    return sum;
  }
}
