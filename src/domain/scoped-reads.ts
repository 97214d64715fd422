/** What of the jobs a scope covers. For callers that have one; the others are asked nothing. */
import type { Queries } from '../db/database.ts';
import { maxBatch } from './limits.ts';
import { coversJob, coversType, isUnscoped, type Scope } from './rights.ts';

interface JobFacts {
  readonly id: string;
  readonly type: string;
  readonly rootId: string;
}

/** Those of the jobs that there are, and that the scope covers. */
export async function coveredJobs(
  database: Queries,
  scope: Scope,
  jobIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await database.pool.query<JobFacts>({
    name: 'read_job_facts',
    text: `select id, type, root_id as "rootId" from jobtree.job where id = any ($1)`,
    values: [jobIds],
  });
  return new Set(rows.filter((job) => coversJob(scope, job)).map(({ id }) => id));
}

/** Whether there is the tree of a job, and the scope covers all of it. */
export async function coversTree(database: Queries, scope: Scope, jobId: string): Promise<boolean> {
  const { rows } = await database.pool.query<JobFacts>({
    name: 'read_tree_facts',
    text: `select distinct type, root_id as "rootId" from jobtree.job
           where root_id = (select root_id from jobtree.job where id = $1)`,
    values: [jobId],
  });
  return rows.length > 0 && rows.every((job) => coversJob(scope, job));
}

/**
 * The types that a list is about: those that were asked for, or all that there are, as far as the scope covers them. Null for all, where
 * there is no scope. Of more than 1,000 the first.
 */
export async function coveredTypes(
  database: Queries,
  scope: Scope,
  asked: readonly string[] | null,
): Promise<readonly string[] | null> {
  if (isUnscoped(scope)) return asked;
  const { types: patterns } = scope;
  if (asked !== null) return asked.filter((type) => coversType(scope, type));
  if (patterns !== null && !patterns.some((pattern) => pattern.endsWith('*'))) return patterns;
  const { rows } = await database.pool.query<{ type: string }>({
    name: 'read_known_types',
    // A probe for each type, by the index of types.
    text: `with recursive known(type) as (
             (select j.type from jobtree.job j order by j.type limit 1)
             union all
             select (select j.type from jobtree.job j where j.type > k.type order by j.type limit 1) from known k where k.type is not null
           )
           select k.type from known k where k.type is not null
           union select q.type from jobtree.queue q
           union select s.type from jobtree.type_schema s
           order by type`,
  });
  return rows
    .map(({ type }) => type)
    .filter((type) => coversType(scope, type))
    .slice(0, maxBatch);
}
