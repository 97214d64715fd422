import { queryFromInfo } from '@pothos/plugin-prisma';
import type { GraphQLResolveInfo } from 'graphql';
import { NotFoundError } from '../errors.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { checkAnswerSize } from './answer-size.ts';
import { Assignment } from './assignment.ts';
import { builder, type Services } from './builder.ts';
import { nodePaths } from './pages.ts';

export const ItemStatus = builder.enumType('ItemStatus', {
  description: 'Where an item stands.',
  values: {
    PENDING: { description: 'It waits for a worker, for its time, or a worker holds it.' },
    SUCCEEDED: { description: 'It has a result.' },
    FAILED: { description: 'It failed for good: permanently, or more often than `maxFailuresPerItem`.' },
    CANCELLED: { description: 'It was cancelled before it was done.' },
  } as const,
});
type ItemStatusValue = typeof ItemStatus.$inferType;

/** The condition for a status: failure and cancellation stand on the item, success on its assignment. */
export function whereStatus(status: ItemStatusValue | null | undefined): Prisma.JobItemWhereInput {
  switch (status) {
    case 'PENDING':
      return {
        failedAt: null,
        cancelledAt: null,
        OR: [{ assignment: { is: null } }, { assignment: { is: { finishedAt: null } } }],
      };
    case 'SUCCEEDED':
      return { assignment: { is: { outcome: 'succeeded' } } };
    case 'FAILED':
      return { failedAt: { not: null } };
    case 'CANCELLED':
      return { cancelledAt: { not: null } };
    default:
      return {};
  }
}

interface ItemFailureRow {
  attempt: number;
  code: string;
  message: string;
  worker: string;
  at: string;
}

const ItemFailure = builder.objectRef<ItemFailureRow>('ItemFailure').implement({
  description: 'One failed attempt.',
  fields: (t) => ({
    attempt: t.exposeInt('attempt', { description: 'Which attempt failed, from 1.' }),
    code: t.exposeString('code', {
      description:
        'What kind of failure, as the worker named it; `HEARTBEAT_LOST` when the worker fell silent.',
    }),
    message: t.exposeString('message', { description: 'What went wrong, in words.' }),
    worker: t.exposeString('worker', { description: 'The worker that held the item.' }),
    at: t.field({
      type: 'DateTime',
      description: 'When it was reported.',
      resolve: ({ at }) => new Date(at),
    }),
  }),
});

/** The place of an item in every list. */
export const itemKey = { id: true, jobId: true, position: true } as const satisfies Prisma.JobItemSelect;
export type ItemKey = Prisma.JobItemGetPayload<{ select: typeof itemKey }>;

export const JobItem = builder.prismaNode('JobItem', {
  // And beside it only what is asked for: payloads may be large.
  select: itemKey,
  id: { field: 'id', description: 'The id of the item: `JobItem:` and a UUID. Stable over all attempts.' },
  description: 'A piece of work: a payload in, a result or failures out.',
  fields: (t) => ({
    job: t.relation('job', { description: 'The job it belongs to.' }),
    status: t.field({
      type: ItemStatus,
      description: 'Where it stands.',
      select: { failedAt: true, cancelledAt: true, assignment: { select: { finishedAt: true } } },
      resolve: ({ failedAt, cancelledAt, assignment }) => {
        if (failedAt !== null) return 'FAILED';
        if (cancelledAt !== null) return 'CANCELLED';
        return assignment?.finishedAt == null ? 'PENDING' : 'SUCCEEDED';
      },
    }),
    payload: t.expose('payload', {
      type: 'JSON',
      nullable: true,
      description: 'What is to be done, as the producer gave it.',
    }),
    result: t.field({
      type: 'JSON',
      nullable: true,
      description: 'What the worker reported. Null may be a result: `status` says whether there is one.',
      select: { assignment: { select: { result: true } } },
      resolve: ({ assignment }) => assignment?.result ?? null,
    }),
    failures: t.field({
      type: [ItemFailure],
      description: 'Every failed attempt, the first one first.',
      select: { failures: true },
      resolve: ({ failures }) => failures as unknown as ItemFailureRow[],
    }),
    priority: t.exposeInt('priority', { description: 'Among items of a type, higher goes first.' }),
    runAt: t.expose('runAt', {
      type: 'DateTime',
      nullable: true,
      description: 'It is not claimed before this.',
    }),
    retryAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it is due again, while it waits out its backoff or for its `runAt`.',
      select: { queueEntry: { select: { runAt: true } } },
      resolve: ({ queueEntry }) => queueEntry?.runAt ?? null,
    }),
    dedupeKey: t.exposeString('dedupeKey', {
      nullable: true,
      description: 'Unique among the items of its job: adding it twice makes one item.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was added.' }),
    finishedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it succeeded, failed for good, or was cancelled.',
      select: { failedAt: true, cancelledAt: true, assignment: { select: { finishedAt: true } } },
      resolve: ({ failedAt, cancelledAt, assignment }) =>
        failedAt ?? cancelledAt ?? assignment?.finishedAt ?? null,
    }),
    assignment: t.field({
      type: Assignment,
      nullable: true,
      description:
        'The hold of the worker that has it, or that finished it; null while it waits, and after it failed for good or was cancelled.',
      select: { assignment: { select: { id: true } } },
      resolve: ({ assignment }) => assignment?.id ?? null,
    }),
  }),
});

/** The items of these keys, in their order, with what is selected of them; of one that was deleted since, nothing. */
export async function readItems(
  keys: readonly ItemKey[],
  context: Services,
  info: GraphQLResolveInfo,
): Promise<ItemKey[]> {
  const ids = keys.map(({ id }) => id);
  await checkAnswerSize(ids, context, info);
  const { select } = queryFromInfo({ context, info, typeName: 'JobItem', paths: nodePaths, select: itemKey });
  const { prisma } = context.engine.database;
  const items = await prisma.jobItem.findMany({ select, where: { id: { in: ids } } });
  const byId = new Map(items.map((item) => [item.id, item]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

builder.objectField(Assignment, 'item', (t) =>
  t.prismaField({
    type: JobItem,
    description: 'The item.',
    resolve: async (query, { itemId }, _, { engine }) => {
      // Prisma gathers these: one query for all assignments of an answer.
      const item = await engine.database.prisma.jobItem.findUnique({ ...query, where: { id: itemId } });
      if (item === null) throw new NotFoundError(`There is no item ${itemId}.`);
      return item;
    },
  }),
);
