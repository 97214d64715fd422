import { putSchedule } from '../../domain/put-schedule.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { ScheduleInput, scheduleField, toNewSchedule } from '../schedule-input.ts';

const Payload = builder
  .objectRef<{ name: string; created: boolean; changed: boolean }>('PutSchedulePayload')
  .implement({
    description: 'The schedule is as stated.',
    fields: (t) => ({
      schedule: scheduleField(t),
      created: t.exposeBoolean('created', { description: 'Whether there was none of its name.' }),
      changed: t.exposeBoolean('changed', {
        description: 'Whether anything is different from before; true for a new one.',
      }),
    }),
  });

builder.mutationField('putSchedule', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`schedule ${input.name}`],
    type: Payload,
    description:
      'Creates a schedule, or changes the one of its name to what is given. Its next occurrence stays what it is unless its times change, and it stays paused unless that is said: so a deploy may state the same again.',
    args: { input: t.arg({ type: ScheduleInput, required: true, description: 'The schedule.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input }, { engine }) => ({
      name: input.name,
      ...(await putSchedule(engine, toNewSchedule(input, ''))),
    }),
  }),
);
