import { type Sees, seen } from '../../domain/access/rights.ts';
import { builder } from '../core/builder.ts';

const meanings: Readonly<Record<Sees, string>> = {
  PROGRESS: "The progress of the tree's jobs, and their types.",
  ITEMS: 'Also its items: their statuses, and the codes of their failures; no payloads, results or messages.',
  RESULTS: 'Also results, over HTTP too.',
};

export const SeesEnum = builder.enumType('Sees', {
  description: 'What a watch token can read of its tree.',
  values: Object.fromEntries(seen.map((sees) => [sees, { description: meanings[sees] }])) as Record<
    Sees,
    { description: string }
  >,
});
