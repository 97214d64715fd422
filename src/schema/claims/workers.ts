import { coversType, seesTenant } from '../../domain/access/rights.ts';
import type { WorkerIntroduction, Worker as WorkerState } from '../../domain/figures/workers.ts';
import { checkName } from '../../domain/values/checks.ts';
import { maxBatch, maxNameLength } from '../../domain/values/limits.ts';
import { builder } from '../core/builder.ts';
import { checkFirst, firstComplexity } from '../core/pages.ts';
import { shownTypes } from '../core/scope.ts';
import { checkTypes } from '../queues/queue.ts';

export const WorkerInput = builder.inputType('WorkerInput', {
  description: 'The identity of a worker.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, as in its claims: 1 to 200 characters.' }),
    version: t.string({ description: 'The version of its code: 1 to 200 characters.' }),
    concurrency: t.intList({
      description: 'How many items of each of `types` it runs at once, in their order: 1 to 10,000 each.',
    }),
  }),
});

export function toIntroduction(
  { name, version, concurrency }: typeof WorkerInput.$inferInput,
  types: readonly string[],
): WorkerIntroduction {
  return { name, version, types, concurrency: concurrency ?? [] };
}

interface TypeOfWorker {
  readonly type: string;
  readonly concurrency: number | null;
  readonly holds: number;
}

const WorkerType = builder.objectRef<TypeOfWorker>('WorkerType').implement({
  description: "A worker's work on one type.",
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The type.' }),
    concurrency: t.exposeInt('concurrency', {
      nullable: true,
      description: 'How many items it runs at once; null if it has not sent this.',
    }),
    holds: t.exposeInt('holds', { description: 'How many items it holds now.' }),
  }),
});

const Worker = builder.objectRef<WorkerState>('Worker').implement({
  description: 'A worker that is connected to a server, or that holds items.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, as in its claims.' }),
    version: t.exposeString('version', {
      nullable: true,
      description: 'The version of its code; null if it has not sent one.',
    }),
    types: t.field({
      type: [WorkerType],
      complexity: { multiplier: 10 },
      description: 'The types that it handles, and those of which it holds items, by name: up to 1,000.',
      resolve: ({ types, concurrency, holds }, _, { caller }) => {
        const held = new Map(holds.map(({ type, count }) => [type, count]));
        const shown = [...new Set([...types, ...held.keys()])].filter((type) => coversType(caller, type));
        return shown
          .sort()
          .slice(0, maxBatch)
          .map((type) => ({
            type,
            concurrency: concurrency[types.indexOf(type)] ?? null,
            holds: held.get(type) ?? 0,
          }));
      },
    }),
    connectedAt: t.expose('connectedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Since when it is connected; null if it is not, or has not identified itself, as when it only claims by HTTP or in SQL.',
    }),
    seenAt: t.expose('seenAt', {
      type: 'DateTime',
      description:
        'When a server last saw it connected, claiming or sending a heartbeat. It is up to ten seconds behind.',
    }),
  }),
});

builder.queryField('workers', (t) =>
  t.field({
    authScopes: { may: 'list' },
    type: [Worker],
    complexity: firstComplexity,
    description:
      'The workers that are connected or hold items, by name. If there are more than 1,000, query again after the last one.',
    args: {
      types: t.arg.stringList({
        description: 'Only workers that handle, or hold items of, one of these types: 1 to 1,000.',
      }),
      first: t.arg.int({
        required: true,
        defaultValue: maxBatch,
        description: 'The maximum number: 0 to 1,000. Default: 1,000.',
      }),
      after: t.arg.string({ description: 'Only workers whose names come after this one.' }),
    },
    resolve: async (_, { types, first, after }, context) => {
      const take = checkFirst({ first });
      if (after != null) checkName(after, 'after', maxNameLength);
      const { workers, database } = context.engine;
      const { caller } = context;
      const asked = checkTypes(types);
      // Workers' names are the tenant's own, and workers may handle types that have no jobs.
      const shown = seesTenant(caller) ? asked : await shownTypes(context, asked);
      return workers.read(database, { tenant: caller.tenant, types: shown, after: after ?? null, take });
    },
  }),
);
