import type { GraphQLResolveInfo } from 'graphql';
import type { ItemNote } from '../../domain/items/item-notes.ts';
import { type ChildrenRequest, readChildKeys } from '../../domain/items/item-pages.ts';
import { type Item, readItems } from '../../domain/items/read-items.ts';
import { type ItemKey, itemIdOf, parseItemId } from '../../domain/values/ids.ts';
import { NotFoundError } from '../../errors.ts';
import { Assignment, TraceContext, traceContexts } from '../claims/assignment.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import { createGroupLoader, loaderOptions } from '../core/loader.ts';
import { type ListOrder, pageSize, readPage } from '../core/pages.ts';
import { sees, shownTypes } from '../core/scope.ts';
import { selectedFields } from '../core/selection.ts';
import type { Services } from '../core/services.ts';
import { beginnings, groupIds, loadItems, logs, notes, payloads, results } from './read-items.ts';

export const ItemStatus = builder.enumType('ItemStatus', {
  description: 'The status of an item. Until it is SUCCEEDED, FAILED or CANCELLED, it is pending.',
  values: {
    WAITING: { description: 'Its job waits for other jobs of its tree.' },
    BLOCKED: { description: 'It waits for another item with its serialize key: `blockedBy`.' },
    SCHEDULED: {
      description:
        'It has not failed, and waits for its `runAt` or for the end of a snooze: until `retryAt`, and then for about a second, until a server has noticed that it is due.',
    },
    RETRYING: {
      description:
        'It has failed, and waits for its next attempt: until `retryAt`, and then for about a second, until a server has noticed that it is due.',
    },
    READY: { description: 'A worker can claim it, unless its queue is paused or at a limit.' },
    RUNNING: { description: 'A worker has it, and has not reported; `assignment` says which one.' },
    SUCCEEDED: { description: 'It has a result.' },
    FAILED: { description: 'It failed for good: permanently, or more often than `maxFailuresPerItem`.' },
    CANCELLED: { description: 'It was cancelled before it was finished.' },
  } as const,
});

const LogLine = builder.objectRef<ItemNote['log'][number]>('ItemLogLine').implement({
  description: 'A line that a worker logged about an item.',
  fields: (t) => ({
    attempt: t.exposeInt('attempt', { description: 'In which attempt, from 1.' }),
    at: t.expose('at', { type: 'DateTime', description: "When it was written, by the worker's clock." }),
    text: t.exposeString('text', { description: 'The text: up to 500 characters.' }),
  }),
});

export const JobItem = builder.loadableNodeRef('JobItem', {
  id: {
    seenBy: 'ITEMS',
    resolve: (item: Item) => itemIdOf(item),
    description:
      'The id of the item: `JobItem:`, the UUID of the job, `:` and a number. It is the same for all attempts.',
  },
  loaderOptions,
  load: async (ids: string[], { engine }: Services) => {
    const keys = ids.map((id) => parseItemId(id));
    const found = await readItems(
      engine.database,
      keys.flatMap((key) => key ?? []),
    );
    const byId = new Map(found.flatMap((item) => (item === undefined ? [] : [[itemIdOf(item), item]])));
    return ids.map(
      (id) => byId.get(id) ?? new NotFoundError(`There is no item ${encodeGlobalId('JobItem', id)}.`, 'id'),
    );
  },
});

