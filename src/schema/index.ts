/** The graph, assembled from its types. Needs no database until it is executed. */
import { assertObjectType } from 'graphql';
import { type ItemKey, itemIdOf } from '../domain/values/ids.ts';
import { ForbiddenError } from '../errors.ts';
import type { ReadAssignment } from './assignment.ts';
import { builder } from './builder.ts';
import { encodeGlobalId } from './global-id.ts';
import { mayTellAssignment } from './nodes.ts';
import type { Services } from './services.ts';
import { nameByTenant } from './tenant-names.ts';
import './scalars.ts';
import './file.ts';
import './file-lists.ts';
import './errors.ts';
import './progress.ts';
import './assignment.ts';
import './job-item.ts';
import './item-failures.ts';
import './job.ts';
import './job-tree.ts';
import './job-items.ts';
import './job-list.ts';
import './item-ranges.ts';
import './item-search.ts';
import './schedule.ts';
import './inputs.ts';
import './query.ts';
import './queue.ts';
import './type-schema.ts';
import './serialize-key.ts';
import './dead-letters.ts';
import './tree-dead-letters.ts';
import './operation.ts';
import './callbacks.ts';
import './api-keys.ts';
import './audit.ts';
import './storage.ts';
import './viewer.ts';
import './system.ts';
import './pending-items.ts';
import './figures.ts';
import './held-items.ts';
import './standstills.ts';
import './workers.ts';
import './subscription.ts';
import './watched-lists.ts';
import './mutations/create-job.ts';
import './mutations/enqueue.ts';
import './mutations/create-upload.ts';
import './mutations/add-items.ts';
import './mutations/seal-job.ts';
import './mutations/cancel-job.ts';
import './mutations/tree-operations.ts';
import './mutations/delete-job.ts';
import './mutations/set-retention.ts';
import './mutations/add-callbacks.ts';
import './mutations/import-file.ts';
import './mutations/update-item.ts';
import './mutations/claim-items.ts';
import './mutations/claim-item.ts';
import './mutations/report-outcomes.ts';
import './mutations/exchange.ts';
import './mutations/heartbeat.ts';
import './mutations/release-assignments.ts';
import './mutations/put-schedule.ts';
import './mutations/sync-schedules.ts';
import './mutations/note-items.ts';
import './mutations/pause-schedule.ts';
import './mutations/promote-items.ts';
import './mutations/resume-schedule.ts';
import './mutations/run-schedule.ts';
import './mutations/skip-occurrence.ts';
import './mutations/delete-schedule.ts';
import './mutations/set-queue.ts';
import './mutations/put-type-schema.ts';
import './mutations/delete-type-schema.ts';
import './mutations/replay-dead-letters.ts';
import './mutations/discard-dead-letters.ts';
import './mutations/note-dead-letters.ts';
import './mutations/cancel-operation.ts';
import './mutations/put-callback-endpoint.ts';
import './mutations/rotate-callback-secret.ts';
import './mutations/delete-callback-endpoint.ts';
import './mutations/retry-callback-delivery.ts';
import './mutations/cancel-items.ts';
import './mutations/create-api-key.ts';
import './mutations/rotate-api-key.ts';
import './mutations/revoke-api-key.ts';
import './mutations/create-watch-token.ts';
import './mutations/revoke-watch-tokens.ts';
import './mutations/rotate-watch-secret.ts';
import './mutations/create-watch-ticket.ts';

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
