import { releaseAssignments } from '../../domain/claims/release-assignments.ts';
import { builder } from '../core/builder.ts';
import { assignmentsMutation, invalidStatus } from './assignments.ts';

const ReleaseStatus = builder.enumType('ReleaseStatus', {
  description: 'What happened to an assignment that a worker gave back.',
  values: {
    RELEASED: { description: 'The item waits for a worker again, in its old place.' },
    STALE: { description: 'The assignment does not exist, or no longer exists. Nothing changed.' },
    ...invalidStatus,
  } as const,
});

assignmentsMutation({
  name: 'releaseAssignments',
  entryName: 'ReleaseEntry',
  description:
    'Gives items back unfinished, so that others can claim them at once. It costs no attempt, since shutting down a worker is not a failure.',
  input: 'The assignments that a worker gives back.',
  assignments: 'The assignments to give back',
  unknown: 'STALE',
  status: ReleaseStatus,
  run: releaseAssignments,
});
