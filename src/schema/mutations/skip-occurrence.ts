import { skipOccurrence } from '../../domain/skip-occurrence.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { toSettings } from '../audit-subjects.ts';
import { builder } from '../builder.ts';
import { scheduleField } from '../schedule-input.ts';

const Payload = builder.objectRef<{ name: string; skipped: Date | null }>('SkipOccurrencePayload').implement({
  description: 'The occurrence is left out, if it was not too late.',
  fields: (t) => ({
    schedule: scheduleField(t),
    skipped: t.expose('skipped', {
      type: 'DateTime',
      nullable: true,
      description:
        'The occurrence that is left out. Null if the one that was named is neither next nor queued: it has come, or was skipped before.',
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
        'The occurrence, as `nextAt` or `queued` has it: so it is safe to ask twice. Default: whichever is next.',
    }),
  }),
});

builder.mutationField('skipOccurrence', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input: { name, ...change } }) => [`schedule ${name}`, ...toSettings(change)],
    type: Payload,
    description:
      'Leaves out the next occurrence of a schedule, or one that is queued. A paused schedule has no next one.',
    args: { input: t.arg({ type: Input, required: true, description: 'Which occurrence to leave out.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { name, at } }, { engine }) => ({
      name,
      skipped: await skipOccurrence(engine, name, at ?? null),
    }),
  }),
);
