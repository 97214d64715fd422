import { deleteSchedule } from '../../domain/schedules/delete-schedule.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { scheduleInput } from './schedule-input.ts';

const Payload = builder.objectRef<{ name: string }>('DeleteSchedulePayload').implement({
  description: 'The schedule was deleted.',
  fields: (t) => ({ name: t.exposeString('name', { description: 'The name that it had.' }) }),
});

builder.mutationField('deleteSchedule', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`schedule ${input.name}`],
    type: Payload,
    description:
      'Deletes a schedule, with its queued occurrences. Trees that it created remain, and continue.',
    args: {
      input: t.arg({
        type: scheduleInput('DeleteScheduleInput', 'Which schedule to delete.'),
        required: true,
        description: 'Which schedule to delete.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { name } }, { engine }) => {
      await deleteSchedule(engine, name);
      return { name };
    },
  }),
);
