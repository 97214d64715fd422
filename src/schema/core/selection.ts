import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

/**
 * The names of the fields that an operation may select from the value of the field of `info`, directly or below fields named in
 * `through`. Includes those that a directive skips.
 */
export function selectedFields(info: GraphQLResolveInfo, through: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (set: SelectionSetNode | undefined): void => {
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) visit(info.fragments[selection.name.value]?.selectionSet);
      else if (selection.kind === Kind.INLINE_FRAGMENT || through.includes(selection.name.value)) {
        visit(selection.selectionSet);
      } else found.add(selection.name.value);
    }
  };
  for (const { selectionSet } of info.fieldNodes) visit(selectionSet);
  return found;
}
