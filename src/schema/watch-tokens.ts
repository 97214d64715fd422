import { type Sees, seen } from '../domain/rights.ts';
import { builder } from './builder.ts';

const meanings: Readonly<Record<Sees, string>> = {
  PROGRESS: 'How far the jobs of the tree are, and of which types.',
  ITEMS: 'Also its items: how each stands, and the codes of its failures; no payloads, results or messages.',
  RESULTS: 'Also results, over HTTP too.',
};

export const SeesEnum = builder.enumType('Sees', {
  description: 'What a watch token shows of its tree.',
  values: Object.fromEntries(seen.map((sees) => [sees, { description: meanings[sees] }])) as Record<
    Sees,
    { description: string }
  >,
});
