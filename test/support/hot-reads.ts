/** What the API reads for lists, and by which indexes. */
import type { Database } from '../../src/db/database.ts';
import { readAssignments } from '../../src/domain/claims/read-assignments.ts';
import { readNotes } from '../../src/domain/items/item-notes.ts';
import { readItemKeys, readResultKeys } from '../../src/domain/items/item-pages.ts';
import { readItemSizes } from '../../src/domain/items/item-sizes.ts';
import { pendingStatuses } from '../../src/domain/items/item-state.ts';
import { readFailures, readFailuresAt, readItems, readStacks } from '../../src/domain/items/read-items.ts';
import { readPayloadBeginnings, readPayloads, readResults } from '../../src/domain/items/read-payloads.ts';
import type { JobConditions } from '../../src/domain/jobs/job-conditions.ts';
import { readJobIds, readRankedJobs } from '../../src/domain/jobs/job-pages.ts';
import { readItemPage, readJobPage } from '../../src/domain/jobs/watched-pages.ts';
import { readGroupIds, readTreeDeadLetters } from '../../src/domain/operations/dead-letters.ts';
import { readProgress, readRoots, readTrees } from '../../src/domain/progress/progress.ts';
import type { Subject } from './hot-calls.ts';

const around = ['lease by lease_job_id_position_idx', 'queue_entry by queue_entry_pkey'];
const waiting = ['blocked_item by blocked_item_job_id_position_key', 'job by job_pkey'];
/** All but the first two of a job alone that is being cancelled. */
const cancelled = [
  'blocked_item by blocked_item_job_id_position_key',
  'cancellation by cancellation_pkey',
  'job by job_cancelling',
  'lease by lease_open',
  'queue_entry by queue_entry_pkey',
];
const progress = 'job_progress by job_progress_pkey';
const page = { after: undefined, before: undefined, take: 20, backwards: false };
export const keysOf = ({ root, position }: Subject) =>
  [0, 1, 2].map((n) => ({ jobId: root, position: position - n }));
const firstAttemptsOf = (subject: Subject) => keysOf(subject).map((key) => ({ ...key, attempt: 1 }));
const itemKeys =
  (statuses: Parameters<typeof readItemKeys>[1], backwards = false) =>
  (database: Database, { root }: Subject) =>
    readItemKeys(database, statuses, backwards, [{ jobId: root, range: page }]);
const jobIds = (conditions: Partial<JobConditions>) => (database: Database) =>
  readJobIds(database, { types: null, rootsOnly: true, ...conditions }, page);

/** What the API reads for lists. */
export const lists: Readonly<
  Record<
    string,
    {
      read: (database: Database, subject: Subject) => Promise<unknown>;
      reads: readonly string[];
      /** Whether it is a page of the items of a job. */
      page?: true;
    }
  >
