/** Items of a job that are found by what they have. */

import type { Item } from '../../domain/items/read-items.ts';
import { type ItemConditions, mostFound, searchItems } from '../../domain/items/search-items.ts';
import { type ItemKey, itemIdOf } from '../../domain/values/ids.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId, itemKeyOf } from '../core/global-id.ts';
import { Job } from '../jobs/job.ts';
import { JobItem } from './job-item.ts';
import { loadItems } from './read-items.ts';

interface Found {
  readonly nodes: readonly Item[];
  readonly searched: number;
  readonly next: ItemKey | null;
}

const ItemSearch = builder.objectRef<Found>('ItemSearch').implement({
  description: 'What one call of a search has found, and how far it has looked.',
  fields: (t) => ({
    nodes: t.field({
      type: [JobItem],
      description: 'The items that match, in the order in which they were added: up to 100, as `first` says.',
      resolve: ({ nodes }) => [...nodes],
    }),
    searched: t.expose('searched', {
      type: 'Count',
      description: 'How many items this call has looked at; the progress of the job says how many there are.',
    }),
    nextFrom: t.id({
      nullable: true,
      description: 'Where to go on, as `from`. Null if there are no more items.',
      resolve: ({ next }) => next && encodeGlobalId('JobItem', itemIdOf(next)),
    }),
  }),
});

builder.objectField(Job, 'searchItems', (t) =>
  t.field({
    type: ItemSearch,
    authScopes: { may: 'read' },
    // Besides what is selected of the items: the payloads that it reads. Each is a query of its own, so a request may have a few.
    complexity: ({ first }) => ({ field: 10_000, multiplier: Math.min(Math.max(first, 1), mostFound) }),
    description:
      'Its items that meet all conditions that are given, at least one: `path` with `equals`, `text`, `codes`, `dedupeKeys`. There is no index of payloads or codes. Without `dedupeKeys`, one call looks at up to 10,000 items, and at up to 16 MB of payloads if that is less, in the order in which they were added; `nextFrom` is where the next call goes on. What producers have encrypted is compared as it is stored. BUSY if a call takes longer than 10 seconds.',
    args: {
      path: t.arg.string({
        description:
          'Where in the payload `equals` is: keys or list positions, separated by dots, such as `customer.id` or `lines.0.amount`; 1 to 1,000 characters. INVALID_INPUT without `equals`.',
      }),
      equals: t.arg.string({
        description:
          'The value there: a string as it is, anything else as its JSON text, such as `4711`, `true` or `null`; up to 1,000 characters. INVALID_INPUT without `path`.',
      }),
      text: t.arg.string({
        description:
          'Part of the JSON text of the payload as it is stored, ignoring case: 1 to 1,000 characters.',
      }),
      codes: t.arg.stringList({
        description:
          'Whose last failure has one of these codes, also if it was not final: up to 1,000. INVALID_INPUT for an empty list.',
      }),
      dedupeKeys: t.arg.stringList({
        description:
          'With one of these dedupe keys: up to 1,000. No other items are looked at. INVALID_INPUT for an empty list.',
      }),
      from: t.arg.id({
        description:
          'The id of the first item to look at: `nextFrom` of the call before. INVALID_INPUT for an item of another job. Default: the first one of the job.',
      }),
      first: t.arg.int({
        required: true,
        defaultValue: 50,
        description: 'The maximum number of items to return: 1 to 100. Default: 50.',
      }),
    },
    resolve: async ({ id }, { from, first, ...conditions }: SearchArgs, context, info) => {
      const { keys, searched, next } = await searchItems(context.engine.database, id, conditions, {
        from: from == null ? undefined : itemKeyOf(from, 'from'),
        first,
      });
      return { nodes: await loadItems(keys, context, info), searched, next };
    },
  }),
);

interface SearchArgs extends ItemConditions {
  readonly from?: string | null | undefined;
  readonly first: number;
}
