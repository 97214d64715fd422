import { checkIntroduction } from '../../domain/figures/workers.ts';
import { readOperations } from '../../domain/operations/operations.ts';
import { checkInteger, checkRevision } from '../../domain/values/checks.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { toIntroduction, WorkerInput } from '../claims/workers.ts';
import { Operation } from '../operations/operation.ts';
import { JobProgress } from '../progress/progress.ts';
import { JobTreeProgress } from '../progress/tree-progress.ts';
import { checkTypes } from '../queues/queue.ts';
import { builder } from './builder.ts';
import { keyOf } from './global-id.ts';
import { Query } from './query.ts';
import { checkJob, checkTree, checkTypeScope } from './scope.ts';
import type { Services } from './services.ts';

const WorkAvailable = builder.objectRef<{ types: string[] }>('WorkAvailable').implement({
  description: 'A hint to claim.',
  fields: (t) => ({
    types: t.exposeStringList('types', {
      description: 'The types for which work may have appeared: up to 1,000.',
    }),
  }),
});

const progressIntervalMs = { lowest: 20, standard: 100 };
export const pageIntervalMs = { lowest: 100, standard: 500 };
const liveIntervalMs = { lowest: 1_000, standard: 1_000 };
const longestIntervalMs = 60_000;

export function intervalDescription({ lowest, standard }: typeof progressIntervalMs): string {
  return `The first change is sent at once; later ones are merged and sent at most this often, in milliseconds: ${lowest} to 60,000. Default: ${standard}.`;
}

export function checkInterval(
  intervalMs: number | null | undefined,
  { lowest, standard }: typeof progressIntervalMs,
): number {
  return checkInteger(intervalMs ?? standard, 'intervalMs', lowest, longestIntervalMs);
}

const sinceRevisionDescription =
  'The last revision that you have seen: only newer states are sent, and the final state. Use it to continue after a lost connection, on this server or another.';

/** Subscribers to the same thing share one execution: the event of such a field is a `Live`. */
export const shared = { extensions: { shared: true } };

