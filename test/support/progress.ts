/** The progress of a job: nothing has happened yet but what a test says. */
import type { JobProgress } from '../../src/domain/progress/progress.ts';

export const progressOf = (given: Partial<JobProgress>): JobProgress => ({
  jobId: 'j',
  generation: 0,
  completions: 0,
  itemCount: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  sealed: false,
  startedAt: null,
  completedAt: null,
  outcome: null,
  cancelReason: null,
  ...given,
});
