import { type AssignmentNote, checkNotes, noteItems } from '../../domain/items/item-notes.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { coveredAssignments } from '../core/scope.ts';

const Payload = builder.objectRef<number>('NoteItemsPayload').implement({
  description: 'The note was saved.',
  fields: (t) => ({
    noted: t.int({
      description: 'For how many assignments. Lost, finished and cancelled ones do not count.',
      resolve: (noted) => noted,
    }),
  }),
});

const Line = builder.inputType('LogLineInput', {
  description: 'A line of a log.',
  fields: (t) => ({
    at: t.field({ type: 'DateTime', required: true, description: 'When it was written.' }),
    text: t.string({ required: true, description: 'The text: up to 500 characters.' }),
  }),
});

const Note = builder.inputType('ItemNoteInput', {
  description: "A worker's note about an item that it holds.",
  fields: (t) => ({
    assignmentId: t.id({ required: true, description: 'The assignment.' }),
    note: t.string({
      description:
        'Up to 500 characters, which replace an earlier note; an empty one removes it. Default: the note stays as it is.',
    }),
    log: t.field({
      type: [Line],
      description:
        'All lines of this attempt, up to 50; they replace lines that were sent before. The last 50 lines of all attempts are kept. Default: the lines stay as they are.',
    }),
  }),
});

const Input = builder.inputType('NoteItemsInput', {
  description: "A worker's notes about items that it holds.",
  fields: (t) => ({
    notes: t.field({ type: [Note], required: true, description: 'The notes: 1 to 1,000.' }),
  }),
});

builder.mutationField('noteItems', (t) =>
  t.field({
    authScopes: { may: 'work' },
    type: Payload,
    description:
      'Saves notes and logs with items. If you send it in one operation with a heartbeat, or before reports, it needs no extra request. Repeating it changes nothing. A crash of Postgres may lose the last moment.',
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
