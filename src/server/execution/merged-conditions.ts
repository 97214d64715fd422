/**
 * A rule that the compiler does not know: what is selected below a field that a directive leaves out stays out, even if the same field is also
 * selected elsewhere and is there: `a @skip(if: true) { b } a { c }` has no `b`.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';

/** Whether an operation selects a field with fields below it more than once, of which a directive may leave out one. */
export function mergesConditions(document: DocumentNode, { selectionSet }: OperationDefinitionNode): boolean {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const part of document.definitions)
    if (part.kind === Kind.FRAGMENT_DEFINITION) fragments.set(part.name.value, part);
  /** The fields that were selected, by their places in the answer; those of which a directive may leave one out. */
  const places = new Map<string, boolean>();
  const look = (set: SelectionSetNode | undefined, above: string, mayBeLeftOut: boolean): boolean =>
    set?.selections.some((selection) => {
      const isConditional = mayBeLeftOut || selection.directives?.length !== 0;
      if (selection.kind === Kind.FRAGMENT_SPREAD)
        return look(fragments.get(selection.name.value)?.selectionSet, above, isConditional);
      if (selection.kind === Kind.INLINE_FRAGMENT) return look(selection.selectionSet, above, isConditional);
      if (selection.selectionSet === undefined) return false;
      const place = `${above}.${(selection.alias ?? selection.name).value}`;
      const before = places.get(place);
      if (before !== undefined && (before || isConditional)) return true;
      places.set(place, isConditional);
      // What is below a field is left out with it.
      return look(selection.selectionSet, place, false);
    }) ?? false;
  return look(selectionSet, '', false);
}
