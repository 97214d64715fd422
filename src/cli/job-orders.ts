import type { JobOrder } from '../client/index.ts';

/** The orders of `jobtree jobs`, as the command line calls them. */
export const jobOrders = {
  newest: 'NEWEST_FIRST',
  oldest: 'OLDEST_FIRST',
  failures: 'MOST_FAILURES_FIRST',
  'least-progress': 'LEAST_PROGRESS_FIRST',
  'most-progress': 'MOST_PROGRESS_FIRST',
} as const satisfies Record<string, JobOrder>;
