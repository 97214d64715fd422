/** The graph, assembled from its types. Needs no database until it is executed. */
import { assertObjectType } from 'graphql';
import { type ItemKey, itemIdOf } from '../domain/values/ids.ts';
import { ForbiddenError } from '../errors.ts';
import type { ReadAssignment } from './claims/assignment.ts';
import { builder } from './core/builder.ts';
import { encodeGlobalId } from './core/global-id.ts';
import { mayTellAssignment } from './core/nodes.ts';
import type { Services } from './core/services.ts';
import { nameByTenant } from './core/tenant-names.ts';
import './core/scalars.ts';
import './files/file.ts';
import './files/file-lists.ts';
import './core/errors.ts';
import './progress/progress.ts';
import './progress/tree-progress.ts';
import './claims/assignment.ts';
import './items/job-item.ts';
import './items/item-failures.ts';
import './jobs/job.ts';
import './jobs/job-tree.ts';
import './items/job-items.ts';
import './jobs/job-list.ts';
import './items/item-ranges.ts';
import './items/item-search.ts';
import './schedules/schedule.ts';
import './jobs/inputs.ts';
import './core/query.ts';
import './queues/queue.ts';
import './types/type-schema.ts';
import './keys/serialize-key.ts';
import './operations/dead-letters.ts';
import './operations/tree-dead-letters.ts';
import './operations/operation.ts';
import './callbacks/callbacks.ts';
import './access/api-keys.ts';
import './access/audit.ts';
import './access/storage.ts';
import './access/viewer.ts';
import './core/system.ts';
import './items/pending-items.ts';
import './figures/figures.ts';
import './claims/held-items.ts';
import './queues/standstills.ts';
import './claims/workers.ts';
import './core/subscription.ts';
import './core/watched-lists.ts';
import './jobs/create-job.ts';
import './jobs/create-jobs.ts';
import './jobs/enqueue.ts';
import './files/create-upload.ts';
import './items/add-items.ts';
import './jobs/seal-job.ts';
import './jobs/cancel-job.ts';
import './operations/tree-operations.ts';
import './retention/delete-job.ts';
import './retention/set-retention.ts';
import './callbacks/add-callbacks.ts';
import './files/import-file.ts';
import './items/update-item.ts';
import './claims/claim-items.ts';
import './claims/claim-item.ts';
import './reports/report-outcomes.ts';
import './claims/exchange.ts';
import './claims/heartbeat.ts';
import './claims/release-assignments.ts';
import './schedules/put-schedule.ts';
import './schedules/sync-schedules.ts';
import './items/note-items.ts';
import './schedules/pause-schedule.ts';
import './operations/promote-items.ts';
import './schedules/resume-schedule.ts';
import './schedules/run-schedule.ts';
import './schedules/skip-occurrence.ts';
import './schedules/delete-schedule.ts';
import './queues/set-queue.ts';
import './types/put-type-schema.ts';
import './types/delete-type-schema.ts';
import './operations/replay-dead-letters.ts';
import './operations/discard-dead-letters.ts';
import './operations/note-dead-letters.ts';
import './operations/cancel-operation.ts';
import './callbacks/put-callback-endpoint.ts';
import './callbacks/rotate-callback-secret.ts';
import './callbacks/delete-callback-endpoint.ts';
import './callbacks/retry-callback-delivery.ts';
import './operations/cancel-items.ts';
import './access/create-api-key.ts';
import './access/rotate-api-key.ts';
import './access/revoke-api-key.ts';
import './access/create-watch-token.ts';
import './access/revoke-watch-tokens.ts';
import './access/rotate-watch-secret.ts';
import './access/create-watch-ticket.ts';

builder.mutationType({
  description:
    'Operations that change something. Each takes at most one input; its result is a payload, or a refusal that the caller can expect. Batches have an answer for each entry. A mutation that fails otherwise is null, with an error that says why; the others of its operation are not affected. If the `path` of that error leads below the mutation, the mutation was carried out, and only its answer failed.',
});

export const schema = builder.toSchema();

// The relay plugin's own resolver is async, and would create a promise for each assignment of a claim and each item of a page.
const ids = {
  Assignment: ({ id, isRead }: ReadAssignment, context: Services) => {
    if (isRead && !mayTellAssignment(context, id))
      throw new ForbiddenError('Only the worker that has it, and admins, may know the id of an assignment.');
    return id;
  },
  JobItem: (item: ItemKey) => itemIdOf(item),
};
for (const [type, keyOf] of Object.entries(ids)) {
  const { id } = assertObjectType(schema.getType(type)).getFields();
  if (id === undefined) throw new Error(`${type} has no id.`);
  id.resolve = (node: ReadAssignment & ItemKey, _, context: Services) =>
    encodeGlobalId(type, keyOf(node, context));
}

nameByTenant(schema);
