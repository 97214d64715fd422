/**
 * Three rules for variables that the compiler does not know:
 *
 *   `payload: { a: $a }`, of a scalar   has the value of the variable
 *   `input: { a: $a }`                  has no `a` if the variable is omitted, which may mean something else than null
 *   `a: $a`, not null, with a default   if the variable is null, only this field fails
 */
import {
  type ASTNode,
  type DocumentNode,
  type GraphQLSchema,
  getNullableType,
  isListType,
  isNonNullType,
  Kind,
  TypeInfo,
  type VariableDefinitionNode,
  type VariableNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';

export interface DelicateVariable {
  readonly name: string;
  /** Whether it has a value even if it is omitted. */
  readonly hasDefault: boolean;
}

/** The variables that only graphql-js can do if they have no value; null if it has to do all operations of the document. */
export function delicateVariables(
  schema: GraphQLSchema,
  document: DocumentNode,
): readonly DelicateVariable[] | null {
  const types = new TypeInfo(schema);
  /** The variables that may be null, in any operation, and whether each has a default in all of them. */
  const nullable = new Map<string, boolean>();
  const delicate = new Set<string>();
  let isInScalar = false;
  const rules = {
    VariableDefinition: ({ type, variable, defaultValue }: VariableDefinitionNode) => {
      const hasDefault = defaultValue !== undefined && defaultValue.kind !== Kind.NULL;
      const name = variable.name.value;
      if (type.kind !== Kind.NON_NULL_TYPE) nullable.set(name, hasDefault && nullable.get(name) !== false);
      return false;
    },
    Variable: ({ name }: VariableNode, _: unknown, parent: ASTNode | readonly ASTNode[] | undefined) => {
      const type = types.getInputType();
      if (parent === undefined || !('kind' in parent))
        isInScalar ||= !isListType(getNullableType(types.getParentInputType()));
      else if (parent.kind === Kind.OBJECT_FIELD) {
        isInScalar ||= type == null;
        delicate.add(name.value);
      }
      if (isNonNullType(type)) delicate.add(name.value);
    },
  };
  visit(document, visitWithTypeInfo(types, rules));
  if (isInScalar) return null;
  return [...nullable].flatMap(([name, hasDefault]) => (delicate.has(name) ? [{ name, hasDefault }] : []));
}
