import { type SyncedSchedules, syncSchedules } from '../../domain/schedules/put-schedule.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import { toStored } from '../../domain/values/tenants.ts';
import { InvalidInputError } from '../../errors.ts';
import { toSettings } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { ScheduleInput, toNewSchedule } from './schedule-input.ts';

const Payload = builder.objectRef<SyncedSchedules>('SyncSchedulesPayload').implement({
  description: 'The schedules were saved.',
  fields: (t) => ({
    created: t.exposeStringList('created', { description: 'The names of those that are new: up to 1,000.' }),
    changed: t.exposeStringList('changed', {
      description: 'The names of those that were changed: up to 1,000.',
    }),
    deleted: t.stringList({
      description: 'The names of those that were deleted: up to 1,000, even if there were more.',
      resolve: ({ deleted }) => deleted.slice(0, maxBatch),
    }),
  }),
});

const Input = builder.inputType('SyncSchedulesInput', {
  description: 'The schedules of an application.',
  fields: (t) => ({
    schedules: t.field({
      type: [ScheduleInput],
      required: true,
      description: 'The schedules: up to 1,000, no name twice.',
    }),
    deleteOthers: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Whether schedules that are not listed are deleted. Default: false.',
    }),
    prefix: t.string({
      required: true,
      defaultValue: '',
      description:
        'With `deleteOthers`, only schedules whose names begin with this are deleted: for applications that share a server. Default: any.',
    }),
  }),
});

builder.mutationField('syncSchedules', (t) =>
  t.field({
    authScopes: { may: 'administer' },
    audited: ({ input: { schedules, ...change } }) => [
      ...toSettings(change),
      ...schedules.map(({ name }) => `schedule ${name}`),
    ],
    type: Payload,
    description:
      'Puts several schedules, as putSchedule does: either all of them, or none. For deploys that define schedules in code.',
    args: { input: t.arg({ type: Input, required: true, description: 'The schedules.' }) },
    errors: { types: [InvalidInputError] },
    resolve: (_, { input }, { engine, caller }) => {
      const prefix = toStored(caller.tenant, input.prefix);
      const schedules = input.schedules.map((schedule, i) => toNewSchedule(schedule, `schedules[${i}].`));
      return syncSchedules(engine, schedules, input.deleteOthers ? prefix : null);
    },
  }),
);
