/** The builder of all graph types, and the services that their resolvers use. */
import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import DataloaderPlugin from '@pothos/plugin-dataloader';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin, { resolveNodes } from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import type { GraphQLResolveInfo } from 'graphql';
import { explainRefusal, type Permission } from '../../domain/access/rights.ts';
import { ForbiddenError } from '../../errors.ts';
import type PrismaTypes from '../../generated/pothos.ts';
import { getDatamodel } from '../../generated/pothos.ts';
import type { ReceivedFile } from '../files/received-file.ts';
import { auditPlugin } from './audit-plugin.ts';
import { earlyRefusalsPlugin } from './early-refusals-plugin.ts';
import { decodeGlobalId, encodeGlobalId } from './global-id.ts';
import { findNodes, type NodeId } from './nodes.ts';
import { nullableRootsPlugin } from './nullable-roots-plugin.ts';
import './seen-by.ts';
import type { Services } from './services.ts';
import { turnsPlugin } from './turns-plugin.ts';

export interface SchemaTypes {
  PrismaTypes: PrismaTypes;
  Context: Services;
  /** The permission that a field requires: `authScopes: { may: 'read' }`. Every root field has one. */
  AuthScopes: { may: Permission };
  DefaultFieldNullability: false;
  Scalars: {
    Count: { Input: number; Output: number };
    DateTime: { Input: Date; Output: Date };
    File: { Input: ReceivedFile; Output: never };
    JSON: { Input: NonNullable<unknown>; Output: unknown };
    ID: { Input: string; Output: string };
  };
}

const upperFirst = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

export const builder = new SchemaBuilder<SchemaTypes>({
  // Missing permissions are refused first, and as errors of the request: no field lists them among its results.
  plugins: [
    turnsPlugin,
    auditPlugin,
    nullableRootsPlugin,
    ScopeAuthPlugin,
    earlyRefusalsPlugin,
    ComplexityPlugin,
    ErrorsPlugin,
    RelayPlugin,
    PrismaPlugin,
    DataloaderPlugin,
  ],
  defaultFieldNullability: false,
  scopeAuth: {
    authorizeOnSubscribe: true,
    authScopes: ({ caller }) => ({ may: (permission) => caller.permissions.has(permission) }),
    unauthorizedError: (_, { caller }, { parentType, fieldName }) => {
      const options = parentType.getFields()[fieldName]?.extensions.pothosOptions;
      const { authScopes } = options as { authScopes: SchemaTypes['AuthScopes'] | (() => unknown) };
      // A field that decides by its parent has an `unauthorizedResolver`, which answers instead.
      if (typeof authScopes === 'function') return new ForbiddenError(`${fieldName} is not allowed.`);
      return new ForbiddenError(explainRefusal(caller, authScopes.may, fieldName));
    },
  },
  errors: {
    // No error is part of a result by default: one that a field does not list is a fault, and masked.
    defaultTypes: [],
    directResult: true,
    defaultUnionOptions: {
      name: ({ fieldName }) => `${upperFirst(fieldName)}Result`,
      description: 'What the mutation did, or why it was refused.',
    },
  },
  // The options say what fields cost; `cost-of.ts` adds it up, once for each operation.
  complexity: {
    disabled: true,
    // Lists that can be long set their own multiplier.
    defaultListMultiplier: 1,
  },
  prisma: {
    client: ({ engine }) => engine.database.prisma,
    dmmf: getDatamodel(),
  },
  relay: {
    encodeGlobalID: (typename, id) => encodeGlobalId(typename, String(id)),
    // `node` and `nodes` decode them, as they know where an id stands.
    decodeGlobalID: (id) => ({ typename: '', id }),
    idFieldOptions: { description: 'The id, unique among all types.' },
    nodeQueryOptions: {
      description:
        'Any job, item, assignment, schedule, group of dead letters, operation, endpoint or delivery by its id. Null if it does not exist, or no longer exists.',
      args: { id: { description: 'The id. INVALID_INPUT if it is malformed.' } },
      authScopes: { may: 'call' },
      resolve: async (_, { id }, context, info) =>
        (await findVisible([decodeGlobalId(id.id, 'id')], context, info))[0],
    },
    nodesQueryOptions: {
      description:
        'Up to 100 objects by their ids, in the same order, with null for each that does not exist.',
      args: { ids: { description: 'The ids: up to 100. INVALID_INPUT if one of them is malformed.' } },
      authScopes: { may: 'call' },
      complexity: ({ ids }) => ({ multiplier: ids.length }),
      resolve: (_, { ids }, context, info) =>
        findVisible(
          ids.map(({ id }, i) => decodeGlobalId(id, `ids[${i}]`)),
          context,
          info,
        ),
    },
    nodeTypeOptions: { description: 'Something with an id that is unique among all types.' },
    nodesOnConnection: { seenBy: 'ITEMS', description: 'The nodes of this page, without their cursors.' },
    edgesFieldOptions: { seenBy: 'ITEMS', description: 'The nodes of this page, each with its cursor.' },
    nodeFieldOptions: { seenBy: 'ITEMS', description: 'The node.' },
    cursorFieldOptions: {
      seenBy: 'ITEMS',
      description: 'The position of this node in the list, for `after` and `before`.',
    },
    pageInfoFieldOptions: { seenBy: 'ITEMS', description: 'The position of this page in the list.' },
    pageInfoTypeOptions: { description: 'The position of a page in its list.' },
    hasNextPageFieldOptions: {
      seenBy: 'ITEMS',
      description: 'Whether there are more nodes after this page.',
    },
    hasPreviousPageFieldOptions: {
      seenBy: 'ITEMS',
      description: 'Whether there are more nodes before this page.',
    },
    startCursorFieldOptions: {
      seenBy: 'ITEMS',
      description: 'The cursor of the first node of this page; null if it is empty.',
    },
    endCursorFieldOptions: {
      seenBy: 'ITEMS',
      description: 'The cursor of the last node of this page; null if it is empty.',
    },
    firstArgOptions: {
      description:
        'The maximum number from the start, or after `after`: 0 to 1,000. Default: 50, if `last` is not given.',
    },
    lastArgOptions: { description: 'The maximum number from the end, or before `before`: 0 to 1,000.' },
    afterArgOptions: { description: 'Only nodes after this cursor.' },
    beforeArgOptions: { description: 'Only nodes before this cursor.' },
  },
});

/** The resolvers of `node` and `nodes` read all ids that they get, so they get only those that the caller may see. */
function findVisible(
  ids: readonly NodeId[],
  context: Services,
  info: GraphQLResolveInfo,
): Promise<unknown[]> {
  return findNodes(ids, context, info, (visible) => resolveNodes(builder, context, info, visible));
}
