/** What happens to occurrences whose trees can't simply be created when they are due. */
import { builder } from '../core/builder.ts';

export const MissedPolicy = builder.enumType('MissedPolicy', {
  description:
    'What happens to missed occurrences, whose trees were not created within 30 seconds, because no server ran or Postgres was down.',
  values: {
    SKIP: { description: 'They are skipped.' },
    RUN_ONCE: { description: 'The latest one is created, and the others are skipped.' },
    RUN_ALL: { description: 'Each is created; after a long time only the latest 1,000.' },
  } as const,
});

export const OverlapPolicy = builder.enumType('OverlapPolicy', {
  description: 'What happens to an occurrence while an earlier tree of the schedule is not complete.',
  values: {
    ALLOW: { description: 'Its tree is created alongside the other one.' },
    SKIP: { description: 'It is skipped.' },
    QUEUE: {
      description:
        'It waits until the earlier trees are complete, within a second or so. Up to 100 wait; further ones are skipped.',
    },
  } as const,
});
