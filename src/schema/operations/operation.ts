import type { FieldRef } from '@pothos/core';
import {
  listOperations,
  type OperationSelection,
  type Operation as OperationState,
  readOperations,
} from '../../domain/operations/operations.ts';
import { isId } from '../../domain/values/checks.ts';
import { itemIdOf } from '../../domain/values/ids.ts';
import { NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import { type ListOrder, pageSize, readPage } from '../core/pages.ts';
import type { Services } from '../core/services.ts';

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

const upTo20 = ', up to 20 of them';

const Selection = builder.objectRef<OperationSelection>('OperationSelection').implement({
  description:
    'What an operation was asked to do: the conditions that its items, or trees, have to meet. Those that were not set are null, empty or 0.',
  fields: (t) => ({
    jobId: t.id({
      nullable: true,
      description: 'Items of this job, and of the jobs below it.',
      resolve: ({ jobId }) => jobId && encodeGlobalId('Job', jobId),
    }),
    types: t.stringList({
      description: `Of these types${upTo20}. A caller with a scope that names no types asks for all of the scope.`,
      resolve: ({ types }) => [...(types ?? [])],
    }),
    codes: t.stringList({
      description: `With these codes of the last failure${upTo20}.`,
      resolve: ({ codes }) => [...(codes ?? [])],
    }),
    groupIds: t.idList({
      description: `Dead letters of these groups${upTo20}. A group no longer exists when none of its dead letters is left.`,
      resolve: ({ groupIds }) => (groupIds ?? []).map((id) => encodeGlobalId('DeadLetterGroup', id)),
    }),
    itemIds: t.idList({
      description: `These items${upTo20}: there were \`itemCount\`.`,
      resolve: ({ items }) => (items ?? []).map((item) => encodeGlobalId('JobItem', itemIdOf(item))),
    }),
    itemCount: t.exposeInt('itemCount', { description: 'How many items were named by their ids.' }),
    dedupeKeyCount: t.exposeInt('dedupeKeyCount', {
      description: 'How many dedupe keys were named: items with one of them.',
    }),
    statuses: t.stringList({
      description: `With one of these statuses, of items or of trees${upTo20}.`,
      resolve: ({ statuses }) => [...(statuses ?? [])],
    }),
    from: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'Since then: dead letters that failed for good, pending items that were added, trees that were created.',
      resolve: ({ from }) => (from === null ? null : new Date(from)),
    }),
    until: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'The same before this time.',
      resolve: ({ until }) => (until === null ? null : new Date(until)),
    }),
    hasPayload: t.exposeBoolean('hasPayload', {
      description: 'Whether the items were replayed with corrected payloads.',
    }),
    hasMore: t.exposeBoolean('hasMore', {
      description:
        'Whether trees had to meet more conditions, which are not listed here: on outcomes, failures, a schedule, dedupe keys, or when they were complete or idle.',
    }),
  }),
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
    skipped: t.expose('skipped', {
      type: 'Count',
      description:
        'How many items it left alone because they could not have the payloads that `payloadPatch` would have given them.',
    }),
    skippedReason: t.exposeString('problem', {
      nullable: true,
      description:
        'Why it skipped the first of them, such as where its payload would not have matched the schema.',
    }),
    requestedAt: t.expose('requestedAt', { type: 'DateTime', description: 'When it was requested.' }),
    requestedBy: t.exposeString('requestedBy', {
      nullable: true,
      description:
        'Who requested it: the name of the caller, as `AuditEntry.actor` has it. Null if it was requested in SQL without a name.',
    }),
    selection: t.expose('selection', { type: Selection, description: 'What it was asked to do.' }),
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
          (range) => listOperations(context.engine.database, context.caller, range),
          (rows) => rows,
        ),
    },
    { name: 'OperationConnection', description: 'A page of operations.' },
    { name: 'OperationEdge', description: 'An operation in a page.' },
  ),
);
