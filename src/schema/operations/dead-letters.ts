import {
  type DeathCount as DeathCountState,
  type DeadLetterGroup as GroupState,
  readDeadItems,
  readDigest,
  readGroupHistories,
  readGroups,
  readLargestGroups,
} from '../../domain/operations/dead-letters.ts';
import type { DeadLetterFilter as Filter } from '../../domain/operations/operations.ts';
import { checkBatch, checkInteger, checkText } from '../../domain/values/checks.ts';
import { maxNameLength } from '../../domain/values/limits.ts';
import { NotFoundError } from '../../errors.ts';
import { checkAnswerSize } from '../core/answer-size.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId, itemKeyOf, keyOf } from '../core/global-id.ts';
import { createGroupLoader } from '../core/loader.ts';
import { checkFirst, firstComplexity, firstDescription } from '../core/pages.ts';
import { shownTypes } from '../core/scope.ts';
import type { Services } from '../core/services.ts';
import { countOf, inScopeOnly, itemFilterFields, toItemFilter } from '../items/item-filter.ts';
import { itemOrNull, JobItem } from '../items/job-item.ts';
import { loadItems } from '../items/read-items.ts';
import { checkTypes, typesDescription } from '../queues/queue.ts';

export const DeadLetterGroup = builder.loadableNodeRef('DeadLetterGroup', {
  id: {
    resolve: ({ id }: GroupState) => id,
    description:
      'The id of the group: `DeadLetterGroup:` and a UUID. It is derived from type, code and pattern, so later failures of the same kind have the same group.',
  },
  load: async (ids: string[], { engine }: Services) => {
    const found = await readGroups(engine.database, ids);
    const byId = new Map(found.map((group) => [group.id, group]));
    return ids.map(
      (id) =>
        byId.get(id) ??
        new NotFoundError(
          `There are no dead letters in the group ${encodeGlobalId('DeadLetterGroup', id)}.`,
          'id',
        ),
    );
  },
});

const DeathCount = builder.objectRef<DeathCountState>('DeadLetterCount').implement({
  description: 'How many items failed for good in a step of time.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'When the step begins.' }),
    count: t.expose('count', { type: 'Count', description: 'How many items.' }),
  }),
});

const maxSteps = 200;

const histories = createGroupLoader(
  ({ steps, stepMinutes }: { id: string; steps: number; stepMinutes: number }) => `${steps}/${stepMinutes}`,
  (keys, { engine }) =>
    readGroupHistories(
      engine.database,
      keys.map(({ id }) => id),
      keys[0],
    ),
);

builder.objectType(DeadLetterGroup, {
  description:
    'Items of one type that failed for good with the same code and pattern of messages, and were neither replayed nor discarded.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The type of their jobs.' }),
    code: t.exposeString('code', { description: 'The code of their last failure.' }),
    pattern: t.exposeString('pattern', {
      description:
        'The message of their last failure, with `…` in place of quoted text and of words that contain a digit; its first 200 characters.',
    }),
    count: t.expose('count', { type: 'Count', description: 'How many items it has.' }),
    firstAt: t.expose('firstAt', {
      type: 'DateTime',
      description: 'When the first of its items failed for good.',
    }),
    lastAt: t.expose('lastAt', {
      type: 'DateTime',
      description: 'When the last of its items failed for good.',
    }),
    example: t.field({
      type: JobItem,
      nullable: true,
      description: 'The item that failed last. Null if it was deleted meanwhile.',
      resolve: async ({ example }, _, context, info) => {
        await checkAnswerSize([example], context, info);
        return itemOrNull(example, context);
      },
    }),
    items: t.field({
      type: [JobItem],
      complexity: firstComplexity,
      description:
        'Its items; those that failed last come first. If there are more than 1,000, query again after the last one.',
      args: {
        after: t.arg.id({
          description:
            'Only items that come after this one. INVALID_INPUT if it is no dead letter of the group any more.',
        }),
        first: t.arg.int({ required: true, defaultValue: 50, description: firstDescription }),
      },
      resolve: async ({ id }, { after, first }, context, info) => {
        const keys = await readDeadItems(context.engine.database, {
          groupId: id,
          first: checkFirst({ first }),
          after: after == null ? null : itemKeyOf(after, 'after'),
        });
        return loadItems(keys, context, info);
      },
    }),
    history: t.field({
      type: [DeathCount],
      description:
        'When its items failed for good, in up to 200 steps, the oldest first: for graphs. Items that were replayed or discarded meanwhile are not counted.',
      args: {
        steps: t.arg.int({
          required: true,
          defaultValue: 24,
          description: 'How many steps: 1 to 200. Default: 24.',
        }),
        stepMinutes: t.arg.int({
          required: true,
          defaultValue: 60,
          description:
            'How long a step is, in minutes: 1 to 1,440, a day. Steps begin at multiples of their length; the last one is not over yet. Default: 60.',
        }),
      },
      complexity: ({ steps }) => ({ field: 20, multiplier: Math.max(1, Math.min(maxSteps, steps)) }),
      resolve: ({ id }, { steps, stepMinutes }, context) =>
        histories(context).load({
          id,
          steps: checkInteger(steps, 'steps', 1, maxSteps),
          stepMinutes: checkInteger(stepMinutes, 'stepMinutes', 1, 1_440),
        }),
    }),
    note: t.exposeString('note', {
      nullable: true,
      description: 'A note about it: `noteDeadLetters`.',
    }),
    notedAt: t.expose('notedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the note was saved.',
    }),
  }),
});

