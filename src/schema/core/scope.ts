/** What callers with a scope see: nothing else exists for them. For all others, each of these functions is a single comparison. */
import { coversType, isUnscoped, type Scope, spansSlashes } from '../../domain/access/rights.ts';
import { coveredJobs, coveredTrees, coveredTypes, coversTree } from '../../domain/access/scoped-reads.ts';
import { isId } from '../../domain/values/checks.ts';
import { type ItemKey, leaseIdOf, leaseIdsOf } from '../../domain/values/ids.ts';
import { ForbiddenError, NotFoundError } from '../../errors.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { createLoader } from './loader.ts';
import type { Services } from './services.ts';

const covered = createLoader(async (jobIds: readonly string[], { engine, caller }) => {
  const found = await coveredJobs(engine.database, caller, jobIds);
  return jobIds.map((id) => found.has(id));
});

/** Whether the caller may see a job; synchronous if it has no scope. */
export function sees(context: Services, jobId: string): boolean | Promise<boolean> {
  return isUnscoped(context.caller) || covered(context).load(jobId);
}

/** @throws NotFoundError as for a job that does not exist */
export async function checkJob(context: Services, jobId: string, field: string): Promise<void> {
  if (!(await sees(context, jobId))) throw new NotFoundError(`There is no job ${jobId}.`, field);
}

/** @throws NotFoundError as for an item that does not exist */
export async function checkItem(context: Services, key: ItemKey, field: string): Promise<void> {
  if (!(await sees(context, key.jobId)))
    throw new NotFoundError(`There is no item ${key.position} of job ${key.jobId}.`, field);
}

/** Whether the items of these assignments are of types that the caller may work on; false for an assignment that does not exist. */
export async function coveredAssignments(
  { caller, engine }: Services,
  assignmentIds: readonly string[],
): Promise<readonly boolean[]> {
  if (caller.types === null) return assignmentIds.map(() => true);
  const leaseIds = leaseIdsOf(assignmentIds).filter(isId);
  const types = await engine.schemas.typesOfLeases(
    leaseIds.map((id) => id.toLowerCase()),
    caller.tenant,
    (type) => coversType(caller, type),
  );
  const foreign = leaseIds.filter((id) => {
    const type = types.get(id.toLowerCase());
    return type === undefined || !coversType(caller, type);
  });
  if (foreign.length === 0) return assignmentIds.map(() => true);
  const isForeign = new Set(foreign);
  // The operation itself refuses texts that are not ids.
  return assignmentIds.map((id) => !(isId(id) && isForeign.has(leaseIdOf(id))));
}

/** For actions on a whole tree, which may have jobs of other types. */
export async function seesTree({ caller, engine }: Services, jobId: string): Promise<boolean> {
  return isUnscoped(caller) || coversTree(engine.database, caller, jobId);
}

const whole = createLoader(async (rootIds: readonly string[], { engine, caller }) => {
  const found = await coveredTrees(engine.database, caller, rootIds);
  return rootIds.map((id) => found.has(id));
});

/** The same for the trees of a list, by their roots; synchronous if the caller has no scope. */
export function seesWhole(context: Services, rootId: string): boolean | Promise<boolean> {
  return isUnscoped(context.caller) || whole(context).load(rootId);
}

/** @throws NotFoundError as for a job that does not exist */
export async function checkTree(context: Services, jobId: string, field: string): Promise<void> {
  if (!(await seesTree(context, jobId))) throw new NotFoundError(`There is no job ${jobId}.`, field);
}

/** The types that a list shows, out of those requested; null for all. */
export function shownTypes(
  { caller, engine }: Services,
  asked: readonly string[] | null,
): readonly string[] | null | Promise<readonly string[] | null> {
  return isUnscoped(caller) ? asked : coveredTypes(engine.database, caller, asked);
}

/** For what a caller creates or works on. A refusal depends only on its own scope, so it reveals nothing. */
export function checkTypeScope({ caller }: Services, types: Iterable<string>, field: string): void {
  if (caller.types === null) return;
  for (const type of types) {
    if (!coversType(caller, type)) throw new ForbiddenError(outOfScope(type), field);
  }
}

export const outOfScope = (type: string) => `Your scope does not include the type ${JSON.stringify(type)}.`;

/** Prisma turns the text into a pattern without escaping special characters: https://github.com/prisma/orm/issues/19506 */
const asItIs = (beginning: string) => beginning.replaceAll(/[\\%_]/g, '\\$&');

/** The scope as a condition for Prisma. */
export function inScope({ types, rootIds }: Scope): Prisma.JobWhereInput {
  const ofType = (pattern: string): Prisma.JobWhereInput => {
    if (!pattern.endsWith('*')) return { type: pattern };
    const beginning = pattern.slice(0, -1);
    const startsWith = asItIs(beginning);
    return { type: spansSlashes(beginning) ? { startsWith } : { startsWith, not: { contains: '//' } } };
  };
  return {
    ...(types !== null && { OR: types.map(ofType) }),
    ...(rootIds !== null && { rootId: { in: [...rootIds] } }),
  };
}
