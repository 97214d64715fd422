import { type AssignmentNote, checkNotes, noteItems } from '../../domain/item-notes.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';
import { coveredAssignments } from '../scope.ts';

const Payload = builder.objectRef<number>('NoteItemsPayload').implement({
  description: 'It is noted.',
  fields: (t) => ({
    noted: t.int({
      description: 'Of how many assignments. Those that are lost, finished or cancelled do not count.',
      resolve: (noted) => noted,
    }),
  }),
});

const Line = builder.inputType('LogLineInput', {
  description: 'A line of a log.',
  fields: (t) => ({
    at: t.field({ type: 'DateTime', required: true, description: 'When it was written.' }),
    text: t.string({ required: true, description: 'What it says: up to 500 characters.' }),
  }),
});

const Note = builder.inputType('ItemNoteInput', {
  description: 'What a worker notes of an item that it has.',
  fields: (t) => ({
    assignmentId: t.id({ required: true, description: 'The assignment.' }),
    note: t.string({
      description:
        'Up to 500 characters, in place of an earlier note; an empty one removes it. Default: that stays.',
    }),
    log: t.field({
      type: [Line],
      description:
        'All lines of this attempt, up to 50: they stand in place of what it had sent before. Of all attempts the last 50 are kept. Default: those stay.',
    }),
  }),
});

const Input = builder.inputType('NoteItemsInput', {
  description: 'What a worker notes of items that it has.',
  fields: (t) => ({
    notes: t.field({ type: [Note], required: true, description: 'The notes: 1 to 1,000.' }),
  }),
});

builder.mutationField('noteItems', (t) =>
  t.field({
    authScopes: { may: 'work' },
    type: Payload,
    description:
      'Keeps notes and logs with items. Send it in one operation with a heartbeat, or before the reports, and it costs no request of its own. Repeating it changes nothing. A crash of Postgres may forget the last moment.',
    args: { input: t.arg({ type: Input, required: true, description: 'The notes.' }) },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { input }, context) => {
      checkNotes(input.notes);
      const notes = input.notes.map((note, i): AssignmentNote => {
        return { ...note, assignmentId: keyOf('Assignment', note.assignmentId, `notes[${i}].assignmentId`) };
      });
      const covered = await coveredAssignments(
        context,
        notes.map(({ assignmentId }) => assignmentId),
      );
      const own = notes.filter((_, i) => covered[i]);
      return own.length === 0 ? 0 : noteItems(context.engine, own);
    },
  }),
);
