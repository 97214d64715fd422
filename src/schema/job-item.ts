import type { GraphQLResolveInfo } from 'graphql';
import { Turns } from '../db/turns.ts';
import { readGroupIds } from '../domain/items/dead-letters.ts';
import { type ItemNote, readNotes } from '../domain/items/item-notes.ts';
import { type ChildrenRequest, readChildKeys } from '../domain/items/item-pages.ts';
import {
  type FailureKey,
  type Item,
  type ItemFailure as ItemFailureRow,
  readFailures,
  readFailuresAt,
  readItems,
  readPayloads,
  readResults,
  readStacks,
} from '../domain/items/read-items.ts';
import { type ItemKey, itemIdOf, parseItemId } from '../domain/values/ids.ts';
import { maxBatch } from '../domain/values/limits.ts';
import { NotFoundError } from '../errors.ts';
import { checkAnswerSize, takesPart } from './answer-size.ts';
import { Assignment } from './assignment.ts';
import { builder } from './builder.ts';
import { ByteBudget } from './byte-budget.ts';
import { encodeGlobalId } from './global-id.ts';
import { createGroupLoader, createLoader, loaderOptions } from './loader.ts';
import { type ListOrder, pageSize, readPage } from './pages.ts';
import { sees, shownTypes } from './scope.ts';
import { selectedFields } from './selection.ts';
import type { Services } from './services.ts';

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

const ItemFailure = builder.objectRef<ItemFailureRow & FailureKey>('ItemFailure').implement({
  description: 'One failed attempt.',
  fields: (t) => ({
    attempt: t.exposeInt('attempt', { seenBy: 'ITEMS', description: 'Which attempt failed, from 1.' }),
    code: t.exposeString('code', {
      seenBy: 'ITEMS',
      description:
        'The kind of failure, as the worker named it; `HEARTBEAT_LOST` if the worker sent no heartbeats, `EXPIRED` if no worker started the item within the lifetime of its type.',
    }),
    message: t.exposeString('message', { description: 'What went wrong, in words.' }),
    worker: t.exposeString('worker', {
      nullable: true,
      description: 'The worker that held the item; null if none did.',
    }),
    at: t.expose('at', { seenBy: 'ITEMS', type: 'DateTime', description: 'When it was reported.' }),
    stack: t.string({
      nullable: true,
      description:
        "Where in the worker's code it came from: a stack trace, up to 4,096 characters. Null if the worker sent none.",
      resolve: (failure, _, context) => stacks(context).load(failure),
    }),
  }),
});

// For items that were read without these parts. They may be large, so each is read only on request.
const payloads = createLoader(async (keys: readonly ItemKey[], context) =>
  (await takesPart(keys, 'payload', context))
    ? readPayloads(context.engine.database, keys)
    : keys.map(() => null),
);
const results = createLoader(async (keys: readonly ItemKey[], context) =>
  (await takesPart(keys, 'result', context))
    ? readResults(context.engine.database, keys)
    : keys.map(() => null),
);
const failures = createLoader(async (keys: readonly ItemKey[], context) =>
  (await takesPart(keys, 'failures', context))
    ? readFailures(context.engine.database, keys)
    : keys.map(() => []),
);
const lastFailures = createLoader(async (keys: readonly FailureKey[], context) =>
  (await takesPart(keys, 'lastFailure', context))
    ? (await readFailuresAt(context.engine.database, keys)).map((failure) => failure ?? null)
    : keys.map(() => null),
);
const groupIds = createLoader((keys: readonly ItemKey[], { engine }) => readGroupIds(engine.database, keys));

const stacks = createLoader(async (keys: readonly FailureKey[], context) => {
  const items = new Map(keys.map((key) => [itemIdOf(key), key]));
  return (await takesPart([...items.values()], 'stacks', context))
    ? readStacks(context.engine.database, keys)
    : keys.map(() => null);
});

