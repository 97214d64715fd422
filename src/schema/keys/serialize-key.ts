import {
  readSerializeKeys,
  type SerializeKey as SerializeKeyState,
} from '../../domain/keys/serialize-keys.ts';
import { checkBatch, checkInteger, checkName } from '../../domain/values/checks.ts';
import { maxBatch, maxSerializeKeyLength } from '../../domain/values/limits.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { checkFirst, firstComplexity, firstDescription } from '../core/pages.ts';
import { sees } from '../core/scope.ts';
import { itemOrNull, JobItem } from '../items/job-item.ts';

const SerializeKey = builder.objectRef<SerializeKeyState>('SerializeKey').implement({
  description:
    'A serialize key in use: items with the same key run one at a time, in the order in which they were added.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'The key.' }),
    head: t.field({
      type: JobItem,
      nullable: true,
      description:
        'The item that holds it: it runs, or is the next to run. Null if it has just been deleted.',
      resolve: async ({ head }, _, context) =>
        (await sees(context, head.jobId)) ? itemOrNull(head, context) : null,
    }),
    held: t.exposeBoolean('held', {
      description:
        'Whether that item failed for good and keeps the key because of `serializeOnFailure: BLOCK` of its job: replay or discard it.',
    }),
    blocked: t.expose('blocked', { type: 'Count', description: 'How many items wait behind it.' }),
  }),
});

const SerializeKeyPlaceInput = builder.inputType('SerializeKeyPlaceInput', {
  description: 'A place in the list of serialize keys: that of a key as it was read.',
  fields: (t) => ({
    blocked: t.field({ type: 'Count', required: true, description: 'How many items waited behind it.' }),
    key: t.string({ required: true, description: 'The key.' }),
  }),
});

builder.queryField('serializeKeys', (t) =>
  t.field({
    authScopes: { may: 'survey' },
    type: [SerializeKey],
    complexity: ({ first, keys }) => ({
      multiplier: Math.min(firstComplexity({ first }).multiplier, keys?.length ?? maxBatch),
    }),
    description:
      'The serialize keys with the most waiting items, the longest line first; keys without waiting items are omitted, unless they are named. If there are more than 1,000, query again after the last one. To find the longest lines, all blocked items are counted.',
    args: {
      first: t.arg.int({ required: true, defaultValue: 50, description: firstDescription }),
      after: t.arg({
        type: SerializeKeyPlaceInput,
        description: 'Only keys that come after this place. Not with `keys`.',
      }),
      keys: t.arg.stringList({
        description: 'Only these keys, as far as they are in use: 1 to 1,000. Default: all.',
      }),
    },
    resolve: (_, { first, after, keys }, { engine, caller }) => {
      const take = checkFirst({ first });
      if (keys != null) checkBatch(keys.length, 'keys');
      if (keys != null && after != null)
        throw new InvalidInputError('after goes without keys: named keys are all answered at once.', 'after');
      if (after != null) {
        checkInteger(after.blocked, 'after.blocked', 0, Number.MAX_SAFE_INTEGER);
        checkName(after.key, 'after.key', maxSerializeKeyLength);
      }
      return readSerializeKeys(engine.database, {
        keys: keys ?? null,
        tenant: caller.tenant,
        after: after ?? null,
        take,
      });
    },
  }),
);
