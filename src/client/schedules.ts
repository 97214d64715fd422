/** Schedules: put by code, and managed by people. */
import type {
  MissedPolicy,
  OverlapPolicy,
  ScheduleFieldsFragment,
  ScheduleInput,
  ScheduleTimesInput,
} from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { answerOf, JobtreeError, payloadOf } from './errors.ts';
import { type JobSpec, toInstant, toJobInput } from './job-spec.ts';
import { callOptions, pageOptions, type Send } from './options.ts';
import { toPage } from './page.ts';
import type { CallOptions, Page, PageOptions } from './types.ts';

/** A schedule with its state. Times are text in ISO 8601. */
export type Schedule = ScheduleFieldsFragment;

/** A complete schedule: whatever is left out gets its default, even if the schedule had another value before. */
export interface ScheduleSpec {
  /** 1 to 200 characters. */
  readonly name: string;
  /**
   * When it is due: minute, hour, day of month, month and weekday, optionally preceded by seconds; also `@daily` and the like.
   * Set either this or `everyMs`.
   */
  readonly cron?: string | undefined;
  /** The time zone of `cron`, as the IANA names it. Default: UTC. */
  readonly timeZone?: string | undefined;
  /** The interval between occurrences, in milliseconds: 1,000 to 31,622,400,000. */
  readonly everyMs?: number | undefined;
  /** No occurrence is before this time, and intervals count from it. Default: none; intervals count from 1970. */
  readonly startAt?: Date | string | undefined;
  /** What becomes of occurrences that were due while no server ran. Default: `RUN_ONCE`. */
  readonly missed?: MissedPolicy | undefined;
  /** What becomes of an occurrence while an earlier tree is not complete. Default: `ALLOW`. */
  readonly overlap?: OverlapPolicy | undefined;
  /** Whether it is paused. Default: unchanged; a new one is not paused. */
  readonly paused?: boolean | undefined;
  /** The tree that each occurrence creates. Seal its jobs, or the trees never complete. None of its jobs may have a `dedupeKey`. */
  readonly template: JobSpec;
}

/** `client.schedules`. */
export class Schedules {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Creates a schedule, or replaces the one of its name. Putting the same schedule again changes nothing.
   *
   * @throws JobtreeError INVALID_INPUT, with the path to what is wrong
   */
  async put(
    schedule: ScheduleSpec,
    options: CallOptions = {},
  ): Promise<{ schedule: Schedule; created: boolean; changed: boolean }> {
    const input = toScheduleInput(schedule, '');
    return payloadOf((await this.#send(operations.PutSchedule, { input }, options, true)).putSchedule);
  }

  /**
   * Puts all of these schedules, up to 1,000, or none of them: for a deploy whose schedules are in its code.
   *
   * @param options `deleteOthers`: whether schedules that are not listed are deleted; default: false. `prefix`: only those whose
   *   names begin with it, for applications that share a server; default: any
   * @returns the names of those that were created, changed and deleted
   * @throws JobtreeError INVALID_INPUT, with the path to what is wrong
   */
  async sync(
    schedules: readonly ScheduleSpec[],
    options: CallOptions & { readonly deleteOthers?: boolean; readonly prefix?: string } = {},
  ): Promise<{ created: string[]; changed: string[]; deleted: string[] }> {
    const { deleteOthers = false, prefix = '' } = options;
    const inputs = schedules.map((schedule, i) => toScheduleInput(schedule, `schedules[${i}].`));
    const input = { schedules: inputs, deleteOthers, prefix };
    const data = await this.#send(operations.SyncSchedules, { input }, options, true, syncOptions);
    return payloadOf(data.syncSchedules);
  }

  /** @throws JobtreeError NOT_FOUND */
  async get(name: string, options: CallOptions = {}): Promise<Schedule> {
    const { schedule } = await this.#send(operations.Schedule, { name }, options, true);
    if (schedule == null)
      throw new JobtreeError('NOT_FOUND', `There is no schedule ${name}.`, { field: 'name' });
    return schedule;
  }

  /** Lists schedules by name. */
  async list(options: PageOptions = {}): Promise<Page<Schedule>> {
    const { first, after } = options;
    const data = await this.#send(operations.Schedules, { first, after }, options, true, pageOptions);
    return toPage(answerOf(data.schedules));
  }

  /**
   * Pauses a schedule: it creates nothing until it is resumed. Pausing twice changes nothing.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async pause(name: string, options: CallOptions = {}): Promise<Schedule> {
    const data = await this.#send(operations.PauseSchedule, { input: { name } }, options, true);
    return payloadOf(data.pauseSchedule).schedule;
  }

  /**
   * Resumes a paused schedule with its next occurrence; occurrences during the pause are not made up for.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async resume(name: string, options: CallOptions = {}): Promise<Schedule> {
    const data = await this.#send(operations.ResumeSchedule, { input: { name } }, options, true);
    return payloadOf(data.resumeSchedule).schedule;
  }

  /**
   * Creates a tree now, even if the schedule is paused or earlier trees are running or queued.
   *
   * @returns the root's id
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT for a template that createJob no longer accepts
   */
  async run(name: string, options: CallOptions = {}): Promise<{ jobId: string }> {
    const data = await this.#send(operations.RunSchedule, { input: { name } }, options, false);
    return { jobId: payloadOf(data.runSchedule).job.id };
  }

  /**
   * Skips the next occurrence.
   *
   * @param options `at`: the occurrence, as in `nextAt` or `queued`, which makes it safe to ask twice. Default: whichever is next
   * @returns the skipped occurrence; null if the one in `at` is neither next nor queued, or no longer
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT for a schedule that is paused
   */
  async skip(
    name: string,
    options: CallOptions & { readonly at?: Date | string } = {},
  ): Promise<{ skipped: string | null; schedule: Schedule }> {
    const at = toInstant(options.at, 'at');
    const input = { name, at };
    const data = await this.#send(
      operations.SkipOccurrence,
      { input },
      options,
      at !== undefined,
      skipOptions,
    );
    const { skipped = null, schedule } = payloadOf(data.skipOccurrence);
    return { skipped, schedule };
  }

  /**
   * Deletes a schedule; the trees that it created stay.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async delete(name: string, options: CallOptions = {}): Promise<void> {
    payloadOf(
      (await this.#send(operations.DeleteSchedule, { input: { name } }, options, false)).deleteSchedule,
    );
  }
}

const syncOptions = { ...callOptions, deleteOthers: true, prefix: true };
const skipOptions = { ...callOptions, at: true };

type Times = Pick<ScheduleSpec, 'cron' | 'timeZone' | 'everyMs'>;

function toScheduleInput(schedule: ScheduleSpec, path: string): ScheduleInput {
  const { cron, timeZone, everyMs, template, startAt, missed, overlap, ...rest } = schedule;
  return {
    ...rest,
    ...(missed !== undefined && { missed }),
    ...(overlap !== undefined && { overlap }),
    times: toTimesInput({ cron, timeZone, everyMs }, path),
    startAt: toInstant(startAt, `${path}startAt`),
    template: toJobInput(template, `${path}template.`),
  };
}

function toTimesInput({ cron, timeZone, everyMs }: Times, path: string): ScheduleTimesInput {
  if (cron != null && everyMs == null)
    return { cron: { expression: cron, ...(timeZone != null && { timeZone }) } };
  if (everyMs != null && cron == null && timeZone == null) return { everyMs };
  const field = `${path}times`;
  const message = `${field} must be cron, perhaps with timeZone, or everyMs.`;
  throw new JobtreeError('INVALID_INPUT', message, { field });
}
