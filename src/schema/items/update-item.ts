import { updateItem } from '../../domain/items/update-item.ts';
import { InvalidInputError, ItemNotUpdatableError, NotFoundError, StorageLimitError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { itemKeyOf, keyOf } from '../core/global-id.ts';
import { checkItem } from '../core/scope.ts';
import { JobItem } from './job-item.ts';

const Payload = builder.objectRef<string>('UpdateItemPayload').implement({
  description: 'The item was changed.',
  fields: (t) => ({
    item: t.field({ type: JobItem, description: 'The item, as it is now.', resolve: (id) => id }),
  }),
});

const Input = builder.inputType('UpdateItemInput', {
  description: 'What to change. Omitted fields stay as they are.',
  fields: (t) => ({
    itemId: t.id({ required: true, description: 'The item.' }),
    runAt: t.field({
      type: 'DateTime',
      description:
        'When it is due; null for now, behind items that are already ready. For an item in a backoff it is the end of the backoff; for one whose job waits for others it counts once that wait is over.',
    }),
    priority: t.int({
      description:
        'Its priority, -32,768 to 32,767; null for that of its job. It keeps its age among items of the same priority.',
    }),
    payload: t.field({
      type: 'JSON',
      description: 'A new payload: any JSON, up to 1 MB of text (a setting of the server).',
    }),
  }),
});

builder.mutationField('updateItem', (t) =>
  t.field({
    authScopes: { may: 'change' },
    type: Payload,
    description:
      'Changes an item that waits for a worker, for its time or for other jobs. It keeps its attempts and failures. Held and finished items are refused.',
    args: {
      input: t.arg({ type: Input, required: true, description: 'Which item, and what becomes of it.' }),
    },
    errors: { types: [NotFoundError, InvalidInputError, ItemNotUpdatableError, StorageLimitError] },
    resolve: async (_, { input }, context) => {
      const key = itemKeyOf(input.itemId, 'itemId');
      await checkItem(context, key, 'itemId');
      await updateItem(context.engine, key, input);
      return keyOf('JobItem', input.itemId, 'itemId');
    },
  }),
);
