import { heartbeat } from '../../domain/heartbeat.ts';
import { builder } from '../builder.ts';
import { assignmentsMutation, invalidStatus } from './assignments.ts';

const HeartbeatStatus = builder.enumType('HeartbeatStatus', {
  description: 'What became of an assignment. For all but HELD the worker stops its work on the item.',
  values: {
    HELD: { description: 'It is kept: its deadline has moved.' },
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
    'Says that a worker still works: the deadline of each assignment moves to three heartbeat intervals from now. A worker whose heartbeat fails twice in a row should stop its work.',
  input: 'What a worker still works on.',
  assignments: 'The assignments to keep',
  unknown: 'LOST',
  status: HeartbeatStatus,
  run: heartbeat,
});
