import { setImmediate as nextTurn } from 'node:timers/promises';
import { occurrencesWithin, type Timing } from '../../domain/schedules/occurrences.ts';
import { readClock, readScheduleNames, readTemplates } from '../../domain/schedules/read-schedules.ts';
import { checkInteger, checkName } from '../../domain/values/checks.ts';
import { maxNameLength } from '../../domain/values/limits.ts';
import type { Range } from '../../domain/values/range.ts';
import { namesOf, toShown, toStored } from '../../domain/values/tenants.ts';
import { NotFoundError } from '../../errors.ts';
import { takes } from '../core/answer-size.ts';
import { builder } from '../core/builder.ts';
import { createLoader } from '../core/loader.ts';
import { type ListOrder, pageSize, readPage } from '../core/pages.ts';
import { inScope } from '../core/scope.ts';
import { Job } from '../jobs/job.ts';
import { MissedPolicy, OverlapPolicy } from './schedule-policies.ts';

const SkipReason = builder.enumType('SkipReason', {
  description: 'Why an occurrence was skipped.',
  values: {
    MISSED: {
      description: 'It was missed, and the policy `missed` does not create it; of several, the first.',
    },
    OVERLAP: { description: 'An earlier tree was not complete, and `overlap` is SKIP.' },
    QUEUE_FULL: { description: '100 others were already queued.' },
    ASKED: { description: 'A caller skipped it: skipOccurrence.' },
  } as const,
});

const ScheduleSkip = builder
  .objectRef<{ at: Date; reason: typeof SkipReason.$inferType }>('ScheduleSkip')
  .implement({
    description: 'An occurrence that was skipped.',
    fields: (t) => ({
      at: t.expose('at', { type: 'DateTime', description: 'The occurrence.' }),
      reason: t.expose('reason', { type: SkipReason, description: 'Why it was skipped.' }),
    }),
  });

const ScheduleFailure = builder.objectRef<{ at: Date; message: string }>('ScheduleFailure').implement({
  description: 'An occurrence that created no tree.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'The occurrence.' }),
    message: t.exposeString('message', { description: 'Why not, for people.' }),
  }),
});

/** Null if it exceeds the limit of the answer, which is then refused as a whole. */
const templates = createLoader(async (names: readonly string[], { engine }) => {
  const found = await readTemplates(engine.database, names);
  const byName = new Map(found.map((row) => [row.name, row]));
  return names.map((name) => byName.get(name) ?? null);
});

const lastJobs = createLoader(async (ids: readonly string[], { engine, caller }) => {
  const found = await engine.database.prisma.job.findMany({
    where: { id: { in: [...ids] }, ...inScope(caller) },
  });
  const byId = new Map(found.map((job) => [job.id, job]));
  return ids.map((id) => byId.get(id) ?? null);
});

const clock = createLoader(async (keys: readonly 'now'[], { engine }) => {
  const now = await readClock(engine.database);
  return keys.map(() => now);
});

const mostOccurrences = 100;

interface AskedOccurrences {
  readonly timing: Timing;
  readonly next: Parameters<typeof occurrencesWithin>[1];
  readonly range: Parameters<typeof occurrencesWithin>[2];
}

/** A hundred of a cron take up to 10 ms, so those of each schedule have a turn of the event loop. */
const occurrences = createLoader(async (asked: readonly AskedOccurrences[]) => {
  const found: Date[][] = [];
  for (const { timing, next, range } of asked) {
    if (found.length > 0) await nextTurn();
    found.push(occurrencesWithin(timing, next, range));
  }
  return found;
});

