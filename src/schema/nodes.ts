/** Who may see what by its id alone. What one may not see is answered as what there is not. */
import { createContextCache } from '@pothos/core';
import { readGroups } from '../domain/dead-letters.ts';
import { parseItemId } from '../domain/item-state.ts';
import { readAssignments } from '../domain/read-assignments.ts';
import { coversType, isUnscoped, type Permission } from '../domain/rights.ts';
import { NotFoundError } from '../errors.ts';
import { encodeGlobalId, type NodeType } from './global-id.ts';
import { sees } from './scope.ts';
import type { Services } from './services.ts';

const needs: Readonly<Record<NodeType, Permission>> = {
  Job: 'read',
  JobItem: 'read',
  // Whoever knows it has it.
  Assignment: 'work',
  Schedule: 'survey',
  DeadLetterGroup: 'list',
  Operation: 'survey',
  CallbackEndpoint: 'administer',
  CallbackDelivery: 'administer',
  Upload: 'create',
  ApiKey: 'administer',
};

/** The assignments whose ids the caller has shown to know. */
const namedAssignments = createContextCache((_: Services) => new Set<string>());

/** Whether the id of an assignment may be told: to those that know it, and to admins. Whoever has it can finish the item. */
export function mayTellAssignment(context: Services, id: string): boolean {
  return context.caller.permissions.has('administer') || namedAssignments(context).has(id);
}

/** @throws NotFoundError */
export async function checkNode(context: Services, typename: string, id: string): Promise<void> {
  const { caller } = context;
  const seesAll = caller.permissions.has('administer') && isUnscoped(caller);
  const isVisible =
    caller.permissions.has(needs[typename as NodeType]) && (seesAll || (await covers(context, typename, id)));
  if (!isVisible) throw notFound(typename, id);
}

async function covers(context: Services, typename: string, id: string): Promise<boolean> {
  const { caller, engine } = context;
  if (typename === 'Assignment') {
    const [assignment] = await readAssignments(engine.database, [id]);
    if (assignment == null || !coversType(caller, assignment.type)) return false;
    if (assignment.heldMs === null && !caller.permissions.has('administer')) return false;
    namedAssignments(context).add(id);
    return true;
  }
  if (isUnscoped(caller)) return true;
  if (typename === 'DeadLetterGroup') {
    const [group] = await readGroups(engine.database, [id]);
    return group !== undefined && coversType(caller, group.type);
  }
  // They are read as those of the caller's tenant, or have its beginning.
  if (typename !== 'JobItem' && typename !== 'Job') return true;
  const jobId = typename === 'JobItem' ? parseItemId(id)?.jobId : id;
  return jobId !== undefined && sees(context, jobId);
}

const kinds: Partial<Record<string, string>> = {
  JobItem: 'There is no item',
  Assignment: 'There is no assignment',
  DeadLetterGroup: 'There are no dead letters in the group',
  Operation: 'There is no operation',
  CallbackDelivery: 'There is no delivery',
};

/** In the words of those that look for it. */
function notFound(typename: string, id: string): NotFoundError {
  if (typename === 'CallbackEndpoint') return new NotFoundError(`There is no endpoint ${id}.`, 'name');
  const kind = kinds[typename];
  return new NotFoundError(
    kind === undefined ? 'What the id names does not exist.' : `${kind} ${encodeGlobalId(typename, id)}.`,
    'id',
  );
}
