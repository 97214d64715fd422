import type { FieldRef } from '@pothos/core';
import {
  listOperations,
  type Operation as OperationState,
  readOperations,
} from '../domain/items/operations.ts';
import { isId } from '../domain/values/checks.ts';
import { NotFoundError } from '../errors.ts';
import { builder } from './builder.ts';
import { encodeGlobalId } from './global-id.ts';
import { type ListOrder, pageSize, readPage } from './pages.ts';
import type { Services } from './services.ts';

const OperationKind = builder.enumType('OperationKind', {
  description: 'What an operation does with items, or with trees.',
  values: {
    REPLAY: { description: 'Tries dead letters again, as if they were new.' },
    DISCARD: {
      description: 'Settles dead letters: the items remain failed, and are no longer dead letters.',
    },
    CANCEL: { description: 'Cancels pending items of jobs that continue.' },
    PROMOTE: { description: 'Makes scheduled items ready before their time.' },
    CANCEL_TREES: { description: 'Cancels trees that are not complete.' },
    DELETE_TREES: { description: 'Deletes trees.' },
  } as const,
});

const OperationStatus = builder.enumType('OperationStatus', {
  description: 'The status of an operation.',
  values: {
    RUNNING: { description: 'Servers are working on it.' },
    FINISHED: { description: 'It has handled all its items or trees.' },
    CANCELLED: { description: 'It was cancelled; what it has done remains.' },
  } as const,
});

export const Operation = builder.loadableNodeRef('Operation', {
  id: {
    resolve: ({ id }: OperationState) => id,
    description: 'The id of the operation: `Operation:` and a UUID.',
  },
  load: async (ids: string[], { engine, caller }: Services) => {
    const found = await readOperations(engine.database, ids, caller);
    const byId = new Map(found.map((operation) => [operation.id, operation]));
    return ids.map(
      (id) =>
        byId.get(id) ?? new NotFoundError(`There is no operation ${encodeGlobalId('Operation', id)}.`, 'id'),
    );
  },
});

builder.objectType(Operation, {
  description:
    'Work on many items, or trees, at once. It continues in the server, even after a crash, and nobody needs to wait for it.',
  fields: (t) => ({
    kind: t.expose('kind', { type: OperationKind, description: 'What it does.' }),
    status: t.field({
      type: OperationStatus,
      description: 'Its status.',
      resolve: ({ cancelledAt, finishedAt }) =>
        cancelledAt !== null ? 'CANCELLED' : finishedAt !== null ? 'FINISHED' : 'RUNNING',
    }),
    total: t.expose('total', {
      type: 'Count',
      description:
        'How many items, or trees, it covered when it was requested. Of trees, those are counted that `jobCount` would count; if there are more, it grows.',
    }),
    done: t.expose('done', {
      type: 'Count',
      description:
        'How many items, or trees, it has handled. At the end this may be less than `total`: what is settled, complete, cancelled or deleted meanwhile, or no longer meets the conditions, is skipped.',
    }),
    requestedAt: t.expose('requestedAt', { type: 'DateTime', description: 'When it was requested.' }),
    requestedBy: t.exposeString('requestedBy', {
      nullable: true,
      description:
        'Who requested it: the name of the caller, as `AuditEntry.actor` has it. Null if it was requested in SQL without a name.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was finished or cancelled.',
    }),
  }),
});

type Types = typeof builder.$inferSchemaTypes;

/** The `operation` field of a payload. */
export function operationField(
  t: PothosSchemaTypes.ObjectFieldBuilder<Types, string>,
): FieldRef<Types, unknown> {
  return t.field({
    type: Operation,
    description: 'The operation. It is usually finished, unless it takes longer than about half a second.',
    resolve: (id) => id,
  });
}

const byId: ListOrder<{ id: string }, string> = {
  name: 'operations',
  keyOf: ({ id }) => id,
  parse: (text) => (isId(text) ? text : undefined),
};

builder.queryField('operations', (t) =>
  t.connection(
    {
      authScopes: { may: 'list' },
      type: Operation,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description:
        'What was asked for, the newest first. Callers with a scope see those that are limited to types within it, as all are that they request.',
      resolve: (_, args, context) =>
        readPage(
          byId,
          args,
          context,
          (range) => listOperations(context.engine.database, context.caller, range),
          (rows) => rows,
        ),
    },
    { name: 'OperationConnection', description: 'A page of operations.' },
    { name: 'OperationEdge', description: 'An operation in a page.' },
  ),
);
