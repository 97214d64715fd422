/**
 * Refuses a mutation that is asked for a field which the caller may not see, before it does anything. Otherwise a worker that asks
 * for too much in a claim would hold items and not learn which.
 */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import {
  type FieldNode,
  type GraphQLFieldResolver,
  GraphQLIncludeDirective,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  getDirectiveValues,
  getNamedType,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { explainRefusal, type Permission } from '../../domain/access/rights.ts';
import { ForbiddenError } from '../../errors.ts';
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
      for (const node of info.fieldNodes) {
        for (const { name, permission, within } of neededBelow(node, info)) {
          if (!caller.permissions.has(permission) && within.every((part) => isSelected(part, info)))
            throw new ForbiddenError(explainRefusal(caller, permission, name));
        }
      }
      return resolver(parent, args, context, info);
    };
  }
}

interface Need {
  readonly name: string;
  readonly permission: Permission;
  /** The selections with directives, which may leave it out, that it is in, or is itself. */
  readonly within: readonly SelectionNode[];
}

/** Operations are parsed once and executed often. */
const known = new WeakMap<FieldNode, readonly Need[]>();

/** The fields below a field that need a permission. There are not many: operations are limited, with fragments counted wherever they are spread. */
function neededBelow(
  node: FieldNode,
  { schema, fragments, returnType }: GraphQLResolveInfo,
): readonly Need[] {
  const before = known.get(node);
  if (before !== undefined) return before;
  const needs: Need[] = [];
  const look = (
    set: SelectionSetNode | undefined,
    type: GraphQLNamedType | undefined,
    above: readonly SelectionNode[],
  ): void => {
    for (const selection of set?.selections ?? []) {
      const within = selection.directives?.length ? [...above, selection] : above;
      if (selection.kind === Kind.FIELD) {
        const name = selection.name.value;
        const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[name] : undefined;
        if (field === undefined) continue;
        const permission = permissionOf(field.extensions.pothosOptions);
        if (permission !== undefined) needs.push({ name, permission, within });
        look(selection.selectionSet, getNamedType(field.type), within);
      } else {
        const part = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments[selection.name.value];
        const condition = part?.typeCondition?.name.value;
        look(part?.selectionSet, condition === undefined ? type : schema.getType(condition), within);
      }
    }
  };
  look(node.selectionSet, getNamedType(returnType), []);
  known.set(node, needs);
  return needs;
}

/** A field that decides by its parent has no permission of its own. */
function permissionOf(options: unknown): Permission | undefined {
  return (options as { authScopes?: { may?: Permission } } | undefined)?.authScopes?.may;
}

function isSelected(part: SelectionNode, { variableValues }: GraphQLResolveInfo): boolean {
  return (
    getDirectiveValues(GraphQLSkipDirective, part, variableValues)?.if !== true &&
    getDirectiveValues(GraphQLIncludeDirective, part, variableValues)?.if !== false
  );
}

SchemaBuilder.registerPlugin(earlyRefusalsPlugin, EarlyRefusalsPlugin);
