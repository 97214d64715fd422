/**
 * Refuses a mutation that is asked for a field which the caller may not see, before it does anything. Otherwise a worker that asks
 * for too much in a claim would hold items and not learn which.
 */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { explainRefusal, type Permission } from '../domain/access/rights.ts';
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
const known = new WeakMap<FieldNode, readonly Need[]>();

/** The fields below a field that need a permission. Selections with a directive, which may skip them, are left to the execution. */
function neededBelow(
  node: FieldNode,
  { schema, fragments, parentType }: GraphQLResolveInfo,
): readonly Need[] {
  const before = known.get(node);
  if (before !== undefined) return before;
  const needs: Need[] = [];
  const visited = new Set<string>();
  const look = (part: FieldNode | FragmentDefinitionNode, types: TypeInfo): void => {
    visit(
      part,
      visitWithTypeInfo(types, {
        Field: (field) => {
          if (field === node) return;
          if (field.directives?.length) return false;
          const options = types.getFieldDef()?.extensions.pothosOptions;
          const { may } = (options as { authScopes?: { may?: Permission } } | undefined)?.authScopes ?? {};
          if (may !== undefined) needs.push({ name: field.name.value, permission: may });
        },
        InlineFragment: ({ directives }) => (directives?.length ? false : undefined),
        FragmentSpread: ({ name, directives }) => {
          const fragment = fragments[name.value];
          if (directives?.length || fragment === undefined || visited.has(name.value)) return;
          visited.add(name.value);
          look(fragment, new TypeInfo(schema));
        },
      }),
    );
  };
  look(node, new TypeInfo(schema, parentType));
  known.set(node, needs);
  return needs;
}

SchemaBuilder.registerPlugin(earlyRefusalsPlugin, EarlyRefusalsPlugin);
