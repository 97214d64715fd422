import { noteGroup } from '../../domain/operations/dead-letter-notes.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { keyOf } from '../core/global-id.ts';
import { DeadLetterGroup } from './dead-letters.ts';

const Payload = builder.objectRef<string>('NoteDeadLettersPayload').implement({
  description: 'The note was saved.',
  fields: (t) => ({
    group: t.field({ type: DeadLetterGroup, description: 'The group.', resolve: (id) => id }),
  }),
});

const Input = builder.inputType('NoteDeadLettersInput', {
  description: 'What to note about which group.',
  fields: (t) => ({
    groupId: t.id({ required: true, description: 'The group.' }),
    note: t.string({
      description: 'The note, up to 10,000 characters, which replaces an earlier note. Default: no note.',
    }),
  }),
});

builder.mutationField('noteDeadLetters', (t) =>
  t.field({
    authScopes: { may: 'settle' },
    audited: ({ input }) => [input.groupId],
    type: Payload,
    description:
      'Saves a note about a group of dead letters, such as the address of an issue. It is shown again when the same failure recurs.',
    args: { input: t.arg({ type: Input, required: true, description: 'What to note about which group.' }) },
    errors: { types: [NotFoundError, InvalidInputError] },
    resolve: async (_, { input }, { engine, caller }) => {
      const id = keyOf('DeadLetterGroup', input.groupId, 'groupId');
      await noteGroup(engine.database, caller, id, input.note ?? null);
      return id;
    },
  }),
);
