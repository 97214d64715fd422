import {
  type ReleaseStatus as ReleaseStatusValue,
  releaseAssignments,
} from '../../domain/release-assignments.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';

const ReleaseStatus = builder.enumType('ReleaseStatus', {
  description: 'What became of a hold that a worker gave back.',
  values: {
    RELEASED: { description: 'The item waits for a worker again, in its old place.' },
    STALE: { description: 'There was no such hold (any more). Nothing changed.' },
  } as const,
});

const Entry = builder
  .objectRef<{ assignmentId: string; status: ReleaseStatusValue }>('ReleaseEntry')
  .implement({
    description: 'The answer for one hold.',
    fields: (t) => ({
      assignmentId: t.exposeID('assignmentId', { description: 'The hold.' }),
      status: t.expose('status', { type: ReleaseStatus, description: 'What became of it.' }),
    }),
  });

const Payload = builder
  .objectRef<{ entries: { assignmentId: string; status: ReleaseStatusValue }[] }>('ReleaseAssignmentsPayload')
  .implement({
    description: 'What became of the holds.',
    fields: (t) => ({
      entries: t.expose('entries', {
        type: [Entry],
        description: 'An answer for each hold, in their order.',
      }),
    }),
  });

const Input = builder.inputType('ReleaseAssignmentsInput', {
  description: 'What a worker gives back.',
  fields: (t) => ({
    assignmentIds: t.idList({ required: true, description: 'The holds to give back: 1 to 1,000.' }),
  }),
});

builder.mutationField('releaseAssignments', (t) =>
  t.field({
    type: Payload,
    description:
      'Gives items back unfinished, for others to claim at once. It costs no attempt: a worker that is shut down has not failed.',
    args: { input: t.arg({ type: Input, required: true, description: 'The holds to give back.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input: { assignmentIds } }, { engine }) => {
      const keys = assignmentIds.map((id, i) => keyOf('Assignment', id, `assignmentIds[${i}]`));
      const answers = await releaseAssignments(engine, keys);
      return { entries: answers.map((status, i) => ({ assignmentId: assignmentIds[i] ?? '', status })) };
    },
  }),
);
