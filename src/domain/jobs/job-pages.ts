/** Lists of jobs: the ids between two others that meet conditions, in order, read by an index that has that order. */
import type { Queries } from '../../db/database.ts';
import type { JobOutcome, JobStatus } from '../values/item-state.ts';
import { firstUuid, lastUuid, type Range } from '../values/range.ts';
import { latestProgress } from './progress.ts';

/** Which jobs a list shows. */
export interface JobConditions {
  /** Of this type, or of one of these types. */
  readonly type: string | readonly string[] | null;
  readonly status: JobStatus | null;
  /** The outcome of the job itself. */
  readonly outcome?: JobOutcome | null;
  /** The schedule that made them. */
  readonly schedule?: string | null;
  /** Only roots of trees that have been idle since then, or longer. */
  readonly idleSince?: Date | null;
  readonly rootsOnly: boolean;
  /** Whether the status and the outcome are those of whole trees. Says nothing unless they are asked for, of roots only. */
  readonly wholeTrees?: boolean;
}

const statusConditions: Readonly<Record<JobStatus, string>> = {
  WAITING: 'p.started_at is null and p.completed_at is null',
  RUNNING: 'p.started_at is not null and p.completed_at is null',
  COMPLETED: "p.completed_at is not null and p.outcome <> 'CANCELLED'",
  CANCELLED: "p.outcome = 'CANCELLED'",
};
/** A tree whose root is complete, but that is not itself, or has another outcome: few, with an index of their own. */
const rootDiffers =
  '(p.is_root and p.completed_at is not null and (p.open_jobs > 0 or p.tree_outcome <> p.outcome))';
const treeStatusConditions: Readonly<Record<JobStatus, string>> = {
  WAITING: statusConditions.WAITING,
  RUNNING:
    '(p.started_at is not null or p.completed_at is not null) and (p.completed_at is null or p.open_jobs > 0)',
  COMPLETED: "p.completed_at is not null and p.open_jobs = 0 and p.tree_outcome <> 'CANCELLED'",
  CANCELLED: "p.completed_at is not null and p.open_jobs = 0 and p.tree_outcome = 'CANCELLED'",
};
const outcomesOfCompleted = ['SUCCEEDED', 'PARTIAL', 'FAILED'] as const satisfies readonly JobOutcome[];
const outcomeCondition = (outcome: JobOutcome) => `p.outcome = '${outcome}'`;
const treeOutcomeCondition = (outcome: JobOutcome) =>
  `p.completed_at is not null and p.open_jobs = 0 and p.tree_outcome = '${outcome}'`;

/**
 * The statement that reads at most $3 ids of jobs between $1 and $2. Jobs that wait, run, or did not succeed are few, so lists of
 * these start from the progress. Complete or successful jobs are the majority, so if a type is given, its jobs are read and then
 * filtered; likewise the jobs of a schedule, which are roots. Idle trees are rare, so lists of them start there. From $4 on
 * follow the type, the schedule and the instant, if they are given.
 */
