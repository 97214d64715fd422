import type { Engine } from '../../domain/engine.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../builder.ts';
import { keyOf } from '../global-id.ts';

/** A mutation that takes a list of holds and says of each what became of it. */
export function holdsMutation<Status extends string>(options: {
  /** The mutation; the names of its types begin with it. */
  name: string;
  entryName: string;
  description: string;
  /** What the input is: "What a worker gives back." */
  input: string;
  /** What the mutation does to them: "The holds to give back". */
  holds: string;
  status: PothosSchemaTypes.EnumRef<typeof builder.$inferSchemaTypes, Status>;
  run: (engine: Engine, assignmentIds: string[]) => Promise<Status[]>;
}): void {
  const { name, entryName, description, input, holds, status, run } = options;
  const typeName = name.charAt(0).toUpperCase() + name.slice(1);

  const Entry = builder.objectRef<{ assignmentId: string; status: Status }>(entryName).implement({
    description: 'The answer for one hold.',
    fields: (t) => ({
      assignmentId: t.exposeID('assignmentId', { description: 'The hold.' }),
      status: t.expose('status', { type: status, description: 'What became of it.' }),
    }),
  });

  const Payload = builder
    .objectRef<{ entries: { assignmentId: string; status: Status }[] }>(`${typeName}Payload`)
    .implement({
      description: 'What became of the holds.',
      fields: (t) => ({
        entries: t.field({
          type: [Entry],
          description: 'An answer for each hold, in their order.',
          resolve: ({ entries }) => entries,
        }),
      }),
    });

  const Input = builder.inputType(`${typeName}Input`, {
    description: input,
    fields: (t) => ({
      assignmentIds: t.idList({ required: true, description: `${holds}: 1 to 1,000.` }),
    }),
  });

  builder.mutationField(name, (t) =>
    t.field({
      type: Payload,
      description,
      args: { input: t.arg({ type: Input, required: true, description: `${holds}.` }) },
      errors: { types: [InvalidInputError] },
      resolve: async (_, { input: { assignmentIds } }, { engine }) => {
        const keys = assignmentIds.map((id, i) => keyOf('Assignment', id, `assignmentIds[${i}]`));
        const answers = await run(engine, keys);
        return {
          entries: answers.map((answer, i) => ({ assignmentId: assignmentIds[i] ?? '', status: answer })),
        };
      },
    }),
  );
}
