/** The progress of a job: nothing has happened yet but what a test says. */
import { type JobProgress, jobProgress } from '../../src/domain/progress/progress.ts';

const nothing = Object.entries(jobProgress.shape).map(([name, type]) => [
  name,
  [null, 0, false, 'j'].find((value) => type.safeParse(value).success),
]);

export const progressOf = (given: Partial<JobProgress>): JobProgress => ({
  ...(Object.fromEntries(nothing) as JobProgress),
  ...given,
});
