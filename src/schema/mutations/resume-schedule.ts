import { resumeSchedule } from '../../domain/resume-schedule.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { scheduleField, scheduleInput } from '../schedule-input.ts';

const Payload = builder.objectRef<{ name: string }>('ResumeSchedulePayload').implement({
  description: 'The schedule goes on.',
  fields: (t) => ({ schedule: scheduleField(t) }),
});

builder.mutationField('resumeSchedule', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`schedule ${input.name}`],
    type: Payload,
    description:
      'Has a paused schedule go on with its next occurrence; what fell into the pause is not made up for. Of one that is not paused nothing changes.',
    args: {
      input: t.arg({
        type: scheduleInput('ResumeScheduleInput', 'Which schedule to resume.'),
        required: true,
        description: 'Which schedule to resume.',
      }),
    },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input: { name } }, { engine }) => {
      await resumeSchedule(engine, name);
      return { name };
    },
  }),
);