export const Schedule = builder.prismaNode('Schedule', {
  // `node` and `nodes` return null for one that does not exist.
  nullable: true,
  id: { field: 'name', description: 'The id of the schedule: `Schedule:` and its name.' },
  description:
    'Repeatedly creates trees of jobs from a template. Each occurrence is created once, however many servers run; if one is down, the others take over.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, by which it is put, changed and found.' }),
    cron: t.exposeString('cron', {
      nullable: true,
      description:
        'When it is due: minute, hour, day, month and weekday, optionally with seconds first. Null with `everyMs`.',
    }),
    timeZone: t.exposeString('timeZone', {
      nullable: true,
      description: 'The time zone of `cron`: `Europe/Berlin`. Null with `everyMs`.',
    }),
    everyMs: t.field({
      type: 'Count',
      nullable: true,
      description: 'The interval between occurrences, in milliseconds. Null with `cron`.',
      select: { everyMs: true },
      resolve: ({ everyMs }) => (everyMs === null ? null : Number(everyMs)),
    }),
    startAt: t.expose('startAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The earliest time of an occurrence, from which intervals count. Null: from 1970.',
    }),
    missed: t.field({
      type: MissedPolicy,
      description: 'What happens to missed occurrences.',
      select: { missed: true },
      resolve: ({ missed }) => missed as typeof MissedPolicy.$inferType,
    }),
    overlap: t.field({
      type: OverlapPolicy,
      description: 'What happens to an occurrence while an earlier tree is not complete.',
      select: { overlap: true },
      resolve: ({ overlap }) => overlap as typeof OverlapPolicy.$inferType,
    }),
    template: t.field({
      type: 'JSON',
      nullable: true,
      description: 'What each occurrence creates: a job with all jobs below it, with the fields of JobInput.',
      select: { name: true },
      resolve: async ({ name }, _, context) => {
        const row = await templates(context).load(name);
        return row !== null && takes(row.bytes, context) ? row.template : null;
      },
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    changedAt: t.expose('changedAt', {
      type: 'DateTime',
      description: 'When it was last changed; putting the same schedule again does not count.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when it is paused: by a caller, or because its times can no longer be calculated, as `lastFailure` then says.',
    }),
    nextAt: t.expose('nextAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Its next occurrence; null only while it is paused.',
    }),
    nextOccurrences: t.field({
      type: ['DateTime'],
      complexity: ({ first }) => ({ multiplier: Math.min(Math.max(first, 0), mostOccurrences) }),
      description:
        'Its next occurrences, in order, within a range of time if one is given. Empty while it is paused, unless `whilePaused` is true.',
      args: {
        first: t.arg.int({
          required: true,
          defaultValue: 5,
          description: 'How many at most: 0 to 100. Default: 5.',
        }),
        from: t.arg({
          type: 'DateTime',
          description: 'Only those at this time or later. Default: from `nextAt` on.',
        }),
        until: t.arg({ type: 'DateTime', description: 'Only those before this time. Default: no limit.' }),
        whilePaused: t.arg.boolean({
          required: true,
          defaultValue: false,
          description:
            'Also while it is paused: those that it would have if it were resumed now. Default: false.',
        }),
      },
      select: { cron: true, timeZone: true, everyMs: true, startAt: true, nextAt: true, heldNextAt: true },
      resolve: async (
        { nextAt, heldNextAt, everyMs, ...timing },
        { first, from, until, whilePaused },
        context,
      ) => {
        const range = {
          first: checkInteger(first, 'first', 0, mostOccurrences),
          from: from ?? null,
          until: until ?? null,
        };
        if (nextAt === null && !whilePaused) return [];
        const since = async () =>
          new Date(Math.max((await clock(context).load('now')).getTime(), (heldNextAt?.getTime() ?? 0) - 1));
        const next = { at: nextAt ?? (await since()), isPaused: nextAt === null };
        const exact: Timing = { ...timing, everyMs: everyMs === null ? null : Number(everyMs) };
        return occurrences(context).load({ timing: exact, next, range });
      },
    }),
    queued: t.expose('queued', {
      type: ['DateTime'],
      description:
        'Occurrences that wait until the earlier trees are complete, with `overlap` QUEUE: up to 100, the first one first.',
    }),
    lastOccurrenceAt: t.expose('lastOccurrenceAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The last occurrence for which a tree was created, or when it was last run manually.',
    }),
    lastJob: t.field({
      type: Job,
      nullable: true,
      description:
        'The root of the last tree that it created; null if it does not exist, or no longer exists. `jobs` lists all of them.',
      select: { lastRootId: true },
      resolve: ({ lastRootId }, _, context) =>
        lastRootId === null ? null : lastJobs(context).load(lastRootId),
    }),
    lastSkip: t.field({
      type: ScheduleSkip,
      nullable: true,
      description: 'The last occurrence that was skipped, and why.',
      select: { skippedAt: true, skipReason: true },
      resolve: ({ skippedAt, skipReason }) =>
        skippedAt === null || skipReason === null
          ? null
          : { at: skippedAt, reason: skipReason as typeof SkipReason.$inferType },
    }),
    lastFailure: t.field({
      type: ScheduleFailure,
      nullable: true,
      description:
        'Why the last occurrence created no tree; null once a later one did, or the schedule was changed. The schedule continues with the next occurrence.',
      select: { failedAt: true, error: true },
      resolve: ({ failedAt, error }) =>
        failedAt === null || error === null ? null : { at: failedAt, message: error },
    }),
    behindMs: t.field({
      type: 'Count',
      description:
        'How long its next occurrence has been due, in milliseconds: normally 0. More than a second or two means that no server creates it.',
      select: { nextAt: true },
      resolve: async ({ nextAt }, _, context) =>
        nextAt === null ? 0 : Math.max(0, (await clock(context).load('now')).getTime() - nextAt.getTime()),
    }),
  }),
});

/** Cursors contain names without the tenant's prefix. */
const byName = (tenant: string | null): ListOrder<{ name: string }, string> => ({
  name: 'schedules',
  keyOf: ({ name }) => toShown(tenant, name),
  parse: (text) => (text === '' ? undefined : toStored(tenant, text)),
});

builder.queryFields((t) => ({
  schedule: t.prismaField({
    authScopes: { may: 'survey' },
    type: Schedule,
    nullable: true,
    description: 'One schedule. NOT_FOUND if it does not exist, or no longer exists.',
    args: { name: t.arg.string({ required: true, description: 'The name of the schedule.' }) },
    resolve: async (query, _, { name }, { engine }) => {
      checkName(name, 'name', maxNameLength);
      const schedule = await engine.database.prisma.schedule.findUnique({ ...query, where: { name } });
      if (schedule === null) throw new NotFoundError(`There is no schedule ${name}.`, 'name');
      return schedule;
    },
  }),
  schedules: t.connection(
    {
      authScopes: { may: 'survey' },
      type: Schedule,
      complexity: (args) => ({ multiplier: pageSize(args) }),
      description: 'All schedules by name.',
      resolve: (_, args, context) => {
        const {
          engine: { database },
          caller: { tenant },
        } = context;
        const { from, until } = namesOf(tenant);
        const read = async (range: Range<string>) => {
          const within = { after: range.after ?? from, before: range.before ?? until };
          return (await readScheduleNames(database, { ...range, ...within })).map((name) => ({ name }));
        };
        return readPage(byName(tenant), args, read, async (rows) => {
          const names = rows.map(({ name }) => name);
          const schedules = await database.prisma.schedule.findMany({
            where: { name: { in: names } },
          });
          const found = new Map(schedules.map((schedule) => [schedule.name, schedule]));
          // A schedule that was deleted meanwhile is left out.
          return names.flatMap((name) => found.get(name) ?? []);
        });
      },
    },
    { name: 'ScheduleConnection', description: 'A page of schedules.' },
    { name: 'ScheduleEdge', description: 'A schedule in a page.' },
  ),
}));
