import { type HoldStatus as HoldStatusValue, heartbeat } from '../../domain/heartbeat.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';

const HoldStatus = builder.enumType('HoldStatus', {
  description: 'What became of a hold. For all but HELD the worker stops its work on the item.',
  values: {
    HELD: { description: 'It is kept: its deadline has moved.' },
    FINISHED: { description: 'Its outcome was reported.' },
    LOST: { description: 'It is unknown, was released, or was taken back after its deadline.' },
    CANCELLED: { description: 'The job was cancelled.' },
  } as const,
});

const Entry = builder
  .objectRef<{ assignmentId: string; status: HoldStatusValue }>('HeartbeatEntry')
  .implement({
    description: 'The answer for one hold.',
    fields: (t) => ({
      assignmentId: t.exposeID('assignmentId', { description: 'The hold.' }),
      status: t.expose('status', { type: HoldStatus, description: 'What became of it.' }),
    }),
  });

const Payload = builder
  .objectRef<{ entries: { assignmentId: string; status: HoldStatusValue }[] }>('HeartbeatPayload')
  .implement({
    description: 'What became of the holds.',
    fields: (t) => ({
      entries: t.expose('entries', {
        type: [Entry],
        description: 'An answer for each hold, in their order.',
      }),
    }),
  });

const Input = builder.inputType('HeartbeatInput', {
  description: 'What a worker still works on.',
  fields: (t) => ({
    assignmentIds: t.idList({ required: true, description: 'The holds to keep: 1 to 1,000.' }),
  }),
});

builder.mutationField('heartbeat', (t) =>
  t.field({
    type: Payload,
    description:
      'Says that a worker still works: the deadline of each hold moves to three heartbeat intervals from now. A worker whose heartbeat fails twice in a row should stop its work.',
    args: { input: t.arg({ type: Input, required: true, description: 'The holds to keep.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input: { assignmentIds } }, { engine }) => {
      const keys = assignmentIds.map((id, i) => keyOf('Assignment', id, `assignmentIds[${i}]`));
      const answers = await heartbeat(engine, keys);
      return { entries: answers.map((status, i) => ({ assignmentId: assignmentIds[i] ?? '', status })) };
    },
  }),
);
