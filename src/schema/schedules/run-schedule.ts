import { runSchedule } from '../../domain/schedules/run-schedule.ts';
import { InvalidInputError, NotFoundError, StorageLimitError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { jobField } from '../core/payload.ts';
import { scheduleField, scheduleInput } from './schedule-input.ts';

const Payload = builder.objectRef<{ name: string; jobId: string }>('RunSchedulePayload').implement({
  description: 'A tree was created.',
  fields: (t) => ({ schedule: scheduleField(t), job: jobField(t) }),
});

builder.mutationField('runSchedule', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`schedule ${input.name}`],
    type: Payload,
    description:
      'Creates a tree of a schedule now, even if others are running or queued, or it is paused. Its next occurrence stays the same.',
    args: {
      input: t.arg({
        type: scheduleInput('RunScheduleInput', 'Which schedule to run.'),
        required: true,
        description: 'Which schedule to run.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError, StorageLimitError] },
    resolve: async (_, { input: { name } }, { engine }) => ({ name, jobId: await runSchedule(engine, name) }),
  }),
);
