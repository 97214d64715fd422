import { heartbeat } from '../../domain/heartbeat.ts';
import { builder } from '../builder.ts';
import { holdsMutation, invalidStatus } from './holds.ts';

const HoldStatus = builder.enumType('HoldStatus', {
  description: 'What became of a hold. For all but HELD the worker stops its work on the item.',
  values: {
    HELD: { description: 'It is kept: its deadline has moved.' },
    FINISHED: { description: 'Its outcome was reported.' },
    LOST: { description: 'It is unknown, was released, or was taken back after its deadline.' },
    CANCELLED: { description: 'The job was cancelled.' },
    ...invalidStatus,
  } as const,
});

holdsMutation({
  name: 'heartbeat',
  entryName: 'HeartbeatEntry',
  description:
    'Says that a worker still works: the deadline of each hold moves to three heartbeat intervals from now. A worker whose heartbeat fails twice in a row should stop its work.',
  input: 'What a worker still works on.',
  holds: 'The holds to keep',
  status: HoldStatus,
  run: heartbeat,
});
