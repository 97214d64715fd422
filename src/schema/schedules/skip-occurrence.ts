import { skipOccurrence } from '../../domain/schedules/skip-occurrence.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { toSettings } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { scheduleField } from './schedule-input.ts';

const Payload = builder.objectRef<{ name: string; skipped: Date | null }>('SkipOccurrencePayload').implement({
  description: 'The occurrence is skipped, if it was not too late.',
  fields: (t) => ({
    schedule: scheduleField(t),
    skipped: t.expose('skipped', {
      type: 'DateTime',
      nullable: true,
      description:
        'The skipped occurrence. Null if the given one is neither next nor queued: it has already been created, or was skipped before.',
    }),
  }),
});

const Input = builder.inputType('SkipOccurrenceInput', {
  description: 'Which occurrence to leave out.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name of the schedule.' }),
    at: t.field({
      type: 'DateTime',
      description:
        'The occurrence, as in `nextAt` or `queued`, so that it is safe to repeat the call. Default: the next one.',
    }),
  }),
});

builder.mutationField('skipOccurrence', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input: { name, ...change } }) => [`schedule ${name}`, ...toSettings(change)],
    type: Payload,
    description:
      'Skips the next occurrence of a schedule, or a queued one. A paused schedule has no next one.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which occurrence to leave out.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { name, at } }, { engine }) => ({
      name,
      skipped: await skipOccurrence(engine, name, at ?? null),
    }),
  }),
);