builder.subscriptionType({
  description: 'Changes, as they happen.',
  fields: (t) => ({
    jobProgress: t.field({
      seenBy: 'PROGRESS',
      authScopes: { may: 'read' },
      ...shared,
      type: JobProgress,
      description:
        'The progress of a job: its current state, then newer states as they come (a slow reader skips some), and finally the last one; then the stream completes. NOT_FOUND if the job does not exist.',
      args: {
        jobId: t.arg.id({ required: true, description: 'The job.' }),
        intervalMs: t.arg.int({
          required: true,
          defaultValue: 100,
          description: intervalDescription(progressIntervalMs),
        }),
        sinceRevision: t.arg.string({ description: sinceRevisionDescription }),
      },
      subscribe: async (_, { jobId, intervalMs, sinceRevision }, services) => {
        const key = keyOf('Job', jobId, 'jobId');
        if (sinceRevision != null) checkRevision(sinceRevision, 'sinceRevision');
        const everyMs = checkInterval(intervalMs, progressIntervalMs);
        await checkJob(services, key, 'jobId');
        const rootId = await rootOf(services, key, 'jobId');
        const live = found(await services.hub.watchJob(rootId, key, everyMs), key, 'jobId');
        live.sinceRevision = sinceRevision ?? undefined;
        return live;
      },
      resolve: ({ jobs: [progress] }) => {
        if (progress === undefined) throw new Error('An event without a job.');
        return progress;
      },
    }),
    jobTreeProgress: t.field({
      seenBy: 'PROGRESS',
      authScopes: { may: 'read' },
      ...shared,
      type: JobTreeProgress,
      description:
        'The progress of a tree: all its jobs in the first event, then those that changed (all again for a reader that was too slow), until every job is complete; then the stream completes. NOT_FOUND if the tree does not exist.',
      args: {
        rootId: t.arg.id({ required: true, description: 'The root of the tree.' }),
        intervalMs: t.arg.int({
          required: true,
          defaultValue: 100,
          description: intervalDescription(progressIntervalMs),
        }),
        sinceRevision: t.arg.string({ description: sinceRevisionDescription }),
      },
      subscribe: async (_, { rootId, intervalMs, sinceRevision }, services) => {
        const key = keyOf('Job', rootId, 'rootId');
        if (sinceRevision != null) checkRevision(sinceRevision, 'sinceRevision');
        const everyMs = checkInterval(intervalMs, progressIntervalMs);
        await checkTree(services, key, 'rootId');
        if ((await rootOf(services, key, 'rootId')) !== key) {
          throw new InvalidInputError(`Job ${key} is not the root of its tree.`, 'rootId');
        }
        const live = found(await services.hub.watchTree(key, everyMs), key, 'rootId');
        live.sinceRevision = sinceRevision ?? undefined;
        return live;
      },
      resolve: (tree) => tree,
    }),
    operationProgress: t.field({
      authScopes: { may: 'list' },
      ...shared,
      type: Operation,
      description:
        'The progress of an operation: its current state, then every change, until it is finished or cancelled; then the stream completes. NOT_FOUND if the operation does not exist.',
      args: {
        operationId: t.arg.id({ required: true, description: 'The operation.' }),
        intervalMs: t.arg.int({
          required: true,
          defaultValue: 500,
          description: intervalDescription(pageIntervalMs),
        }),
      },
      subscribe: async (_, { operationId, intervalMs }, { hub, engine, caller }) => {
        const id = keyOf('Operation', operationId, 'operationId');
        const everyMs = checkInterval(intervalMs, pageIntervalMs);
        if ((await readOperations(engine.database, [id], caller)).length === 0)
          throw new NotFoundError(`There is no operation ${operationId}.`, 'operationId');
        const read = async () => {
          const rows = await readOperations(engine.database, [id], caller);
          return {
            rows: rows.map((operation) => ({
              ...operation,
              mark: `${operation.done}/${operation.finishedAt}`,
            })),
            final: rows.every(({ finishedAt }) => finishedAt !== null),
          };
        };
        return hub.watchPage(read, everyMs, engine);
      },
      resolve: ({ changed: [operation] }) => {
        if (operation === undefined) throw new Error('An event without an operation.');
        return operation;
      },
    }),
    live: t.field({
      authScopes: { may: 'call' },
      ...shared,
      type: Query,
      description:
        'The answer to a query: now, and whenever it differs from the last one. The server asks again when a tree has changed, and otherwise every few seconds; for a query that takes long it does so more rarely, so that asking takes up at most a tenth of the time. Subscribers with the same query and rights share it. Each field needs its own permission. It does not end.',
      args: {
        intervalMs: t.arg.int({
          required: true,
          defaultValue: liveIntervalMs.standard,
          description:
            'The query is asked at most this often, in milliseconds: 1,000 to 60,000. Default: 1,000.',
        }),
      },
      subscribe: (_, { intervalMs }, { hub }: Services) =>
        hub.watchQuery(checkInterval(intervalMs, liveIntervalMs)),
      resolve: (root) => root,
    }),
    workAvailable: t.field({
      authScopes: { may: 'work' },
      type: WorkAvailable,
      // Each type is stored for the subscriber, and may bring as many hints.
      complexity: ({ types }) => ({ field: 10 * types.length }),
      description:
        'Hints for idle workers: one at the start, then when work of these types may have appeared. For a few items only a few subscribers get a hint, in turn, so claim at every hint, or as soon as there is room. Hints can be false or get lost, so also poll slowly.',
      args: {
        types: t.arg.stringList({
          required: true,
          description: 'The types that the worker handles: 1 to 1,000.',
        }),
        worker: t.arg({
          type: WorkerInput,
          description: 'The worker, which `workers` lists as connected while this subscription runs.',
        }),
      },
      subscribe: (_, { types, worker }, services) => {
        const { hints, engine } = services;
        checkTypes(types);
        checkTypeScope(services, types, 'types');
        if (worker == null) return hints.subscribe(types);
        const leave = engine.workers.join(checkIntroduction(toIntroduction(worker, types)));
        return hints.subscribe(types, leave);
      },
      resolve: (types) => ({ types }),
    }),
  }),
});

export async function rootOf({ hub }: Services, jobId: string, field: string): Promise<string> {
  return found(await hub.rootOf(jobId), jobId, field);
}

export function found<T>(value: T | undefined, jobId: string, field: string): T {
  if (value === undefined) throw new NotFoundError(`There is no job ${jobId}.`, field);
  return value;
}
