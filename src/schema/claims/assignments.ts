import type { Engine } from '../../domain/engine/engine.ts';
import { checkBatch } from '../../domain/values/checks.ts';
import { InvalidInputError } from '../../errors.ts';
import { builder } from '../core/builder.ts';
import { EntryError, toEntryError } from '../core/errors.ts';
import { keyOf } from '../core/global-id.ts';
import { coveredAssignments } from '../core/scope.ts';

/** The status of an entry that is invalid by itself. */
export const invalidStatus = {
  INVALID: { description: 'It is not the id of an assignment; `error` says more. Nothing changed.' },
} as const;

interface Answer<Status extends string> {
  readonly assignmentId: string;
  readonly status: Status | 'INVALID';
  readonly error: InvalidInputError | null;
}

/** Defines a mutation that takes a list of assignments and returns a status for each. */
export function assignmentsMutation<Status extends string>(options: {
  /** The name of the mutation, with which the names of its types begin. */
  name: string;
  entryName: string;
  description: string;
  /** The description of the input: 'The assignments that a worker gives back.' */
  input: string;
  /** The description of the list: "The assignments to give back". */
  assignments: string;
  /** The description of `waitingIds`, if the mutation takes them. */
  waiting?: string;
  /** The status of an assignment that does not exist, or is not one of the caller's. */
  unknown: Status;
  status: PothosSchemaTypes.EnumRef<typeof builder.$inferSchemaTypes, Status | 'INVALID'>;
  /** Gets at least one id; all are well-formed. */
  run: (engine: Engine, assignmentIds: string[], waiting: ReadonlySet<string>) => Promise<Status[]>;
}): void {
  const { name, entryName, description, input, assignments, waiting, unknown, status, run } = options;
  const typeName = name.charAt(0).toUpperCase() + name.slice(1);

  const Entry = builder.objectRef<Answer<Status>>(entryName).implement({
    description: 'The answer for one assignment.',
    fields: (t) => ({
      assignmentId: t.exposeID('assignmentId', { description: 'The assignment.' }),
      status: t.expose('status', { type: status, description: 'What happened to it.' }),
      error: t.field({
        type: EntryError,
        nullable: true,
        description: 'What is wrong with an invalid entry.',
        resolve: ({ error }) => error && toEntryError(error),
      }),
    }),
  });

  const Payload = builder.objectRef<{ entries: Answer<Status>[] }>(`${typeName}Payload`).implement({
    description: 'What happened to the assignments.',
    fields: (t) => ({
      entries: t.field({
        type: [Entry],
        description: 'An answer for each assignment, in the same order: up to 1,000.',
        resolve: ({ entries }) => entries,
      }),
    }),
  });

  const Input = builder.inputType(`${typeName}Input`, {
    description: input,
    fields: (t) => ({
      assignmentIds: t.idList({ required: true, description: `${assignments}: 1 to 1,000.` }),
      ...(waiting !== undefined && { waitingIds: t.idList({ description: waiting }) }),
    }),
  });

  builder.mutationField(name, (t) =>
    t.field({
      authScopes: { may: 'work' },
      type: Payload,
      description,
      args: { input: t.arg({ type: Input, required: true, description: `${assignments}.` }) },
      errors: { types: [InvalidInputError] },
      resolve: async (_, { input }, context) => {
        const { assignmentIds } = input;
        checkBatch(assignmentIds.length, 'assignmentIds');
        const keys = assignmentIds.map(keyOrRefusal);
        const named = keys.filter((key) => typeof key === 'string');
        const listed = new Set('waitingIds' in input ? (input.waitingIds as string[] | null) : []);
        const waitingKeys = new Set(
          keys.filter(
            (key, i): key is string => typeof key === 'string' && listed.has(assignmentIds[i] as string),
          ),
        );
        const covered = await coveredAssignments(context, named);
        const own = named.filter((_, i) => covered[i]);
        const statuses = own.length === 0 ? [] : await run(context.engine, own, waitingKeys);
        let next = 0;
        let nextOwn = 0;
        return {
          entries: keys.map((key, i): Answer<Status> => {
            const assignmentId = assignmentIds[i] as string;
            if (typeof key !== 'string') return { assignmentId, status: 'INVALID', error: key };
            const status = covered[next++] ? (statuses[nextOwn++] as Status) : unknown;
            return { assignmentId, status, error: null };
          }),
        };
      },
    }),
  );
}

/** A malformed id must not keep the worker's other assignments from being processed. */
function keyOrRefusal(globalId: string, i: number): string | InvalidInputError {
  try {
    return keyOf('Assignment', globalId, `assignmentIds[${i}]`);
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
}
