import { putSchedule } from '../../domain/schedules/put-schedule.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { ScheduleInput, scheduleField, toNewSchedule } from './schedule-input.ts';

const Payload = builder
  .objectRef<{ name: string; created: boolean; changed: boolean }>('PutSchedulePayload')
  .implement({
    description: 'The schedule was saved.',
    fields: (t) => ({
      schedule: scheduleField(t),
      created: t.exposeBoolean('created', { description: 'Whether the schedule is new.' }),
      changed: t.exposeBoolean('changed', {
        description: 'Whether anything has changed; true for a new one.',
      }),
    }),
  });

builder.mutationField('putSchedule', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`schedule ${input.name}`],
    type: Payload,
    description:
      'Creates a schedule, or replaces the one with its name. Its next occurrence stays the same unless its times change, and it remains paused unless `paused` is given, so a deploy can safely repeat it.',
    args: { input: t.arg({ type: ScheduleInput, required: true, description: 'The schedule.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input }, { engine }) => ({
      name: input.name,
      ...(await putSchedule(engine, toNewSchedule(input, ''))),
    }),
  }),
);
