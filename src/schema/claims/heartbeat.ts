import { heartbeat } from '../../domain/claims/heartbeat.ts';
import { builder } from '../core/builder.ts';
import { assignmentsMutation, invalidStatus } from './assignments.ts';

const HeartbeatStatus = builder.enumType('HeartbeatStatus', {
  description: 'The status of an assignment. Unless it is HELD, the worker must stop its work on the item.',
  values: {
    HELD: { description: 'It is still held, and its deadline has been extended.' },
    FINISHED: { description: 'Its outcome was reported.' },
    LOST: { description: 'It is unknown, was released, or was taken back after its deadline.' },
    CANCELLED: { description: 'The item was cancelled, or its job.' },
    ...invalidStatus,
  } as const,
});

assignmentsMutation({
  name: 'heartbeat',
  entryName: 'HeartbeatEntry',
  description:
    'Tells that a worker is still working: the deadline of each assignment moves to three heartbeat intervals from now. A worker whose heartbeat fails twice in a row should stop its work.',
  input: 'The assignments that a worker still works on.',
  assignments: 'The assignments to keep',
  waiting:
    'Those among them whose work the worker has not started, up to 1,000; all others count as started. It matters only if the claim set `starts`.',
  unknown: 'LOST',
  status: HeartbeatStatus,
  run: heartbeat,
});
