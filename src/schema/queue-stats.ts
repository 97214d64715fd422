import { checkBatch, checkText } from '../domain/checks.ts';
import { maxNameLength } from '../domain/limits.ts';
import { type QueueStats as QueueStatsRow, readQueueStats } from '../domain/pages.ts';
import { builder } from './builder.ts';

export const QueueStats = builder.objectRef<QueueStatsRow>('QueueStats').implement({
  description: 'How much of a type waits and runs: what decides how many workers there should be.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The type.' }),
    ready: t.expose('ready', {
      type: 'Count',
      description: 'How many items a worker could claim now.',
    }),
    scheduled: t.expose('scheduled', {
      type: 'Count',
      description: 'How many items wait for their `runAt` or out of a backoff.',
    }),
    waiting: t.expose('waiting', {
      type: 'Count',
      description: 'How many items belong to jobs that wait for other jobs of their tree.',
    }),
    running: t.expose('running', {
      type: 'Count',
      description: 'How many items workers hold.',
    }),
  }),
});

export const typesDescription = 'Only these types: 1 to 1,000; all by default.';

export function checkTypes(types: readonly string[] | null | undefined): readonly string[] | null {
  if (types == null) return null;
  checkBatch(types.length, 'types');
  for (const [i, type] of types.entries()) checkText(type, `types[${i}]`, maxNameLength);
  return types;
}

builder.queryField('queueStats', (t) =>
  t.field({
    type: [QueueStats],
    description:
      'How much of each type waits and runs, by name; types of which there is nothing are left out.',
    args: { types: t.arg.stringList({ description: typesDescription }) },
    resolve: (_, { types }, { engine }) => readQueueStats(engine.database, checkTypes(types)),
  }),
);
