/**
 * Refuses a mutation that is asked for a field which the caller may not see, before it does anything. Otherwise a worker that asks
 * for too much in a claim would hold items and not learn which.
 */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import {
  type GraphQLCompositeType,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  getNamedType,
  isCompositeType,
  isUnionType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { explainRefusal, type Permission } from '../domain/rights.ts';
import { ForbiddenError } from '../errors.ts';
import type { Services } from './services.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      earlyRefusals: EarlyRefusalsPlugin<Types>;
    }
  }
}

export const earlyRefusalsPlugin = 'earlyRefusals' as const;

class EarlyRefusalsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { kind }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (kind !== 'Mutation') return resolver;
    return (parent, args, context, info) => {
      const { caller } = context as Services;
      for (const { name, permission } of info.fieldNodes.flatMap((node) => neededBelow(node, info))) {
        if (!caller.permissions.has(permission))
          throw new ForbiddenError(explainRefusal(caller, permission, name));
      }
      return resolver(parent, args, context, info);
    };
  }
}

interface Need {
  readonly name: string;
  readonly permission: Permission;
}

/** Operations are parsed once and executed often. */
const known = new WeakMap<SelectionNode, readonly Need[]>();

/** The fields below a field that need a permission. Selections with a directive, which may skip them, are left to the execution. */
function neededBelow(
  node: SelectionNode,
  { schema, fragments, returnType }: GraphQLResolveInfo,
): readonly Need[] {
  const before = known.get(node);
  if (before !== undefined) return before;
  const needs: Need[] = [];
  const visited = new Set<string>();
  const visit = (type: GraphQLCompositeType, set: SelectionSetNode | undefined): void => {
    for (const selection of set?.selections ?? []) {
      if (selection.directives?.length) continue;
      if (selection.kind === Kind.FIELD) visitField(type, selection.name.value, selection.selectionSet);
      else if (selection.kind === Kind.INLINE_FRAGMENT) {
        visitAs(selection.typeCondition?.name.value ?? type.name, selection.selectionSet);
      } else if (!visited.has(selection.name.value)) {
        visited.add(selection.name.value);
        const fragment = fragments[selection.name.value];
        if (fragment !== undefined) visitAs(fragment.typeCondition.name.value, fragment.selectionSet);
      }
    }
  };
  const visitAs = (typeName: string, set: SelectionSetNode): void => {
    const type = schema.getType(typeName);
    if (isCompositeType(type)) visit(type, set);
  };
  const visitField = (type: GraphQLCompositeType, name: string, set: SelectionSetNode | undefined): void => {
    const field = isUnionType(type) ? undefined : type.getFields()[name];
    if (field === undefined) return;
    const { authScopes } = (field.extensions.pothosOptions ?? {}) as { authScopes?: { may?: Permission } };
    if (authScopes?.may !== undefined) needs.push({ name, permission: authScopes.may });
    const value = getNamedType(field.type);
    if (isCompositeType(value)) visit(value, set);
  };
  const value = getNamedType(returnType);
  if (isCompositeType(value) && node.kind === Kind.FIELD) visit(value, node.selectionSet);
  known.set(node, needs);
  return needs;
}

SchemaBuilder.registerPlugin(earlyRefusalsPlugin, EarlyRefusalsPlugin);
