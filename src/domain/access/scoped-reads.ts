/**
 * Which jobs a scope covers; unscoped callers need no look-up. Of another tenant's jobs no more is read than of jobs that do not
 * exist, so response times do not reveal whether they do.
 */
import type { Queries } from '../../db/database.ts';
import { maxBatch } from '../values/limits.ts';
import { namesOf, withoutTenant } from '../values/tenants.ts';
import { coversJob, coversType, isUnscoped, type Scope, type TenantScope } from './rights.ts';

const isOfTenant = '($2::text is null or type > $2 and type < $3)';

interface JobFacts {
  readonly id: string;
  readonly type: string;
  readonly rootId: string;
}

/** The given jobs that exist and that the scope covers. */
export async function coveredJobs(
  database: Queries,
  scope: TenantScope,
  jobIds: readonly string[],
): Promise<Set<string>> {
  const { from, until } = namesOf(scope.tenant);
  const { rows } = await database.pool.query<JobFacts>({
    name: 'read_job_facts',
    text: `select id, type, root_id as "rootId" from jobtree.job where id = any ($1) and ${isOfTenant}`,
    values: [jobIds, from, until],
  });
  return new Set(rows.filter((job) => coversJob(scope, job)).map(({ id }) => id));
}

/** Whether the tree of a job exists, and the scope covers all of it. */
export async function coversTree(database: Queries, scope: TenantScope, jobId: string): Promise<boolean> {
  const { from, until } = namesOf(scope.tenant);
  const { rows } = await database.pool.query<JobFacts>({
    name: 'read_tree_facts',
    text: `select distinct type, root_id as "rootId" from jobtree.job
           where root_id = (select root_id from jobtree.job where id = $1 and ${isOfTenant})`,
    values: [jobId, from, until],
  });
  return rows.length > 0 && rows.every((job) => coversJob(scope, job));
}

/** The given trees that exist and that the scope covers completely, by their roots. */
export async function coveredTrees(
  database: Queries,
  scope: Scope,
  rootIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await database.pool.query<JobFacts>({
    name: 'read_facts_of_trees',
    text: `select distinct type, root_id as "rootId" from jobtree.job where root_id = any ($1)`,
    values: [rootIds],
  });
  const seen = new Set(rows.map(({ rootId }) => rootId));
  for (const job of rows) if (!coversJob(scope, job)) seen.delete(job.rootId);
  return seen;
}

const isWithin = (table: string) =>
  `${table}.type is not null and ($2::text is null or ${table}.type > $1 and ${table}.type < $2)`;

/** The types in a table, one after the other; the last one is outside the tenant's range, or null. */
const probes = (table: 'job' | 'figure') => `of_${table}(type) as (
             (select t.type from jobtree.${table} t where t.type > coalesce($1, '') order by t.type limit 1)
             union all
             select (select t.type from jobtree.${table} t where t.type > k.type order by t.type limit 1)
             from of_${table} k where ${isWithin('k')}
           )`;

/**
 * The types that a list is about: those requested, or all that exist, as far as the scope covers them. Null for all types, if
 * there is no scope. If there are more than 1,000, the first ones.
 */
export async function coveredTypes(
  database: Queries,
  scope: TenantScope,
  asked: readonly string[] | null,
): Promise<readonly string[] | null> {
  if (isUnscoped(scope)) return asked;
  const { types: patterns } = scope;
  if (asked !== null) return asked.filter((type) => coversType(scope, type));
  if (patterns !== null && !patterns.some((pattern) => pattern.endsWith('*'))) return patterns;
  const { from, until } = namesOf(scope.tenant);
  const { rows } = await database.pool.query<{ type: string }>({
    name: 'read_known_types',
    // One probe per type, using indexes that order types by their bytes.
    text: `with recursive ${probes('job')}, ${probes('figure')}
           select k.type from of_job k where ${isWithin('k')}
           union select k.type from of_figure k where ${isWithin('k')}
           union select q.type from jobtree.queue q where ${isWithin('q')}
           union select s.type from jobtree.type_schema s where ${isWithin('s')}
           order by type`,
    values: [from, until],
  });
  return (
    rows
      .map(({ type }) => type)
      // Under the beginning of its names stand the figures of a whole tenant.
      .filter((type) => withoutTenant(type) !== '' && coversType(scope, type))
      .slice(0, maxBatch)
  );
}
