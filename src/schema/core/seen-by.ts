/**
 * Which fields a watch token shows: only those with `seenBy`. So nobody's users see a new field until somebody has decided that
 * they should.
 *
 * This is checked once for each document, before execution: with a rule in each resolver, every caller would pay for it with
 * every value.
 */
import { type DocumentNode, type GraphQLSchema, TypeInfo, visit, visitWithTypeInfo } from 'graphql';
import { type Caller, type Sees, showsAll } from '../../domain/access/rights.ts';
import { ForbiddenError } from '../../errors.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface FieldOptions {
      /** What a watch token must show at least for its holder to see the field. Default: no watch token shows it. */
      seenBy?: Sees;
    }
  }
}

interface Place {
  readonly field: string;
  /** Undefined if no watch token shows the field. */
  readonly seenBy: Sees | undefined;
}

/** Documents cached by the server are analyzed only once. */
const known = new WeakMap<DocumentNode, readonly Place[]>();

/** @throws ForbiddenError if the caller has a watch token that does not show everything requested */
export function checkSeen(schema: GraphQLSchema, document: DocumentNode, { watchToken }: Caller): void {
  if (watchToken === null) return;
  let places = known.get(document);
  if (places === undefined) {
    places = placesOf(schema, document);
    known.set(document, places);
  }
  for (const { field, seenBy } of places) {
    if (seenBy === undefined || !showsAll(watchToken.sees, seenBy))
      throw new ForbiddenError(`A watch token that shows ${watchToken.sees} does not show ${field}.`);
  }
}

/** Each field of a document, in all of its operations, once. */
function placesOf(schema: GraphQLSchema, document: DocumentNode): readonly Place[] {
  const places = new Map<string, Place>();
  const types = new TypeInfo(schema);
  const Field = ({ name }: { name: { value: string } }) => {
    // It reveals nothing that the document does not say already.
    if (name.value === '__typename') return;
    const field = `${types.getParentType()?.name}.${name.value}`;
    places.set(field, { field, seenBy: seenByOf(types.getFieldDef()) });
  };
  visit(document, visitWithTypeInfo(types, { Field }));
  return [...places.values()];
}

/** The `seenBy` of a field. */
export function seenByOf(
  field: { readonly extensions: Readonly<Record<string, unknown>> } | null | undefined,
): Sees | undefined {
  return (field?.extensions.pothosOptions as { seenBy?: Sees } | undefined)?.seenBy;
}