> = {
  items: {
    read: (database, subject) => readItems(database, keysOf(subject)),
    reads: [
      'cancellation by cancellation_pkey',
      'failure by failure_pkey',
      'job by job_pkey',
      'job_item by job_item_pkey',
      'lease by lease_pkey',
      'outcome by outcome_pkey',
      'blocked_item by blocked_item_job_id_position_key',
      'serialize_key by serialize_key_pkey',
      ...around,
    ],
  },
  payloads: {
    read: (database, subject) => readPayloads(database, keysOf(subject)),
    reads: ['job_item by job_item_pkey'],
  },
  'the beginnings of payloads': {
    read: (database, subject) => readPayloadBeginnings(database, keysOf(subject), 200),
    reads: ['job_item by job_item_pkey'],
  },
  results: {
    read: (database, subject) => readResults(database, keysOf(subject)),
    reads: ['outcome by outcome_pkey'],
  },
  failures: {
    read: (database, subject) => readFailures(database, keysOf(subject)),
    reads: ['failure by failure_pkey'],
  },
  'the last failures': {
    read: (database, subject) => readFailuresAt(database, firstAttemptsOf(subject)),
    reads: ['failure by failure_pkey'],
  },
  stacks: {
    read: (database, subject) => readStacks(database, firstAttemptsOf(subject)),
    reads: ['failure by failure_pkey'],
  },
  'the groups of dead items': {
    read: (database, subject) => readGroupIds(database, keysOf(subject)),
    reads: ['dead_letter by dead_letter_pkey'],
  },
  'the dead letters of a tree': {
    read: (database, { root }) => readTreeDeadLetters(database, [root]),
    reads: ['dead_letter by dead_letter_pkey', 'job by job_root_id_idx'],
  },
  notes: {
    read: (database, subject) => readNotes(database, keysOf(subject)),
    reads: ['item_note by item_note_pkey'],
  },
  'sizes of items': {
    read: (database, subject) =>
      readItemSizes(database, keysOf(subject), {
        payload: 1,
        result: 1,
        failures: 1,
        lastFailure: 1,
        stacks: 1,
        log: 1,
      }),
    reads: [
      'failure by failure_pkey',
      'item_note by item_note_pkey',
      'job_item by job_item_pkey',
      'outcome by outcome_pkey',
    ],
  },
  'the items of a job': { page: true, read: itemKeys(null), reads: ['job_item by job_item_pkey'] },
  'the items of a job from the end': {
    page: true,
    read: itemKeys(null, true),
    reads: ['job_item by job_item_pkey'],
  },
  // Nothing that is finished.
  'the pending items of a job': {
    page: true,
    read: itemKeys(pendingStatuses),
    reads: [...waiting, 'lease by lease_open', 'queue_entry by queue_entry_pkey'],
  },
  'the pending items of a job from the end': {
    page: true,
    read: itemKeys(pendingStatuses, true),
    reads: [...waiting, 'lease by lease_open', 'queue_entry by queue_entry_pkey'],
  },
  ...Object.fromEntries(
    (['WAITING', 'SCHEDULED', 'RETRYING', 'READY'] as const).flatMap((status) =>
      [false, true].map((backwards) => [
        `the items of a job that are ${status}${backwards ? ', from the end' : ''}`,
        {
          page: true,
          read: itemKeys([status], backwards),
          reads: ['job by job_pkey', 'queue_entry by queue_entry_status'],
        } as const,
      ]),
    ),
  ),
  'the blocked items of a job': { page: true, read: itemKeys(['BLOCKED']), reads: waiting },
  'the running items of a job': {
    page: true,
    read: itemKeys(['RUNNING']),
    reads: ['job by job_pkey', 'lease by lease_open'],
  },
  'the running and failed items of a job': {
    page: true,
    read: itemKeys(['RUNNING', 'FAILED']),
    reads: ['job by job_pkey', 'lease by lease_open', 'outcome by outcome_failed'],
  },
  'the cancelled items of a job': {
    page: true,
    read: itemKeys(['CANCELLED']),
    reads: cancelled,
  },
  'the cancelled items of a job from the end': {
    page: true,
    read: itemKeys(['CANCELLED'], true),
    reads: cancelled,
  },
  'the succeeded items of a job': {
    page: true,
    read: itemKeys(['SUCCEEDED']),
    reads: ['outcome by outcome_pkey'],
  },
  'the failed items of a job': {
    page: true,
    read: itemKeys(['FAILED']),
    reads: ['outcome by outcome_failed'],
  },
  'the results of a tree': {
    page: true,
    read: (database, { root }) => readResultKeys(database, false, [{ rootId: root, range: page }]),
    reads: ['job by job_root_id_idx', 'outcome by outcome_pkey'],
  },
  jobs: { read: jobIds({ rootsOnly: false }), reads: ['job by job_pkey'] },
  roots: { read: jobIds({}), reads: ['tree by tree_pkey'] },
  'roots of some hours': {
    read: jobIds({ createdFrom: new Date(0), createdUntil: new Date() }),
    reads: ['tree by tree_pkey'],
  },
  'roots of a type': {
    read: jobIds({ types: ['rare'] }),
    reads: ['job by job_root_types | job by job_type_id_idx'],
  },
  'jobs of a type': {
    read: jobIds({ types: ['rare'], rootsOnly: false }),
    reads: ['job by job_type_id_idx'],
  },
  'waiting jobs': {
    read: jobIds({ statuses: ['WAITING'], rootsOnly: false }),
    reads: ['job_progress by job_progress_waiting'],
  },
  'running roots': {
    read: jobIds({ statuses: ['RUNNING'] }),
    reads: ['job_progress by job_progress_running'],
  },
  'running trees': {
    read: jobIds({ statuses: ['RUNNING'], wholeTrees: true }),
    reads: ['job_progress by job_progress_root_differs', 'job_progress by job_progress_running'],
  },
  'trees that failed': {
    read: jobIds({ outcomes: ['FAILED'], wholeTrees: true }),
    reads: ['job_progress by job_progress_outcome', 'job_progress by job_progress_root_differs'],
  },
  'running jobs of a type': {
    read: jobIds({ types: ['filled-7'], statuses: ['RUNNING'], rootsOnly: false }),
    reads: ['job by job_pkey', 'job_progress by job_progress_running'],
  },
  'complete jobs': {
    read: jobIds({ statuses: ['COMPLETED'], rootsOnly: false }),
    reads: ['job_progress by job_progress_outcome'],
  },
  'failed jobs': {
    read: jobIds({ outcomes: ['FAILED'], rootsOnly: false }),
    reads: ['job_progress by job_progress_outcome'],
  },
  'failed jobs of a type': {
    read: jobIds({ types: ['rare'], outcomes: ['FAILED'] }),
    reads: ['job by job_pkey', 'job_progress by job_progress_outcome'],
  },
  'complete jobs of a type': {
    read: jobIds({ types: ['rare'], statuses: ['COMPLETED'], rootsOnly: false }),
    reads: ['job by job_type_id_idx', progress],
  },
  'trees with failures': {
    read: jobIds({ hasFailures: true, wholeTrees: true }),
    reads: ['job_progress by job_progress_tree_failed'],
  },
  'jobs with some dedupe keys': {
    read: jobIds({ dedupeKeyPrefix: 'key-4', rootsOnly: false }),
    reads: ['job by job_dedupe_key_type_key'],
  },
  'jobs of a type with some dedupe keys': {
    read: jobIds({ types: ['rare'], dedupeKeyPrefix: 'key-4', rootsOnly: false }),
    reads: ['job by job_dedupe_keys'],
  },
  'trees by failures': {
    read: (database) =>
      readRankedJobs(database, 'FAILURES', { types: null, rootsOnly: true, wholeTrees: true }, page),
    reads: [progress, 'job_progress by job_progress_tree_failed'],
  },
  'a page of items': {
    page: true,
    read: (database, { root }) => readItemPage(database, { jobId: root, first: 20, failedOnly: false }),
    reads: [
      'blocked_item by blocked_item_job_id_position_key',
      'serialize_key by serialize_key_pkey',
      'cancellation by cancellation_pkey',
      'failure by failure_pkey',
      'job by job_pkey',
      'job_item by job_item_pkey',
      'outcome by outcome_pkey',
      progress,
      ...around,
    ],
  },
  'a page of jobs': {
    read: (database) =>
      readJobPage(database, {
        types: null,
        statuses: ['RUNNING'],
        rootsOnly: true,
        first: 20,
        withTrees: true,
      }),
    reads: ['job by job_pkey', 'job by job_root_id_idx', 'job_progress by job_progress_running', progress],
  },
  'a tree': {
    read: (database, { root }) => readTrees(database, [root]),
    reads: ['job by job_root_id_idx', progress],
  },
  progress: {
    read: (database, { root }) => readProgress(database, [root]),
    reads: ['job by job_pkey', progress],
  },
  'roots of jobs': {
    read: (database, { child }) => readRoots(database, [child]),
    reads: ['job by job_pkey'],
  },
  assignments: {
    read: (database, { leases }) =>
      readAssignments(
        database,
        null,
        leases.map((id) => `${id.slice(0, 34)}01`),
      ),
    reads: ['job by job_pkey', 'job_item by job_item_pkey', 'lease by lease_pkey'],
  },
};