const notes = createLoader((keys: readonly ItemKey[], { engine }) => readNotes(engine.database, keys));
const logs = createLoader(async (keys: readonly ItemKey[], context) => {
  if (!(await takesPart(keys, 'log', context))) return keys.map(() => []);
  return (await readNotes(context.engine.database, keys)).map(({ log }) => log);
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
    failures: t.field({
      seenBy: 'ITEMS',
      type: [ItemFailure],
      description:
        'The failed attempts, up to 40, the first one first: if there are more than 40, the first 20 and the last 20.',
      resolve: async (item, _, context) => {
        const { jobId, position, failureCount } = item;
        const all = failureCount === 0 ? [] : await failures(context).load(item);
        return all.map((failure) => ({ jobId, position, ...failure }));
      },
    }),
    lastFailure: t.field({
      type: ItemFailure,
      nullable: true,
      description:
        'The last failed attempt of an item that is FAILED or RETRYING: why it is. Null for any other.',
      resolve: async ({ jobId, position, failureCount, status }, _, context) => {
        if (failureCount === 0 || (status !== 'FAILED' && status !== 'RETRYING')) return null;
        const key = { jobId, position, attempt: failureCount };
        const failure = await lastFailures(context).load(key);
        return failure && { ...key, ...failure };
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
            context,
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

/** The fields that can be shown without reading an item's details. */
const withoutDetails = new Set([
  '__typename',
  'id',
  'job',
  'status',
  'payload',
  'result',
  'childItems',
  'cursor',
  'pageInfo',
]);

/**
 * The bytes of all pages that are being read, in all operations of the process. A page takes several times its size until it is
 * an answer, so many at a time would take too much memory.
 */
const pageBytes = new ByteBudget(16_000_000);

/** How many bytes one query reads; for a moment it takes three times as much. */
const batchBytes = 8_000_000;

function toBatches(keys: readonly ItemKey[], sizes: readonly number[]): ItemKey[][] {
  const batches: ItemKey[][] = [];
  let batch: ItemKey[] = [];
  let bytes = 0;
  for (const [i, key] of keys.entries()) {
    const size = sizes[i] ?? 0;
    if (batch.length === 0 || batch.length === maxBatch || bytes + size > batchBytes) {
      batch = [];
      batches.push(batch);
      bytes = 0;
    }
    batch.push(key);
    bytes += size;
  }
  return batches;
}

/** Leaves connections for other reads, however many pages are requested. */
const pageTurns = new Turns(2);

/** Pages of items for the same fields of an operation are measured together, and then read together. */
const pages = createGroupLoader(
  ({ info }: { keys: readonly ItemKey[]; info: GraphQLResolveInfo }) => info.fieldNodes,
  async (requests, services) => {
    const { info } = requests[0];
    const keys = requests.flatMap(({ keys }) => keys);
    const fields = selectedFields(info, ['nodes', 'edges', 'node']);
    const parts = {
      details: [...fields].some((field) => !withoutDetails.has(field)),
      status: fields.has('status'),
      payload: fields.has('payload'),
      result: fields.has('result'),
    };
    const items = await pageTurns.run(services.engine, async () => {
      const sizes = await checkAnswerSize(keys, services, info);
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      return pageBytes.run(bytes, async () => {
        const read: (Item | undefined)[] = [];
        for (const batch of toBatches(keys, sizes)) {
          read.push(...(await readItems(services.engine.database, batch, parts)));
        }
        return read;
      });
    });
    let start = 0;
    return requests.map(({ keys }) => {
      const end = start + keys.length;
      const page = items.slice(start, end).flatMap((item) => item ?? []);
      start = end;
      return page;
    });
  },
);

/** The items of these keys, in their order. Items that were deleted meanwhile are left out. */
export async function loadItems(
  keys: readonly ItemKey[],
  context: Services,
  info: GraphQLResolveInfo,
): Promise<Item[]> {
  return keys.length === 0 ? [] : pages(context).load({ keys, info });
}

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