builder.objectType(JobItem, {
  description: 'A piece of work: a payload in, a result or failures out.',
  fields: (t) => ({
    job: t.prismaField({
      seenBy: 'ITEMS',
      type: 'Job',
      authScopes: { may: 'read' },
      description: 'The job it belongs to.',
      // Prisma batches these: one query for all items of an answer.
      resolve: async (query, { jobId }, _, { engine }) => {
        const job = await engine.database.prisma.job.findUnique({ ...query, where: { id: jobId } });
        if (job === null) throw new NotFoundError(`There is no job ${jobId}.`);
        return job;
      },
    }),
    status: t.expose('status', { seenBy: 'ITEMS', type: ItemStatus, description: 'Its status.' }),
    payload: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The work to do, as the producer gave it.',
      resolve: (item, _, context) =>
        item.payload === undefined ? payloads(context).load(item) : item.payload,
    }),
    payloadBeginning: t.string({
      nullable: true,
      description:
        'The first 200 characters of its payload, as JSON: for lists, to tell items apart. Null for payloads of more than 100 kB.',
      resolve: (item, _, context) => beginnings(context).load(item),
    }),
    result: t.field({
      seenBy: 'RESULTS',
      type: 'JSON',
      nullable: true,
      description: 'The reported result, which may be null: `status` says whether there is one.',
      resolve: (item, _, context) => {
        if (item.status !== 'SUCCEEDED') return null;
        return item.result === undefined ? results(context).load(item) : item.result;
      },
    }),
    deadLetterGroupId: t.id({
      nullable: true,
      description:
        'The id of the group of dead letters that it is in, for `node`. Null unless it is FAILED, and once it is discarded.',
      resolve: async (item, _, context) => {
        const id = item.status === 'FAILED' ? await groupIds(context).load(item) : null;
        return id && encodeGlobalId('DeadLetterGroup', id);
      },
    }),
    failureCount: t.exposeInt('failureCount', { seenBy: 'ITEMS', description: 'How many attempts failed.' }),
    note: t.string({
      nullable: true,
      description:
        'The last note of a worker, for example how far it is: up to 500 characters. Null if there is none. The worker library sends notes within about a second.',
      resolve: async (item, _, context) => (await notes(context).load(item)).note,
    }),
    log: t.field({
      type: [LogLine],
      complexity: { multiplier: 5 },
      description:
        'Lines that workers logged about it, the oldest first: up to 50, the last of all attempts.',
      resolve: async (item, _, context) => [...(await logs(context).load(item))],
    }),
    priority: t.exposeInt('priority', { description: 'Among items of a type, higher goes first.' }),
    runAt: t.expose('runAt', {
      seenBy: 'ITEMS',
      type: 'DateTime',
      nullable: true,
      description: "It can't be claimed before this time.",
    }),
    retryAt: t.expose('retryAt', {
      seenBy: 'ITEMS',
      type: 'DateTime',
      nullable: true,
      description:
        'When it is due, while it is SCHEDULED or RETRYING: its `runAt`, or the end of its backoff or of a snooze. Null otherwise.',
    }),
    dedupeKey: t.exposeString('dedupeKey', {
      nullable: true,
      description: 'Unique among the items of its job: adding it twice creates one item.',
    }),
    serializeKey: t.exposeString('serializeKey', {
      nullable: true,
      description: 'Items with the same key run one at a time, in the order in which they were added.',
    }),
    blockedBy: t.field({
      type: JobItem,
      authScopes: { may: 'read' },
      nullable: true,
      description:
        'The item with the same serialize key that it waits for, while it is BLOCKED. Null otherwise.',
      resolve: ({ blockedBy }, _, context, info) => namedItem(blockedBy, context, info),
    }),
    parentItem: t.field({
      type: JobItem,
      authScopes: { may: 'read' },
      nullable: true,
      description:
        'The item of the parent job whose success created it; null for an item that was not fed by its parent job, and if your scope does not include the parent job.',
      resolve: ({ parent }, _, context, info) => namedItem(parent, context, info),
    }),
    childItems: t.connection(
      {
        type: JobItem,
        authScopes: { may: 'read' },
        complexity: (args) => ({ multiplier: pageSize(args) }),
        description:
          'The items of child jobs that its success created, by job and then in the order in which they were added: those of jobs in your scope. Empty unless it SUCCEEDED. If a page of items would exceed 64 MB (a setting of the server), it is refused with LIMIT_EXCEEDED; the message says how many fit.',
        resolve: async ({ jobId, position, status }, args, context, info) => {
          const types = await shownTypes(context, null);
          return readPage(
            byJobAndPosition,
            args,
            async (range) =>
              status === 'SUCCEEDED'
                ? childKeys(context).load({ parent: { jobId, position }, types, range })
                : [],
            (keys) => loadItems(keys, context, info),
          );
        },
      },
      {
        name: 'ChildItemConnection',
        description: 'A page of the items that the success of an item created.',
      },
      { name: 'ChildItemEdge', description: 'An item in a page.' },
    ),
    traceContext: t.field({
      type: TraceContext,
      nullable: true,
      description:
        'The trace that it belongs to, as its producer set it; for a fed item, that of the item that fed it. Null if there is none.',
      resolve: (item, _, context) => traceContexts(context).load(itemIdOf(item)),
    }),
    createdAt: t.expose('createdAt', {
      seenBy: 'ITEMS',
      type: 'DateTime',
      description: 'When it was added.',
    }),
    finishedAt: t.expose('finishedAt', {
      seenBy: 'ITEMS',
      type: 'DateTime',
      nullable: true,
      description: 'When it succeeded, failed for good, or was cancelled.',
    }),
    assignment: t.field({
      type: Assignment,
      authScopes: { may: 'read' },
      nullable: true,
      description:
        'The assignment of the worker that holds it or finished it; null while it waits, and after it failed for good or was cancelled.',
      resolve: ({ assignmentId }) => assignmentId,
    }),
  }),
});

/** An item that another one refers to, if the caller may see it. It is read unless only its id is shown. */
async function namedItem(
  key: ItemKey | null,
  context: Services,
  info: GraphQLResolveInfo,
): Promise<Item | string | null> {
  if (key === null || !(await sees(context, key.jobId))) return null;
  const shown = [...selectedFields(info, [])];
  return shown.every((field) => field === 'id' || field === '__typename') ? (key as Item) : itemIdOf(key);
}

const byJobAndPosition: ListOrder<ItemKey, ItemKey> = {
  name: 'children',
  keyOf: itemIdOf,
  parse: parseItemId,
};

const childKeys = createGroupLoader(
  ({ range }: ChildrenRequest & { types: readonly string[] | null }) => range.backwards,
  (pages, { engine }) => readChildKeys(engine.database, pages[0].types, pages[0].range.backwards, pages),
);

/** Null if it was deleted meanwhile. */
export async function itemOrNull(key: ItemKey, context: Services): Promise<Item | null> {
  const [item] = await JobItem.getDataloader(context).loadMany([itemIdOf(key)]);
  if (item instanceof NotFoundError || item === undefined) return null;
  if (item instanceof Error) throw item;
  return item;
}

builder.objectField(Assignment, 'item', (t) =>
  t.field({ type: JobItem, description: 'The item.', resolve: ({ itemId }) => itemId }),
);