builder.queryField('deadLetterGroups', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: [DeadLetterGroup],
    complexity: firstComplexity,
    description:
      'The largest groups of items that failed for good, the largest first. If there are more than 1,000, query again after the last one.',
    args: {
      types: t.arg.stringList({ description: typesDescription }),
      codes: t.arg.stringList({
        description: 'Only groups whose items have one of these codes: 1 to 1,000; all by default.',
      }),
      after: t.arg.id({
        description:
          'Only groups that come after this one, by its count now. INVALID_INPUT if it has no dead letters any more.',
      }),
      first: t.arg.int({ required: true, defaultValue: 50, description: firstDescription }),
    },
    resolve: async (_, { types, codes, after, first }, context) =>
      readLargestGroups(context.engine.database, {
        types: await shownTypes(context, checkTypes(types)),
        codes: checkCodes(codes),
        after: after == null ? null : keyOf('DeadLetterGroup', after, 'after'),
        first: checkFirst({ first }),
      }),
  }),
);

function checkCodes(codes: readonly string[] | null | undefined): readonly string[] | null {
  if (codes == null) return null;
  checkBatch(codes.length, 'codes');
  for (const [i, code] of codes.entries()) checkText(code, `codes[${i}]`, maxNameLength);
  return codes;
}

interface DigestEntry {
  readonly count: number;
  readonly group: GroupState;
}

const DeadLetterDigestEntry = builder.objectRef<DigestEntry>('DeadLetterDigestEntry').implement({
  description: 'How many items of a group are new.',
  fields: (t) => ({
    count: t.expose('count', {
      type: 'Count',
      description: 'How many items of the group failed for good since then, and are still dead letters.',
    }),
    group: t.expose('group', { type: DeadLetterGroup, description: 'The group.' }),
  }),
});

builder.queryField('deadLetterDigest', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: [DeadLetterDigestEntry],
    complexity: firstComplexity,
    description:
      'Items that failed for good since a given time, by group, the groups with the most items first. For reports, and for periodic alerts.',
    args: {
      since: t.arg({ type: 'DateTime', required: true, description: 'The start of the period.' }),
      types: t.arg.stringList({ description: typesDescription }),
      first: t.arg.int({ required: true, defaultValue: 50, description: firstDescription }),
    },
    resolve: async (_, { since, types, first }, context) => {
      const entries = await readDigest(context.engine.database, {
        since,
        types: await shownTypes(context, checkTypes(types)),
        first: checkFirst({ first }),
      });
      const groups = await readGroups(
        context.engine.database,
        entries.map(({ id }) => id),
      );
      const byId = new Map(groups.map((group) => [group.id, group]));
      // A group whose dead letters were settled meanwhile is left out.
      return entries.flatMap(({ id, count }) => {
        const group = byId.get(id);
        return group === undefined ? [] : { count, group };
      });
    },
  }),
);

export const DeadLetterFilter = builder.inputType('DeadLetterFilter', {
  description:
    'Which dead letters: those that meet all conditions; at least one must be set. Lists have 1 to 1,000 entries.',
  fields: (t) => ({
    ...itemFilterFields(t),
    groupIds: t.idList({ description: 'Of one of these groups.' }),
    diedFrom: t.field({ type: 'DateTime', description: 'That failed for good at this time or later.' }),
    diedUntil: t.field({ type: 'DateTime', description: 'That failed for good before this time.' }),
  }),
});

/** The filter in the form that operations take. */
export async function toFilter(
  { groupIds, diedFrom, diedUntil, ...filter }: typeof DeadLetterFilter.$inferInput,
  context: Services,
): Promise<Filter> {
  const conditions = {
    ...(await toItemFilter(filter, context)),
    groupIds: groupIds?.map((id, i) => keyOf('DeadLetterGroup', id, `filter.groupIds[${i}]`)),
    diedFrom: diedFrom ?? undefined,
    diedUntil: diedUntil ?? undefined,
  };
  return inScopeOnly(conditions, context);
}

builder.queryField('deadLetterCount', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: 'Count',
    description:
      'How many dead letters `replayDeadLetters` with this filter would replay. NOT_FOUND and INVALID_INPUT as for that; BUSY if counting takes longer than 10 seconds.',
    args: {
      filter: t.arg({ type: DeadLetterFilter, required: true, description: 'Which dead letters.' }),
      replayable: t.arg.boolean({
        required: true,
        defaultValue: true,
        description:
          "False to count also those that can't be replayed, as `discardDeadLetters` settles them: those of cancelled jobs, and of trees that are being deleted. Default: true.",
      }),
    },
    resolve: async (_, { filter, replayable }, context) =>
      countOf(context).load({
        kind: replayable ? 'REPLAY' : 'DISCARD',
        filter: await toFilter(filter, context),
      }),
  }),
);
