import { pauseSchedule } from '../../domain/schedules/pause-schedule.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { scheduleField, scheduleInput } from './schedule-input.ts';

const Payload = builder.objectRef<{ name: string }>('PauseSchedulePayload').implement({
  description: 'The schedule is paused.',
  fields: (t) => ({ schedule: scheduleField(t) }),
});

builder.mutationField('pauseSchedule', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`schedule ${input.name}`],
    type: Payload,
    description:
      'Pauses a schedule until it is resumed: it creates nothing and has no next occurrence; queued occurrences remain queued. Pausing a paused schedule changes nothing.',
    args: {
      input: t.arg({
        type: scheduleInput('PauseScheduleInput', 'Which schedule to pause.'),
        required: true,
        description: 'Which schedule to pause.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { name } }, { engine }) => {
      await pauseSchedule(engine, name);
      return { name };
    },
  }),
);
