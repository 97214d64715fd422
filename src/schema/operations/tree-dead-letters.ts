/** Why items of a tree failed for good. */
import {
  mostTreeGroups,
  readTreeDeadLetters,
  type TreeDeadLetters as TreeDeadLettersState,
  type TreeGroup,
} from '../../domain/operations/dead-letters.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import { createLoader } from '../core/loader.ts';
import { seesWhole } from '../core/scope.ts';

const TreeDeadLetterGroup = builder.objectRef<TreeGroup>('TreeDeadLetterGroup').implement({
  description: 'The dead letters of one tree that are in one group.',
  fields: (t) => ({
    groupId: t.id({
      description: 'The id of the group, for `node`, `replayDeadLetters` and `discardDeadLetters`.',
      resolve: ({ id }) => encodeGlobalId('DeadLetterGroup', id),
    }),
    type: t.exposeString('type', { description: 'The type of their jobs.' }),
    code: t.exposeString('code', { description: 'The code of their last failure.' }),
    pattern: t.exposeString('pattern', {
      description: 'The pattern of the message of their last failure, as `DeadLetterGroup` has it.',
    }),
    count: t.expose('count', { type: 'Count', description: 'How many of the dead letters of the tree.' }),
  }),
});

const TreeDeadLetters = builder.objectRef<TreeDeadLettersState>('TreeDeadLetters').implement({
  description: 'What the items of a tree failed of for good, and were neither replayed nor discarded.',
  fields: (t) => ({
    groups: t.field({
      type: [TreeDeadLetterGroup],
      complexity: { multiplier: mostTreeGroups },
      description: `Its dead letters by type, code and pattern of the message: up to ${mostTreeGroups} groups, the largest first.`,
      resolve: ({ groups }) => groups,
    }),
    hasMore: t.exposeBoolean('hasMore', {
      description:
        'Whether the tree may have more dead letters than these groups count: the first 10,000, job by job, are counted.',
    }),
  }),
});

const ofTrees = createLoader((rootIds: readonly string[], { engine }) =>
  readTreeDeadLetters(engine.database, rootIds),
);

builder.prismaObjectField('Job', 'treeDeadLetters', (t) =>
  t.field({
    type: TreeDeadLetters,
    nullable: true,
    // Looks at all jobs of the tree.
    complexity: 300,
    description:
      'Why items of its whole tree failed for good: its dead letters by group. Null for callers whose scope does not include the whole tree.',
    select: { rootId: true },
    resolve: async ({ rootId }, _, context) =>
      (await seesWhole(context, rootId)) ? ofTrees(context).load(rootId) : null,
  }),
);
