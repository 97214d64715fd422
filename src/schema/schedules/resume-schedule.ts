import { resumeSchedule } from '../../domain/schedules/resume-schedule.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { scheduleField, scheduleInput } from './schedule-input.ts';

const Payload = builder.objectRef<{ name: string }>('ResumeSchedulePayload').implement({
  description: 'The schedule continues.',
  fields: (t) => ({ schedule: scheduleField(t) }),
});

builder.mutationField('resumeSchedule', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input }) => [`schedule ${input.name}`],
    type: Payload,
    description:
      'Continues a paused schedule with its next occurrence; occurrences during the pause are not created. If it is not paused, nothing changes.',
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
