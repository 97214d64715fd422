import { jobStatus } from '../../domain/items/item-state.ts';
import {
  itemProgress,
  type JobProgress as JobProgressState,
  percent,
  progressMessage,
  revision,
} from '../../domain/progress/progress.ts';
import { builder } from '../core/builder.ts';
import { encodeGlobalId } from '../core/global-id.ts';

export const JobStatus = builder.enumType('JobStatus', {
  description: 'The status of a job.',
  values: {
    WAITING: {
      description:
        'No item was claimed yet; some may have failed without it, such as lines of a file that could not be read.',
    },
    RUNNING: { description: 'At least one item was claimed, and the job is not complete.' },
    COMPLETED: {
      description:
        'Sealed, and no item is pending. A job completes whether its items succeeded or failed: see `outcome`.',
    },
    CANCELLED: {
      description: 'Complete, and its outcome is CANCELLED. Until then it is WAITING or RUNNING.',
    },
  } as const,
});

export const JobOutcome = builder.enumType('JobOutcome', {
  description:
    'The outcome of a complete job. That of a tree is the worst outcome of its jobs: FAILED if any has it, else CANCELLED, else PARTIAL, else SUCCEEDED. Items that were cancelled one by one count as if they had never been added. A replay of dead letters reopens the job, which then gets a new outcome.',
  values: {
    SUCCEEDED: {
      description: 'No item failed for good. A job without items succeeds, too.',
    },
    PARTIAL: {
      description: 'Some items succeeded, and some failed for good, but no more than the job tolerates.',
    },
    FAILED: {
      description:
        'Items failed for good, and none succeeded; or more failed than `toleratedFailureCount` or `toleratedFailurePercentage` allows, or its file could not be read to its end: `failedAt` says when, and its pending items were then cancelled.',
    },
    CANCELLED: {
      description:
        'It was cancelled before it was complete, or did not start because a job that it waited for (`after`) ended FAILED or CANCELLED.',
    },
  } as const,
});

export const CancelReason = builder.enumType('CancelReason', {
  description: 'Why a job was cancelled.',
  values: {
    REQUESTED: { description: 'Somebody cancelled it or a job above it, or deleted its tree.' },
    FAILURES: {
      description: 'More of its items failed than it tolerates, or its file could not be read to its end.',
    },
    DEPENDENCY: { description: 'A job that it waited for (`after`) ended FAILED or CANCELLED.' },
    IDLE: {
      description:
        'Its tree was idle for longer than `idleExpirySeconds`: a job was not sealed, and there was no more work.',
    },
  } as const,
});

export const JobProgress = builder.objectRef<JobProgressState>('JobProgress').implement({
  description:
    'The progress of a job, counted by the server from the outcomes of its items. Absolute counts, which only grow, unless a replay of dead letters reopens the job.',
  fields: (t) => ({
    jobId: t.id({
      seenBy: 'PROGRESS',
      description: 'The job.',
      resolve: (progress) => encodeGlobalId('Job', progress.jobId),
    }),
    job: t.prismaField({
      seenBy: 'PROGRESS',
      type: 'Job',
      nullable: true,
      authScopes: { may: 'read' },
      description: 'The job; null if its tree was deleted meanwhile.',
      resolve: (query, { jobId }, _, { engine }) =>
        engine.database.prisma.job.findUnique({ ...query, where: { id: jobId } }),
    }),
    status: t.field({
      seenBy: 'PROGRESS',
      type: JobStatus,
      description: 'The status of the job.',
      resolve: jobStatus,
    }),
    message: t.string({
      seenBy: 'PROGRESS',
      description:
        'The status for people: `Waiting for job to start…`, `Waiting for job to start, 2 of 3 items are finished already…` (for example lines of a file that could not be read), `Job running, 1% complete…`, `Job complete`, `Job complete with failures`, `Job failed`, `Job cancelled`, `Job cancelled: it was idle for too long`.',
      resolve: progressMessage,
    }),
    itemCount: t.expose('itemCount', {
      seenBy: 'PROGRESS',
      type: 'Count',
      description:
        'How many items the job has; final once it is sealed, unless a replay reopens the job that feeds it.',
    }),
    itemProgress: t.field({
      seenBy: 'PROGRESS',
      type: 'Count',
      description: 'How many items are finished: succeeded, failed and cancelled ones.',
      resolve: itemProgress,
    }),
    succeeded: t.expose('succeeded', {
      seenBy: 'PROGRESS',
      type: 'Count',
      description: 'How many items have a result.',
    }),
    failed: t.expose('failed', {
      seenBy: 'PROGRESS',
      type: 'Count',
      description: 'How many items failed for good, and were not replayed.',
    }),
    cancelled: t.expose('cancelled', {
      seenBy: 'PROGRESS',
      type: 'Count',
      description: 'How many items were cancelled.',
    }),
    percent: t.int({
      seenBy: 'PROGRESS',
      nullable: true,
      description:
        'The share of items that are finished, from 0 to 100, rounded down; 100 only when the job is complete. Null until the job is sealed, since more items may come.',
      resolve: percent,
    }),
    sealed: t.exposeBoolean('sealed', {
      seenBy: 'PROGRESS',
      description:
        'Whether no more items will come: the job is sealed, and all that was added to it before is counted, which may be a moment after its `sealedAt`.',
    }),
    revision: t.string({
      seenBy: 'PROGRESS',
      description:
        'Grows with every change: of two states of a job, the one with the greater revision, compared as text, is newer.',
      resolve: revision,
    }),
    startedAt: t.field({
      seenBy: 'PROGRESS',
      type: 'DateTime',
      nullable: true,
      description: 'When the first item was claimed.',
      resolve: ({ startedAt }) => (startedAt === null ? null : new Date(startedAt)),
    }),
    completedAt: t.field({
      seenBy: 'PROGRESS',
      type: 'DateTime',
      nullable: true,
      description: 'When the job was last completed. Null while it is open.',
      resolve: ({ completedAt }) => (completedAt === null ? null : new Date(completedAt)),
    }),
    outcome: t.expose('outcome', {
      seenBy: 'PROGRESS',
      type: JobOutcome,
      nullable: true,
      description: 'The outcome of the job; null until it is complete.',
    }),
    cancelReason: t.expose('cancelReason', {
      seenBy: 'PROGRESS',
      type: CancelReason,
      nullable: true,
      description: 'Why the job was cancelled; null if it was not.',
    }),
    completions: t.exposeInt('completions', {
      seenBy: 'PROGRESS',
      description:
        'How often the job has been completed: 1 from its first completion on. A replay of dead letters reopens it, until it completes for the second time.',
    }),
  }),
});
