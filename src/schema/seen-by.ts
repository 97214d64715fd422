/**
 * Which fields a watch token shows: those that say so (`seenBy`), and no others. So a new field is shown to nobody's users until somebody
 * has decided that it should be.
 *
 * It is decided once for each document, before anything is executed: with a rule in each resolver, everybody would pay for it with each value.
 */
import { type DocumentNode, type GraphQLSchema, TypeInfo, visit, visitWithTypeInfo } from 'graphql';
import { type Caller, type Sees, showsAll } from '../domain/rights.ts';
import { ForbiddenError } from '../errors.ts';

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
  /** Undefined for none. */
  readonly seenBy: Sees | undefined;
}

/** Those that are kept by the server are looked through once. */
const known = new WeakMap<DocumentNode, readonly Place[]>();

/** @throws ForbiddenError the caller has a watch token, which does not show all that is asked for */
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

/** Each field of a document, of whatever operation, once. */
function placesOf(schema: GraphQLSchema, document: DocumentNode): readonly Place[] {
  const places = new Map<string, Place>();
  const types = new TypeInfo(schema);
  const Field = ({ name }: { name: { value: string } }) => {
    // It tells what is asked for already.
    if (name.value === '__typename') return;
    const field = `${types.getParentType()?.name}.${name.value}`;
    places.set(field, { field, seenBy: seenByOf(types.getFieldDef()) });
  };
  visit(document, visitWithTypeInfo(types, { Field }));
  return [...places.values()];
}

/** What stands beside a field. */
export function seenByOf(
  field: { readonly extensions: Readonly<Record<string, unknown>> } | null | undefined,
): Sees | undefined {
  return (field?.extensions.pothosOptions as { seenBy?: Sees } | undefined)?.seenBy;
}