export function selectJobs(conditions: JobConditions, direction: 'asc' | 'desc'): string {
  if (Array.isArray(conditions.type)) {
    // For each type, reads what a list of that type alone would read.
    const one = selectJobs({ ...conditions, type: '' }, direction).replaceAll('$4', 's.type');
    return `select k.id from unnest($4::text[]) s(type) cross join lateral (${one}) k order by k.id ${direction} limit $3`;
  }
  const { type, status, outcome = null, schedule = null, idleSince = null, rootsOnly } = conditions;
  const ofTrees = rootsOnly && conditions.wholeTrees === true;
  const own = conditionsOf(status && statusConditions[status], outcome && outcomeCondition(outcome));
  const found = ofTrees
    ? conditionsOf(status && treeStatusConditions[status], outcome && treeOutcomeCondition(outcome))
    : own;
  const looksAt = found.length === 0 ? '' : latestProgress;
  const isFound = allOf(found);
  const end = `order by id ${direction} limit $3`;
  const ofType = type === null ? '' : ' and j.type = $4';
  if (idleSince !== null) {
    const [scheduleAt, idleAt] = [
      type === null ? 4 : 5,
      4 + (type === null ? 0 : 1) + (schedule === null ? 0 : 1),
    ];
    const ofSchedule = schedule === null ? '' : ` and j.schedule_name = $${scheduleAt}`;
    return `select j.id
            from jobtree.idle_tree t
            cross join lateral (select * from jobtree.job where id = t.root_id offset 0) j ${looksAt}
            where t.root_id > $1 and t.root_id < $2${ofType}${ofSchedule}${isFound}
              and t.idle_since <= $${idleAt} and jobtree.idle_since(t.root_id) <= $${idleAt}
            order by t.root_id ${direction} limit $3`;
  }
  if (schedule !== null) {
    return `select j.id from jobtree.job j ${looksAt}
            where j.id > $1 and j.id < $2 and j.schedule_name = $${type === null ? 4 : 5}${ofType}${isFound}
            ${end}`;
  }
  const isMost = outcome === null ? status === 'COMPLETED' : outcome === 'SUCCEEDED';
  if (found.length === 0 || (isMost && type !== null)) {
    return `select j.id from jobtree.job j ${looksAt}
            where j.id > $1 and j.id < $2${ofType}${rootsOnly ? ' and j.parent_id is null' : ''}${isFound}
            ${end}`;
  }
  const part = (isRoot: boolean, condition: string) => `(
            select p.job_id as id from jobtree.job_progress p
              ${type === null ? '' : 'cross join lateral (select j.type from jobtree.job j where j.id = p.job_id offset 0) j'}
            where ${isRoot ? '' : 'not '}p.is_root${condition} and p.job_id > $1 and p.job_id < $2${ofType}
            ${end})`;
  // Complete jobs are indexed by outcome.
  const each =
    outcome === null && status === 'COMPLETED'
      ? outcomesOfCompleted.map((one) => ` and ${outcomeCondition(one)}`)
      : [allOf(own)];
  // Most roots say what their trees do. The others are read on their own.
  const parts = ofTrees
    ? [
        ...each.map((condition) => part(true, `${condition} and not ${rootDiffers}`)),
        part(true, `${isFound} and ${rootDiffers}`),
      ]
    : (rootsOnly ? [true] : [true, false]).flatMap((isRoot) =>
        each.map((condition) => part(isRoot, condition)),
      );
  return parts.length === 1 ? parts.join('') : `${parts.join(' union all ')} ${end}`;
}

function conditionsOf(...conditions: readonly (string | null)[]): string[] {
  return conditions.flatMap((condition) => condition ?? []);
}

function allOf(conditions: readonly string[]): string {
  return conditions.map((condition) => ` and ${condition}`).join('');
}

export function jobValues(
  { type, schedule = null, idleSince = null }: JobConditions,
  { after = firstUuid, before = lastUuid, take }: Range<string>,
): unknown[] {
  return [after, before, take, ...[type, schedule, idleSince].filter((value) => value !== null)];
}

export function variantOf(conditions: JobConditions): string {
  const { type, status, outcome, schedule = null, idleSince = null, rootsOnly } = conditions;
  const roots = conditions.wholeTrees === true ? 'trees' : 'roots';
  const whose = schedule === null ? (rootsOnly ? roots : 'all') : `schedule/${roots}`;
  const part = idleSince === null ? whose : `${whose}/idle`;
  return `${status ?? 'ANY'}/${outcome ?? 'ANY'}/${kindOf(type)}/${part}`;
}

const kindOf = (type: JobConditions['type']) =>
  type === null ? 'any' : typeof type === 'string' ? 'type' : 'types';

/** The ids of the jobs that meet the conditions, the oldest first; the newest first for a page from the end. */
export async function readJobIds(
  database: Queries,
  conditions: JobConditions,
  range: Range<string>,
): Promise<string[]> {
  const direction = range.backwards ? 'desc' : 'asc';
  const { rows } = await database.pool.query<{ id: string }>({
    name: `read_job_ids/${variantOf(conditions)}/${direction}`,
    text: selectJobs(conditions, direction),
    values: jobValues(conditions, range),
  });
  return rows.map(({ id }) => id);
}
