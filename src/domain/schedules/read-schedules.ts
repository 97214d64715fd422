import type { Queries } from '../../db/database.ts';
import { toEnd } from '../values/exact-numbers.ts';
import { parsing } from '../values/json-text.ts';
import type { MissedPolicy, Timing } from './occurrences.ts';

/** The clock that decides when schedules are due. */
export async function readClock(database: Queries): Promise<Date> {
  const { rows } = await database.pool.query<{ now: Date }>({ name: 'read_clock', text: 'select now()' });
  return (rows[0] as { now: Date }).now;
}

export interface TimingRow {
  readonly name: string;
  readonly cron: string | null;
  readonly timeZone: string | null;
  readonly everyMs: number | null;
  readonly startAt: Date | null;
  readonly nextAt: Date | null;
  readonly now: Date;
}

export interface DueSchedule extends Timing {
  readonly name: string;
  readonly missed: MissedPolicy;
  readonly nextAt: Date;
  readonly now: Date;
}

const timing = `name, cron, time_zone as "timeZone", every_ms as "everyMs", start_at as "startAt", next_at as "nextAt", now() as now`;

/** The timing of a schedule, and the current time; undefined if there is no such schedule. */
export async function readTiming(database: Queries, name: string): Promise<TimingRow | undefined> {
  const { rows } = await database.pool.query<TimingRow>({
    name: 'read_timing',
    text: `select ${timing} from jobtree.schedule where name = $1`,
    values: [name],
  });
  return rows[0];
}

/** The schedules whose next occurrence has come, longest due first. */
export async function readDueSchedules(database: Queries, limit: number): Promise<DueSchedule[]> {
  const { rows } = await database.pool.query<DueSchedule>({
    name: 'read_due_schedules',
    text: `select ${timing}, missed from jobtree.schedule where next_at <= now() order by next_at limit $1`,
    values: [limit],
  });
  return rows;
}

export interface Agenda {
  readonly now: Date;
  /** When the first schedule is due. */
  readonly nextAt: Date | null;
  /** Schedules that have queued occurrences, and whose earlier trees are complete or may run beside others: if there are more, other ones each time. */
  readonly queued: readonly string[];
}

/** What there is to do, and when. Cheap, since every server asks for it all the time. */
export async function readAgenda(database: Queries, limit: number): Promise<Agenda> {
  const { rows } = await database.pool.query<Agenda>({
    name: 'read_agenda',
    text: `select now() as now,
             (select next_at from jobtree.schedule where next_at is not null order by next_at limit 1) as "nextAt",
             array(
               select name from jobtree.schedule
               where queued <> '{}' and paused_at is null and (overlap = 'ALLOW' or jobtree.open_roots(open_root_ids) = '{}')
               order by random() limit $1
             ) as queued`,
    values: [limit],
  });
  return rows[0] as Agenda;
}

export interface TemplateRow {
  readonly name: string;
  readonly template: unknown;
  /** The size of its JSON text. */
  readonly bytes: number;
}

/** The templates of these schedules, in any order, with all digits of their numbers. */
export async function readTemplates(database: Queries, names: readonly string[]): Promise<TemplateRow[]> {
  const { rows } = await database.pool.query<TemplateRow & { readonly template: string }>({
    name: 'read_templates',
    text: `select name, template::text, octet_length(template::text) as bytes
           from jobtree.schedule where name = any ($1::text[])`,
    values: [names],
  });
  return rows.map((row) => ({ ...row, template: toEnd(parsing(row.template)) }));
}

/** A page of the names of schedules, in their order; from the end if `backwards`. */
export async function readScheduleNames(
  database: Queries,
  range: {
    readonly after?: string | null | undefined;
    readonly before?: string | null | undefined;
    readonly take: number;
    readonly backwards: boolean;
  },
): Promise<string[]> {
  const direction = range.backwards ? 'desc' : 'asc';
  const { rows } = await database.pool.query<{ name: string }>({
    name: `read_schedule_names/${direction}`,
    text: `select name from jobtree.schedule
           where ($1::text is null or name > $1) and ($2::text is null or name < $2)
           order by name ${direction} limit $3`,
    values: [range.after ?? null, range.before ?? null, range.take],
  });
  return rows.map(({ name }) => name);
}
