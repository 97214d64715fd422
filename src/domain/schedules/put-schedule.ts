/**
 * Declares schedules: each is created, or replaces the one with its name. Everything is checked before anything is written; the
 * template is checked as if its tree were created.
 */
import { InvalidInputError } from '../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { type NewJob, toTreeText } from '../jobs/create-job.ts';
import type { Checked } from '../types/type-schemas.ts';
import { checkName } from '../values/checks.ts';
import { maxBatch, maxNameLength, maxTemplateBytes } from '../values/limits.ts';
import { checkTiming, type MissedPolicy, type NewTiming } from './occurrences.ts';
import { readClock } from './read-schedules.ts';

export type OverlapPolicy = 'ALLOW' | 'SKIP' | 'QUEUE';

export interface NewSchedule extends NewTiming {
  readonly name: string;
  readonly missed?: MissedPolicy | null | undefined;
  readonly overlap?: OverlapPolicy | null | undefined;
  readonly paused?: boolean | null | undefined;
  readonly template: NewJob;
}

export interface SyncedSchedules {
  readonly created: string[];
  readonly changed: string[];
  readonly deleted: string[];
}

export async function putSchedule(
  engine: Engine,
  schedule: NewSchedule,
): Promise<{ created: boolean; changed: boolean }> {
  const payloads: Checked[] = [];
  const text = toScheduleText(engine, schedule, '', await readClock(engine.database), payloads);
  await requirePayloads(engine, payloads);
  const [row] = await engine.database.call<{ created: boolean; changed: boolean }>('put_schedule', text);
  if (row === undefined) throw new Error('put_schedule returned no row');
  return row;
}

/** Writes all of them, or none. `prefix`: deletes all other schedules whose names begin with it; null deletes none. */
export async function syncSchedules(
  engine: Engine,
  schedules: readonly NewSchedule[],
  prefix: string | null,
): Promise<SyncedSchedules> {
  if (schedules.length > maxBatch) {
    throw new InvalidInputError(
      `schedules has ${schedules.length} entries; the limit is ${maxBatch}.`,
      'schedules',
    );
  }
  const now = await readClock(engine.database);
  const payloads: Checked[] = [];
  const texts = schedules.map((schedule, i) =>
    toScheduleText(engine, schedule, `schedules[${i}].`, now, payloads),
  );
  await requirePayloads(engine, payloads);
  const [row] = await engine.database.call<SyncedSchedules>('sync_schedules', `[${texts.join(',')}]`, prefix);
  if (row === undefined) throw new Error('sync_schedules returned no row');
  return row;
}

async function requirePayloads({ schemas }: Engine, payloads: readonly Checked[]): Promise<void> {
  if (payloads.length > 0 && (await schemas.any('payload'))) await schemas.require('payload', payloads);
}

function toScheduleText(
  engine: Engine,
  schedule: NewSchedule,
  path: string,
  now: Date,
  payloads: Checked[],
): string {
  const { missed, overlap, paused } = schedule;
  const name = checkName(schedule.name, `${path}name`, maxNameLength);
  const timing = checkTiming(schedule, path, now);
  const template = toTreeText(schedule.template, engine.limits, `${path}template.`, payloads);
  const bytes = Buffer.byteLength(template);
  if (bytes > maxTemplateBytes) {
    throw new InvalidInputError(
      `${path}template has ${bytes} bytes of JSON; the limit is ${maxTemplateBytes}.`,
      `${path}template`,
    );
  }
  const head = JSON.stringify({ name, ...timing, missed, overlap, paused });
  return `${head.slice(0, -1)},"template":${template}}`;
}
