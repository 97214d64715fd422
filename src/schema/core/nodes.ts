/** Who may see what by its id alone. What a caller may not see is answered like something that does not exist. */
import { createContextCache } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { coversType, isUnscoped, type Permission } from '../../domain/access/rights.ts';
import { readAssignments } from '../../domain/claims/read-assignments.ts';
import { coversGroup } from '../../domain/operations/dead-letters.ts';
import { type ItemKey, parseItemId } from '../../domain/values/ids.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { checkAnswerSize } from './answer-size.ts';
import type { NodeType } from './global-id.ts';
import { createLoader } from './loader.ts';
import { sees } from './scope.ts';
import type { Services } from './services.ts';

const needs: Readonly<Record<NodeType, Permission>> = {
  Job: 'read',
  JobItem: 'read',
  // Whoever knows the id of an assignment holds it.
  Assignment: 'work',
  Schedule: 'survey',
  DeadLetterGroup: 'list',
  Operation: 'list',
  CallbackEndpoint: 'administer',
  CallbackDelivery: 'administer',
  Upload: 'create',
  ApiKey: 'administer',
};

const assignments = createLoader(async (ids: readonly string[], { engine, caller }) => {
  const found = await readAssignments(engine.database, caller.tenant, ids);
  const byId = new Map(found.map((assignment) => [assignment.id, assignment]));
  return ids.map((id) => byId.get(id));
});

/** The assignments whose ids the caller has proved to know, by naming them. */
const namedAssignments = createContextCache((_: Services) => new Set<string>());

/** Whether a caller may see the id of an assignment: if it knows it already, or is an admin. Whoever has the id can finish the item. */
export function mayTellAssignment(context: Services, id: string): boolean {
  return context.caller.permissions.has('administer') || namedAssignments(context).has(id);
}

const maxNodes = 100;

export interface NodeId {
  readonly typename: string;
  readonly id: string;
}

/** The objects that the ids name, in their order; null for those that the caller may not see. */
export async function findNodes(
  ids: readonly NodeId[],
  context: Services,
  info: GraphQLResolveInfo,
  resolve: (ids: NodeId[]) => Promise<readonly unknown[]>,
): Promise<unknown[]> {
  if (ids.length > maxNodes)
    throw new InvalidInputError(`ids has ${ids.length} entries; the limit is ${maxNodes}.`, 'ids');
  const visible = await Promise.all(ids.map((id) => mayKnow(context, id)));
  const shown = ids.filter((_, i) => visible[i]);
  await checkAnswerSize(await itemsOf(shown, context), context, info);
  const nodes = await resolve(shown);
  const found = await Promise.all(nodes.map(orNull));
  let next = 0;
  return ids.map((_, i) => (visible[i] ? found[next++] : null));
}

/** The items whose payloads, results and failures may be requested: those given, and those of assignments. */
async function itemsOf(ids: readonly NodeId[], context: Services): Promise<ItemKey[]> {
  const itemIds = await Promise.all(
    ids.map(async ({ typename, id }) => {
      if (typename === 'JobItem') return id;
      return typename === 'Assignment' ? (await assignments(context).load(id))?.itemId : undefined;
    }),
  );
  return itemIds.flatMap((id) => (id === undefined ? [] : (parseItemId(id) ?? [])));
}

/** Loaders return a NotFoundError for what does not exist. */
async function orNull(node: unknown): Promise<unknown> {
  try {
    const value = await node;
    if (value instanceof Error) throw value;
    return value ?? null;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

async function mayKnow(context: Services, { typename, id }: NodeId): Promise<boolean> {
  const { caller } = context;
  if (!caller.permissions.has(needs[typename as NodeType])) return false;
  return (caller.permissions.has('administer') && isUnscoped(caller)) || covers(context, typename, id);
}

async function covers(context: Services, typename: string, id: string): Promise<boolean> {
  const { caller } = context;
  if (typename === 'Assignment') {
    const assignment = await assignments(context).load(id);
    if (assignment == null || !coversType(caller, assignment.type)) return false;
    if (assignment.heldMs === null && !caller.permissions.has('administer')) return false;
    namedAssignments(context).add(id);
    return true;
  }
  if (isUnscoped(caller)) return true;
  if (typename === 'DeadLetterGroup') return coversGroup(context.engine.database, caller, id);
  // The others are read only from the caller's tenant, or have its prefix.
  if (typename !== 'JobItem' && typename !== 'Job') return true;
  const jobId = typename === 'JobItem' ? parseItemId(id)?.jobId : id;
  return jobId !== undefined && sees(context, jobId);
}
