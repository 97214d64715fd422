/**
 * Declares schedules: each is created, or replaces the one with its name. Everything is checked before anything is written; the
 * template is checked as if its tree were created.
 */
import type { Statement } from '../../db/database.ts';
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
  const { created, changed } = await put(engine, [schedule], () => '', null);
  return { created: created.length > 0, changed: created.length + changed.length > 0 };
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
  const names = schedules.map(({ name }) => name);
  const twice = names.findIndex((name, i) => names.indexOf(name) < i);
  if (twice >= 0)
    throw new InvalidInputError(`schedules[${twice}].name is given twice.`, `schedules[${twice}].name`);
  return put(engine, schedules, (i) => `schedules[${i}].`, prefix);
}

/**
 * The next occurrence of a schedule stays unless its times change, so that a deploy may repeat the same definitions; whether it is paused stays
 * unless the input says so. Rows are locked in the order of their names, those that are deleted first.
 */
const putAll: Statement = {
  name: 'put_schedules',
  first: `given as materialized (
    select s.*, jobtree.try_template(s.template, s.path) as tried
    from json_to_recordset($1::json) s(
      path text, name text, cron text, "timeZone" text, "everyMs" bigint, "startAt" timestamptz(3), "nextAt" timestamptz(3),
      missed text, overlap text, paused boolean, template json
    )
    order by s.name
  ), gone as (
    delete from jobtree.schedule s where s.name = any (array(
      select s.name from jobtree.schedule s
      where starts_with(s.name, $2) and not exists (select from json_array_elements($1::json) g where g ->> 'name' = s.name)
      order by s.name
      for update
    ))
    returning s.name
  ), put as (
    insert into jobtree.schedule as s (
      name, cron, time_zone, every_ms, start_at, missed, overlap, template, created_at, changed_at, paused_at, next_at
    )
    select g.name, g.cron, g."timeZone", g."everyMs", g."startAt", coalesce(g.missed, 'RUN_ONCE'), coalesce(g.overlap, 'ALLOW'), g.template,
      clock_timestamp(), clock_timestamp(), case when g.paused then clock_timestamp() end, case when g.paused is not true then g."nextAt" end
    from (select count(*) from gone) first, given g
    on conflict (name) do update
    set cron = excluded.cron, time_zone = excluded.time_zone, every_ms = excluded.every_ms, start_at = excluded.start_at,
      missed = excluded.missed, overlap = excluded.overlap, template = excluded.template, changed_at = excluded.changed_at,
      failed_at = null, error = null, (paused_at, next_at, held_next_at) = (
        select case when p.is_paused then coalesce(s.paused_at, clock_timestamp()) end,
          case when not p.is_paused then coalesce(p.next_at, greatest(g."nextAt", p.held_next_at)) end,
          case when p.is_paused then coalesce(p.next_at, p.held_next_at) end
        from given g
        cross join lateral (
          select coalesce(g.paused, s.paused_at is not null) as is_paused, case when k.times then s.next_at end as next_at,
            case when k.times then s.held_next_at end as held_next_at
          from (select (s.cron, s.time_zone, s.every_ms, s.start_at)
            is not distinct from (excluded.cron, excluded.time_zone, excluded.every_ms, excluded.start_at) as times) k
        ) p
        where g.name = s.name
      )
    where (s.cron, s.time_zone, s.every_ms, s.start_at, s.missed, s.overlap, s.template::text) is distinct from (
        excluded.cron, excluded.time_zone, excluded.every_ms, excluded.start_at, excluded.missed, excluded.overlap, excluded.template::text
      ) or (select g.paused from given g where g.name = s.name) <> (s.paused_at is not null)
    returning s.name, s.xmax = 0 as is_new
  )`,
  text: `select array(select p.name from put p where p.is_new order by p.name) as created,
    array(select p.name from put p where not p.is_new order by p.name) as changed,
    array(select g.name from gone g order by g.name) as deleted`,
};

async function put(
  { database, limits, schemas }: Engine,
  schedules: readonly NewSchedule[],
  pathOf: (i: number) => string,
  prefix: string | null,
): Promise<SyncedSchedules> {
  const now = await readClock(database);
  const payloads: Checked[] = [];
  const texts = schedules.map((schedule, i) => toScheduleText(limits, schedule, pathOf(i), now, payloads));
  if (payloads.length > 0 && (await schemas.any('payload'))) await schemas.require('payload', payloads);
  const [row] = await database.call<SyncedSchedules>(putAll, `[${texts.join(',')}]`, prefix);
  if (row === undefined) throw new Error('put_schedules returned no row');
  return row;
}

function toScheduleText(
  limits: Engine['limits'],
  schedule: NewSchedule,
  path: string,
  now: Date,
  payloads: Checked[],
): string {
  const { missed, overlap, paused } = schedule;
  const name = checkName(schedule.name, `${path}name`, maxNameLength);
  const timing = checkTiming(schedule, path, now);
  const template = toTreeText(schedule.template, limits, `${path}template.`, payloads);
  const bytes = Buffer.byteLength(template);
  if (bytes > maxTemplateBytes) {
    throw new InvalidInputError(
      `${path}template has ${bytes} bytes of JSON; the limit is ${maxTemplateBytes}.`,
      `${path}template`,
    );
  }
  const head = JSON.stringify({ path, name, ...timing, missed, overlap, paused });
  return `${head.slice(0, -1)},"template":${template}}`;
}
