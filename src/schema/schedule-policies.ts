/** What becomes of occurrences that can't simply be made when they are due. */
import { builder } from './builder.ts';

export const MissedPolicy = builder.enumType('MissedPolicy', {
  description:
    'What becomes of occurrences that were missed: nobody made their trees within 30 seconds, since no server ran or Postgres was away.',
  values: {
    SKIP: { description: 'They are left out.' },
    RUN_ONCE: { description: 'The latest one is made, and the others are left out.' },
    RUN_ALL: { description: 'Each is made; after a long time only the latest 1,000.' },
  } as const,
});

export const OverlapPolicy = builder.enumType('OverlapPolicy', {
  description: 'What becomes of an occurrence while a tree that the schedule made before is not complete.',
  values: {
    ALLOW: { description: 'Its tree is made beside the other one.' },
    SKIP: { description: 'It is left out.' },
    QUEUE: {
      description:
        'It waits until the trees before it are complete, within a second or so. Up to 100 wait; further ones are left out.',
    },
  } as const,
});
