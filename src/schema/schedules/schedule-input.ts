/** The inputs for schedules, and the schedule in payloads. */
import type { NewSchedule } from '../../domain/schedules/put-schedule.ts';
import { NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { type GivenJob, JobInput } from '../jobs/inputs.ts';
import { toNewJob } from '../jobs/new-job.ts';
import { Schedule } from './schedule.ts';
import { MissedPolicy, OverlapPolicy } from './schedule-policies.ts';

const CronInput = builder.inputType('CronInput', {
  description: 'Times of the clock and the calendar.',
  fields: (t) => ({
    expression: t.string({
      required: true,
      description:
        'Five fields for minute, hour, day of month, month and weekday, or six with seconds first: `30 2 * * *`; also @hourly, @daily, @weekly, @monthly, @yearly. Up to 200 characters. One that never comes is refused.',
    }),
    timeZone: t.string({
      required: true,
      defaultValue: 'UTC',
      description: 'The time zone, by its IANA name: `Europe/Berlin`. Default: UTC.',
    }),
  }),
});

/** Exactly one of the fields is set. */
interface GivenTimes {
  readonly cron?: typeof CronInput.$inferInput | null | undefined;
  readonly everyMs?: number | null | undefined;
}

const Times = builder.inputRef<GivenTimes>('ScheduleTimesInput');
Times.implement({
  description: 'When a schedule is due.',
  isOneOf: true,
  fields: (t) => ({
    cron: t.field({
      type: CronInput,
      description: 'At times of the clock and the calendar, as a cron expression.',
    }),
    everyMs: t.field({
      type: 'Count',
      description:
        'At an interval, in milliseconds: 1,000 to 31,622,400,000 (366 days), counted from `startAt`.',
    }),
  }),
});

interface GivenSchedule extends Omit<NewSchedule, 'cron' | 'timeZone' | 'everyMs' | 'template'> {
  readonly times: GivenTimes;
  readonly template: GivenJob;
}

export const ScheduleInput = builder.inputRef<GivenSchedule>('ScheduleInput');
ScheduleInput.implement({
  description:
    'A schedule in full: omitted fields get their defaults, even if the schedule had other values before.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name: 1 to 200 characters.' }),
    times: t.field({ type: Times, required: true, description: 'When its occurrences are due.' }),
    startAt: t.field({
      type: 'DateTime',
      description:
        'The earliest time of an occurrence; with an interval, the time of the first one. Default: none; intervals then count from 1970-01-01T00:00:00Z, so that with ten minutes occurrences are at :00, :10 and so on.',
    }),
    missed: t.field({
      type: MissedPolicy,
      required: true,
      defaultValue: 'RUN_ONCE',
      description: 'What happens to missed occurrences. Default: RUN_ONCE.',
    }),
    overlap: t.field({
      type: OverlapPolicy,
      required: true,
      defaultValue: 'ALLOW',
      description: 'What happens to an occurrence while an earlier tree is not complete. Default: ALLOW.',
    }),
    paused: t.boolean({
      description: 'Whether it is paused. Default: unchanged; a new schedule is not paused.',
    }),
    template: t.field({
      type: JobInput,
      required: true,
      description:
        "What each occurrence creates: the input of createJob, up to 1 MB of JSON. Seal it, or its trees are never complete. Its jobs can't have a `dedupeKey`, since the second tree would be the first one. Whatever createJob would refuse is refused here.",
    }),
  }),
});

/** `path`: the position of the schedule in the input. */
export function toNewSchedule({ times, template, ...schedule }: GivenSchedule, path: string): NewSchedule {
  const { cron, everyMs } = times;
  return {
    ...schedule,
    cron: cron?.expression,
    timeZone: cron?.timeZone,
    everyMs,
    template: toNewJob(template, `${path}template.`, []),
  };
}

/** The input of a mutation that concerns one schedule. */
export function scheduleInput(name: string, description: string) {
  return builder.inputType(name, {
    description,
    fields: (t) => ({ name: t.string({ required: true, description: 'The name of the schedule.' }) }),
  });
}

type Types = typeof builder.$inferSchemaTypes;

/** The `schedule` field of a payload. */
export function scheduleField(t: PothosSchemaTypes.ObjectFieldBuilder<Types, { name: string }>) {
  return t.prismaField({
    type: Schedule,
    description: 'The schedule after the mutation.',
    resolve: async (query, { name }, _, context) => {
      const schedule = await context.engine.database.prisma.schedule.findUnique({
        ...query,
        where: { name },
      });
      if (schedule === null) throw new NotFoundError(`There is no schedule ${name}.`);
      return schedule;
    },
  });
}
