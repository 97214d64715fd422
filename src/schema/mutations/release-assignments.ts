import { releaseAssignments } from '../../domain/release-assignments.ts';
import { builder } from '../builder.ts';
import { assignmentsMutation, invalidStatus } from './assignments.ts';

const ReleaseStatus = builder.enumType('ReleaseStatus', {
  description: 'What became of an assignment that a worker gave back.',
  values: {
    RELEASED: { description: 'The item waits for a worker again, in its old place.' },
    STALE: { description: 'There was no such assignment (any more). Nothing changed.' },
    ...invalidStatus,
  } as const,
});

assignmentsMutation({
  name: 'releaseAssignments',
  entryName: 'ReleaseEntry',
  description:
    'Gives items back unfinished, for others to claim at once. It costs no attempt: a worker that is shut down has not failed.',
  input: 'What a worker gives back.',
  assignments: 'The assignments to give back',
  unknown: 'STALE',
  status: ReleaseStatus,
  run: releaseAssignments,
});
