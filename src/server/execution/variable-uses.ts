/**
 * Three rules for variables that the compiler does not know:
 *
 *   `payload: { a: $a }`, of a scalar   has the value of the variable
 *   `input: { a: $a }`                  has no `a` if the variable is omitted; an `a` that is null may mean something else
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

/** The variables that only graphql-js can do if they are null or omitted; null if it has to do all operations of the document. */
export function delicateVariables(schema: GraphQLSchema, document: DocumentNode): readonly string[] | null {
  const types = new TypeInfo(schema);
  const never = new Set<string>();
  const delicate = new Set<string>();
  let isInScalar = false;
  const rules = {
    VariableDefinition: ({ type, variable }: VariableDefinitionNode) => {
      if (type.kind === Kind.NON_NULL_TYPE) never.add(variable.name.value);
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
  return isInScalar ? null : [...delicate].filter((name) => !never.has(name));
}
