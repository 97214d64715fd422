import type { Assignment as AssignmentState } from '../domain/assignment.ts';
import { readAssignments } from '../domain/read-assignments.ts';
import { NotFoundError } from '../errors.ts';
import { builder } from './builder.ts';
import { encodeGlobalId } from './global-id.ts';
import type { Services } from './services.ts';

export const Assignment = builder.loadableNodeRef('Assignment', {
  id: {
    resolve: ({ id }: AssignmentState) => id,
    description: 'The id of the assignment: `Assignment:` and a UUID. It is the only key to it.',
  },
  load: async (ids: string[], { engine }: Services) => {
    const found = await readAssignments(engine.database, ids);
    const byId = new Map(found.map((assignment) => [assignment.id, assignment]));
    return ids.map(
      (id) =>
        byId.get(id) ??
        new NotFoundError(`There is no assignment ${encodeGlobalId('Assignment', id)}.`, 'id'),
    );
  },
});

builder.objectType(Assignment, {
  description:
    'What one worker has of an item that it claimed. Results, failures and heartbeats name it: once it is lost, they change nothing.',
  fields: (t) => ({
    itemId: t.id({ description: 'The item.', resolve: ({ itemId }) => encodeGlobalId('JobItem', itemId) }),
    jobId: t.id({
      description: 'The job of the item.',
      resolve: ({ jobId }) => encodeGlobalId('Job', jobId),
    }),
    type: t.exposeString('type', { description: 'The type of the job.' }),
    payload: t.expose('payload', { type: 'JSON', nullable: true, description: 'What is to be done.' }),
    attempt: t.exposeInt('attempt', {
      description: 'Which try this is, from 1. An assignment that was given back does not count.',
    }),
    worker: t.exposeString('worker', { description: 'Who holds the item, as the claim named itself.' }),
    claimedAt: t.expose('claimedAt', { type: 'DateTime', description: 'When it was claimed.' }),
    heartbeatAt: t.expose('heartbeatAt', {
      type: 'DateTime',
      description: 'When it last heartbeat; at first, when it was claimed.',
    }),
    deadlineAt: t.expose('deadlineAt', {
      type: 'DateTime',
      description: 'Without a heartbeat until then, the item may be taken back.',
    }),
    heartbeatIntervalMs: t.exposeInt('heartbeatIntervalMs', {
      description: 'How often to heartbeat, in milliseconds; the deadline is three intervals away.',
    }),
  }),
});
