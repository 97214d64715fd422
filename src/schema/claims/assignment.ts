import type { Assignment as AssignmentState } from '../../domain/claims/assignment.ts';
import { readAssignments } from '../../domain/claims/read-assignments.ts';
import { parseItemId } from '../../domain/values/ids.ts';
import {
  readTraceContexts,
  type TraceContext as TraceContextState,
} from '../../domain/values/trace-context.ts';
import { NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import { createLoader } from '../core/loader.ts';
import type { Services } from '../core/services.ts';

/** An assignment that was read, not claimed in this operation: not everyone who may see it may know its id. */
export interface ReadAssignment extends AssignmentState {
  readonly isRead?: true;
}

const toRead = (assignment: AssignmentState | undefined): ReadAssignment | undefined =>
  assignment && { ...assignment, isRead: true };

export const Assignment = builder.loadableNodeRef('Assignment', {
  id: {
    resolve: ({ id }: AssignmentState) => id,
    description:
      'The id of the assignment: `Assignment:` and a UUID. Anyone who knows it can finish the item, so only the worker that holds it, and admins, see it.',
  },
  load: async (ids: string[], { engine, caller }: Services) => {
    const found = await readAssignments(engine.database, caller.tenant, ids);
    const byId = new Map(found.map((assignment) => [assignment.id, assignment]));
    return ids.map(
      (id) =>
        toRead(byId.get(id)) ??
        new NotFoundError(`There is no assignment ${encodeGlobalId('Assignment', id)}.`, 'id'),
    );
  },
});

export const TraceContext = builder.objectRef<TraceContextState>('TraceContext').implement({
  description: 'A W3C trace context: the span that an item comes from.',
  fields: (t) => ({
    traceparent: t.exposeString('traceparent', { description: 'As in the header `traceparent`.' }),
    tracestate: t.string({
      nullable: true,
      description: 'As in the header `tracestate`, if the producer set it.',
      resolve: ({ tracestate }) => tracestate ?? null,
    }),
  }),
});

export const traceContexts = createLoader((itemIds: readonly string[], { engine }) =>
  readTraceContexts(
    engine.database,
    itemIds.map((itemId) => parseItemId(itemId) as NonNullable<ReturnType<typeof parseItemId>>),
  ),
);

builder.objectType(Assignment, {
  description:
    "A worker's hold on an item that it claimed. Results, failures and heartbeats refer to it, and have no effect once it is lost.",
  fields: (t) => ({
    itemId: t.id({ description: 'The item.', resolve: ({ itemId }) => encodeGlobalId('JobItem', itemId) }),
    jobId: t.id({
      description: 'The job of the item.',
      resolve: ({ jobId }) => encodeGlobalId('Job', jobId),
    }),
    type: t.exposeString('type', { description: 'The type of the job.' }),
    payload: t.expose('payload', { type: 'JSON', nullable: true, description: 'The work to do.' }),
    traceContext: t.field({
      type: TraceContext,
      nullable: true,
      description:
        'The trace that the item belongs to, as its producer set it; for a fed item, that of the item that fed it. Null if there is none.',
      resolve: ({ itemId }, _, context) => traceContexts(context).load(itemId),
    }),
    attempt: t.exposeInt('attempt', {
      description: 'Which attempt this is, from 1. An assignment that was given back does not count.',
    }),
    lastAttempt: t.exposeBoolean('lastAttempt', {
      description:
        'Whether the item fails for good if this attempt fails: it has failed `maxFailuresPerItem` times since it was added or replayed.',
    }),
    suspect: t.exposeBoolean('suspect', {
      description:
        'Whether the item may be what ended its workers: the heartbeats of its last attempt stopped. Such an item is tried up to three times more, and fails for good if it is lost each time. Start it only when you hold no other item, and claim none until it has ended: otherwise other items may be lost with it.',
    }),
    lostBefore: t.exposeBoolean('lostBefore', {
      description:
        'Whether the worker that had the item before fell silent. If the claim set `starts`, such an item counts as started only once a heartbeat has named it without listing it in `waitingIds`: start it after the answer to that.',
    }),
    hasSerializeKey: t.exposeBoolean('hasSerializeKey', {
      description:
        'Whether the item has a serialize key. Give such an item back only when its work has ended: the next item of the key can start at once.',
    }),
    worker: t.exposeString('worker', { description: 'Who holds the item, by the name in the claim.' }),
    claimedAt: t.expose('claimedAt', { type: 'DateTime', description: 'When it was claimed.' }),
    heartbeatAt: t.expose('heartbeatAt', {
      type: 'DateTime',
      description: 'When its last heartbeat arrived; at first, when it was claimed.',
    }),
    deadlineAt: t.expose('deadlineAt', {
      type: 'DateTime',
      description: 'When the item may be taken back if no heartbeat arrives until then.',
    }),
    heartbeatIntervalMs: t.exposeInt('heartbeatIntervalMs', {
      description: 'How often to send heartbeats, in milliseconds; the deadline is three intervals away.',
    }),
  }),
});
