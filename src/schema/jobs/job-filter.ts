/** Which jobs: the conditions of lists, counts and operations on trees. */
import { isUnscoped } from '../../domain/access/rights.ts';
import type { JobConditions } from '../../domain/jobs/job-conditions.ts';
import { checkBatch, checkInstant, checkName, checkText } from '../../domain/values/checks.ts';
import { maxDedupeKeyLength, maxNameLength } from '../../domain/values/limits.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { shownTypes } from '../core/scope.ts';
import type { Services } from '../core/services.ts';
import { JobOutcome, JobStatus } from '../progress/progress.ts';

export const JobFilter = builder.inputType('JobFilter', {
  description:
    'Which jobs to list; all conditions must be met. Lists have 1 to 1,000 entries, of which one must apply.',
  fields: (t) => ({
    types: t.stringList({ description: 'Of one of these types, each of 1 to 200 characters.' }),
    statuses: t.field({ type: [JobStatus], description: 'With one of these statuses.' }),
    outcomes: t.field({ type: [JobOutcome], description: 'Complete, with one of these outcomes.' }),
    createdFrom: t.field({ type: 'DateTime', description: 'Created at this time or later.' }),
    createdUntil: t.field({ type: 'DateTime', description: 'Created before this time.' }),
    completedFrom: t.field({ type: 'DateTime', description: 'Complete since this time or later.' }),
    completedUntil: t.field({ type: 'DateTime', description: 'Complete since before this time.' }),
    dedupeKeyPrefix: t.string({
      description: 'With a dedupe key that begins with this, or is this: 1 to 500 characters.',
    }),
    hasFailures: t.boolean({
      description: 'True: with items that failed for good, and were not replayed. False: without.',
    }),
    schedule: t.string({
      description: 'Only trees that the schedule with this name created: 1 to 200 characters.',
    }),
    idleSince: t.field({
      type: 'DateTime',
      description:
        'Only roots of trees that have been idle since this time or longer: see `idleSince` of a job. Give the present time for all trees that are shown as idle.',
    }),
    wholeTrees: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Whether statuses, outcomes, failures and times of completion are those of whole trees, given their roots: a tree is RUNNING from when its root is until all its jobs are complete, and its outcome is the worst outcome of its jobs. INVALID_INPUT without `rootsOnly`. Default: false.',
    }),
    rootsOnly: t.boolean({
      required: true,
      defaultValue: true,
      description: 'Only roots of trees. Default: true.',
    }),
  }),
});

function checkList<T>(list: readonly T[] | null | undefined, field: string): readonly T[] | null {
  if (list == null) return null;
  checkBatch(list.length, field);
  return [...new Set(list)];
}

/** The conditions of a filter, limited to what the caller may see; roots if there is no filter. */
export async function toConditions(
  filter: typeof JobFilter.$inferInput | null | undefined,
  context: Services,
): Promise<JobConditions> {
  if (filter?.wholeTrees === true && filter.rootsOnly === false)
    throw new InvalidInputError('filter.wholeTrees lists roots: omit rootsOnly.', 'filter.wholeTrees');
  const types = checkList(filter?.types, 'filter.types');
  for (const [i, type] of types?.entries() ?? []) checkName(type, `filter.types[${i}]`, maxNameLength);
  const checkTime = (
    name: 'createdFrom' | 'createdUntil' | 'completedFrom' | 'completedUntil' | 'idleSince',
  ) => (filter?.[name] == null ? null : checkInstant(filter[name], `filter.${name}`));
  return {
    types: isUnscoped(context.caller) ? types : await shownTypes(context, types),
    isScoped: !isUnscoped(context.caller),
    statuses: checkList(filter?.statuses, 'filter.statuses'),
    outcomes: checkList(filter?.outcomes, 'filter.outcomes'),
    createdFrom: checkTime('createdFrom'),
    createdUntil: checkTime('createdUntil'),
    completedFrom: checkTime('completedFrom'),
    completedUntil: checkTime('completedUntil'),
    dedupeKeyPrefix:
      filter?.dedupeKeyPrefix == null
        ? null
        : checkText(filter.dedupeKeyPrefix, 'filter.dedupeKeyPrefix', maxDedupeKeyLength),
    hasFailures: filter?.hasFailures ?? null,
    schedule: filter?.schedule == null ? null : checkName(filter.schedule, 'filter.schedule', maxNameLength),
    idleSince: checkTime('idleSince'),
    rootsOnly: filter?.rootsOnly !== false,
    wholeTrees: filter?.wholeTrees === true,
  };
}
