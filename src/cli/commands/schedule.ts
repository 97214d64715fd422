/** `jobtree schedule …`: one schedule is stated, shown, paused, resumed, run, skipped once or deleted; or a file of them is stated. */
import type { MissedPolicy, OverlapPolicy, Schedule, ScheduleSpec } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { toJson } from '../exact-json.ts';
import { exitCodes } from '../exit-codes.ts';
import { printField } from '../fields.ts';
import { parseJson, readJsonFile } from '../json-file.ts';
import { oneLine, print, printOutcome } from '../output.ts';

export interface PutOptions extends ApiOptions {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly every?: number;
  readonly startAt?: string;
  readonly missed?: 'skip' | 'run-once' | 'run-all';
  readonly overlap?: Lowercase<OverlapPolicy>;
  readonly paused?: boolean;
  readonly template?: string;
  readonly type?: string;
  readonly payload?: string;
}

export async function putSchedule(name: string, options: PutOptions): Promise<number> {
  const { cron, timeZone, every: everyMs, startAt, missed, overlap, paused } = options;
  if ((cron === undefined) === (everyMs === undefined))
    throw new CommandError(exitCodes.usage, 'Give either --cron or --every.');
  const spec: ScheduleSpec = {
    name,
    cron,
    timeZone,
    everyMs,
    startAt,
    missed: missed?.toUpperCase().replace('-', '_') as MissedPolicy | undefined,
    overlap: overlap?.toUpperCase() as OverlapPolicy | undefined,
    paused,
    template: templateOf(options),
  };
  const { schedule, created, changed } = await withClient(options, (client) => client.schedules.put(spec));
  const word = created ? 'Created' : changed ? 'Changed' : 'Unchanged';
  answer(options, { created, changed, schedule }, `${word}: ${nextOf(schedule)}`);
  return exitCodes.success;
}

/** A file has all that a job may have; a type and a payload are enough for one item. */
function templateOf({ template, type, payload }: PutOptions): ScheduleSpec['template'] {
  if (
    (template === undefined) === (type === undefined) ||
    (template !== undefined && payload !== undefined)
  ) {
    throw new CommandError(exitCodes.usage, 'Give either --template, or --type and, if you like, --payload.');
  }
  if (template !== undefined) return readJsonFile(template) as ScheduleSpec['template'];
  return {
    type: type ?? '',
    sealed: true,
    items: [{ payload: payload === undefined ? null : parseJson(payload, '--payload') }],
  };
}

export async function syncSchedules(
  file: string,
  options: ApiOptions & { readonly deleteOthers?: true; readonly prefix?: string },
): Promise<number> {
  const { deleteOthers = false, prefix = '' } = options;
  const specs = readJsonFile(file);
  if (!Array.isArray(specs)) throw new CommandError(exitCodes.badFile, `${file} is not a list of schedules.`);
  const synced = await withClient(options, (client) =>
    client.schedules.sync(specs, { deleteOthers, prefix }),
  );
  const parts = Object.entries(synced).map(([word, names]) => `${names.length} ${word}`);
  answer(options, synced, `${parts.join(', ')}.`);
  return exitCodes.success;
}

export async function showSchedule(name: string, options: ApiOptions): Promise<number> {
  const schedule = await withClient(options, (client) => client.schedules.get(name));
  if (options.json) print(`${JSON.stringify(schedule)}\n`);
  else for (const [name, text] of describe(schedule)) printField(name, text);
  return exitCodes.success;
}

export async function pauseSchedule(name: string, options: ApiOptions): Promise<number> {
  const schedule = await withClient(options, (client) => client.schedules.pause(name));
  answer(options, schedule, 'Paused.');
  return exitCodes.success;
}

export async function resumeSchedule(name: string, options: ApiOptions): Promise<number> {
  const schedule = await withClient(options, (client) => client.schedules.resume(name));
  answer(options, schedule, `Resumed: ${nextOf(schedule)}`);
  return exitCodes.success;
}

export async function runSchedule(name: string, options: ApiOptions): Promise<number> {
  const made = await withClient(options, (client) => client.schedules.run(name));
  answer(options, made, made.jobId);
  return exitCodes.success;
}

export async function skipOccurrence(
  name: string,
  options: ApiOptions & { readonly at?: string },
): Promise<number> {
  const { at } = options;
  const { skipped, schedule } = await withClient(options, (client) =>
    client.schedules.skip(name, at === undefined ? {} : { at }),
  );
  if (skipped === null)
    throw new CommandError(exitCodes.failure, `${at} is neither the next occurrence of ${name} nor queued.`);
  answer(options, { skipped, schedule }, `Skipped ${skipped}: ${nextOf(schedule)}`);
  return exitCodes.success;
}

export async function deleteSchedule(name: string, options: ApiOptions): Promise<number> {
  await withClient(options, (client) => client.schedules.delete(name));
  answer(options, { name }, 'Deleted.');
  return exitCodes.success;
}

/** `0 3 * * * Europe/Berlin`, `every 90s` */
export function describeTimes({ cron, timeZone, everyMs }: Schedule): string {
  if (everyMs == null) return `${cron} ${timeZone}`;
  return everyMs % 1_000 === 0 ? `every ${everyMs / 1_000}s` : `every ${everyMs}ms`;
}

function nextOf({ nextAt }: Schedule): string {
  return nextAt == null ? 'it is paused.' : `the next occurrence is ${nextAt}.`;
}

/** What has several lines has a field for each. */
function describe(schedule: Schedule): [name: string, text: string][] {
  const { name, startAt, missed, overlap, pausedAt, nextOccurrences, queued, lastOccurrenceAt, lastJob } =
    schedule;
  const { lastSkip, lastFailure, template } = schedule;
  const rows: [string, string | null | undefined][] = [
    ['name', name],
    ['when', describeTimes(schedule)],
    ['start', startAt],
    ['missed', asOption(missed)],
    ['overlap', asOption(overlap)],
    ['paused', pausedAt && `since ${pausedAt}`],
    ['next', nextOccurrences.join('\n')],
    ['queued', queued.join('\n')],
    [
      'last',
      lastOccurrenceAt &&
        `${lastOccurrenceAt}${lastJob == null ? '' : ` ${lastJob.id} ${lastJob.progress.status.toLowerCase()}`}`,
    ],
    ['skipped', lastSkip && `${lastSkip.at} ${lastSkip.reason.toLowerCase()}`],
    ['failed', lastFailure && `${lastFailure.at} ${lastFailure.message}`],
    ['template', toJson(template)],
  ];
  return rows.flatMap(([word, value]) =>
    (value ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line, n): [string, string] => [n === 0 ? word : '', oneLine(line)]),
  );
}

/** `RUN_ONCE` as `put` takes it: `run-once`. */
function asOption(policy: MissedPolicy | OverlapPolicy): string {
  return policy.toLowerCase().replace('_', '-');
}

function answer({ json }: ApiOptions, value: unknown, text: string): void {
  printOutcome(json, value, text);
}
